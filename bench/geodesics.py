"""Geodesic distances against Recast and Detour, as Habitat uses them: npm's `recast-navigation` is the judge.

The same triangles, the same settings: Recast builds its mesh in cells, ours is built for the agent that Recast's
rounding makes. Pairs are drawn from our mesh and kept if both meshes have both places within `NEAR` metres.

Pairs more than `LARGE` apart are explained by two more distances: the shortest way on Recast's own polygons, and
the shortest way on those that Recast builds for the same body in cells of 2 cm.
"""

import json
import math
import shutil
import struct
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import Geometry, build_navigation, read_navmesh
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.recast_settings import RecastSettings, count_cells, make_rounded_shape

SCRIPT = Path(__file__).resolve().parent / "peers" / "detour.mjs"
SCENES = Path(__file__).resolve().parents[2] / "shared/data/scenes"
LIBRARY = "recast-navigation@0.43.1"
PAIRS = 300
LARGE = 3.0  #: percent; larger differences are explained
NEAR = 0.02  #: metres sideways that Detour may move a place; beyond, the two meshes differ there
FINE = 0.02  #: metres; a side of the cells that decide who is right
SHORTEST = 1.0  #: metres; a few centimetres are many percent of a shorter way
HOUSES = ((100, "flat_2"), (101, "flat_1"), (102, "duplex_3"))
FILES = ("small_house", "apartment", "hospital_two_floors")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Distances of the same pairs."""

    pairs: NDArray[np.float64]  #: N × 6
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    shortest: NDArray[np.float64]  #: on their polygons, by our distance field
    fine: NDArray[np.float64]  #: the same on polygons that Recast makes in cells of 2 cm; NaN where nobody needs it

    @property
    def percent(self) -> NDArray[np.float64]:
        """How much longer ours is."""
        return 100.0 * (self.ours - self.theirs) / self.theirs

    @property
    def is_large(self) -> NDArray[np.bool_]:
        return np.abs(self.percent) > LARGE

    def find_detours(self) -> NDArray[np.bool_]:
        """Large ones whose way by Detour is not the shortest on its own polygons: the shortest is ours."""
        return self.is_large & _is_close(self.ours, self.shortest)

    def find_coarse_cells(self) -> NDArray[np.bool_]:
        """The others that Recast's cells of 5 and 20 cm cause: in cells of 2 cm its shortest way is ours."""
        return self.is_large & ~self.find_detours() & _is_close(self.ours, self.fine)

    def find_unexplained(self) -> NDArray[np.bool_]:
        return self.is_large & ~self.find_detours() & ~self.find_coarse_cells()


def _is_close(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> NDArray[np.bool_]:
    close: NDArray[np.bool_] = np.abs(ours - theirs) <= LARGE / 100.0 * theirs
    return close


def run() -> dict[str, object]:
    figures: dict[str, object] = {}
    everything: list[NDArray[np.float64]] = []
    with tempfile.TemporaryDirectory() as folder:
        install_library(Path(folder))
        for name, scene in _list_scenes():
            found = compare_distances(scene, RecastSettings(), library=Path(folder), pairs=PAIRS)
            off = np.abs(found.percent)
            figures |= {
                f"{name}_pairs": len(off),
                f"{name}_mean_percent": float(off.mean()),
                f"{name}_max_percent": float(off.max()),
                f"{name}_median_percent": float(np.median(off)),
                f"{name}_longer_on_average_percent": float(found.percent.mean()),
                f"{name}_above_3_percent": int((off > LARGE).sum()),
                f"{name}_of_these_not_shortest_in_detour": int(found.find_detours().sum()),
                f"{name}_of_these_cells_of_5_and_20_cm": int(found.find_coarse_cells().sum()),
                f"{name}_of_these_unexplained": int(found.find_unexplained().sum()),
                f"{name}_of_these_off_recast_in_2_cm_cells_median_percent": _measure_fine_error(found),
                f"{name}_mean_percent_without_these": float(off[off <= LARGE].mean()),
            }
            everything.append(off)
    return figures | {"mean_percent": float(np.concatenate(everything).mean())}


def install_library(folder: Path) -> None:
    """Get Recast and Detour from npm; raises FileNotFoundError or CalledProcessError where that is impossible."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise FileNotFoundError("there is no npm, or no node")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), LIBRARY]
    subprocess.run(command, check=True, capture_output=True, timeout=300)


def ask_detour(job: dict[str, object], *, library: Path) -> dict[str, list[object]]:
    """What `peers/detour.mjs` answers to a job."""
    command = ["node", str(SCRIPT), str(library)]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=True, timeout=600)
    answer: dict[str, list[object]] = json.loads(done.stdout)
    return answer


def make_recast_config(settings: RecastSettings) -> dict[str, object]:
    """The settings in cells, as Habitat computes them; the generator of the library squares and multiplies the rest."""
    cell, layer = settings.cell_size, settings.cell_height
    return {
        "cs": cell,
        "ch": layer,
        "walkableSlopeAngle": settings.agent_max_slope,
        "walkableHeight": count_cells(settings.agent_height, layer, upwards=True),
        "walkableClimb": count_cells(settings.agent_max_climb, layer, upwards=False),
        "walkableRadius": count_cells(settings.agent_radius, cell, upwards=True),
        "maxEdgeLen": int(settings.edge_max_len / cell),
        "maxSimplificationError": settings.edge_max_error,
        "minRegionArea": settings.region_min_size,
        "mergeRegionArea": settings.region_merge_size,
        "maxVertsPerPoly": int(settings.verts_per_poly),
        "detailSampleDist": settings.detail_sample_dist,
        "detailSampleMaxError": settings.detail_sample_max_error,
    }


def compare_distances(scene: Geometry, settings: RecastSettings, *, library: Path, pairs: int) -> Comparison:
    """Distances of pairs that both meshes have, more than `SHORTEST` apart."""
    shape = make_rounded_shape(settings)
    mesh = build_navigation(scene, shape)
    drawn = _draw_pairs(mesh, 4 * pairs)
    answer, recast = _build_recast(scene, settings, drawn, library=library)
    rows = [
        (*start, *end, metres)
        for (start, end), metres, snapped in zip(drawn, answer["distances"], answer["snapped"], strict=True)
        if isinstance(metres, float) and metres > SHORTEST and _is_near((*start, *end), snapped)
    ][:pairs]
    table = np.array(rows, dtype=np.float64).reshape(-1, 7)
    ours, shortest = (_measure_pairs(ground, table) for ground in (mesh, recast))
    found = Comparison(
        pairs=table[:, :6], ours=ours, theirs=table[:, 6], shortest=shortest, fine=np.full(len(table), np.nan)
    )
    open_pairs = found.is_large & ~found.find_detours()
    if open_pairs.any():
        scale = (settings.cell_size / FINE) ** 2
        exact = replace(
            settings,
            cell_size=FINE,
            cell_height=FINE,
            agent_radius=shape.radius,
            agent_height=shape.height,
            agent_max_climb=shape.max_climb,
            region_min_size=scale * settings.region_min_size,
            region_merge_size=scale * settings.region_merge_size,
        )
        with suppress(NavigationMeshError):  # a large building is more than we hold in such cells: unexplained
            finer = _build_recast(scene, exact, [], library=library)[1]
            found.fine[open_pairs] = _measure_pairs(finer, table[open_pairs])
    return found


def _build_recast(
    scene: Geometry, settings: RecastSettings, pairs: list[tuple[Vec3, Vec3]], *, library: Path
) -> tuple[dict[str, list[object]], NavigationMesh]:
    """Detour's answers, and Recast's mesh as we read it."""
    with tempfile.TemporaryDirectory() as folder:
        positions, indices, tile = (Path(folder) / name for name in ("positions", "indices", "tile"))
        positions.write_bytes(np.ascontiguousarray(scene.positions, dtype="<f4").tobytes())
        indices.write_bytes(np.ascontiguousarray(scene.triangles, dtype="<u4").tobytes())
        job: dict[str, object] = {
            "positions": str(positions),
            "indices": str(indices),
            "config": make_recast_config(settings),
            "pairs": [[*start, *end] for start, end in pairs],
            "tile": str(tile),
        }
        return ask_detour(job, library=library), _read_tile(tile)


def _measure_pairs(ground: NavigationMesh, table: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([ground.geodesic_distance(tuple(row[:3]), tuple(row[3:6])) for row in table])


def _measure_fine_error(found: Comparison) -> float:
    """Percent between us and Recast in cells of 2 cm, where that decides."""
    off = 100.0 * np.abs(found.ours / found.fine - 1.0)
    judged = off[np.isfinite(off)]
    return float(np.median(judged)) if len(judged) else 0.0


def _read_tile(path: Path) -> NavigationMesh:
    """Recast's own mesh, in Habitat's envelope, as we read it."""
    tile = path.read_bytes()
    head = b"TESM" + struct.pack("<2i", 1, 1) + bytes(28)
    path.write_bytes(head + struct.pack("<Ii", 1, len(tile)) + tile)
    return read_navmesh(path)


def _draw_pairs(mesh: NavigationMesh, count: int) -> list[tuple[Vec3, Vec3]]:
    points = [mesh.random_navigable_point(seed) for seed in range(2 * count)]
    return list(zip(points[::2], points[1::2], strict=True))


def _is_near(pair: tuple[float, ...], snapped: object) -> bool:
    assert isinstance(snapped, list)
    sideways = (math.hypot(pair[k] - snapped[k], pair[k + 2] - snapped[k + 2]) for k in (0, 3))
    return all(off <= NEAR for off in sideways) and all(abs(pair[k] - snapped[k]) < 0.5 for k in (1, 4))


def _list_scenes() -> list[tuple[str, Geometry]]:
    from nav_eval.scene.formats import read_scene
    from nav_eval_worlds.houses import generate_house

    houses: list[tuple[str, Geometry]] = [
        (f"house_{seed}", generate_house(seed, template=template).scene) for seed, template in HOUSES
    ]
    return houses + [(name, read_scene(SCENES / f"{name}.glb")) for name in FILES if (SCENES / f"{name}.glb").exists()]
