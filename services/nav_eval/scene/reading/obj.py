"""Wavefront OBJ scenes with their MTL materials."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import AlphaMode, Material, Scene, Texture, Wrap
from nav_eval.scene.reading import colors, geometry
from nav_eval.scene.reading.files import MissingFile, SceneFolder
from nav_eval.scene.reading.images import ImageDecoder, UnreadableImage
from nav_eval.scene.reading.limits import check_limit
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.mtl import MtlMaterial, parse_mtl
from nav_eval.scene.reading.parts import Part, PartList
from nav_eval.scene.reading.polygons import triangulate

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
    positions, tints = _vertices(lines.vertices, log)
    uvs, normals = _rows([f"{row} 0" for row in lines.uvs], 2, log), _rows(lines.normals, 3, log)
    corners = np.array(list(lines.corners), np.int64).reshape(-1, 3)
    _check_indices(corners, (len(positions), len(uvs), len(normals)), log)
    shown = _Materials(_libraries(lines.libraries, folder, log), folder, log)
    parts = PartList(folder.limits, log)
    for name, group in lines.groups.items():
        part = _part(group, corners, positions, tints, uvs, normals, material=shown.slot(name))
        parts.reserve(vertices=len(part.positions), triangles=len(part.triangles))
        parts.add(part)
    return parts.join(materials=shown.materials, textures=shown.textures)


def _parse(content: bytes, folder: SceneFolder, log: ReadLog) -> _ObjFile:
    """One pass over the lines; relative indices become absolute here, where their base is known."""
    check_limit(len(content), limit=folder.limits.text_bytes, what="bytes of OBJ text", source=log.source)
    lines, material = _ObjFile(), ""
    left_out: dict[str, int] = {}
    for keyword, rest in _statements(content):
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


def _statements(content: bytes) -> Iterator[tuple[str, str]]:
    text = content.decode("utf-8", errors="replace").replace("\\\r\n", " ").replace("\\\n", " ")
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


def _check_indices(corners: NDArray[np.int64], sizes: tuple[int, int, int], log: ReadLog) -> None:
    for column, (what, size) in enumerate(zip(("vertex", "texture coordinate", "normal"), sizes, strict=True)):
        used = corners[:, column]
        lowest = 0 if column == 0 else -1
        if len(used) and (used.min() < lowest or used.max() >= size):
            worst = used.max() if used.max() >= size else used.min()
            raise SceneError(f"{log.source}: a face uses {what} {worst + 1}, but there are only {size:,}.")


def _vertices(rows: list[str], log: ReadLog) -> tuple[NDArray[np.float32], NDArray[np.uint8] | None]:
    """Positions, and colours where the file appends them to the coordinates."""
    colored = bool(rows) and all(len(row.split()) >= 6 for row in rows[:100])
    values = _rows(rows, 6 if colored else 3, log)
    if not colored:
        return values, None
    levels = np.rint(np.clip(values[:, 3:], 0, 1) * 255).astype(np.uint8)
    return values[:, :3], colors.linear_bytes(levels)


def _rows(rows: list[str], width: int, log: ReadLog) -> NDArray[np.float32]:
    """The first `width` numbers of each line."""
    try:
        numbers = np.array([row.split()[:width] for row in rows], np.float64).reshape(len(rows), width)
    except ValueError as error:
        raise SceneError(f"{log.source}: a line of coordinates is unusable ({error}).") from error
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32)


def _part(
    group: _Group,
    corners: NDArray[np.int64],
    positions: NDArray[np.float32],
    tints: NDArray[np.uint8] | None,
    uvs: NDArray[np.float32],
    normals: NDArray[np.float32],
    *,
    material: int,
) -> Part:
    """The faces of one material with vertices of their own."""
    used, local = np.unique(np.array(group.corners, np.int64), return_inverse=True)
    vertex, uv, normal = corners[used].T
    points = positions[vertex]
    places, _ = triangulate(local, np.array(group.counts, np.int64), points)
    triangles = local[places].astype(np.uint32)
    smooth = geometry.normalized(normals[normal]) if len(normals) and (normal >= 0).all() else None
    if smooth is None:
        vertex, uv, points = vertex[triangles.ravel()], uv[triangles.ravel()], points[triangles.ravel()]
        triangles = np.arange(triangles.size, dtype=np.uint32).reshape(-1, 3)
        smooth = np.repeat(geometry.face_normals(points, triangles), 3, axis=0)
    return Part(
        positions=points,
        normals=smooth,
        uvs=_flipped(uvs, uv),
        colors=np.full((len(points), 4), 255, np.uint8) if tints is None else tints[vertex],
        triangles=triangles,
        material=material,
    )


def _flipped(uvs: NDArray[np.float32], index: NDArray[np.int64]) -> NDArray[np.float32]:
    """OBJ counts v from the bottom of the picture, we count from the top."""
    if not len(uvs):
        return np.zeros((len(index), 2), np.float32)
    chosen = np.where((index >= 0)[:, None], uvs[index], np.array([0, 1], np.float32))
    return np.stack([chosen[:, 0], 1 - chosen[:, 1]], axis=1)


def _libraries(names: list[str], folder: SceneFolder, log: ReadLog) -> dict[str, MtlMaterial]:
    materials: dict[str, MtlMaterial] = {}
    for name in dict.fromkeys(names):
        try:
            text = folder.read(name).decode("utf-8", errors="replace")
        except MissingFile as error:
            log.warn(f"{error} Its materials are shown in a neutral grey.")
            continue
        materials.update(parse_mtl(text, log))
    return materials


class _Materials:
    """Materials and pictures in the order in which faces use them."""

    def __init__(self, library: dict[str, MtlMaterial], folder: SceneFolder, log: ReadLog) -> None:
        self._library = library
        self._folder = folder
        self._log = log
        self._decoder = ImageDecoder(folder.limits)
        self._slots: dict[str, int] = {}
        self._pictures: dict[tuple[str, bool], int | None] = {}
        self.materials: list[Material] = []
        self.textures: list[Texture] = []

    def slot(self, name: str) -> int:
        if name not in self._slots:
            self._slots[name] = len(self.materials)
            self.materials.append(self._convert(self._library.get(name, MtlMaterial(name))))
        return self._slots[name]

    def _convert(self, material: MtlMaterial) -> Material:
        texture = None if material.diffuse_map is None else self._picture(material.diffuse_map, material.clamp)
        diffuse = material.diffuse
        if texture is not None and not any(diffuse):
            diffuse = (1.0, 1.0, 1.0)  # some tools write black when a picture takes over
        red, green, blue = (float(value) for value in colors.linear(np.clip(diffuse, 0, 1)))
        glow = (float(value) for value in colors.linear(np.clip(material.emissive, 0, 1)))
        emissive_red, emissive_green, emissive_blue = glow
        return Material(
            name=material.name,
            base_color=(red, green, blue, material.alpha),
            texture=texture,
            unlit=False,
            alpha_mode=self._alpha_mode(material),
            emissive=(emissive_red, emissive_green, emissive_blue),
        )

    def _alpha_mode(self, material: MtlMaterial) -> AlphaMode:
        if material.alpha < 1.0:
            return AlphaMode.BLEND
        if material.alpha_map is not None and material.alpha_map == material.diffuse_map:
            return AlphaMode.MASK
        if material.alpha_map is not None:
            self._log.warn(f"Material {material.name!r}: its separate alpha picture is left out.")
        return AlphaMode.OPAQUE

    def _picture(self, name: str, clamp: bool) -> int | None:
        if (name, clamp) not in self._pictures:
            self._pictures[name, clamp] = self._decode(name, Wrap.CLAMP if clamp else Wrap.REPEAT)
        return self._pictures[name, clamp]

    def _decode(self, name: str, wrap: Wrap) -> int | None:
        try:
            pixels = self._decoder.decode(self._folder.read(name), source=f"{self._log.source}: {name}")
        except (MissingFile, UnreadableImage) as error:
            self._log.warn(f"{error} The plain colour is shown instead.")
            return None
        self.textures.append(Texture(pixels=pixels, wrap_u=wrap, wrap_v=wrap))
        return len(self.textures) - 1
