"""STL (triangles without colours, materials or units, binary or as text) and OFF (vertices and polygons as text)."""

import re
import struct

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.formats.scene_folder import SceneFolder, check_limit
from nav_eval.scene.formats.trimesh_loader import LoadedMesh, join_meshes, load_meshes
from nav_eval.scene.model import ReadLog, Scene

STL_HEADER = struct.Struct("<80sI")
RECORD = 50  # bytes of a binary triangle
MAX_SOLIDS = 4096  # trimesh tells equal names apart in quadratic time


def read_stl(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in an .stl file, in the file's own frame."""
    if _is_binary(content):
        check_limit(
            (len(content) - STL_HEADER.size) // RECORD,
            limit=folder.limits.triangles,
            what="triangles",
            source=log.source,
        )
    else:
        _check_text(content, folder, log)
    meshes = load_meshes(content, kind="stl", log=log)
    _warn_of_colors(meshes, log)
    return join_meshes(meshes, to_world=np.eye(4), limits=folder.limits, log=log)


def _is_binary(content: bytes) -> bool:
    """A binary file is exactly as long as its header says; text may begin with anything, even with "solid"."""
    if len(content) < STL_HEADER.size:
        return False
    return len(content) == STL_HEADER.size + RECORD * int(STL_HEADER.unpack_from(content)[1])


def _check_text(content: bytes, folder: SceneFolder, log: ReadLog) -> None:
    if not content.lstrip()[:5].lower() == b"solid" or b"\0" in content[:1024]:
        raise SceneError(f"{log.source}: is no STL text, and not as long as a binary STL header says; copy it again.")
    check_limit(len(content), limit=folder.limits.text_bytes, what="bytes of STL text", source=log.source)
    check_limit(content.lower().count(b"endsolid"), limit=MAX_SOLIDS, what="solids", source=log.source)
    if not content.rstrip().lower().rpartition(b"\n")[2].strip().startswith(b"endsolid"):
        raise SceneError(f"{log.source}: the STL text ends before its last `endsolid`; copy it again.")


def _warn_of_colors(meshes: list[LoadedMesh], log: ReadLog) -> None:
    """Two spare bytes per triangle hold colours in some programs, each in its own way."""
    spare = [mesh.arguments.get("face_attributes", {}).get("stl") for mesh in meshes]
    colored = sum(int(np.count_nonzero(values)) for values in spare if values is not None)
    if colored:
        log.warn(f"The colours of {colored:,} STL triangles are left out: programs disagree on what they mean.")


OFF_HEADER = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*(?P<kind>C?OFF)(?=[\s\d#])(?:\s|#[^\n]*\n)*(?P<vertices>\d{1,12})\s+(?P<faces>\d{1,12})\b"
)


def read_off(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in an .off file, in the file's own frame."""
    check_limit(len(content), limit=folder.limits.text_bytes, what="bytes of OFF text", source=log.source)
    header = OFF_HEADER.match(content)
    if header is None:
        raise SceneError(f"{log.source}: does not begin like an OFF or COFF text file; export it again.")
    vertices, faces = int(header["vertices"]), int(header["faces"])
    check_limit(vertices, limit=folder.limits.vertices, what="vertices", source=log.source)
    check_limit(faces, limit=folder.limits.triangles, what="faces", source=log.source)
    meshes = load_meshes(content, kind="off", log=log)
    scene = join_meshes(meshes, to_world=np.eye(4), limits=folder.limits, log=log)
    triangles = sum(len(mesh.faces) for mesh in meshes)
    if header["kind"] == b"COFF" or _has_face_colors(content):
        log.warn("The colours of the OFF file are left out.")
    if triangles > faces:
        log.note("Polygons are cut from their first corner; a concave one comes out wrong.")
    elif triangles < faces:
        log.warn(f"{faces - triangles:,} of {faces:,} OFF faces are left out: they are missing or no polygons.")
    return scene


def _has_face_colors(content: bytes) -> bool:
    """Whether numbers follow the corners of the last face."""
    words = content.rstrip().rpartition(b"\n")[2].partition(b"#")[0].split()
    return len(words) > 1 and words[0].isdigit() and len(words) > int(words[0][:9]) + 1
