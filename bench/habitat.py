"""What Habitat's interface costs on top of the engine: CPU of this thread, rounds alternate.

`picture_step` is a step that turns and looks (RGB-D, 640 × 480): `step` of habitat_sim over `Simulator.step` in one
house. `blind_step` has no sensors. `find_path` asks for the way to a goal that nobody asked for before.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from nav_eval.config import load_benchmark
from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode
from nav_eval.records.geometry import Pose
from nav_eval.scene.formats import write_glb
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval_worlds.houses import generate_house

ROUNDS, TURNS, BLIND_STEPS, WAYS = 5, 36, 20_000, 60
ACTIONS = ("turn_left", "move_forward", "turn_left", "turn_left", "move_forward")


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NAV_EVAL_CACHE"] = str(Path(folder) / "cache")
        scene = Path(folder) / "house.glb"
        write_glb(generate_house(100, template="flat_2").scene, scene)
        return _measure_pictures(scene) | _measure_blind_steps(scene) | _measure_ways(scene)


def _open_theirs(scene: Path, *, sensors: bool):  # noqa: ANN202
    import habitat_sim
    from habitat_sim.utils.settings import default_sim_settings, make_cfg

    settings = {**default_sim_settings, "scene": str(scene), "color_sensor": sensors, "depth_sensor": sensors}
    return habitat_sim.Simulator(make_cfg({**settings, "sensor_height": 1.25}))


def _open_ours(scene: Path):  # noqa: ANN202
    camera = {"width": 640, "height": 480, "hfov": 90}
    overrides = [
        f"dataset.scene_path={scene.parent}",
        "dataset.data_path=unused.json",
        *(f"task.sensors.{name}.{key}={value}" for name in ("rgb", "depth") for key, value in camera.items()),
    ]
    benchmark = load_benchmark("pointnav_base", overrides=overrides, environ={})
    return open_simulator(SimulatorSetup(benchmark=benchmark, cache=Path(os.environ["NAV_EVAL_CACHE"])))


def _measure(job: Callable[[], object]) -> float:
    started = time.thread_time()
    job()
    return time.thread_time() - started


def _measure_pictures(scene: Path) -> dict[str, object]:
    import habitat_sim

    with _open_theirs(scene, sensors=True) as theirs, _open_ours(scene) as ours:
        place = tuple(float(x) for x in theirs.get_agent(0).state.position)
        theirs.get_agent(0).state = habitat_sim.AgentState(position=list(place))
        private = PrivateEpisode(scene_id=scene.name, start=Pose(place), goals=(Goal(position=place),))
        ours.reset(Episode(public=PublicEpisode(episode_id="a"), private=private), sensors=["rgb", "depth"])

        def turn(step: Callable[[str], object]) -> Callable[[], None]:
            return lambda: [step("turn_left") for _ in range(TURNS)] and None

        for step in (theirs.step, ours.step):
            turn(step)()
        rounds = [(_measure(turn(theirs.step)), _measure(turn(ours.step))) for _ in range(ROUNDS)]
    with_layer, without = (min(column) for column in zip(*rounds, strict=True))
    return {
        "picture_step_milliseconds": 1e3 * with_layer / TURNS,
        "picture_step_over_ours_ratio": statistics.median(first / second for first, second in rounds),
        "picture_step_best_over_best": with_layer / without,
    }


def _measure_blind_steps(scene: Path) -> dict[str, object]:
    with _open_theirs(scene, sensors=False) as sim:
        plan = [ACTIONS[k % len(ACTIONS)] for k in range(BLIND_STEPS)]

        def walk() -> None:
            for action in plan:
                sim.step(action)

        walk()
        return {"blind_steps_per_second": BLIND_STEPS / min(_measure(walk) for _ in range(3))}


def _measure_ways(scene: Path) -> dict[str, object]:
    import habitat_sim

    with _open_theirs(scene, sensors=False) as sim:
        mesh, finder = sim.pathfinder.mesh, sim.pathfinder
        pairs = [[finder.get_random_navigable_point() for _ in range(2)] for _ in range(4 * WAYS)]

        def ask_theirs(part: list) -> None:
            for start, end in part:
                path = habitat_sim.ShortestPath()
                path.requested_start, path.requested_end = start, end
                finder.find_path(path)
                path.points  # noqa: B018

        def ask_ours(part: list) -> None:
            for start, end in part:
                mesh.shortest_path(tuple(start), tuple(end))

        ask_theirs(pairs[:WAYS])
        ask_ours(pairs[WAYS : 2 * WAYS])
        with_layer = _measure(lambda: ask_theirs(pairs[2 * WAYS : 3 * WAYS]))
        without = _measure(lambda: ask_ours(pairs[3 * WAYS :]))
    return {"find_path_microseconds": 1e6 * with_layer / WAYS, "find_path_over_ours_ratio": with_layer / without}
