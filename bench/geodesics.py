"""Geodesic distances against Recast and Detour, as Habitat uses them: npm's `recast-navigation` is the judge.

The same triangles, the same settings: Recast builds its mesh in cells, ours is built for the agent that Recast's
rounding makes. Pairs are drawn from our mesh and kept if both meshes have both places within `NEAR` metres.

Every pair more than `LARGE` apart gets a cause, and the cause a proof by Detour itself: it is asked for the ways from
corner to corner of a line that we propose. Their sum is the length of a way on Detour's own polygons. What is left are
passages as wide as the body, to `SLACK`: for a body that much thinner or thicker, our distance is Detour's.
"""

import math
import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.detour import RecastMesh, ask_detour, build_recast, install_library
from bench.shared_data import find_shared_data
from nav_eval.errors import NavigationMeshError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import Geometry, build_navigation, read_navmesh
from nav_eval.scene.navigation.ground import AgentShape
from nav_eval.scene.navigation.mesh import NavigationMesh
from nav_eval.scene.navigation.recast_settings import RecastSettings, make_rounded_shape

SCENES = find_shared_data("scenes")
PAIRS = 300
LARGE = 3.0  #: percent; larger differences are explained
NEAR = 0.02  #: metres sideways that Detour may move a place; beyond, the two meshes differ there
FINE = 0.02  #: metres; a side of the cells that decide who is right
SLACK = 0.002  #: metres of the radius; a passage that two of them open or close is as wide as the body
MOVED = 0.06  #: metres sideways that a corner may be moved onto the mesh that judges: a cell of the coarse one
SHORTEST = 1.0  #: metres; a few centimetres are many percent of a shorter way
HOUSES = ((100, "flat_2"), (101, "flat_1"), (102, "duplex_3"))
FILES = ("small_house", "apartment", "hospital_two_floors")

Pair = tuple[Vec3, Vec3]

__all__ = ["Cause", "Comparison", "LargePair", "ask_detour", "compare_distances", "install_library", "run"]


class Cause(StrEnum):
    """Why two distances are more than `LARGE` apart."""

    NOT_SHORTEST = "not_shortest_in_detour"  #: Detour has a shorter way on its own polygons, and that is ours
    COARSE_CELLS = "cells_of_5_and_20_cm"  #: on the mesh that Recast builds in cells of 2 cm, Detour's way is ours
    TIGHT_PASSAGE = "passage_as_wide_as_the_body"  #: 2 mm of the radius make Detour's distance of ours
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True, kw_only=True)
class LargePair:
    """A pair more than `LARGE` apart, and why."""

    start: Vec3
    end: Vec3
    ours: float
    theirs: float
    cause: Cause = Cause.UNEXPLAINED
    proof: float = (
        math.nan
    )  #: metres by Detour on its own polygons (or those of the fine cells); ours for the other body

    def __str__(self) -> str:
        places = " → ".join(f"({x:.2f}, {y:.2f}, {z:.2f})" for x, y, z in (self.start, self.end))
        percent = 100.0 * (self.ours / self.theirs - 1.0)
        metres = f"Detour {self.theirs:.2f}, ours {self.ours:.2f} ({percent:+.1f} %)"
        return f"{places}: {metres}: {self.cause} {self.proof:.2f}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Distances of the same pairs."""

    pairs: list[Pair]
    ours: NDArray[np.float64]
    theirs: NDArray[np.float64]
    large: list[LargePair]

    @property
    def percent(self) -> NDArray[np.float64]:
        """How much longer ours is."""
        return 100.0 * (self.ours - self.theirs) / self.theirs

    def count(self, cause: Cause) -> int:
        return sum(pair.cause is cause for pair in self.large)


def run() -> dict[str, object]:
    figures: dict[str, object] = {}
    everything: list[NDArray[np.float64]] = []
    rest: list[NDArray[np.float64]] = []
    unexplained = 0
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
                f"{name}_above_3_percent": len(found.large),
                **{f"{name}_of_these_{cause}": found.count(cause) for cause in Cause},
                f"{name}_mean_percent_without_these": float(off[off <= LARGE].mean()),
                **{f"{name}_large_{number}": str(pair) for number, pair in enumerate(found.large, 1)},
            }
            everything.append(off)
            rest.append(off[off <= LARGE])
            unexplained += found.count(Cause.UNEXPLAINED)
    return figures | {
        "mean_percent": float(np.concatenate(everything).mean()),
        "largest_percent_without_proof": float(np.concatenate(rest).max()),
        "unexplained_pairs": unexplained,
    }


def compare_distances(scene: Geometry, settings: RecastSettings, *, library: Path, pairs: int) -> Comparison:
    """Distances of pairs that both meshes have, more than `SHORTEST` apart; the large differences are explained."""
    shape = make_rounded_shape(settings)
    mesh = build_navigation(scene, shape)
    drawn = _draw_pairs(mesh, 4 * pairs)
    with tempfile.TemporaryDirectory() as folder:
        recast = build_recast(scene, settings, library=library, folder=Path(folder) / "coarse")
        answer = recast.measure_pairs(drawn)
        kept = [
            (pair, metres)
            for pair, metres, snapped in zip(drawn, answer["distances"], answer["snapped"], strict=True)
            if isinstance(metres, float) and metres > SHORTEST and _is_near(pair, snapped)
        ][:pairs]
        ours = np.array([mesh.geodesic_distance(start, end) for (start, end), _ in kept])
        theirs = np.array([metres for _, metres in kept])
        large = [
            LargePair(start=pair[0], end=pair[1], ours=float(own), theirs=metres)
            for (pair, metres), own in zip(kept, ours, strict=True)
            if 100.0 * abs(own / metres - 1.0) > LARGE
        ]
        large = _explain(large, mesh, recast, Cause.NOT_SHORTEST)
        if any(pair.cause is Cause.UNEXPLAINED for pair in large):
            fine = _make_fine_settings(settings, shape)
            finer = build_recast(scene, fine, library=library, folder=Path(folder) / "fine")
            large = _explain(large, mesh, finer, Cause.COARSE_CELLS)
        if any(pair.cause is Cause.UNEXPLAINED for pair in large):
            bodies = (replace(shape, radius=shape.radius + change) for change in (-SLACK, SLACK))
            large = _find_tight_passages(large, [build_navigation(scene, body) for body in bodies])
    return Comparison(pairs=[pair for pair, _ in kept], ours=ours, theirs=theirs, large=large)


def _explain(large: list[LargePair], mesh: NavigationMesh, recast: RecastMesh, cause: Cause) -> list[LargePair]:
    """Give the cause to those whose distance Detour itself has on a mesh, as it goes or along proposed corners."""
    is_open = [pair.cause is Cause.UNEXPLAINED for pair in large]
    grounds = [mesh]
    with suppress(NavigationMeshError):  # a large building is more than we hold in small cells: our corners must do
        grounds.append(read_navmesh(recast.file))
    proofs = np.full(len(large), math.nan)
    for propose in [None, *grounds]:
        lines = [_propose_line(pair, propose) if wanted else [] for pair, wanted in zip(large, is_open, strict=True)]
        for number, (metres, moved) in enumerate(recast.measure_ways(lines)):
            if lines[number] and moved <= MOVED:
                proofs[number] = np.fmin(proofs[number], metres)
    return [
        replace(pair, cause=cause, proof=float(proof)) if _is_close(pair.ours, float(proof)) else pair
        for pair, proof in zip(large, proofs, strict=True)
    ]


def _find_tight_passages(large: list[LargePair], meshes: list[NavigationMesh]) -> list[LargePair]:
    """Give the cause to those whose distance is Detour's on a mesh for almost the same body."""
    found = []
    for pair in large:
        metres = [mesh.geodesic_distance(pair.start, pair.end) for mesh in meshes]
        proof = next((length for length in metres if _is_close(length, pair.theirs)), math.nan)
        explained = pair.cause is Cause.UNEXPLAINED and math.isfinite(proof)
        found.append(replace(pair, cause=Cause.TIGHT_PASSAGE, proof=proof) if explained else pair)
    return found


def _propose_line(pair: LargePair, ground: NavigationMesh | None) -> list[Vec3]:
    between = ground.shortest_path(pair.start, pair.end)[1:-1] if ground is not None else []
    return [pair.start, *between, pair.end]


def _is_close(ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= LARGE / 100.0 * theirs


def _make_fine_settings(settings: RecastSettings, shape: AgentShape) -> RecastSettings:
    """The same body in small cells."""
    scale = (settings.cell_size / FINE) ** 2
    return replace(
        settings,
        cell_size=FINE,
        cell_height=FINE,
        agent_radius=shape.radius,
        agent_height=shape.height,
        agent_max_climb=shape.max_climb,
        region_min_size=scale * settings.region_min_size,
        region_merge_size=scale * settings.region_merge_size,
    )


def _draw_pairs(mesh: NavigationMesh, count: int) -> list[Pair]:
    points = [mesh.random_navigable_point(seed) for seed in range(2 * count)]
    return list(zip(points[::2], points[1::2], strict=True))


def _is_near(pair: Pair, snapped: object) -> bool:
    assert isinstance(snapped, list)
    ends = zip(pair, (snapped[:3], snapped[3:]), strict=True)
    return all(math.hypot(p[0] - q[0], p[2] - q[2]) <= NEAR and abs(p[1] - q[1]) < 0.5 for p, q in ends)


def _list_scenes() -> list[tuple[str, Geometry]]:
    from nav_eval.scene.formats import read_scene
    from nav_eval_worlds.houses import generate_house

    houses: list[tuple[str, Geometry]] = [
        (f"house_{seed}", generate_house(seed, template=template).scene) for seed, template in HOUSES
    ]
    return houses + [(name, read_scene(SCENES / f"{name}.glb")) for name in FILES if (SCENES / f"{name}.glb").exists()]
