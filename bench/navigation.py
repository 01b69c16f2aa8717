"""Navigation: steps, geodesic queries, fields, builds; and how far distances are from exact ones.

Times are CPU times of one process. Accuracy is measured against the visibility graph of the true walls,
grown by the agent's disc: not against the same grid, which would hide what the lattice costs.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np

from bench.shared_data import find_shared_data
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.mesh import NavigationMesh, load_mesh, save_mesh
from nav_eval.simulator.motion import AgentState, DiscreteMotion, make_standard_actions

ROOT = Path(__file__).resolve().parents[1]
SCENES = find_shared_data("scenes")
STEPS = 20_000
ROUNDS = 5


def run() -> dict[str, object]:
    worlds = _worlds()
    mesh = _scene_mesh("small_house") or worlds.room_mesh("boxes")[0]
    figures: dict[str, object] = {**_walking(mesh), **_distances(mesh), **_storing(mesh)}
    for name in ("small_house", "hospital_two_floors"):
        if (SCENES / f"{name}.glb").exists():
            figures |= _building(name)
    return figures | _accuracy(worlds)


def _walking(mesh: NavigationMesh) -> dict[str, object]:
    motion = DiscreteMotion(mesh, make_standard_actions(turn_angle=30))
    start = motion.start(Pose(mesh.random_navigable_point(3)))
    choices = ("move_forward", "move_forward", "move_forward", "turn_left", "turn_right")
    actions = [choices[k] for k in np.random.default_rng(1).integers(0, len(choices), STEPS)]
    angles = np.random.default_rng(2).random(STEPS) * 2 * np.pi
    moves = 0.25 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    one_by_one = _fastest(lambda: _follow(motion, start, actions))
    at_once = _fastest(lambda: mesh.walk(start.position, moves, sliding=True))
    return {"steps_per_second": STEPS / one_by_one, "batched_steps_per_second": STEPS / at_once}


def _follow(motion: DiscreteMotion, state: AgentState, actions: list[str]) -> list[Vec3]:
    positions = []
    for action in actions:
        state = motion.apply(state, action)
        positions.append(state.position)
    return positions


def _distances(mesh: NavigationMesh) -> dict[str, object]:
    goals = [mesh.random_navigable_point(seed) for seed in range(ROUNDS)]
    places = [mesh.random_navigable_point(seed) for seed in range(100, 200)]  # fields spread as far as they are asked
    build = min(_seconds(lambda goal=goal: max(map(mesh.distance_field([goal]).distance, places))) for goal in goals)
    field = mesh.distance_field(goals[:1])
    motion = DiscreteMotion(mesh, make_standard_actions(turn_angle=30))
    start = motion.start(Pose(mesh.random_navigable_point(8)))
    episode = _follow(motion, start, ["move_forward", "move_forward", "turn_left"] * 150)
    query = _fastest(lambda: [field.distance(position) for position in episode]) / len(episode)
    return {"geodesic_microseconds": 1e6 * query, "field_milliseconds": 1e3 * build}


def _storing(mesh: NavigationMesh) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        save_mesh(mesh, Path(folder) / "mesh")
        return {"load_milliseconds": 1e3 * _fastest(lambda: load_mesh(Path(folder) / "mesh"))}


def _building(name: str) -> dict[str, object]:
    from nav_eval.scene.formats import read_scene

    scene = read_scene(SCENES / f"{name}.glb")
    return {f"build_{name}_seconds": min(_seconds(lambda: build_navigation(scene)) for _ in range(2))}


def _accuracy(worlds: ModuleType) -> dict[str, object]:
    """Errors in percent over pairs more than a metre apart."""
    figures: dict[str, object] = {}
    for label, turn in (("aligned", 0.0), ("rotated", 17.0)):
        errors = np.concatenate(
            [_errors(worlds, name, turn, radius) for name in worlds.ROOMS for radius in (0.1, 0.25)]
        )
        figures[f"error_{label}_mean_percent"] = float(errors.mean())
        figures[f"error_{label}_p95_percent"] = float(np.percentile(errors, 95))
        figures[f"error_{label}_max_percent"] = float(errors.max())
        figures[f"error_{label}_min_percent"] = float(errors.min())
    return figures


def _errors(worlds: ModuleType, name: str, turn: float, radius: float) -> np.ndarray:
    mesh, boxes = worlds.room_mesh(name, turn, radius)
    errors = []
    for seed in range(3):
        goal = mesh.random_navigable_point(seed)
        points = [mesh.random_navigable_point(100 * seed + k + 10) for k in range(60)]
        exact = worlds.exact_distances(boxes, radius, worlds.flat(goal), np.array([worlds.flat(p) for p in points]))
        field = mesh.distance_field([goal])
        ours = np.array([field.distance(point) for point in points])
        far = exact > 1.0
        errors.append(100.0 * (ours[far] - exact[far]) / exact[far])
    return np.concatenate(errors)


def _scene_mesh(name: str) -> NavigationMesh | None:
    from nav_eval.scene.formats import read_scene

    path = SCENES / f"{name}.glb"
    return build_navigation(read_scene(path), AgentShape()) if path.exists() else None


def _worlds() -> ModuleType:
    """The analytic worlds of the tests, and their exact solution."""
    sys.path.insert(0, str(ROOT / "tests/unit/scene/navigation"))
    import navigation_worlds  # type: ignore[import-not-found]

    return navigation_worlds


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _fastest(work: Callable[[], object]) -> float:
    work()  # compile
    return min(_seconds(work) for _ in range(ROUNDS))
