"""A house lit again and again: its lights grow stronger, weaker or another colour, and stay where they are.

Light adds up over lights. So the share of every group of lights of one colour is found once; after that a change of
all lights costs a few sums per place. `baked_light` and `lighting` say what the light of a house is.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel
from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Scene
from nav_eval_worlds.houses.baked_light import FILM, bake_house_light, compute_sample_light, trace_samples
from nav_eval_worlds.houses.lighting import compute_vertex_light, find_glowing

WHITE: Vec3 = (1.0, 1.0, 1.0)
SAME = 1e-3  #: by how much the factors on lights of one group may differ: they are rounded


class HouseRelighting:
    """Vertex colours of one house under its lights, changed."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._groups = _group_lights(scene.lights)
        self._is_first = scene.semantics.generator == FIRST_GENERATOR
        if self._is_first:
            self._of_vertex = np.arange(len(scene.positions))
            self._wear = np.ones((len(scene.positions), 3))
        else:
            self._samples = trace_samples(scene)
            self._of_vertex = self._samples.of_vertex
            self._wear = self._samples.wear
        self._is_glowing = find_glowing(scene)
        self._rest = self._compute_light([])
        self._shares = np.stack([self._compute_light(group) - self._rest for group in self._groups])

    def __call__(self, lights: Sequence[Light]) -> NDArray[np.uint8]:
        factors = self._find_factors(lights)
        if factors is None:
            return bake_house_light(replace(self._scene, lights=tuple(lights)))
        colors = np.full((len(self._of_vertex), 4), 255, dtype=np.uint8)
        film = (1.0, 0.0) if self._is_first else FILM
        _add_up(self._rest, self._shares, factors, self._of_vertex, self._is_glowing, film, self._wear, colors)
        return colors

    def _compute_light(self, group: Sequence[int]) -> NDArray[np.float64]:
        """Of these lights alone, all white."""
        lights = tuple(
            replace(light, color=WHITE, intensity=light.intensity if number in group else 0.0)
            for number, light in enumerate(self._scene.lights)
        )
        scene = replace(self._scene, lights=lights)
        return compute_vertex_light(scene) if self._is_first else compute_sample_light(scene, self._samples)

    def _find_factors(self, lights: Sequence[Light]) -> NDArray[np.float64] | None:
        """By group, on red, green and blue; None where lights of one group differ in what became of them."""
        factors = np.zeros((len(self._groups), 3))
        for number, group in enumerate(self._groups):
            changes = [lights[n].intensity / self._scene.lights[n].intensity for n in group]
            if max(changes) - min(changes) > SAME or len({lights[n].color for n in group}) > 1:
                return None
            has_color = not (self._is_first and lights[group[0]].kind == "sun")  # daylight of the first has its own
            factors[number] = changes[0] * np.array(lights[group[0]].color if has_color else WHITE)
        return factors


def _group_lights(lights: Sequence[Light]) -> list[list[int]]:
    """Numbers of the lights that are on, by kind and colour; sun and sky apart."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, light in enumerate(lights):
        if light.intensity > 0:
            direction = light.direction if light.kind == "sun" else None
            groups.setdefault((light.kind, light.color, direction), []).append(number)
    return list(groups.values())


@compile_nogil_kernel
def _add_up(
    rest: NDArray[np.float64],
    shares: NDArray[np.float64],
    factors: NDArray[np.float64],
    of_vertex: NDArray[np.int64],
    is_glowing: NDArray[np.bool_],
    film: tuple[float, float],
    wear: NDArray[np.float64],
    out: NDArray[np.uint8],
) -> None:
    count = len(rest)
    levels = np.empty((count, 3), dtype=np.uint8)
    for i in range(count):
        for k in range(3):
            light = rest[i, k]
            for group in range(len(shares)):
                light += factors[group, k] * shares[group, i, k]
            light = film[0] * light / (1 + film[1] * light) * wear[i, k]
            levels[i, k] = np.uint8(min(max(light, 0.0), 1.0) * 255 + 0.5)
    for vertex in range(len(of_vertex)):
        if not is_glowing[vertex]:
            for k in range(3):
                out[vertex, k] = levels[of_vertex[vertex], k]
