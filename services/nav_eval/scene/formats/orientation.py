"""Turning a scene upright: Y up, −Z forward, metres.

Who decides, in this order: the caller; Habitat's `<scene>.stage_config.json` next to the scene; the naming
conventions of known data sets; the format's own rule. The shape of the scene is asked where the format prescribes
nothing, where the name is all there is, and where a file is nothing but a sheet of ground on end. The report says
which of them it was.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.inspection import Shape
from nav_eval.scene.formats.scene_folder import SceneFolder, check_limit
from nav_eval.scene.model import Light, ReadLog, Scene
from nav_eval.scene.semantics import to_vector


class StageConfig(msgspec.Struct, frozen=True):
    """The fields that concern us; Habitat's own names."""

    up: Vec3 | None = None
    front: Vec3 | None = None
    scale: Vec3 | None = None
    gravity: Vec3 | None = None
    units_to_meters: float = 1.0
    shader_type: str | None = None
    force_flat_shading: bool | None = None

    @property
    def flat(self) -> bool:
        """Colours are shown as they are."""
        return self.force_flat_shading is True or (self.shader_type or "").lower() == "flat"


def read_stage_config(folder: SceneFolder) -> StageConfig | None:
    """The stage config of the folder's scene, if there is one."""
    for name in get_config_names(folder.path):
        if folder.resolve(name)[1].is_file():
            return _decode(folder.read(name), source=str(folder.path.with_name(name)), folder=folder)
    return None


def get_config_names(scene: Path) -> list[str]:
    """`x.basis.glb` may be described by `x.basis.stage_config.json` or `x.stage_config.json`."""
    stems = dict.fromkeys((scene.stem, scene.name.split(".")[0]))
    return [f"{stem}.stage_config.json" for stem in stems]


def _decode(content: bytes, *, source: str, folder: SceneFolder) -> StageConfig:
    check_limit(len(content), limit=folder.limits.json_bytes, what="bytes", source=source)
    try:
        return msgspec.json.decode(content, type=StageConfig, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable stage config: {error}.") from error


AXES: dict[str, Vec3] = {
    "x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0), "-y": (0.0, -1.0, 0.0), "-z": (0.0, 0.0, -1.0),
}  # fmt: skip

#: Which way is forward for a given up, where nobody says: Habitat's choice for Z-up data sets.
FRONTS: dict[str, Vec3] = {"y": (0.0, 0.0, -1.0), "-y": (0.0, 0.0, -1.0)}
DEFAULT_FRONT: Vec3 = (0.0, 1.0, 0.0)

#: Data sets whose files are Z-up, by the path that their own tools give them.
Z_UP_NAMES: dict[str, re.Pattern[str]] = {
    "HM3D": re.compile(r"(^|/)\d{5}-(?P<scan>[A-Za-z0-9]{11})/(?P=scan)(\.basis|\.semantic)?\.glb$|\.basis\.glb$"),
    "Matterport3D": re.compile(
        r"(^|/)(?!\d*([A-Z]+|[a-z]*([A-Z][a-z]+)*)\d*/)(?P<scan>[A-Za-z0-9]{11})/(?P=scan)(\.glb|_semantic\.ply)$"
    ),  # eleven letters at random: `LivingRoom1` is a name that somebody gave
    "ScanNet": re.compile(r"(^|/)scene\d{4}_\d{2}_vh_clean(_2)?(\.labels)?\.ply$"),
    "Replica": re.compile(r"(^|/)(mesh|mesh_semantic)\.ply$"),
}

#: The vertical that a format prescribes or usually has.
FORMAT_UP = {".3mf": "z", ".dae": "y", ".glb": "y", ".gltf": "y", ".obj": "y", ".off": "z", ".ply": "z", ".splat": "z",
             ".stl": "z"}  # fmt: skip
#: Formats that say which way is up: glTF Y, 3MF Z, and COLLADA in the file (its reader turns it to Y).
PRESCRIBED = frozenset({".3mf", ".dae", ".glb", ".gltf"})
#: By how much the shape must favour another axis, where somebody says which it is, and where nobody does.
DECISIVE, DECISIVE_ALONE = 1.4, 1.15

#: Shares of all surface: a building has more level surface than this, and a tilted one that much askew.
HARDLY_ANY, MUCH = 0.05, 0.2
UPRIGHT = 0.985  # cosine of ten degrees


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFrame:
    """How a file's axes lie in the world."""

    up: Vec3
    front: Vec3
    reason: str


def orient(
    scene: Scene, *, path: Path, up: str, scale: float | None, config: StageConfig | None, log: ReadLog
) -> tuple[Scene, NDArray[np.float64]]:
    """The scene upright and in metres, and the matrix that made it so."""
    frame = choose_frame(scene, path=path, up=up, config=config, log=log)
    matrix = np.eye(4)
    matrix[:3, :3] = compute_rotation(frame) @ np.diag(_choose_scales(scale, config, log))
    log.up = f"{_format_vector(frame.up)} ({frame.reason})"
    if not np.allclose(compute_rotation(frame), np.eye(3)):
        log.note(f"Up is {log.up} in the file; turned to +Y.")
    return (scene, matrix) if np.array_equal(matrix, np.eye(4)) else (_transform_scene(scene, matrix), matrix)


def choose_frame(scene: Scene, *, path: Path, up: str, config: StageConfig | None, log: ReadLog) -> FileFrame:
    """Which way is up, and who says so."""
    if up not in ("auto", "format"):
        return _make_requested_frame(up)
    if config is not None and (config.up or config.gravity):
        return _make_configured_frame(config)
    suffix = path.suffix.lower()
    dataset = find_dataset_by_name(path)
    expected = "z" if dataset else FORMAT_UP[suffix]
    voted = expected if up == "format" else _vote(scene, path=path, expected=expected, log=log)
    if voted != expected:
        return FileFrame(up=AXES[voted], front=_get_front(voted), reason="its floors are the largest level surfaces")
    reason = f"named like a {dataset} scene" if dataset else f"the rule for {suffix} files"
    return FileFrame(up=AXES[expected], front=_get_front(expected), reason=reason)


def _vote(scene: Scene, *, path: Path, expected: str, log: ReadLog) -> str:
    """The axis that the shape speaks for. What a format prescribes holds, but for a bare sheet of ground on end."""
    shape, suffix = Shape(scene), path.suffix.lower()
    refuse_tilted(scene, shape, expected=expected, source=str(path))
    decisive = DECISIVE if suffix in PRESCRIBED else DECISIVE_ALONE
    voted = choose_axis(shape, expected=expected, decisive=decisive)
    if voted == expected or find_dataset_by_name(path) or _is_only_ground(shape, voted, expected):
        return voted
    if shape.level_share("xyz".index(voted)) < MUCH:  # a figure or a tool: there is no floor that would be up
        return expected
    if suffix not in PRESCRIBED:
        log.note(f"If it lies on its side now, pass up={expected}, which is usual in {suffix} files.")
        return voted
    log.warn(
        f"By its shape +{voted.upper()} could be up; {suffix} files have +{expected.upper()} up, and so it is read. "
        f"If it lies on its side, pass up={voted}."
    )
    return expected


def find_dataset_by_name(path: Path) -> str | None:
    """The Z-up data set whose naming convention the path follows."""
    name = path.absolute().as_posix()
    return next((dataset for dataset, pattern in Z_UP_NAMES.items() if pattern.search(name)), None)


def choose_axis(shape: Shape, *, expected: str, decisive: float) -> str:
    """The axis ("x", "y", "z") that looks most like a building's vertical; `expected` unless another clearly wins."""
    rivals = [axis for axis in "yzx" if axis != expected]
    here = shape.along("xyz".index(expected))
    for axis in sorted(rivals, key=lambda axis: -shape.along("xyz".index(axis)).score):
        there = shape.along("xyz".index(axis))
        if _is_only_ground(shape, axis, expected):
            return axis
        lower = there.extent < here.extent
        storeyed = there.storey_height is not None and there.extent >= 2.0
        drawn_so = axis != "x"  # what looks so is a thing on its side: no program draws buildings X up
        if there.score > decisive * here.score and lower and storeyed and drawn_so:
            return axis
    return expected


def refuse_tilted(scene: Scene, shape: Shape, *, expected: str, source: str) -> None:
    """Refuse a building whose floors are square to no axis: nobody could stand in it."""
    lower, upper = scene.bounds
    building = np.sort(upper - lower)[1] >= 2.5 and len(scene.triangles) >= 200
    if not building or shape.level_share("xyz".index(expected)) > HARDLY_ANY:
        return
    direction, share = shape.strongest_plane()
    askew = np.abs(direction).max() < UPRIGHT
    if askew and share > max(MUCH, *(shape.level_share(axis) for axis in range(3))):
        x, y, z = direction
        raise SceneError(
            f"{source}: no axis of the file is vertical; its largest surfaces face ({x:.3f}, {y:.3f}, {z:.3f}). "
            f'If that is up, pass up="{x:.3f},{y:.3f},{z:.3f}"; if it is down, the same with the signs turned.'
        )


def compute_rotation(frame: FileFrame) -> NDArray[np.float64]:
    """The rotation that takes `up` to +Y and `front` to −Z."""
    up = np.array(frame.up) / np.linalg.norm(frame.up)
    front = np.array(frame.front) - up * np.dot(up, frame.front)
    front /= np.linalg.norm(front)
    return np.stack([np.cross(front, up), up, -front])


def _is_only_ground(shape: Shape, axis: str, expected: str) -> bool:
    """A wide sheet that is ground if `axis` is up, and a wall without any floor if not."""
    sheet, other = shape.along("xyz".index(axis)), shape.along("xyz".index(expected))
    return sheet.extent < 0.01 * other.extent and sheet.level_area > 100.0 and other.level_area == 0.0


def _make_requested_frame(up: str) -> FileFrame:
    name = up.lower().removeprefix("+")
    if name in AXES:
        return FileFrame(up=AXES[name], front=_get_front(name), reason="as asked for")
    try:
        x, y, z = (float(part) for part in up.split(","))
    except ValueError:
        raise SceneError(
            f'up={up!r} is not possible; use "auto", "format", x, y, z, -x, -y, -z or three numbers "x,y,z".'
        ) from None
    return _make_frame((x, y, z), None, reason="as asked for")


def _make_configured_frame(config: StageConfig) -> FileFrame:
    down = config.gravity or (0.0, -1.0, 0.0)
    up = config.up or (-down[0], -down[1], -down[2])
    return _make_frame(up, config.front, reason="the stage config says so")


def _make_frame(up: Vec3, front: Vec3 | None, *, reason: str) -> FileFrame:
    """A frame from vectors; a missing front is the file's own, as level as it gets."""
    candidates: Sequence[Vec3] = (front,) if front else (FRONTS["y"], DEFAULT_FRONT, AXES["x"])
    length = np.linalg.norm(up)
    if not np.isfinite(length) or length == 0:
        raise SceneError(f"The up vector {up} has no direction.")
    # Z-up files look along +Y, all others keep looking along −Z unless that is straight up or down.
    if front is None and abs(up[2]) > 0.7 * length:
        candidates = (DEFAULT_FRONT, AXES["x"])
    for candidate in candidates:
        if np.linalg.norm(np.cross(up, candidate)) > 1e-3 * length * np.linalg.norm(candidate):
            return FileFrame(up=up, front=candidate, reason=reason)
    raise SceneError(f"The front vector {front} is parallel to the up vector {up}.")


def _get_front(up: str) -> Vec3:
    return FRONTS.get(up, DEFAULT_FRONT)


def _choose_scales(scale: float | None, config: StageConfig | None, log: ReadLog) -> NDArray[np.float64]:
    """Factors per file axis; what the caller says replaces what the config says."""
    scales = np.ones(3)
    if config is not None:
        scales = np.array(config.scale or (1.0, 1.0, 1.0)) * config.units_to_meters
    if scale is not None:
        scales = np.full(3, scale)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        raise SceneError(f"{log.source}: the scale {scales.tolist()} is not possible; use positive numbers.")
    if not np.array_equal(scales, np.ones(3)):
        log.note(f"Scaled by {', '.join(f'{value:g}' for value in dict.fromkeys(scales.tolist()))}.")
    return scales


def _transform_scene(scene: Scene, matrix: NDArray[np.float64]) -> Scene:
    return replace(
        scene,
        positions=geometry.transform_points(scene.positions, matrix),
        normals=geometry.transform_normals(scene.normals, matrix),
        lights=tuple(_transform_light(light, matrix) for light in scene.lights),
        splats=None if scene.splats is None else scene.splats.transform(matrix),
    )


def _transform_light(light: Light, matrix: NDArray[np.float64]) -> Light:
    position, turned = matrix[:3, :3] @ light.position + matrix[:3, 3], matrix[:3, :3] @ light.direction
    direction = to_vector(turned / (np.linalg.norm(turned) or 1.0))
    reach = light.range * float(np.cbrt(abs(np.linalg.det(matrix[:3, :3]))))
    return replace(light, position=to_vector(position), direction=direction, range=reach)


def _format_vector(vector: Vec3) -> str:
    for name, axis in AXES.items():
        if np.allclose(np.array(vector) / np.linalg.norm(vector), axis):
            return name.upper() if name[0] == "-" else f"+{name.upper()}"
    return "({:g}, {:g}, {:g})".format(*vector)
