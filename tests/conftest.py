"""What several test packages need: a small furnished room with episodes in it."""

import gc
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path
from typing import Any

# Before numpy, for this process and those that tests start: a second thread of its algebra waits by turning in circles,
# which is most of what small products of matrices cost.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.dataset.episode import Episode, Goal, Instruction, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.objects import place_objects
from support.scheduling import SharedFixtures, get_turn
from support.statements import compiled_once

# A busy machine is no failure: an example may take as long as it takes.
settings.register_profile("any-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("everyday", settings.get_profile("any-machine"), max_examples=20)  # `make unit`
settings.load_profile("any-machine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For `--dist loadgroup`; otherwise as xdist likes."""
    if config.getoption("dist") != "loadgroup":
        return None
    return SharedFixtures(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Ten thousand tests and all their modules stay: to look for garbage among them is a third of finding them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; otherwise as pytest has ordered them."""
    items.sort(key=lambda item: get_turn(item.nodeid))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was not proven here, and why: one line per reason, before the list of every test."""
    reasons = Counter(_get_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if reasons:
        terminalreporter.section("not run here, and why")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:5} {reason}")


def _get_reason(report: Any) -> str:
    where = report.longrepr
    said = where[2] if isinstance(where, tuple) else str(where)
    return str(said).removeprefix("Skipped: ")


@pytest.fixture(scope="session", autouse=True)
def shared_certificates() -> Iterator[None]:
    """All certificates of the world, which a client of httpx takes longer to read than to ask, are read once."""

    @cache
    def make(*environment: str | None) -> Any:
        return httpx.create_ssl_context()

    def share(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is True and cert is None and trust_env:
            return make(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return httpx.create_ssl_context(verify, cert, trust_env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", share)
        yield


@pytest.fixture(scope="session", autouse=True)
def shared_statements() -> Iterator[None]:
    """What SQLAlchemy compiles for the database of one test serves that of the next."""
    with compiled_once():
        yield


ROOM = {
    "floor": ((8.0, 0.1, 6.0), (0.0, -0.05, 0.0)),
    "wall_north": ((8.0, 2.5, 0.1), (0.0, 1.25, -3.0)),
    "wall_south": ((8.0, 2.5, 0.1), (0.0, 1.25, 3.0)),
    "wall_west": ((0.1, 2.5, 6.0), (-4.0, 1.25, 0.0)),
    "wall_east": ((0.1, 2.5, 6.0), (4.0, 1.25, 0.0)),
    "divider": ((0.1, 2.5, 4.0), (0.0, 1.25, -1.0)),  # leaves a passage in the south
    "table": ((1.0, 0.8, 1.0), (-2.0, 0.4, -1.0)),
    "chair": ((0.5, 0.9, 0.5), (2.5, 0.45, -2.0)),
}


def nothing() -> Scene:
    """A scene to put things into."""
    return Scene(
        positions=np.zeros((0, 3), np.float32),
        normals=np.zeros((0, 3), np.float32),
        uvs=np.zeros((0, 2), np.float32),
        colors=np.zeros((0, 4), np.uint8),
        triangles=np.zeros((0, 3), np.uint32),
        triangle_material=np.zeros(0, np.uint16),
        triangle_object=np.zeros(0, np.uint32),
        triangle_category=np.zeros(0, np.uint16),
        materials=(),
    )


@pytest.fixture
def empty_scene() -> Scene:
    return nothing()


def room_scene() -> Scene:
    colors = [(0.8, 0.7, 0.5), (0.9, 0.9, 0.9), (0.5, 0.3, 0.2), (0.2, 0.4, 0.8)]
    boxes = [
        PrimitiveCubeCfg(name=name, category=name.partition("_")[0], size=size, position=place, color=colors[i % 4])
        for i, (name, (size, place)) in enumerate(ROOM.items())
    ]
    return place_objects(nothing(), boxes, root=Path()).scene


def room_episode(name: str, start: Vec3, *goals: Vec3) -> Episode:
    subtasks = tuple(
        Subtask(target="chair", goals=(Goal(position=goal),), ground_truth_steps=20, ground_truth_distance=6.0)
        for goal in goals
    )
    private = PrivateEpisode(
        scene_id="room.glb",
        start=Pose(start),
        goals=(Goal(position=goals[-1]),),
        subtasks=subtasks,
        reference_path=(start, goals[-1]),
    )
    public = PublicEpisode(
        episode_id=name,
        instruction=Instruction(text="Go to the table, then to the chair."),
        object_category="chair",
    )
    return Episode(public=public, private=private)


TABLE_SIDE, CHAIR_SIDE = (-2.0, 0.0, 0.2), (2.5, 0.0, -1.2)
EPISODES = [
    room_episode("a", (-3.0, 0.0, 2.0), TABLE_SIDE, CHAIR_SIDE),
    room_episode("b", (3.0, 0.0, 2.0), CHAIR_SIDE, TABLE_SIDE),
    room_episode("c", (-3.0, 0.0, -2.5), CHAIR_SIDE, TABLE_SIDE),
    room_episode("d", (1.0, 0.0, 0.0), TABLE_SIDE, CHAIR_SIDE),
]


@pytest.fixture(scope="session")
def room_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with room.glb and val.json.gz."""
    folder = tmp_path_factory.mktemp("room")
    write_glb(room_scene(), folder / "room.glb")
    write_episodes(folder / "val.json.gz", EPISODES)
    return folder


@pytest.fixture
def room_benchmark(room_data: Path) -> Callable[..., BenchmarkConfig]:
    """A benchmark in the room: `room_benchmark("demo_vln", "evaluation.max_steps=50")`."""

    def make(name: str = "demo_lh_vln", *overrides: str) -> BenchmarkConfig:
        place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
        return load_benchmark(name, overrides=[*place, *overrides], environ={})

    return make
