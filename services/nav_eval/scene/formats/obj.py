"""Wavefront OBJ scenes with their MTL materials."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.color import to_linear
from nav_eval.scene.formats import geometry, images
from nav_eval.scene.formats.geometry import MeshPart, PartList, triangulate
from nav_eval.scene.formats.images import TextureFiles
from nav_eval.scene.formats.scene_folder import ForbiddenPath, MissingFile, SceneFolder, check_limit
from nav_eval.scene.model import AlphaMode, Material, ReadLog, Scene, Wrap
from nav_eval.scene.semantics import to_vector

OPTION_ARGUMENTS = {"-blendu": 1, "-blendv": 1, "-boost": 1, "-cc": 1, "-clamp": 1, "-imfchan": 1, "-texres": 1,
                    "-bm": 1, "-mm": 2, "-type": 1}  # fmt: skip
UP_TO_THREE_NUMBERS = ("-o", "-s", "-t")


@dataclass(slots=True)
class MtlMaterial:
    """What we use of a material; MTL colours are sRGB fractions."""

    name: str
    diffuse: tuple[float, float, float] = (0.8, 0.8, 0.8)
    emissive: tuple[float, float, float] = (0.0, 0.0, 0.0)
    alpha: float = 1.0
    diffuse_map: str | None = None
    alpha_map: str | None = None
    clamp: bool = False


def parse_mtl(text: str, log: ReadLog) -> dict[str, MtlMaterial]:
    """Materials by name."""
    materials: dict[str, MtlMaterial] = {}
    current = MtlMaterial("")
    has_dissolve: set[str] = set()
    for line in text.splitlines():
        keyword, _, rest = line.strip().partition(" ")
        rest = rest.split(" #")[0].strip()
        if keyword == "newmtl":
            current = materials.setdefault(rest, MtlMaterial(rest))
        elif keyword in ("Kd", "Ke"):
            color = _read_color(rest)
            if color is not None:
                setattr(current, "diffuse" if keyword == "Kd" else "emissive", color)
        elif keyword == "d":
            current.alpha = _parse_number(rest.removeprefix("-halo"), 1.0)
            has_dissolve.add(current.name)
        elif keyword == "Tr" and current.name not in has_dissolve:
            current.alpha = _read_opacity(_parse_number(rest, 0.0), current.name, log)
        elif keyword == "map_Kd":
            current.diffuse_map, current.clamp = _parse_map_name(rest), "-clamp on" in rest
        elif keyword == "map_d":
            current.alpha_map = _parse_map_name(rest)
    return materials


def _read_opacity(transparency: float, name: str, log: ReadLog) -> float:
    """`Tr` is 1 − opacity; but some tools write `Tr 1` for opaque, and nobody models what cannot be seen."""
    if transparency >= 1.0:
        log.note(f"Material {name!r} says Tr {transparency:g}, which would be invisible; taken as opaque.")
        return 1.0
    return 1.0 - transparency


def _parse_map_name(rest: str) -> str | None:
    """The file name behind a map's options; it may contain spaces."""
    words = rest.split()
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option in UP_TO_THREE_NUMBERS:
            taken = 0
            while len(words) > 1 and taken < 3 and _is_number(words[0]):
                words.pop(0)
                taken += 1
        else:
            del words[: OPTION_ARGUMENTS.get(option, 0)]
    return " ".join(words) or None


def _read_color(rest: str) -> tuple[float, float, float] | None:
    words = rest.split()[:3]
    if len(words) not in (1, 3) or not all(_is_number(word) for word in words):  # spectral curves and the like
        return None
    red, green, blue = (float(word) for word in (words * 3)[:3])
    return red, green, blue


def _parse_number(text: str, default: float) -> float:
    word = next(iter(text.split()), "")
    return float(word) if _is_number(word) else default


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


MAX_DIGITS = 18  # of an index; longer ones are nonsense and would not fit 64 bits


@dataclass(slots=True)
class _Group:
    """Faces of one material: their corners in a row, and how many each face has."""

    corners: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _ObjFile:
    """The lines of an OBJ file, sorted by kind."""

    vertices: list[str] = field(default_factory=list)
    uvs: list[str] = field(default_factory=list)
    normals: list[str] = field(default_factory=list)
    corners: dict[tuple[int, int, int], int] = field(default_factory=dict)  #: vertex/uv/normal, −1 for none
    groups: dict[str, _Group] = field(default_factory=dict)
    libraries: list[str] = field(default_factory=list)


def read_obj(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in an .obj file, in the file's own frame."""
    lines = _parse(content, folder, log)
    positions, tints = _parse_vertices(lines.vertices, log)
    uvs, normals = _parse_rows([f"{row} 0" for row in lines.uvs], 2, log), _parse_rows(lines.normals, 3, log)
    corners = np.array(list(lines.corners), np.int64).reshape(-1, 3)
    corners = _check_indices(corners, (len(positions), len(uvs), len(normals)), log)
    shown = _Materials(_read_libraries(lines.libraries, folder, log), folder, log)
    parts = PartList(folder.limits, log)
    for name, group in lines.groups.items():
        part = _make_part(group, corners, positions, tints, uvs, normals, material=shown.slot(name))
        parts.reserve(vertices=len(part.positions), triangles=len(part.triangles))
        parts.add(part)
    return parts.join(materials=shown.materials, textures=shown.files.textures)


def _parse(content: bytes, folder: SceneFolder, log: ReadLog) -> _ObjFile:
    """One pass over the lines; relative indices become absolute here, where their base is known."""
    check_limit(len(content), limit=folder.limits.text_bytes, what="bytes of OBJ text", source=log.source)
    lines, material = _ObjFile(), ""
    left_out: dict[str, int] = {}
    for keyword, rest in _split_statements(content):
        if keyword == "v":
            lines.vertices.append(rest)
        elif keyword == "vt":
            lines.uvs.append(rest)
        elif keyword == "vn":
            lines.normals.append(rest)
        elif keyword == "f":
            _add_face(lines, lines.groups.setdefault(material, _Group()), rest, log)
        elif keyword == "usemtl":
            material = rest
        elif keyword == "mtllib":
            lines.libraries.append(rest)
        elif keyword in ("l", "p", "curv", "surf", "call"):
            left_out[keyword] = left_out.get(keyword, 0) + 1
    check_limit(len(lines.vertices), limit=folder.limits.vertices, what="vertices", source=log.source)
    for keyword, count in left_out.items():
        log.warn(f"{count:,} OBJ statements {keyword!r} (no polygons) are left out.")
    return lines


def decode_text(content: bytes) -> str:
    """UTF-8, or UTF-16 where the file begins with its mark; what is neither becomes question marks."""
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig", errors="replace")


def _split_statements(content: bytes) -> Iterator[tuple[str, str]]:
    text = decode_text(content).replace("\\\r\n", " ").replace("\\\n", " ")
    for line in text.splitlines():
        keyword, _, rest = line.strip().replace("\t", " ").partition(" ")
        if keyword and not keyword.startswith("#"):
            yield keyword, rest.strip()


def _add_face(lines: _ObjFile, group: _Group, rest: str, log: ReadLog) -> None:
    sizes = (len(lines.vertices), len(lines.uvs), len(lines.normals))
    words = rest.partition("#")[0].split()
    group.counts.append(len(words))
    for word in words:
        fields = [*word.split("/"), "", ""][:3]
        try:
            indices = [int(text[:MAX_DIGITS]) if text else 0 for text in fields]
        except ValueError:
            raise SceneError(f"{log.source}: a face has the unusable corner {word[:40]!r}.") from None
        a, b, c = (index + size if index < 0 else index - 1 for index, size in zip(indices, sizes, strict=True))
        group.corners.append(lines.corners.setdefault((a, b, c), len(lines.corners)))


def _check_indices(corners: NDArray[np.int64], sizes: tuple[int, int, int], log: ReadLog) -> NDArray[np.int64]:
    """The corners without texture coordinates and normals that do not exist; a missing vertex is refused."""
    used = corners[:, 0]
    if len(used) and (used.min() < 0 or used.max() >= sizes[0]):
        worst = used.max() if used.max() >= sizes[0] else used.min()
        raise SceneError(f"{log.source}: a face uses vertex {worst + 1}, but there are only {sizes[0]:,}.")
    checked = corners.copy()
    for column, what in ((1, "texture coordinates"), (2, "normals")):
        missing = (corners[:, column] < -1) | (corners[:, column] >= sizes[column])
        if missing.any():
            log.warn(f"{int(missing.sum()):,} corners of faces name {what} that do not exist; they have none.")
            checked[missing, column] = -1
    return checked


def _parse_vertices(rows: list[str], log: ReadLog) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
    """Positions, and colours where the file appends them to the coordinates."""
    colored = bool(rows) and all(len(row.split()) >= 6 for row in rows[:100])
    values = _parse_rows(rows, 6 if colored else 3, log)
    if not colored:
        return values, None
    levels = np.rint(np.clip(values[:, 3:], 0, 1) * 255).astype(np.uint8)
    return values[:, :3], images.to_linear_bytes(levels)


def _parse_rows(rows: list[str], width: int, log: ReadLog) -> NDArray[np.float32]:
    """The first `width` numbers of each line."""
    try:
        numbers = np.array([row.split()[:width] for row in rows], np.float64).reshape(len(rows), width)
    except ValueError as error:
        raise SceneError(f"{log.source}: a line of coordinates is unusable ({error}).") from error
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _make_part(
    group: _Group,
    corners: NDArray[np.int64],
    positions: NDArray[np.float32],
    tints: NDArray[np.uint8] | None,
    uvs: NDArray[np.float32],
    normals: NDArray[np.float32],
    *,
    material: int,
) -> MeshPart:
    """The faces of one material with vertices of their own."""
    used, local = np.unique(np.array(group.corners, np.int64), return_inverse=True)
    vertex, uv, normal = corners[used].T
    points = positions[vertex]
    places, _ = triangulate(local, np.array(group.counts, np.int64), points)
    triangles = local[places].astype(np.uint32)
    smooth = geometry.normalize(normals[normal]) if len(normals) and (normal >= 0).all() else None
    if smooth is None:
        vertex, uv, points = vertex[triangles.ravel()], uv[triangles.ravel()], points[triangles.ravel()]
        triangles = np.arange(triangles.size, dtype=np.uint32).reshape(-1, 3)
        smooth = np.repeat(geometry.compute_face_normals(points, triangles), 3, axis=0)
    return MeshPart(
        positions=points,
        normals=smooth,
        uvs=_flip_uvs(uvs, uv),
        colors=np.full((len(points), 4), 255, np.uint8) if tints is None else tints[vertex],
        triangles=triangles,
        material=material,
    )


def _flip_uvs(uvs: NDArray[np.float32], index: NDArray[np.int64]) -> NDArray[np.float32]:
    """OBJ counts v from the bottom of the picture, we count from the top."""
    if not len(uvs):
        return np.zeros((len(index), 2), np.float32)
    chosen = np.where((index >= 0)[:, None], uvs[index], np.array([0, 1], np.float32))
    return np.stack([chosen[:, 0], 1 - chosen[:, 1]], axis=1)


def _read_libraries(names: list[str], folder: SceneFolder, log: ReadLog) -> dict[str, MtlMaterial]:
    materials: dict[str, MtlMaterial] = {}
    for name in dict.fromkeys(names):
        try:
            text = decode_text(folder.read_named(name))
        except (ForbiddenPath, MissingFile) as error:
            log.warn(f"{error} Its materials are shown in a neutral grey.")
            continue
        materials.update(parse_mtl(text, log))
    return materials


class _Materials:
    """Materials and pictures in the order in which faces use them."""

    def __init__(self, library: dict[str, MtlMaterial], folder: SceneFolder, log: ReadLog) -> None:
        self._library = library
        self._log = log
        self._slots: dict[str, int] = {}
        self.files = TextureFiles(folder, log)
        self.materials: list[Material] = []

    def slot(self, name: str) -> int:
        if name not in self._slots:
            self._slots[name] = len(self.materials)
            self.materials.append(self._convert(self._library.get(name, MtlMaterial(name))))
        return self._slots[name]

    def _convert(self, material: MtlMaterial) -> Material:
        wrap = Wrap.CLAMP if material.clamp else Wrap.REPEAT
        texture = None if material.diffuse_map is None else self.files.get_index(material.diffuse_map, wrap=wrap)
        diffuse = material.diffuse
        if texture is not None and not any(diffuse):
            diffuse = (1.0, 1.0, 1.0)  # some tools write black when a picture takes over
        return Material(
            name=material.name,
            base_color=(*to_vector(to_linear(np.clip(diffuse, 0, 1))), material.alpha),
            texture=texture,
            unlit=False,
            alpha_mode=self._choose_alpha_mode(material),
            emissive=to_vector(to_linear(np.clip(material.emissive, 0, 1))),
        )

    def _choose_alpha_mode(self, material: MtlMaterial) -> AlphaMode:
        if material.alpha < 1.0:
            return AlphaMode.BLEND
        if material.alpha_map is not None and material.alpha_map == material.diffuse_map:
            return AlphaMode.MASK
        if material.alpha_map is not None:
            self._log.warn(f"Material {material.name!r}: its separate alpha picture is left out.")
        return AlphaMode.OPAQUE
