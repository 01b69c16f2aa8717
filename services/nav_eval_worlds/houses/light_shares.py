"""A house lit again and again: its lights grow stronger, weaker or another colour, and stay where they are.

Light adds up over lights. So the share of every group of lights of one colour is found once; after that a change of
all lights costs a few sums per place. `baked_light` and `lighting` say what the light of a house is.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_nogil_kernel
from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.generators import LightTone
from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import Light, Scene
from nav_eval_worlds.houses.baked_light import FILM, bake_house_light, compute_sample_light, trace_samples
from nav_eval_worlds.houses.lighting import compute_vertex_light, find_glowing

WHITE: Vec3 = (1.0, 1.0, 1.0)
_BLOCK = 512
SAME = 1e-3  #: by how much the factors on lights of one group may differ: they are rounded


class HouseRelighting:
    """Vertex colours of one house under its lights, changed."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._groups = _group_lights(scene.lights)
        self._is_first = scene.semantics.generator == FIRST_GENERATOR
        if self._is_first:
            self._of_vertex = np.arange(len(scene.positions))
            wear = np.ones((len(scene.positions), 3))
        else:
            self._samples = trace_samples(scene)
            self._of_vertex, wear = self._samples.of_vertex, self._samples.wear
        self._wear = _make_planes(wear)
        self._is_worn = np.logical_or.reduceat((wear != 1.0).any(axis=1), np.arange(0, len(wear), _BLOCK))
        rest = self._compute_light([])
        shares = [_make_planes(self._compute_light(group) - rest) for group in self._groups]
        self._rest, *merged = _merge_alike([_make_planes(rest), *shares])
        self._shares = np.stack(merged)
        self.places = self._of_vertex.astype(np.int32)
        self.places[find_glowing(scene)] = len(rest)  # the last place is always bright

    def __call__(self, tones: Sequence[LightTone]) -> NDArray[np.uint8]:
        colors = self._colors
        factors = self._find_factors(tones)
        if factors is None:
            pairs = zip(self._scene.lights, tones, strict=True)
            lights = tuple(replace(light, color=tone.color, intensity=tone.intensity) for light, tone in pairs)
            colors[self.places] = bake_house_light(replace(self._scene, lights=lights))
            return colors
        gain, bend = (1.0, 0.0) if self._is_first else FILM
        film = np.float32(gain), np.float32(bend)
        _add_up(
            self._rest,
            self._shares,
            factors.astype(np.float32),
            film,
            self._wear,
            self._is_worn,
            colors.view(np.uint32).reshape(-1),
        )
        return colors

    @cached_property
    def _colors(self) -> NDArray[np.uint8]:
        return np.full((self._rest.shape[1] + 1, 4), 255, dtype=np.uint8)

    def _compute_light(self, group: Sequence[int]) -> NDArray[np.float64]:
        """Of these lights alone, all white."""
        lights = tuple(
            replace(light, color=WHITE, intensity=light.intensity if number in group else 0.0)
            for number, light in enumerate(self._scene.lights)
        )
        scene = replace(self._scene, lights=lights)
        return compute_vertex_light(scene) if self._is_first else compute_sample_light(scene, self._samples)

    def _find_factors(self, tones: Sequence[LightTone]) -> NDArray[np.float64] | None:
        """By group, on red, green and blue; None where lights of one group differ in what became of them."""
        factors = np.zeros((len(self._groups), 3))
        for number, group in enumerate(self._groups):
            changes = [tones[n].intensity / self._scene.lights[n].intensity for n in group]
            if max(changes) - min(changes) > SAME or len({tones[n].color for n in group}) > 1:
                return None
            is_own = self._is_first and self._scene.lights[group[0]].kind == "sun"  # daylight of the first
            factors[number] = changes[0] * np.array(WHITE if is_own else tones[group[0]].color)
        return factors


def _group_lights(lights: Sequence[Light]) -> list[list[int]]:
    """Numbers of the lights that are on, by kind and colour; sun and sky apart."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, light in enumerate(lights):
        if light.intensity > 0:
            direction = light.direction if light.kind == "sun" else None
            groups.setdefault((light.kind, light.color, direction), []).append(number)
    return list(groups.values())


def _make_planes(light: NDArray[np.float64]) -> NDArray[np.float32]:
    """Red of all places, then green, then blue: processors add several at once that way."""
    return np.ascontiguousarray(light.T, dtype=np.float32)


def _merge_alike(planes: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
    """One plane for all colours where every light is white in each, as those of a second house are: less to read."""
    if all((plane == plane[:1]).all() for plane in planes):
        return [np.ascontiguousarray(plane[:1]) for plane in planes]
    return list(planes)


@compile_nogil_kernel
def _add_up(
    rest: NDArray[np.float32],
    shares: NDArray[np.float32],
    factors: NDArray[np.float32],
    film: tuple[np.float32, np.float32],
    wear: NDArray[np.float32],
    is_worn: NDArray[np.bool_],
    out: NDArray[np.uint32],
) -> None:
    """A few places at a time, group after group; a plane that is alone stands for all colours.

    Where nothing is worn, which is most of a house, wear is not read.
    """
    light, shown = np.empty(_BLOCK, dtype=np.float32), np.empty((3, _BLOCK), dtype=np.int32)
    one, most, last = np.float32(1.0), np.float32(255.0), len(rest) - 1
    for start in range(0, rest.shape[1], _BLOCK):
        end = min(start + _BLOCK, rest.shape[1])
        for k in range(3):
            plane = min(k, last)
            own = rest[plane, start:end]
            for i in range(len(own)):
                light[i] = own[i]
            for group in range(len(shares)):
                factor, share = factors[group, k], shares[group, plane, start:end]
                for i in range(len(share)):
                    light[i] += factor * share[i]
            if is_worn[start // _BLOCK]:
                worn = wear[k, start:end]
                for i in range(len(worn)):
                    light[i] = film[0] * light[i] / (one + film[1] * light[i]) * worn[i]
            else:
                for i in range(end - start):
                    light[i] = film[0] * light[i] / (one + film[1] * light[i])
            byte = shown[k]
            for i in range(end - start):
                byte[i] = np.int32(min(max(light[i], np.float32(0.0)), one) * most + np.float32(0.5))
        red, green, blue, words = shown[0], shown[1], shown[2], out[start:end]
        for i in range(len(words)):
            words[i] = np.uint32(red[i] | green[i] << 8 | blue[i] << 16) | np.uint32(0xFF000000)
