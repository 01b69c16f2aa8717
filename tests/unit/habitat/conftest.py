"""A simulator of Habitat's in the room of all tests."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import habitat_sim
from habitat_sim.utils.settings import default_sim_settings, make_cfg
from nav_eval.scene.formats import read_scene
from nav_eval.scene.model import SceneObject, Semantics
from nav_eval.scene.semantics import get_semantics_path, write_semantics


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAV_EVAL_CACHE", str(tmp_path_factory.mktemp("habitat-cache")))
        yield


@pytest.fixture(scope="session")
def annotated_room(room_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The room with the names of its things."""
    file = tmp_path_factory.mktemp("annotated") / "room.glb"
    shutil.copy(room_data / "room.glb", file)
    numbers = [int(number) for number in np.unique(read_scene(file).triangle_object) if number]
    things = tuple(
        SceneObject(object_id=number, category="thing", center=(0.0, 0.0, 0.0), size=(1.0, 1.0, 1.0))
        for number in numbers
    )
    write_semantics(Semantics(objects=things), get_semantics_path(file))
    return file


@pytest.fixture
def settings(room_data: Path) -> dict:
    return {
        **default_sim_settings,
        "scene": str(room_data / "room.glb"),
        "width": 64,
        "height": 48,
        "depth_sensor": True,
        "semantic_sensor": True,
    }


@pytest.fixture
def open_sim(settings: dict) -> Iterator[Callable[..., habitat_sim.Simulator]]:
    opened = []

    def make(**changes) -> habitat_sim.Simulator:
        opened.append(habitat_sim.Simulator(make_cfg({**settings, **changes})))
        return opened[-1]

    yield make
    for sim in opened:
        sim.close()


@pytest.fixture
def sim(open_sim) -> habitat_sim.Simulator:
    return open_sim()
