"""One door for every scene file, and one digest for everything that makes up a scene.

Two scene files have the same digest exactly when reading them gives the same scene: it covers the scene file, the
buffers and pictures that it names, its stage config and its annotation, and the naming convention that decides which
way is up. It does not cover where the files lie.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.annotations import annotate, find_annotation
from nav_eval.scene.formats.collada import list_picture_files, read_collada
from nav_eval.scene.formats.gltf import read_gltf
from nav_eval.scene.formats.gltf.document import list_named_files
from nav_eval.scene.formats.inspection import check_plausible
from nav_eval.scene.formats.obj import decode_text, parse_mtl, read_obj
from nav_eval.scene.formats.orientation import find_dataset_by_name, get_config_names, orient, read_stage_config
from nav_eval.scene.formats.scene_folder import ForbiddenPath, MissingFile, ReadLimits, SceneFolder
from nav_eval.scene.formats.splat_scene import find_mesh, read_ply_or_splats, read_splat
from nav_eval.scene.formats.stl_off import read_off, read_stl
from nav_eval.scene.formats.threemf import read_3mf
from nav_eval.scene.model import ReadLog, Scene, drop_light, mark_baked_lights


def drop_broken_triangles(scene: Scene, log: ReadLog) -> Scene:
    """Without triangles that have NaN or infinite corners, or no area at all."""
    sound = np.asarray(np.isfinite(scene.positions).all(axis=1))
    finite = np.asarray(sound[scene.triangles].all(axis=1))
    flat = np.empty(len(scene.triangles), np.bool_)
    for part in geometry.iterate_slices(len(scene.triangles)):
        areas = geometry.compute_area_vectors(scene.positions, scene.triangles[part])
        flat[part] = finite[part] & ~areas.any(axis=1)
    if finite.all() and not flat.any():
        return scene
    if not finite.all():
        log.warn(f"{int((~finite).sum()):,} triangles with corners at NaN or infinity are left out.")
    if flat.any():
        log.note(f"{int(flat.sum()):,} triangles without any area are left out.")
    keep = finite & ~flat
    if not keep.any():
        lost = f" {int((~finite).sum()):,} have corners at NaN or infinity." if not finite.all() else ""
        raise SceneError(f"{log.source}: none of its {len(keep):,} triangles has an area; export it again.{lost}")
    return replace(
        scene,
        positions=np.where(np.isfinite(scene.positions), scene.positions, np.float32(0)),
        triangles=scene.triangles[keep],
        triangle_material=scene.triangle_material[keep],
        triangle_object=scene.triangle_object[keep],
        triangle_category=scene.triangle_category[keep],
    )


class Reader(Protocol):
    def __call__(self, content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene: ...


#: In the order in which a scene without an ending is looked for.
READERS: dict[str, Reader] = {
    ".glb": read_gltf,
    ".gltf": read_gltf,
    ".ply": read_ply_or_splats,
    ".obj": read_obj,
    ".dae": read_collada,
    ".3mf": read_3mf,
    ".stl": read_stl,
    ".off": read_off,
    ".splat": read_splat,
}
SCENE_SUFFIXES = tuple(READERS)

#: How to turn what we cannot read into what we can.
_BLENDER_FORMATS = (
    ".3ds", ".abc", ".ac", ".ase", ".b3d", ".blend", ".bvh", ".c4d", ".dxf", ".fbx", ".lwo", ".ma", ".max", ".mb",
    ".ms3d", ".skp", ".usd", ".usda", ".usdc", ".usdz", ".vrml", ".wrl", ".x", ".x3d", ".x3db", ".x3dv",
)  # fmt: skip
_CAD_FORMATS = (".brep", ".dwg", ".iges", ".igs", ".prt", ".sldprt", ".step", ".stp")
_ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz", ".zip", ".zst")
_SPLAT_FORMATS = (".ksplat", ".lcc", ".sog", ".spz")
_TILE_FORMATS = (".b3dm", ".cmpt", ".i3dm")
_POINT_FORMATS = (".e57", ".las", ".laz", ".pcd", ".pnts", ".pts", ".xyz")
HINTS = {
    **dict.fromkeys(_BLENDER_FORMATS, "open it in Blender and export it as glTF 2.0 (.glb)"),
    **dict.fromkeys(_CAD_FORMATS, "open it in a CAD program such as FreeCAD and export it as glTF 2.0 (.glb)"),
    **dict.fromkeys(_ARCHIVES, "unpack it and read the scene file inside"),
    **dict.fromkeys(_SPLAT_FORMATS, "export the splats as .ply or .splat, for example in SuperSplat"),
    **dict.fromkeys(
        _POINT_FORMATS, "a cloud of points has no surfaces; make a mesh of it first, for example in MeshLab"
    ),
    **dict.fromkeys((".sdf", ".world"), "`nav-eval scenes convert` makes a .glb file of a Gazebo world"),
    ".ifc": "convert it with IfcOpenShell: `IfcConvert building.ifc building.glb`",
    **dict.fromkeys(
        _TILE_FORMATS, "take the .glb that is inside of it, for example with `npx 3d-tiles-tools b3dmToGlb`"
    ),
    ".zae": "unpack it and read the .dae file inside",
}
READING_VERSION = 2
"""Part of what scenes are kept under: raise it when the same file would be read as another scene."""


def read_scene(
    path: Path | str, *, up: str = "auto", scale: float | None = None, limits: ReadLimits | None = None
) -> Scene:
    """Read a scene file into metres, Y up.

    `up` is "auto", "format" (its rule alone, whatever the shape), an axis ("y", "-z", …) or three numbers; `scale`
    multiplies all coordinates.
    docs/scenes.md says what is read, how "auto" decides, and what the report contains.
    """
    path = Path(path)
    log = ReadLog(str(path))
    folder = SceneFolder(path, limits or ReadLimits())
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise SceneError(_explain_unknown(path))
    scene = reader(folder.read_main(), folder=folder, log=log)
    config = read_stage_config(folder)
    scene = drop_broken_triangles(scene, log)
    if (config is not None and config.flat) or find_dataset_by_name(path):
        scene = _drop_lights(scene, log)
    scene, to_world = orient(scene, path=path, up=up, scale=scale, config=config, log=log)
    check_plausible(scene, log)
    scene = annotate(scene, folder=folder, to_world=to_world, log=log)
    if scene.splats is not None:
        last = max((thing.object_id for thing in scene.semantics.objects), default=0)
        scene = replace(scene, splats=replace(scene.splats, last_object=max(last, int(scene.triangle_object.max()))))
    return replace(mark_baked_lights(scene), report=log.report())


def _explain_unknown(path: Path) -> str:
    hint = HINTS.get(path.suffix.lower())
    if hint is not None:
        return f"{path}: {path.suffix.lower()} files are not read; {hint}."
    if path.is_dir():
        inside = sorted(file.name for file in path.iterdir() if file.suffix.lower() in READERS)
        found = f" In it: {', '.join(inside[:5])}." if inside else ""
        return f"{path}: is a folder; name the scene file in it ({', '.join(READERS)}).{found}"
    return f"{path}: unknown kind of scene file. Known: {', '.join(READERS)}."


def _drop_lights(scene: Scene, log: ReadLog) -> Scene:
    """Colours as they are: in a scan, the light of the day is in the picture already."""
    if all(material.unlit for material in scene.materials):
        return scene
    log.note("Shown without lights, as the stage config or the data set wants it.")
    return drop_light(scene)


def compute_scene_digest(path: Path | str, *, limits: ReadLimits | None = None) -> str:
    """SHA-256, in hexadecimal, over all files that make up the scene."""
    path = Path(path)
    folder = SceneFolder(path, limits or ReadLimits())
    content = folder.read_main()
    annotation = find_annotation(path)
    conventions = (path.suffix.lower(), find_dataset_by_name(path), annotation and annotation.kind)
    digest = hashlib.sha256(f"{conventions}\n".encode())
    _update_digest(digest, "", content)
    read = folder.read if path.suffix.lower() in (".glb", ".gltf") else folder.read_named
    for name in dict.fromkeys(_find_other_files(path, content, folder)):
        try:
            _update_digest(digest, name, read(name))
        except (ForbiddenPath, MissingFile):
            _update_digest(digest, name, b"missing")
    return digest.hexdigest()


def _update_digest(digest: "hashlib._Hash", name: str, content: bytes) -> None:
    digest.update(f"{name!r} {hashlib.sha256(content).hexdigest()}\n".encode())


def _find_other_files(path: Path, content: bytes, folder: SceneFolder) -> Iterator[str]:
    """The other files, by the names under which the scene knows them."""
    yield from (name for name in get_config_names(path) if (path.parent / name).is_file())
    annotation = find_annotation(path)
    yield from annotation.names if annotation else ()
    if path.suffix.lower() in (".glb", ".gltf"):
        yield from list_named_files(content, source=str(path), limits=folder.limits)
    elif path.suffix.lower() == ".dae":
        yield from list_picture_files(content, source=str(path), limits=folder.limits)
    elif path.suffix.lower() == ".obj":
        yield from _find_obj_files(content, folder, ReadLog(str(path)))
    elif path.suffix.lower() in (".ply", ".splat") and (mesh := find_mesh(path)) is not None:
        yield mesh.name
    elif path.suffix.lower() == ".ply":
        header = content[: content.find(b"end_header")].decode("latin-1").splitlines()
        yield from (line.split(maxsplit=2)[2] for line in header if line.startswith("comment TextureFile "))


def _find_obj_files(content: bytes, folder: SceneFolder, log: ReadLog) -> Iterator[str]:
    for line in decode_text(content).splitlines():
        keyword, _, name = line.strip().partition(" ")
        if keyword != "mtllib":
            continue
        yield name.strip()
        try:
            library = decode_text(folder.read_named(name.strip()))
        except (ForbiddenPath, MissingFile):
            continue
        yield from (m.diffuse_map for m in parse_mtl(library, log).values() if m.diffuse_map)
