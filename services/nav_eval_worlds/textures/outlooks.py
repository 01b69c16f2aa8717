"""What is seen through windows: five places at five times of day, seamless sideways, the horizon in the middle."""

from collections.abc import Callable

import numpy as np

from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.surfaces import Array, make_coordinates, make_layered_noise, make_noise

SIZE = (512, 512)

Colour = tuple[float, float, float]

#: colours of the upper and the lower sky, and the light on the ground
SKIES: dict[str, tuple[Colour, Colour, Colour]] = {
    "morning": ((0.55, 0.7, 0.9), (0.98, 0.88, 0.76), (1.0, 0.93, 0.82)),
    "noon": ((0.36, 0.58, 0.88), (0.83, 0.91, 0.97), (1.0, 1.0, 0.97)),
    "overcast": ((0.68, 0.72, 0.76), (0.85, 0.87, 0.89), (0.82, 0.84, 0.86)),
    "evening": ((0.35, 0.36, 0.56), (0.98, 0.64, 0.4), (0.72, 0.52, 0.46)),
    "night": ((0.015, 0.025, 0.06), (0.06, 0.08, 0.14), (0.07, 0.08, 0.12)),
}


def _paint_sky(draw: RandomStream, time: str) -> Array:
    top, low, _ = SKIES[time]
    rows, _ = make_coordinates(SIZE)
    blend = np.clip(rows * 2, 0, 1)[..., None] ** 1.4
    canvas = np.array(top) * (1 - blend) + np.array(low) * blend
    cover = {"overcast": 0.75, "night": 0.0}.get(time, 0.5)
    clouds = np.clip(make_layered_noise(draw, SIZE, (4, 6), 4) * 2.4 - 1.6 + cover, 0, 0.8)[..., None] * cover
    bright = np.clip(np.array(low) * 1.1, 0, 1)
    return canvas * (1 - clouds) + bright * clouds


def _fill_below(canvas: Array, line: Array, colour: Array) -> None:
    rows, _ = make_coordinates(SIZE)
    below = rows > line[None, :]
    canvas[below] = np.broadcast_to(colour, canvas.shape)[below]


def _make_ridge(draw: RandomStream, cells: int) -> Array:
    ridge: Array = make_noise(draw, (1, SIZE[1]), (1, cells))[0]
    return ridge


def _make_grain(draw: RandomStream, cells: tuple[int, int], strength: float) -> Array:
    grain: Array = 1 - strength / 2 + strength * make_layered_noise(draw, SIZE, cells, 3)[..., None]
    return grain


def _paint_garden(draw: RandomStream, time: str) -> Array:
    """A lawn, a hedge, and trees behind it."""
    light = np.array(SKIES[time][2])
    canvas = _paint_sky(draw, time)
    leaves = _make_grain(draw, (40, 80), 0.7)
    for layer, (height, green) in enumerate(((0.2, (0.32, 0.46, 0.3)), (0.12, (0.22, 0.38, 0.2)))):
        line = 0.48 - height * _make_ridge(draw, 8 + 6 * layer) - 0.03 * _make_ridge(draw, 90)
        _fill_below(canvas, line, np.array(green) * light * leaves)
    _fill_below(canvas, 0.46 - 0.008 * _make_ridge(draw, 120), np.array((0.18, 0.31, 0.15)) * light * leaves)
    _fill_below(canvas, np.full(SIZE[1], 0.54), np.array((0.4, 0.55, 0.27)) * light * _make_grain(draw, (90, 60), 0.35))
    return canvas


def _paint_hills(draw: RandomStream, time: str) -> Array:
    """Ridges that fade into the distance, fields in front."""
    light, far = np.array(SKIES[time][2]), np.array(SKIES[time][1])
    canvas = _paint_sky(draw, time)
    for layer in range(4):
        near = layer / 3
        colour = (far * (1 - near) * 0.8 + np.array((0.3, 0.42, 0.25)) * near * light) * _make_grain(
            draw, (30, 30), 0.2
        )
        _fill_below(canvas, 0.4 + 0.045 * layer - (0.16 - 0.035 * layer) * _make_ridge(draw, 3 + 2 * layer), colour)
    fields = np.where(
        make_noise(draw, SIZE, (10, 14))[..., None] > 0.5, np.array((0.62, 0.6, 0.34)), np.array((0.4, 0.54, 0.28))
    )
    _fill_below(canvas, np.full(SIZE[1], 0.56), fields * light * _make_grain(draw, (80, 80), 0.25))
    return canvas


def _paint_sea(draw: RandomStream, time: str) -> Array:
    """Water to the horizon, a beach in front."""
    light, far = np.array(SKIES[time][2]), np.array(SKIES[time][1])
    canvas = _paint_sky(draw, time)
    rows, _ = make_coordinates(SIZE)
    deep = np.clip((rows - 0.5) * 6, 0, 1)[..., None]
    water = (far * 0.75 * (1 - deep) + np.array((0.16, 0.38, 0.46)) * light * deep) * _make_grain(draw, (160, 12), 0.3)
    _fill_below(canvas, np.full(SIZE[1], 0.5), water)
    _fill_below(
        canvas,
        0.68 + 0.03 * _make_ridge(draw, 5),
        np.array((0.8, 0.72, 0.56)) * light * _make_grain(draw, (120, 120), 0.2),
    )
    return canvas


def _paint_block(canvas: Array, draw: RandomStream, *, left: int, right: int, top: int, bottom: int, time: str) -> None:
    """A building with rows of windows, some of them lit when it is dark."""
    light = np.array(SKIES[time][2])
    wall = np.array(
        draw.choice(((0.72, 0.66, 0.58), (0.6, 0.36, 0.3), (0.75, 0.74, 0.72), (0.55, 0.55, 0.58), (0.82, 0.78, 0.68)))
    )
    canvas[top:bottom, left:right] = wall * light * (0.9 + 0.1 * draw.unit())
    glass, lit = np.array((0.32, 0.4, 0.48)) * light, np.array((0.98, 0.85, 0.55))
    chance = {"night": 0.4, "evening": 0.3}.get(time, 0.0)
    for y in range(top + 8, bottom - 12, 18):
        for x in range(left + 6, right - 10, 14):
            canvas[y : y + 9, x : x + 7] = lit if draw.chance(chance) else glass


def _paint_street(draw: RandomStream, time: str) -> Array:
    """A row of houses across a road."""
    light = np.array(SKIES[time][2])
    canvas = _paint_sky(draw, time)
    x = 0
    while x < SIZE[1]:
        wide = min(draw.integer(56, 92), SIZE[1] - x)
        top = draw.integer(118, 176)
        _paint_block(canvas, draw, left=x, right=x + wide, top=top, bottom=290, time=time)
        roof = np.array(draw.choice(((0.45, 0.25, 0.2), (0.33, 0.33, 0.36), (0.4, 0.3, 0.25)))) * light
        canvas[top - 10 : top, x : x + wide] = roof
        x += wide
    grain = _make_grain(draw, (60, 60), 0.2)
    _fill_below(canvas, 0.56 - 0.02 * _make_ridge(draw, 40), np.array((0.24, 0.36, 0.2)) * light * grain)
    _fill_below(canvas, np.full(SIZE[1], 0.58), np.array((0.62, 0.61, 0.6)) * light * grain)
    _fill_below(canvas, np.full(SIZE[1], 0.64), np.array((0.32, 0.32, 0.34)) * light * grain)
    return canvas


def _paint_city(draw: RandomStream, time: str) -> Array:
    """Towers, the far ones paler."""
    far = np.array(SKIES[time][1])
    canvas = _paint_sky(draw, time)
    for layer in range(2):
        x = 0
        while x < SIZE[1]:
            wide = min(draw.integer(26, 54), SIZE[1] - x)
            top = draw.integer(90 + 60 * layer, 210 + 30 * layer)
            if layer == 0:
                canvas[top:330, x : x + wide] = far * 0.72 + 0.04
            else:
                _paint_block(canvas, draw, left=x, right=x + wide, top=top, bottom=350, time=time)
            x += wide + draw.integer(0, 8)
    green = np.array((0.25, 0.36, 0.22)) * np.array(SKIES[time][2])
    _fill_below(canvas, 0.62 - 0.04 * _make_ridge(draw, 30), green * _make_grain(draw, (50, 80), 0.6))
    return canvas


_PLACES: dict[str, Callable[[RandomStream, str], Array]] = {
    "garden": _paint_garden,
    "hills": _paint_hills,
    "sea": _paint_sea,
    "street": _paint_street,
    "city": _paint_city,
}


def get_outlook(place: str, time: str) -> str:
    """The name of the pattern."""
    return f"{place} at {time}"


def _make_painter(place: str, time: str) -> Callable[[RandomStream], Array]:
    return lambda draw: np.clip(_PLACES[place](draw, time), 0, 1)


PLACES = tuple(_PLACES)
OUTLOOKS: dict[str, Callable[[RandomStream], Array]] = {
    get_outlook(place, time): _make_painter(place, time) for place in PLACES for time in SKIES
}
