"""Generated data: what a benchmark says how to make, and episodes for a folder of scenes.

Two evaluations may start at once, and two benchmarks may share houses: each folder has a lock, whoever comes
second waits and then finds everything there. A file appears under its name only when it is complete.
"""

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nav_eval.config import load_benchmark
from nav_eval.config.schema import BenchmarkConfig, GenerateConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.errors import ConfigError, DatasetError
from nav_eval.generators import Relight, Say
from nav_eval.number_stream import draw_units
from nav_eval.scene.formats import SCENE_SUFFIXES
from nav_eval.scene.model import Material, Scene, Semantics, Texture
from nav_eval.scene.semantics import get_semantics_path
from nav_eval_worlds.episodes import generate_episodes, get_split_pool
from nav_eval_worlds.finish_table import FinishTable
from nav_eval_worlds.houses.baked_light import bake_house_light
from nav_eval_worlds.houses.house_files import get_house_file, read_manifest, write_houses
from nav_eval_worlds.houses.light_shares import HouseRelighting
from nav_eval_worlds.instructions.mentions import find_mentioned
from nav_eval_worlds.materials import FINISH_DRAWS, dress_material, get_finish_kind, make_finish
from nav_eval_worlds.randomness import DrawnStream

SHELL = ("wall", "floor", "ceiling")
FINISHES_PER_DRAW = 256  #: materials whose finishes come from one generator
LOCK = ".generating.lock"
BASE_BENCHMARKS = {
    "vln": "vln_base",
    "lh_vln": "lh_vln_base",
    "objectnav": "objectnav_base",
    "imagenav": "imagenav_base",
    "pointnav": "pointnav_base",
    "localization": "sqa3d_localization_base",
    "eqa": "eqa_base",
}


class HouseGenerator:
    """Our world generator: houses, and episodes in them."""

    def generate(self, benchmark: BenchmarkConfig, *, cache: Path, say: Say) -> bool:
        recipe, data_path = benchmark.dataset.generate, benchmark.dataset.data_path
        if recipe is None or data_path is None:
            raise ConfigError("A benchmark whose data is generated needs dataset.generate and dataset.data_path.")
        file = Path(data_path)
        with _lock_folder(file.parent):
            if file.exists():  # somebody else was faster
                return False
            scenes = _ensure_houses(recipe, Path(benchmark.dataset.scene_path), say)
            _write_episodes(benchmark, recipe, scenes, file=file, cache=cache, say=say)
        return True

    def vary_material(
        self, material: Material, *, seed: int, number: int
    ) -> tuple[Material, tuple[Texture, ...]] | None:
        kind = _get_shell_kind(material)
        return dress_material(material.name, make_finish(kind, _draw_finish(seed, number))) if kind else None

    def prepare_finishes(self, materials: Mapping[int, Material]) -> FinishTable:
        blocks, rows = np.divmod(np.array(list(materials), dtype=np.int64), FINISHES_PER_DRAW)
        used, place = np.unique(blocks, return_inverse=True)
        needed, chosen = used.tolist(), place * FINISHES_PER_DRAW + rows
        kinds = [_get_shell_kind(material) for material in materials.values()]
        return FinishTable(kinds, lambda seed: np.concatenate([_draw_block(seed, block) for block in needed])[chosen])

    def find_mentioned(self, semantics: Semantics, episode: Episode) -> frozenset[int]:
        return find_mentioned(semantics, episode)

    def bake_lighting(self, scene: Scene) -> NDArray[np.uint8]:
        return bake_house_light(scene)

    def prepare_lighting(self, scene: Scene) -> Relight:
        return HouseRelighting(scene)


def _get_shell_kind(material: Material) -> str:
    """The kind of finish of a wall, floor or ceiling; empty for anything else."""
    return get_finish_kind(material) if material.name.partition("/")[0] in SHELL else ""


def _draw_finish(seed: int, number: int) -> DrawnStream:
    """The draws for one material's finish; one generator makes those of many, as opening one takes longest."""
    block, row = divmod(number, FINISHES_PER_DRAW)
    return DrawnStream(_draw_finishes(seed, block)[row])


@lru_cache(maxsize=64)
def _draw_finishes(seed: int, block: int) -> list[list[float]]:
    draws: list[list[float]] = _draw_block(seed, block).tolist()
    return draws


def _draw_block(seed: int, block: int) -> NDArray[np.float64]:
    units = draw_units(seed, "seen", "finishes", block, count=FINISHES_PER_DRAW * FINISH_DRAWS)
    return units.reshape(FINISHES_PER_DRAW, FINISH_DRAWS)


def load_base_benchmark(task: str, scenes: Path, *, benchmark: str | None = None) -> BenchmarkConfig:
    """The rules that episodes of a task are generated under: the task's base benchmark, unless another is named."""
    if task not in BASE_BENCHMARKS:
        raise ConfigError(f"Episodes can be generated for {', '.join(BASE_BENCHMARKS)}, not for {task!r}.")
    config = load_benchmark(benchmark or BASE_BENCHMARKS[task], overrides=["dataset.data_path=generated.json"])
    if config.task.type != task:
        raise ConfigError(f"The benchmark {benchmark} is for {config.task.type}, not for {task}.")
    return config.model_copy(update={"dataset": config.dataset.model_copy(update={"scene_path": str(scenes)})})


def list_scenes(folder: Path, split: str) -> list[str]:
    """The scene ids of a folder that belong to a split.

    Generated houses say in their manifest which split they are for; scenes without a manifest are for any.
    """
    manifest = read_manifest(folder)
    if manifest is None:
        found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if _is_scene(path))
    else:
        found = [house.file for house in manifest.houses if house.split == get_split_pool(split)]
    if not found:
        what = f"{get_split_pool(split)} houses" if manifest else "scenes"
        raise DatasetError(
            f"There are no {what} in {folder}; make some with "
            f"`nav-eval scenes generate --split {get_split_pool(split)} --out {folder}`."
        )
    return found


def _is_scene(path: Path) -> bool:
    """Not the annotation of a scene, and of two files of one scene the smaller one, as HM3D has them."""
    is_one = path.suffix in SCENE_SUFFIXES and ".semantic." not in path.name
    return is_one and (path.name.endswith(".basis.glb") or not path.with_suffix(".basis.glb").exists())


def _ensure_houses(recipe: GenerateConfig, folder: Path, say: Say) -> list[str]:
    """The scene ids of the recipe's houses; those that are missing are made."""
    pool = get_split_pool(recipe.split)
    seeds = range(recipe.seed, recipe.seed + recipe.houses)
    names = [get_house_file(seed, pool, generator=recipe.generator) for seed in seeds]
    assets = None if recipe.assets is None else Path(recipe.assets)
    with _lock_folder(folder):
        for seed, name in enumerate(names, start=recipe.seed):
            if not ((folder / name).exists() and get_semantics_path(folder / name).exists()):
                say(f"Generating house {seed - recipe.seed + 1} of {len(names)}: {name}")
                list(write_houses(folder, count=1, seed=seed, split=pool, generator=recipe.generator, assets=assets))
    return names


def _write_episodes(
    benchmark: BenchmarkConfig, recipe: GenerateConfig, scenes: list[str], *, file: Path, cache: Path, say: Say
) -> None:
    episodes = generate_episodes(
        benchmark,
        scenes,
        count=recipe.episodes,
        seed=recipe.seed,
        split=recipe.split,
        subtasks=recipe.subtasks,
        generator=recipe.generator,
        language=recipe.language,
        cache=cache,
        say=lambda text: say(f"Generating {text}"),
    )
    write_episodes(file, episodes)
    say(f"Wrote {len(episodes)} episodes to {file}")


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
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
