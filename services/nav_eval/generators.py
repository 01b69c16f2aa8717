"""Generators of worlds: who makes the scenes and episodes that a benchmark describes instead of naming files.

A generator knows how its own scenes look, so it is also asked for another finish of one of its surfaces and for
the light of a scene whose lamps have changed. The engine imports none: packages announce theirs in the
entry-point group `nav_eval.generators`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import get_cache_folder
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.records.geometry import Vec3
from nav_eval.registry import Registry
from nav_eval.scene.model import Material, Scene, Semantics, Texture

Say = Callable[[str], None]
HOUSES = "houses"  #: the generator that `dataset.generate` means

log = logging.getLogger(__name__)


class LightTone(NamedTuple):
    """What becomes of a light where it stays as it is otherwise."""

    color: Vec3
    intensity: float


class Relight(Protocol):
    """The light of a scene, whose lamps grow stronger, weaker or another colour."""

    places: NDArray[np.int32]  #: by vertex; those of one place have one colour under any lights

    def __call__(self, tones: Sequence[LightTone]) -> NDArray[np.uint8]:
        """From the tones of the lights of the scene, in their order, to the colour of each place (N × 4).

        What comes back is good until the next call.
        """


class Finishes(Protocol):
    """Other finishes for surfaces of one scene."""

    @property
    def textures(self) -> Sequence[Texture]:
        """All that may be drawn."""

    def __call__(self, seed: int) -> tuple[NDArray[np.float64], Sequence[Texture | None]]:
        """Base colour (N × 4) and texture of each surface, one of these very objects."""


class WorldGenerator(Protocol):
    """What a package that generates worlds offers to the engine."""

    def generate(self, benchmark: BenchmarkConfig, *, cache: Path, say: Say) -> bool:
        """Make what `dataset.generate` describes; False where somebody else has made it meanwhile."""

    def vary_material(
        self, material: Material, *, seed: int, number: int
    ) -> tuple[Material, tuple[Texture, ...]] | None:
        """Another finish for a wall, floor or ceiling, its texture counted from 0; None for anything else."""

    def prepare_finishes(self, materials: Mapping[int, Material]) -> Finishes:
        """The same for all these materials, by number: what does not depend on the seed is found once."""

    def find_mentioned(self, semantics: Semantics, episode: Episode) -> frozenset[int]:
        """Ids of the objects that the words of an episode mention, or that may be taken for what they mention."""

    def bake_lighting(self, scene: Scene) -> NDArray[np.uint8]:
        """Vertex colours (V × 4) of a scene under its own lights."""

    def prepare_lighting(self, scene: Scene) -> Relight:
        """The same, for many changes of the scene's lights: what does not depend on their strength is found once."""


GENERATORS: Registry[Callable[[], WorldGenerator]] = Registry(
    "world generator", entry_point_group="nav_eval.generators"
)


def make_world_generator(name: str = HOUSES) -> WorldGenerator:
    return GENERATORS.get(name)()


def is_generated(benchmark: BenchmarkConfig) -> bool:
    """Whether there is nothing left to make of what `dataset.generate` describes."""
    data_path = benchmark.dataset.data_path
    return benchmark.dataset.generate is None or data_path is None or Path(data_path).exists()


def ensure_generated(benchmark: BenchmarkConfig, *, cache: Path | None = None, say: Say = log.info) -> bool:
    """Make what `dataset.generate` describes if `data_path` is missing; whether anything was made."""
    if is_generated(benchmark):
        return False
    return make_world_generator().generate(benchmark, cache=cache or get_cache_folder(), say=say)
