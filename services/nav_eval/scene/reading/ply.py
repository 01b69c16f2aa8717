"""PLY scenes: scans with colours per vertex or per face, sometimes with a texture."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.model import Material, Scene, Texture
from nav_eval.scene.reading import colors, geometry
from nav_eval.scene.reading.files import MissingFile, SceneFolder
from nav_eval.scene.reading.images import ImageDecoder, UnreadableImage
from nav_eval.scene.reading.log import ReadLog
from nav_eval.scene.reading.parts import Part, PartList
from nav_eval.scene.reading.ply_file import PlyFile, Table, parse_ply
from nav_eval.scene.reading.polygons import triangulate

CORNERS = ("vertex_indices", "vertex_index")
COLOR_NAMES = (("red", "green", "blue", "alpha"), ("diffuse_red", "diffuse_green", "diffuse_blue", "diffuse_alpha"))
UV_NAMES = (("s", "t"), ("u", "v"), ("texture_u", "texture_v"))


def read_ply(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a .ply file, in the file's own frame."""
    ply = parse_ply(content, source=log.source, limits=folder.limits)
    vertices, faces = _tables(ply, log)
    corners, counts = _corners(faces, len(vertices.columns["x"]), log)
    positions = np.stack([vertices.columns[axis].astype(np.float32) for axis in "xyz"], axis=1)
    triangles, face_of_triangle = triangulate(corners, counts, positions)
    parts = PartList(folder.limits, log)
    parts.reserve(vertices=len(positions), triangles=len(triangles))
    texture = _texture(ply, folder, log)
    part = _part(vertices, faces, positions, corners, triangles, face_of_triangle)
    parts.add(part)
    material = Material(name="scan", texture=0 if texture and part.uvs.any() else None, unlit=True, double_sided=False)
    return parts.join(materials=[material], textures=[texture] if texture and part.uvs.any() else [])


def face_numbers(
    content: bytes, *, names: tuple[str, ...], folder: SceneFolder, log: ReadLog
) -> NDArray[np.int64] | None:
    """A number per triangle (as `read_ply` orders them) that the faces carry under one of `names`."""
    ply = parse_ply(content, source=log.source, limits=folder.limits)
    vertices, faces = _tables(ply, log)
    name = next((name for name in names if name in faces.columns), None)
    if name is None:
        return None
    corners, counts = _corners(faces, len(vertices.columns["x"]), log)
    positions = np.stack([vertices.columns[axis].astype(np.float32) for axis in "xyz"], axis=1)
    _, face_of_triangle = triangulate(corners, counts, positions)
    return faces.columns[name].astype(np.int64)[face_of_triangle]


def _tables(ply: PlyFile, log: ReadLog) -> tuple[Table, Table]:
    vertices, faces = ply.tables.get("vertex", Table()), ply.tables.get("face", Table())
    if not {"x", "y", "z"} <= vertices.columns.keys():
        raise SceneError(f"{log.source}: the PLY file has no vertices with x, y and z.")
    if not any(name in faces.lists for name in CORNERS):
        raise SceneError(f"{log.source}: the PLY file has no faces; a point cloud cannot be used as a scene.")
    return vertices, faces


def _corners(faces: Table, vertices: int, log: ReadLog) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    values, counts = next(faces.lists[name] for name in CORNERS if name in faces.lists)
    with np.errstate(invalid="ignore"):
        corners = values.astype(np.int64)
    if len(corners) and (int(corners.min()) < 0 or int(corners.max()) >= vertices):
        raise SceneError(f"{log.source}: a face uses a vertex that does not exist (there are {vertices:,}).")
    return corners, counts


def _part(
    vertices: Table,
    faces: Table,
    positions: NDArray[np.float32],
    corners: NDArray[np.int64],
    triangles: NDArray[np.int64],
    face_of_triangle: NDArray[np.int64],
) -> Part:
    """One part; vertices are shared unless the faces carry colours or texture coordinates of their own."""
    indices = corners[triangles]
    tints, face_tints = _colors(vertices), _colors(faces)
    uvs, face_uvs = _uvs(vertices), _face_uvs(faces, corners)
    normals = _normals(vertices, positions, indices)
    if face_tints is None and face_uvs is None:
        return Part(
            positions=positions,
            normals=normals,
            uvs=_or_zeros(uvs, len(positions)),
            colors=_or_white(tints, len(positions)),
            triangles=indices.astype(np.uint32),
            material=0,
        )
    flat = indices.ravel()
    split = None if tints is None else tints[flat]
    if face_tints is not None:
        split = np.repeat(face_tints[face_of_triangle], 3, axis=0)
    return Part(
        positions=positions[flat],
        normals=normals[flat],
        uvs=face_uvs[triangles.ravel()] if face_uvs is not None else _or_zeros(uvs, len(positions))[flat],
        colors=_or_white(split, len(flat)),
        triangles=np.arange(len(flat), dtype=np.uint32).reshape(-1, 3),
        material=0,
    )


def _colors(table: Table) -> NDArray[np.uint8] | None:
    """Linear RGBA; files store sRGB, as bytes or as fractions."""
    for names in COLOR_NAMES:
        if not set(names[:3]) <= table.columns.keys():
            continue
        return colors.linear_bytes(
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


def _uvs(table: Table) -> NDArray[np.float32] | None:
    for names in UV_NAMES:
        if set(names) <= table.columns.keys():
            u, v = (table.columns[name].astype(np.float32) for name in names)
            return np.stack([u, 1 - v], axis=1)
    return None


def _face_uvs(faces: Table, corners: NDArray[np.int64]) -> NDArray[np.float32] | None:
    """Texture coordinates per corner, as MeshLab writes them."""
    values, _ = faces.lists.get("texcoord", (np.zeros(0), np.zeros(0)))
    if not len(values) or len(values) != 2 * len(corners):
        return None
    uvs = values.astype(np.float32).reshape(-1, 2)
    return np.stack([uvs[:, 0], 1 - uvs[:, 1]], axis=1)


def _normals(vertices: Table, positions: NDArray[np.float32], indices: NDArray[np.int64]) -> NDArray[np.float32]:
    if {"nx", "ny", "nz"} <= vertices.columns.keys():
        return geometry.normalized(np.stack([vertices.columns[axis] for axis in ("nx", "ny", "nz")], axis=1))
    return geometry.vertex_normals(positions, indices.astype(np.uint32))


def _texture(ply: PlyFile, folder: SceneFolder, log: ReadLog) -> Texture | None:
    """The picture that a `comment TextureFile …` names."""
    names = [line.split(maxsplit=1)[1] for line in ply.comments if line.startswith("TextureFile ")]
    if len(names) > 1:
        log.warn(f"The PLY file names {len(names)} pictures; only the first is shown.")
    if not names:
        return None
    try:
        pixels = ImageDecoder(folder.limits).decode(folder.read(names[0]), source=f"{log.source}: {names[0]}")
    except (MissingFile, UnreadableImage) as error:
        log.warn(f"{error} The plain colour is shown instead.")
        return None
    return Texture(pixels=pixels)


def _or_zeros(uvs: NDArray[np.float32] | None, count: int) -> NDArray[np.float32]:
    return np.zeros((count, 2), np.float32) if uvs is None else uvs


def _or_white(tints: NDArray[np.uint8] | None, count: int) -> NDArray[np.uint8]:
    return np.full((count, 4), 255, np.uint8) if tints is None else tints
