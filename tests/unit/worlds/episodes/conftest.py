"""One generated flat, shared by all tests here: making it takes a second or two."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.semantics import get_semantics_path, write_semantics
from nav_eval.simulator.scene_manager import SceneManager
from nav_eval_worlds.episodes.generation import _make_sites, generate_episodes
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.generator import load_base_benchmark
from nav_eval_worlds.houses import generate_house

FLAT = "flat.glb"


@pytest.fixture(scope="session")
def flat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one furnished flat."""
    folder = tmp_path_factory.mktemp("scenes")
    scene = generate_house(7, template="flat_1", split="unseen").scene
    write_glb(scene, folder / FLAT)
    write_semantics(scene.semantics, get_semantics_path(folder / FLAT))
    return folder


@pytest.fixture(scope="session")
def bare_scene() -> Scene:
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


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def benchmark_of(flat: Path) -> Callable[[str], BenchmarkConfig]:
    return lambda task: load_base_benchmark(task, flat)


@pytest.fixture(scope="session")
def site_of(benchmark_of: Callable[[str], BenchmarkConfig], cache: Path) -> Callable[[str], Site]:
    """The flat as the generator sees it, for a task's first robot."""

    @lru_cache
    def open_site(task: str) -> Site:
        benchmark = benchmark_of(task)
        return _make_sites(benchmark, FLAT, SceneManager(benchmark, cache=cache))[0]

    return open_site


@pytest.fixture(scope="session")
def episodes_of(benchmark_of: Callable[[str], BenchmarkConfig], cache: Path) -> Callable[[str], list[Episode]]:
    """A few episodes of a task in the flat; made once."""

    @lru_cache
    def generated(task: str) -> list[Episode]:
        count = 3 if task == "lh_vln" else 2
        return generate_episodes(benchmark_of(task), [FLAT], count=count, seed=1, split="val_unseen", cache=cache)

    return generated
