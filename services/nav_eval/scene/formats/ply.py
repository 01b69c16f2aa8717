"""PLY: a header that describes records, the records, and the scans that they hold, coloured or with a texture."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_kernel
from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry, images
from nav_eval.scene.formats.geometry import MeshPart, PartList, triangulate
from nav_eval.scene.formats.images import TextureFiles
from nav_eval.scene.formats.scene_folder import ReadLimits, SceneFolder, check_limit
from nav_eval.scene.model import Material, ReadLog, Scene, Texture

TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2",
    "uint16": "u2", "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4",
    "double": "f8", "float64": "f8",
}  # fmt: skip
BYTE_ORDERS = {"ascii": "=", "binary_little_endian": "<", "binary_big_endian": ">"}
MAX_HEADER = 1 << 20
MAX_PROPERTIES = 1000


@dataclass(frozen=True, slots=True)
class Property:
    """One field of a record."""

    name: str
    declared: np.dtype[Any]  #: what the header says
    type: np.dtype[Any]  #: how it is stored
    count_type: np.dtype[Any] | None = None  #: set for lists

    def as_declared(self, values: NDArray[Any]) -> NDArray[Any]:
        with np.errstate(invalid="ignore"):  # text may say NaN where the header says integer
            return values.astype(self.declared, copy=False)


@dataclass(frozen=True, slots=True)
class Element:
    """One kind of record, as the header announces it."""

    name: str
    count: int
    properties: list[Property]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlyTable:
    """The records of one element, column by column."""

    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    lists: dict[str, tuple[NDArray[Any], NDArray[np.int64]]] = field(default_factory=dict)
    """Name → all values in a row, and how many belong to each record."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlyFile:
    tables: dict[str, PlyTable]
    comments: list[str]


def parse_ply(content: bytes, *, source: str, limits: ReadLimits) -> PlyFile:
    """All tables of a PLY file."""
    elements, comments, order, start = _parse_header(content, source)
    for element in elements:
        limit = limits.triangles if element.name == "face" else limits.vertices
        check_limit(element.count, limit=limit, what=f"PLY {element.name} records", source=source)
    data = np.frombuffer(content, np.uint8)[start:]
    if order == "=":
        check_limit(len(content), limit=limits.text_bytes, what="bytes of PLY text", source=source)
        data = _parse_ascii(content[start:], source)
    tables, position = {}, 0
    for element in elements:
        tables[element.name], position = _read_table(data, position, element, source)
    if bytes(data[position:]).strip():
        raise SceneError(f"{source}: goes on after the {_format_counts(elements)} of its header; export it again.")
    return PlyFile(tables=tables, comments=comments)


def _parse_header(content: bytes, source: str) -> tuple[list[Element], list[str], str, int]:
    end = content.find(b"end_header", 0, MAX_HEADER)
    body = content.find(b"\n", end) + 1
    if not content.startswith(b"ply") or end < 0 or body <= 0:
        raise SceneError(f"{source}: does not begin like a PLY file; export it again.")
    order, elements, comments = "", list[Element](), list[str]()
    for line in content[:end].decode("latin-1").splitlines():
        match line.split():
            case ["format", name, *_]:
                order = BYTE_ORDERS.get(name, "")
            case ["comment", *_]:
                comments.append(line.removeprefix("comment").strip())
            case ["element", name, count] if count.isdecimal() and len(count) < 16:
                elements.append(Element(name, int(count), []))
            case ["property", "list", count_type, kind, name] if elements and _is_known(count_type, kind):
                elements[-1].properties.append(_make_property(name, kind, order, count_type))
            case ["property", kind, name] if elements and _is_known(kind):
                elements[-1].properties.append(_make_property(name, kind, order))
            case [first, *_] if first in ("format", "element", "property"):
                raise SceneError(f"{source}: the PLY header has the unusable line {line[:80]!r}.")
    if not order or sum(len(element.properties) for element in elements) > MAX_PROPERTIES:
        raise SceneError(f"{source}: the PLY header names no known format, or too many properties.")
    return elements, comments, order, body


def _format_counts(elements: list[Element]) -> str:
    return ", ".join(f"{element.count:,} {element.name} records" for element in elements)


def _is_known(*names: str) -> bool:
    return all(name in TYPES for name in names)


def _make_property(name: str, kind: str, order: str, count_type: str | None = None) -> Property:
    """ASCII numbers are stored as float64, whatever the header calls them."""
    stored = "f8" if order == "=" else order + TYPES[kind]
    counter = None if count_type is None else np.dtype("f8" if order == "=" else order + TYPES[count_type])
    return Property(name, np.dtype(TYPES[kind]), np.dtype(stored), counter)


def _parse_ascii(body: bytes, source: str) -> NDArray[np.uint8]:
    try:
        return np.array(body.split(), np.float64).view(np.uint8)
    except ValueError as error:
        raise SceneError(f"{source}: the PLY body holds something that is no number ({error}).") from error


def _read_table(data: NDArray[np.uint8], position: int, element: Element, source: str) -> tuple[PlyTable, int]:
    if any(prop.count_type for prop in element.properties):
        return _read_lists(data, position, element, source)
    record = np.dtype([(f"f{index}", prop.type) for index, prop in enumerate(element.properties)])
    end = position + record.itemsize * element.count
    if end > len(data):
        raise SceneError(f"{source}: the PLY file ends within its {element.name} records; copy it again.")
    rows = data[position:end].view(record) if record.itemsize else np.zeros(element.count, record)
    columns = {prop.name: prop.as_declared(rows[f"f{index}"]) for index, prop in enumerate(element.properties)}
    return PlyTable(columns=columns), end


def _read_lists(data: NDArray[np.uint8], position: int, element: Element, source: str) -> tuple[PlyTable, int]:
    properties = element.properties
    sizes = np.array([prop.type.itemsize for prop in properties])
    counters = np.array([_encode_counter(prop.count_type) for prop in properties])
    starts = np.zeros((len(properties), element.count), np.int64)
    counts = np.ones((len(properties), element.count), np.int64)
    end = _walk(np.ascontiguousarray(data), position, sizes, counters, starts, counts)
    if end < 0:
        raise SceneError(f"{source}: the PLY file ends within its {element.name} records; copy it again.")
    table = PlyTable()
    for prop, start, count in zip(properties, starts, counts, strict=True):
        values = prop.as_declared(_gather(data, start, count, prop.type))
        if prop.count_type is None:
            table.columns[prop.name] = values
        else:
            table.lists[prop.name] = (values, count)
    return table, end


def _encode_counter(count_type: np.dtype[Any] | None) -> int:
    """How a list's length is stored: 0 for no list, 8 for float64, else bytes (negative: big-endian)."""
    if count_type is None:
        return 0
    return count_type.itemsize * (-1 if count_type.byteorder == ">" else 1)


@compile_kernel
def _walk(
    data: NDArray[np.uint8],
    position: int,
    sizes: NDArray[np.int64],
    counters: NDArray[np.int64],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Note where every field of every record starts; the position after them, or −1."""
    for record in range(starts.shape[1]):
        for field_index in range(len(sizes)):
            counter = counters[field_index]
            width = abs(counter)
            if position + width > len(data):
                return -1
            if counter == 8:
                counts[field_index, record] = np.int64(data[position : position + 8].view(np.float64)[0])
            elif counter:
                value = 0
                for byte in range(width):
                    place = byte if counter > 0 else width - 1 - byte
                    value |= int(data[position + place]) << (8 * byte)
                counts[field_index, record] = value
            position += width
            starts[field_index, record] = position
            count = counts[field_index, record]
            if count < 0 or count > len(data):
                return -1
            position += count * sizes[field_index]
            if position > len(data):
                return -1
    return position


def _gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], counts: NDArray[np.int64], kind: np.dtype[Any]
) -> NDArray[Any]:
    """The values that lie at `starts`, in one row."""
    before = np.cumsum(counts) - counts
    offsets = np.repeat(starts - before * kind.itemsize, counts) + np.arange(counts.sum()) * kind.itemsize
    values: NDArray[Any] = data[offsets[:, None] + np.arange(kind.itemsize)].view(kind)
    return values[:, 0]


CORNERS = ("vertex_indices", "vertex_index")
COLOR_NAMES = (("red", "green", "blue", "alpha"), ("diffuse_red", "diffuse_green", "diffuse_blue", "diffuse_alpha"))
UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))


def read_ply(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a .ply file, in the file's own frame."""
    ply = parse_ply(content, source=log.source, limits=folder.limits)
    vertices, faces = _pick_tables(ply, log)
    corners, counts = _read_corners(faces, len(vertices.columns["x"]), log)
    positions = np.stack([vertices.columns[axis].astype(np.float32) for axis in "xyz"], axis=1)
    triangles, face_of_triangle = triangulate(corners, counts, positions)
    parts = PartList(folder.limits, log)
    parts.reserve(vertices=len(positions), triangles=len(triangles))
    texture = _read_texture(ply, folder, log)
    part = _make_part(vertices, faces, positions, corners, triangles, face_of_triangle)
    parts.add(part)
    material = Material(name="scan", texture=0 if texture and part.uvs.any() else None, unlit=True, double_sided=False)
    return parts.join(materials=[material], textures=[texture] if texture and part.uvs.any() else [])


def read_face_numbers(
    content: bytes, *, names: tuple[str, ...], folder: SceneFolder, log: ReadLog
) -> NDArray[np.int64] | None:
    """A number per triangle (as `read_ply` orders them) that the faces carry under one of `names`."""
    ply = parse_ply(content, source=log.source, limits=folder.limits)
    vertices, faces = _pick_tables(ply, log)
    name = next((name for name in names if name in faces.columns), None)
    if name is None:
        return None
    corners, counts = _read_corners(faces, len(vertices.columns["x"]), log)
    positions = np.stack([vertices.columns[axis].astype(np.float32) for axis in "xyz"], axis=1)
    _, face_of_triangle = triangulate(corners, counts, positions)
    return faces.columns[name].astype(np.int64)[face_of_triangle]


def _pick_tables(ply: PlyFile, log: ReadLog) -> tuple[PlyTable, PlyTable]:
    vertices, faces = ply.tables.get("vertex", PlyTable()), ply.tables.get("face", PlyTable())
    strips = ply.tables.get("tristrips")
    if strips is not None and not any(name in faces.lists for name in CORNERS):
        faces = cut_strips(strips)
    if not {"x", "y", "z"} <= vertices.columns.keys():
        raise SceneError(f"{log.source}: the PLY file has no vertices with x, y and z; export it again.")
    if not any(name in faces.lists for name in CORNERS):
        raise SceneError(
            f"{log.source}: the PLY file has no faces; a point cloud cannot be used as a scene. "
            "Make a mesh of it first, for example in MeshLab."
        )
    return vertices, faces


def cut_strips(strips: PlyTable) -> PlyTable:
    """Faces out of triangle strips, as Stanford's scans have them: -1 ends a strip, every other triangle is turned."""
    lists = [strips.lists[name] for name in CORNERS if name in strips.lists]
    if not lists:
        return PlyTable()
    values, counts = lists[0]
    ends = np.cumsum(counts)
    row = np.insert(values.astype(np.int64), ends, -1)
    step = np.arange(len(row)) - np.maximum.accumulate(np.where(row < 0, np.arange(len(row)), -1))
    starts = np.flatnonzero((row[:-2] >= 0) & (row[1:-1] >= 0) & (row[2:] >= 0))
    triangles = np.stack([row[starts], row[starts + 1], row[starts + 2]], axis=1)
    turned = step[starts] % 2 == 0
    triangles[turned] = triangles[turned][:, [1, 0, 2]]
    return PlyTable(lists={CORNERS[0]: (triangles.ravel(), np.full(len(triangles), 3, np.int64))})


def _read_corners(faces: PlyTable, vertices: int, log: ReadLog) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    values, counts = next(faces.lists[name] for name in CORNERS if name in faces.lists)
    with np.errstate(invalid="ignore"):
        corners = values.astype(np.int64)
    if len(corners) and (int(corners.min()) < 0 or int(corners.max()) >= vertices):
        raise SceneError(f"{log.source}: a face uses a vertex that does not exist (there are {vertices:,}).")
    return corners, counts


def _make_part(
    vertices: PlyTable,
    faces: PlyTable,
    positions: NDArray[np.float32],
    corners: NDArray[np.int64],
    triangles: NDArray[np.int64],
    face_of_triangle: NDArray[np.int64],
) -> MeshPart:
    """One part; vertices are shared unless the faces carry colours or texture coordinates of their own."""
    indices = corners[triangles]
    tints, face_tints = _read_colors(vertices), _read_colors(faces)
    uvs, face_uvs = _read_uvs(vertices), _read_face_uvs(faces, corners)
    normals = _read_normals(vertices, positions, indices)
    if face_tints is None and face_uvs is None:
        return MeshPart(
            positions=positions,
            normals=normals,
            uvs=_fill_zeros(uvs, len(positions)),
            colors=_fill_white(tints, len(positions)),
            triangles=indices.astype(np.uint32),
            material=0,
        )
    flat = indices.ravel()
    split = None if tints is None else tints[flat]
    if face_tints is not None:
        split = np.repeat(face_tints[face_of_triangle], 3, axis=0)
    return MeshPart(
        positions=positions[flat],
        normals=normals[flat],
        uvs=face_uvs[triangles.ravel()] if face_uvs is not None else _fill_zeros(uvs, len(positions))[flat],
        colors=_fill_white(split, len(flat)),
        triangles=np.arange(len(flat), dtype=np.uint32).reshape(-1, 3),
        material=0,
    )


def _read_colors(table: PlyTable) -> NDArray[np.uint8] | None:
    """Linear RGBA; files store sRGB, as bytes or as fractions."""
    for names in COLOR_NAMES:
        if not set(names[:3]) <= table.columns.keys():
            continue
        return images.to_linear_bytes(
            _as_bytes(np.stack([table.columns[name] for name in names if name in table.columns], axis=1))
        )
    return None


def _as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes as they are, wider integers scaled down, fractions (nothing above 1) scaled up."""
    if values.dtype == np.uint8:
        return values
    levels = np.nan_to_num(values.astype(np.float64))
    if values.dtype == np.uint16:
        levels = levels / 257.0
    elif values.dtype.kind == "f" and levels.max(initial=0.0) <= 1.0:
        levels = levels * 255.0
    return np.asarray(np.rint(np.clip(levels, 0, 255)), np.uint8)


def _read_uvs(table: PlyTable) -> NDArray[np.float32] | None:
    for names in UV_NAMES:
        if set(names) <= table.columns.keys():
            u, v = (table.columns[name].astype(np.float32) for name in names)
            return np.stack([u, 1 - v], axis=1)
    return None


def _read_face_uvs(faces: PlyTable, corners: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Texture coordinates per corner, as MeshLab writes them."""
    values, _ = faces.lists.get("texcoord", (np.zeros(0), np.zeros(0)))
    if not len(values) or len(values) != 2 * len(corners):
        return None
    uvs = values.astype(np.float32).reshape(-1, 2)
    return np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)


def _read_normals(
    vertices: PlyTable, positions: NDArray[np.float32], indices: NDArray[np.int64]
) -> NDArray[np.float32]:
    if {"nx", "ny", "nz"} <= vertices.columns.keys():
        return geometry.normalize(np.stack([vertices.columns[axis] for axis in ("nx", "ny", "nz")], axis=1))
    return geometry.compute_vertex_normals(positions, indices.astype(np.uint32))


def _read_texture(ply: PlyFile, folder: SceneFolder, log: ReadLog) -> Texture | None:
    """The picture that a `comment TextureFile …` names."""
    names = [line.split(maxsplit=1)[1] for line in ply.comments if line.startswith("TextureFile ")]
    if len(names) > 1:
        log.warn(f"The PLY file names {len(names)} pictures; only the first is shown.")
    if not names:
        return None
    files = TextureFiles(folder, log)
    return files.textures[0] if files.get_index(names[0]) is not None else None


def _fill_zeros(uvs: NDArray[np.float32] | None, count: int) -> NDArray[np.float32]:
    return np.zeros((count, 2), np.float32) if uvs is None else uvs


def _fill_white(tints: NDArray[np.uint8] | None, count: int) -> NDArray[np.uint8]:
    return np.full((count, 4), 255, np.uint8) if tints is None else tints
