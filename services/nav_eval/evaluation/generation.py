"""Generated data: what a benchmark says how to make, and episodes for a folder of scenes.

Two evaluations may start at once, and two benchmarks may share houses: each folder has a lock, whoever comes
second waits and then finds everything there. A file appears under its name only when it is complete.
"""

import fcntl
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nav_eval.cache import cache_folder
from nav_eval.config import load_benchmark
from nav_eval.config.schema import BenchmarkConfig, GenerateConfig
from nav_eval.dataset.writing import write_episodes
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.scene.houses.writing import house_file, read_manifest, write_houses
from nav_eval.scene.semantics.own import semantics_path
from nav_eval.simulator.episode_generation import generate_episodes, pool_of

Say = Callable[[str], None]
LOCK = ".generating.lock"
SCENE_SUFFIXES = (".glb", ".gltf", ".ply", ".obj")
BASE_BENCHMARKS = {
    "vln": "vln_base",
    "lh_vln": "lh_vln_base",
    "objectnav": "objectnav_base",
    "imagenav": "imagenav_base",
    "pointnav": "pointnav_base",
    "localization": "sqa3d_localization_base",
}

log = logging.getLogger(__name__)


def ensure_generated(benchmark: BenchmarkConfig, *, cache: Path | None = None, say: Say = log.info) -> bool:
    """Make what `dataset.generate` describes if `data_path` is missing; whether anything was made."""
    recipe, data_path = benchmark.dataset.generate, benchmark.dataset.data_path
    if recipe is None or data_path is None or Path(data_path).exists():
        return False
    file = Path(data_path)
    with _locked(file.parent):
        if file.exists():  # somebody else was faster
            return False
        scenes = _houses(recipe, Path(benchmark.dataset.scene_path), say)
        _episodes(benchmark, recipe, scenes, file=file, cache=cache or cache_folder(), say=say)
    return True


def benchmark_for(task: str, scenes: Path, *, benchmark: str | None = None) -> BenchmarkConfig:
    """The rules that episodes of a task are generated under: the task's base benchmark, unless another is named."""
    if task not in BASE_BENCHMARKS:
        raise ConfigError(f"Episodes can be generated for {', '.join(BASE_BENCHMARKS)}, not for {task!r}.")
    config = load_benchmark(benchmark or BASE_BENCHMARKS[task], overrides=["dataset.data_path=generated.json"])
    if config.task.type != task:
        raise ConfigError(f"The benchmark {benchmark} is for {config.task.type}, not for {task}.")
    return config.model_copy(update={"dataset": config.dataset.model_copy(update={"scene_path": str(scenes)})})


def scenes_in(folder: Path, split: str) -> list[str]:
    """The scene ids of a folder that belong to a split.

    Generated houses say in their manifest which split they are for; scenes without a manifest are for any.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if _is_scene(path))
    else:
        found = [house.file for house in manifest.houses if house.split == pool_of(split)]
    if not found:
        what = f"{pool_of(split)} houses" if manifest else "scenes"
        raise DatasetError(
            f"There are no {what} in {folder}; make some with "
            f"`nav-eval scenes generate --split {pool_of(split)} --out {folder}`."
        )
    return found


def _is_scene(path: Path) -> bool:
    """Not the annotation of a scene, and of two files of one scene the smaller one, as HM3D has them."""
    is_one = path.suffix in SCENE_SUFFIXES and ".semantic." not in path.name
    return is_one and (path.name.endswith(".basis.glb") or not path.with_suffix(".basis.glb").exists())


def _houses(recipe: GenerateConfig, folder: Path, say: Say) -> list[str]:
    """The scene ids of the recipe's houses; those that are missing are made."""
    pool = pool_of(recipe.split)
    names = [house_file(seed, pool) for seed in range(recipe.seed, recipe.seed + recipe.houses)]
    with _locked(folder):
        for seed, name in enumerate(names, start=recipe.seed):
            if not ((folder / name).exists() and semantics_path(folder / name).exists()):
                say(f"Generating house {name}")
                list(write_houses(folder, count=1, seed=seed, split=pool))
    return names


def _episodes(
    benchmark: BenchmarkConfig, recipe: GenerateConfig, scenes: list[str], *, file: Path, cache: Path, say: Say
) -> None:
    episodes = generate_episodes(
        benchmark,
        scenes,
        count=recipe.episodes,
        seed=recipe.seed,
        split=recipe.split,
        subtasks=recipe.subtasks,
        cache=cache,
        say=lambda text: say(f"Generating {text}"),
    )
    write_episodes(file, episodes)
    say(f"Wrote {len(episodes)} episodes to {file}")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone in a folder. The kernel frees the lock of a process that dies."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("a")
    except OSError as error:
        raise DatasetError(
            f"Cannot generate data in {folder}: {error.strerror or error}. Set dataset.data_path and "
            "dataset.scene_path to folders that can be written."
        ) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
