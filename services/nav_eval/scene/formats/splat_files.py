"""3-D Gaussian splats from files: `.ply` as the original training code writes it, and `.splat`.

Splats show a place and say nothing about where one can walk. Their triangles come from a mesh beside the file
(`room.mesh.glb` beside `room.ply` or `room.splat`), or else from where the splats are opaque.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats.ply import PlyTable
from nav_eval.scene.formats.scene_folder import ReadLimits, check_limit
from nav_eval.scene.model import ReadLog
from nav_eval.scene.splats import SplatCloud, make_covariances

BASE_FACTOR = 0.28209479177387814  #: of the constant spherical harmonic, 1 / (2·√π)
PLY_COLUMNS = ("x", "y", "z", "f_dc_0", "f_dc_1", "f_dc_2", "opacity",
               "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3")  # fmt: skip
SPLAT_RECORD = np.dtype([("center", "<f4", 3), ("scale", "<f4", 3), ("color", "u1", 4), ("rotation", "u1", 4)])
PACKED = ("position", "rotation", "scale", "color")
PACKED_BOUNDS = tuple(
    f"{end}_{name}" for end in ("min", "max") for name in ("x", "y", "z", "scale_x", "scale_y", "scale_z")
)
SPLATS_PER_CHUNK = 256
LARGEST_LOGARITHM = 10.0  #: of a size; e^10 m is farther than any scene is wide
FAINTEST = 1 / 255  #: a splat that changes no byte is left out


def is_splat_table(vertices: PlyTable) -> bool:
    """Whether the vertices of a PLY file are splats."""
    return "f_dc_0" in vertices.columns and "scale_0" in vertices.columns


def convert_splat_table(vertices: PlyTable, log: ReadLog) -> SplatCloud:
    """The splats of a PLY file: logarithms of sizes, opacities before the sigmoid, colours as spherical harmonics."""
    missing = [name for name in PLY_COLUMNS if name not in vertices.columns]
    if missing:
        raise SceneError(f"{log.source}: its splats lack {', '.join(missing)}; export all of them.")
    if any(name.startswith("f_rest_") for name in vertices.columns):
        log.note("Splats are shown in the colour that they have from all sides; how it changes with the view is not.")
    columns = {name: vertices.columns[name].astype(np.float64) for name in PLY_COLUMNS}
    centers = np.stack([columns[axis] for axis in "xyz"], axis=1)
    logarithms = np.stack([columns[f"scale_{axis}"] for axis in range(3)], axis=1)
    colors = 0.5 + BASE_FACTOR * np.stack([columns[f"f_dc_{channel}"] for channel in range(3)], axis=1)
    with np.errstate(over="ignore"):
        opacities = 1.0 / (1.0 + np.exp(-columns["opacity"]))
        scales = np.exp(np.minimum(logarithms, LARGEST_LOGARITHM))
    rotations = np.stack([columns[f"rot_{part}"] for part in range(4)], axis=1)
    return _keep_sound(centers, scales, rotations, colors, opacities, log)


def convert_packed_splats(chunks: PlyTable, vertices: PlyTable, log: ReadLog) -> SplatCloud:
    """The splats of a compressed PLY file (PlayCanvas, SuperSplat): four words each, within bounds that 256 share."""
    words = {name: vertices.columns.get(f"packed_{name}") for name in PACKED}
    bounds = {name: chunks.columns.get(name) for name in PACKED_BOUNDS}
    missing = [name for name, column in (words | bounds).items() if column is None]
    count = len(next(iter(vertices.columns.values())))
    shared = len(next(iter(chunks.columns.values()), ()))
    if missing or shared * SPLATS_PER_CHUNK < count:
        what = ", ".join(missing) or "chunks for all of them"
        raise SceneError(f"{log.source}: its packed splats lack {what}; export it again.")
    chunk = np.arange(count) // SPLATS_PER_CHUNK
    packed = {name: np.asarray(column).astype(np.uint32) for name, column in words.items()}
    shares = {name: _unpack(packed[name], (11, 10, 11)) for name in ("position", "scale")}
    shares["color"] = _unpack(packed["color"], (8, 8, 8, 8))
    limits = {name: column.astype(np.float64)[chunk] for name, column in chunks.columns.items()}
    centers = np.stack([_mix(limits, axis, shares["position"][:, i]) for i, axis in enumerate("xyz")], axis=1)
    logarithms = np.stack(
        [_mix(limits, f"scale_{axis}", shares["scale"][:, i]) for i, axis in enumerate("xyz")], axis=1
    )
    colors = np.stack([_mix(limits, hue, shares["color"][:, i]) for i, hue in enumerate("rgb")], axis=1)
    scales = np.exp(np.minimum(logarithms, LARGEST_LOGARITHM))
    rotations = _unpack_rotations(packed["rotation"])
    return _keep_sound(centers, scales, rotations, colors, shares["color"][:, 3], log)


def _unpack(words: NDArray[np.uint32], bits: tuple[int, ...]) -> NDArray[np.float64]:
    """Fractions out of words, the first in the highest bits."""
    shift, columns = 32, []
    for width in bits:
        shift -= width
        largest = np.uint32((1 << width) - 1)
        columns.append(((words >> np.uint32(shift)) & largest) / float(largest))
    return np.stack(columns, axis=1)


def _mix(limits: dict[str, NDArray[np.float64]], name: str, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between the bounds of this name; as it is where there are none (older files have none for colours)."""
    if f"min_{name}" not in limits or f"max_{name}" not in limits:
        return share
    return limits[f"min_{name}"] * (1 - share) + limits[f"max_{name}"] * share


def _unpack_rotations(words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Unit quaternions (w, x, y, z): which part is the largest, and the three others, up to √½ each."""
    others = (_unpack(words << np.uint32(2), (10, 10, 10)) - 0.5) * np.sqrt(2.0)
    largest = np.sqrt(np.maximum(1.0 - (others**2).sum(axis=1), 0.0))
    place = (words >> np.uint32(30)).astype(np.int64)
    rotations = np.empty((len(words), 4))
    for number in range(4):
        chosen = place == number
        rotations[chosen] = np.insert(others[chosen], number, largest[chosen], axis=1)
    return rotations


def parse_splat(content: bytes, *, source: str, limits: ReadLimits, log: ReadLog) -> SplatCloud:
    """The splats of a `.splat` file: 32 bytes each."""
    if not content or len(content) % SPLAT_RECORD.itemsize:
        raise SceneError(
            f"{source}: has {len(content):,} bytes; a .splat file has {SPLAT_RECORD.itemsize} per splat. Copy it again."
        )
    check_limit(len(content) // SPLAT_RECORD.itemsize, limit=limits.vertices, what="splats", source=source)
    table = np.frombuffer(content, SPLAT_RECORD)
    rotations = (table["rotation"].astype(np.float64) - 128) / 128
    colors = table["color"].astype(np.float64) / 255
    scales = np.minimum(table["scale"].astype(np.float64), np.exp(LARGEST_LOGARITHM))
    return _keep_sound(table["center"].astype(np.float64), scales, rotations, colors[:, :3], colors[:, 3], log)


def encode_splat(cloud: SplatCloud, scales: NDArray[np.float64], rotations: NDArray[np.float64]) -> bytes:
    """The bytes of a `.splat` file; `rotations` are unit quaternions (w, x, y, z)."""
    table = np.zeros(len(cloud), SPLAT_RECORD)
    table["center"], table["scale"] = cloud.centers, scales
    table["color"][:, :3] = np.rint(np.clip(cloud.colors, 0, 1) * 255)
    table["color"][:, 3] = np.rint(np.clip(cloud.opacities, 0, 1) * 255)
    table["rotation"] = np.clip(np.rint(rotations * 128 + 128), 0, 255)
    return table.tobytes()


def _keep_sound(
    centers: NDArray[np.float64],
    scales: NDArray[np.float64],
    rotations: NDArray[np.float64],
    colors: NDArray[np.float64],
    opacities: NDArray[np.float64],
    log: ReadLog,
) -> SplatCloud:
    """All but those that are no numbers or show nothing."""
    rows = np.concatenate([centers, scales, rotations, colors, opacities[:, None]], axis=1)
    is_finite = np.isfinite(rows).all(axis=1) & (np.abs(centers) < 1e7).all(axis=1) & (scales > 0).all(axis=1)
    if not is_finite.all():
        log.warn(f"{int((~is_finite).sum()):,} splats without a place or size are left out.")
    keep = is_finite & (opacities >= FAINTEST)
    if not keep.any():
        raise SceneError(f"{log.source}: none of its {len(keep):,} splats can be seen; export it again.")
    return SplatCloud(
        centers=centers[keep].astype(np.float32),
        covariances=make_covariances(scales[keep], rotations[keep]),
        colors=np.clip(colors[keep], 0, 1).astype(np.float32),
        opacities=np.minimum(opacities[keep], 1.0).astype(np.float32),
    )
