"""Pictures that are shown once: paintings, photographs, screens, rugs, a clock's dial, the view outside."""

from itertools import pairwise

import numpy as np

from nav_eval_worlds.colours import SHADES
from nav_eval_worlds.randomness import RandomStream
from nav_eval_worlds.textures.surfaces import Array, make_coordinates, make_layered_noise, make_noise, make_speckle

SIZE = (256, 256)
VIEW = (512, 512)

Colour = tuple[float, float, float]


def paint_landscape(draw: RandomStream) -> Array:
    """Sky, sun and rows of hills."""
    canvas = _paint_sky(draw, SIZE)
    sun = (draw.uniform(0.15, 0.4), draw.uniform(0.2, 0.8))
    _paint_disc(canvas, sun, draw.uniform(0.05, 0.1), _choose_colour(draw, "yellow", "orange", "white"))
    for layer in range(3):
        colour = _choose_colour(draw, "green", "dark green", "teal", "brown")
        colour = _mix_colours(colour, (0.75, 0.82, 0.9), 0.5 - 0.25 * layer)
        ridge = make_noise(draw, (1, SIZE[1]), (1, 3 + layer))[0]
        _fill_below(canvas, 0.45 + 0.17 * layer + 0.22 * (ridge - 0.5), colour)
    return _add_brushwork(canvas, draw)


def paint_seascape(draw: RandomStream) -> Array:
    """Sky, water and a sail."""
    canvas = _paint_sky(draw, SIZE)
    horizon = draw.uniform(0.45, 0.6)
    _fill_below(canvas, np.full(SIZE[1], horizon), _choose_colour(draw, "blue", "teal", "dark blue"))
    x = draw.uniform(0.25, 0.75)
    sail = _choose_colour(draw, "white", "red")
    _paint_triangle(canvas, (horizon - 0.25, x), (horizon + 0.02, x + 0.14), (horizon + 0.02, x), sail)
    hull = _choose_colour(draw, "brown", "dark brown")
    _paint_rect(canvas, (horizon + 0.02, x - 0.07), (horizon + 0.07, x + 0.15), hull)
    return _add_brushwork(canvas, draw)


def paint_abstract(draw: RandomStream) -> Array:
    """Coloured fields between black lines."""
    canvas = np.ones((*SIZE, 3)) * 0.95
    rows = [0.0, *sorted(draw.uniform(0.1, 0.9) for _ in range(3)), 1.0]
    columns = [0.0, *sorted(draw.uniform(0.1, 0.9) for _ in range(3)), 1.0]
    for top, bottom in pairwise(rows):
        for left, right in pairwise(columns):
            if draw.chance(0.55):
                colour = _choose_colour(draw, "red", "blue", "yellow", "white", "black", "orange")
                _paint_rect(canvas, (top, left), (bottom, right), colour)
    for row in rows[1:-1]:
        _paint_rect(canvas, (row - 0.012, 0), (row + 0.012, 1), (0.06, 0.06, 0.06))
    for column in columns[1:-1]:
        _paint_rect(canvas, (0, column - 0.012), (1, column + 0.012), (0.06, 0.06, 0.06))
    return canvas


def paint_shapes(draw: RandomStream) -> Array:
    """Circles and bars on a plain ground."""
    canvas = _make_canvas(_choose_colour(draw, "beige", "white", "light blue", "pink", "dark blue"))
    for _ in range(draw.integer(3, 6)):
        colour = _choose_colour(draw, "red", "orange", "yellow", "teal", "blue", "black", "purple", "green")
        row, column, size = draw.uniform(0.15, 0.85), draw.uniform(0.15, 0.85), draw.uniform(0.06, 0.24)
        if draw.chance(0.6):
            _paint_disc(canvas, (row, column), size, colour)
        else:
            _paint_rect(canvas, (row - size / 4, column - size), (row + size / 4, column + size), colour)
    return canvas


def paint_stripes_art(draw: RandomStream) -> Array:
    canvas = np.ones((*SIZE, 3))
    place = 0.0
    while place < 1:
        width = draw.uniform(0.04, 0.2)
        _paint_rect(canvas, (0, place), (1, place + width), _choose_colour(draw, *SHADES))
        place += width
    return canvas


def paint_flowers(draw: RandomStream) -> Array:
    """A bunch in a vase."""
    canvas = _make_canvas(_choose_colour(draw, "beige", "light blue", "dark green", "grey"))
    _paint_rect(canvas, (0.78, 0), (1, 1), _choose_colour(draw, "brown", "light brown", "white"))
    vase = _choose_colour(draw, "white", "blue", "teal", "red")
    _paint_triangle(canvas, (1.1, 0.5), (0.55, 0.35), (0.55, 0.65), vase)
    for _ in range(14):
        middle = (draw.uniform(0.18, 0.58), draw.uniform(0.26, 0.74))
        _paint_disc(canvas, middle, 0.07, _choose_colour(draw, "green", "dark green"))
    for _ in range(9):
        middle, radius = (draw.uniform(0.18, 0.5), draw.uniform(0.27, 0.73)), draw.uniform(0.05, 0.085)
        petals = _choose_colour(draw, "red", "pink", "yellow", "white", "purple", "orange")
        _paint_disc(canvas, middle, radius, petals)
        _paint_disc(canvas, middle, 0.02, _choose_colour(draw, "yellow", "brown"))
    return _add_brushwork(canvas, draw)


def paint_portrait(draw: RandomStream) -> Array:
    """Head and shoulders."""
    canvas = _make_canvas(_choose_colour(draw, "light grey", "light blue", "beige", "dark green", "grey"))
    skin = _mix_colours((0.95, 0.8, 0.68), (0.42, 0.27, 0.18), draw.unit())
    hair = _choose_colour(draw, "black", "dark brown", "light brown", "brown", "light grey")
    _paint_disc(canvas, (1.08, 0.5), 0.38, _choose_colour(draw, "blue", "red", "white", "dark grey", "green"))
    _paint_rect(canvas, (0.55, 0.44), (0.75, 0.56), skin)
    _paint_disc(canvas, (0.38, 0.5), 0.205, hair)
    _paint_disc(canvas, (0.44, 0.5), 0.175, skin)
    for side in (-1, 1):
        _paint_disc(canvas, (0.42, 0.5 + side * 0.065), 0.017, (0.1, 0.08, 0.08))
    _paint_rect(canvas, (0.52, 0.46), (0.532, 0.54), (0.6, 0.25, 0.22))
    return canvas


def paint_animal(draw: RandomStream) -> Array:
    """A cat, from the front."""
    canvas = _make_canvas(_choose_colour(draw, "light blue", "beige", "pink", "green", "yellow"))
    fur = _choose_colour(draw, "orange", "black", "grey", "white", "brown")
    _paint_disc(canvas, (0.95, 0.5), 0.3, fur)
    for side in (-1, 1):
        _paint_triangle(canvas, (0.12, 0.5 + side * 0.22), (0.42, 0.5 + side * 0.25), (0.34, 0.5 + side * 0.03), fur)
    _paint_disc(canvas, (0.46, 0.5), 0.24, fur)
    for side in (-1, 1):
        _paint_disc(canvas, (0.42, 0.5 + side * 0.1), 0.045, (0.75, 0.85, 0.35))
        _paint_disc(canvas, (0.42, 0.5 + side * 0.1), 0.02, (0.05, 0.05, 0.05))
    _paint_disc(canvas, (0.52, 0.5), 0.022, (0.85, 0.5, 0.5))
    return canvas


def paint_programme(draw: RandomStream) -> Array:
    """What a television shows."""
    maker = draw.choice((paint_landscape, paint_seascape, paint_portrait))
    return np.clip(maker(draw) * 0.85, 0, 1)


def paint_desktop(draw: RandomStream) -> Array:
    """Windows on a computer's screen."""
    canvas = _make_canvas(_choose_colour(draw, "blue", "teal", "dark blue", "purple"))
    for _ in range(2):
        top, left = draw.uniform(0.08, 0.35), draw.uniform(0.06, 0.45)
        _paint_rect(canvas, (top, left), (top + 0.5, left + 0.48), (0.95, 0.95, 0.96))
        _paint_rect(canvas, (top, left), (top + 0.05, left + 0.48), (0.3, 0.33, 0.4))
        for line in range(7):
            row = top + 0.1 + 0.05 * line
            _paint_rect(canvas, (row, left + 0.04), (row + 0.02, left + draw.uniform(0.2, 0.44)), (0.45, 0.48, 0.55))
    _paint_rect(canvas, (0.94, 0), (1, 1), (0.12, 0.13, 0.16))
    return canvas


def paint_dial(draw: RandomStream) -> Array:
    """A clock's face."""
    canvas = _make_canvas(_choose_colour(draw, "white", "beige", "white"))
    ink = (0.08, 0.08, 0.1)
    for hour in range(12):
        row, column = _HOURS[hour]
        _paint_disc(canvas, (0.5 + 0.4 * row, 0.5 + 0.4 * column), 0.035 if hour % 3 == 0 else 0.02, ink)
    for length, width, hour in ((0.24, 0.022, draw.below(12)), (0.35, 0.014, draw.below(12))):
        for step in range(40):
            row, column = _HOURS[hour]
            _paint_disc(canvas, (0.5 + length * row * step / 40, 0.5 + length * column * step / 40), width, ink)
    return canvas


def paint_rug_border(draw: RandomStream) -> Array:
    rows, columns = make_coordinates(SIZE)
    rim = np.minimum(np.minimum(rows, 1 - rows), np.minimum(columns, 1 - columns))
    bands = np.where(
        rim < 0.04, 0.7, np.where(rim < 0.07, 1.0, np.where(rim < 0.16, 0.78, np.where(rim < 0.18, 1.0, 0.92)))
    )
    heart = abs(rows - 0.5) + abs(columns - 0.5)
    bands = np.where(heart < 0.2, 0.65, bands)
    bands = np.where(heart < 0.12, 1.0, bands)
    return bands * (0.92 + 0.08 * make_speckle(draw, SIZE))


def paint_rug_stripes(draw: RandomStream) -> Array:
    light = np.ones(SIZE)
    place = 0.0
    while place < 1:
        width = draw.uniform(0.03, 0.12)
        light[round(place * SIZE[0]) : round((place + width) * SIZE[0])] = draw.choice((0.7, 0.82, 0.92, 1.0))
        place += width
    return light * (0.92 + 0.08 * make_speckle(draw, SIZE))


def paint_rug_diamonds(draw: RandomStream) -> Array:
    rows, columns = make_coordinates(SIZE)
    count = draw.choice((4, 6))
    heart = abs((rows * count) % 1 - 0.5) + abs((columns * count) % 1 - 0.5)
    light = np.where(heart < 0.2, 0.74, np.where(heart < 0.32, 1.0, 0.9))
    rim = np.minimum(np.minimum(rows, 1 - rows), np.minimum(columns, 1 - columns))
    return np.where(rim < 0.05, 0.7, light) * (0.92 + 0.08 * make_speckle(draw, SIZE))


def paint_smudge(draw: RandomStream) -> Array:
    """Where hands have been: most in the middle, nothing at the rim; the fourth channel says how much."""
    rows, columns = make_coordinates(SIZE)
    away = np.sqrt(((rows - 0.5) / 0.5) ** 2 + ((columns - 0.5) / 0.5) ** 2)
    much = np.clip(1 - away, 0, 1) * (0.35 + 0.65 * make_layered_noise(draw, SIZE, (5, 5), 3))
    return np.stack([0.36 + 0 * much, 0.3 + 0 * much, 0.23 + 0 * much, much], axis=-1)


def paint_view(draw: RandomStream) -> Array:
    """What is outside: sky, clouds, trees on the horizon and a lawn; seamless from left to right."""
    top, low = draw.choice(
        (
            ((0.36, 0.6, 0.9), (0.83, 0.91, 0.97)),
            ((0.5, 0.66, 0.85), (0.95, 0.9, 0.82)),
            ((0.62, 0.7, 0.78), (0.86, 0.88, 0.9)),
        )
    )
    rows, _ = make_coordinates(VIEW)
    blend = np.clip(rows * 2, 0, 1)[..., None]
    canvas = np.array(top) * (1 - blend) + np.array(low) * blend + np.zeros((*VIEW, 1))
    clouds = np.clip(make_layered_noise(draw, VIEW, (4, 6), 4) * 2.4 - 1.25, 0, 0.85) * (rows < 0.48)
    clouds = clouds[..., None]
    canvas = canvas * (1 - clouds) + clouds
    tree_line = (
        0.47 - 0.09 * make_noise(draw, (1, VIEW[1]), (1, 24))[0] - 0.03 * make_noise(draw, (1, VIEW[1]), (1, 96))[0]
    )
    _fill_below(canvas, tree_line, (0.2, 0.36, 0.2))
    canvas[:] = np.where((rows > 0.5)[..., None], np.array([0.42, 0.6, 0.3]), canvas)
    texture = 0.82 + 0.3 * make_layered_noise(draw, VIEW, (48, 96), 2)[..., None]
    return np.clip(np.where((rows > 0.36)[..., None], canvas * texture, canvas), 0, 1)


#: where the hours are, as (down, right) on a unit circle
_HOURS = (
    (-1, 0), (-0.866, 0.5), (-0.5, 0.866), (0, 1), (0.5, 0.866), (0.866, 0.5),
    (1, 0), (0.866, -0.5), (0.5, -0.866), (0, -1), (-0.5, -0.866), (-0.866, -0.5),
)  # fmt: skip


def _make_canvas(colour: Colour) -> Array:
    """A canvas of one colour."""
    canvas: Array = np.ones((*SIZE, 3)) * np.array(colour)
    return canvas


def _paint_sky(draw: RandomStream, shape: tuple[int, int]) -> Array:
    top = np.array(_choose_colour(draw, "blue", "light blue", "dark blue", "purple"))
    low = np.array(_choose_colour(draw, "light blue", "beige", "pink", "orange"))
    rows, _ = make_coordinates(shape)
    return top * (1 - rows[..., None]) + low * rows[..., None] + np.zeros((*shape, 1))


def _fill_below(canvas: Array, line: Array, colour: Colour) -> None:
    rows, _ = make_coordinates((canvas.shape[0], canvas.shape[1]))
    canvas[rows > line[None, :]] = colour


def _paint_disc(canvas: Array, middle: tuple[float, float], radius: float, colour: Colour) -> None:
    rows, columns = make_coordinates((canvas.shape[0], canvas.shape[1]))
    down, right = rows - middle[0], columns - middle[1]
    canvas[down * down + right * right < radius * radius] = colour


def _paint_rect(canvas: Array, low: tuple[float, float], high: tuple[float, float], colour: Colour) -> None:
    height, width = canvas.shape[:2]
    top, left = max(0, round(low[0] * height)), max(0, round(low[1] * width))
    canvas[top : round(high[0] * height), left : round(high[1] * width)] = colour


def _paint_triangle(
    canvas: Array, a: tuple[float, float], b: tuple[float, float], c: tuple[float, float], colour: Colour
) -> None:
    rows, columns = make_coordinates((canvas.shape[0], canvas.shape[1]))
    ab, bc, ca = (
        (q[1] - p[1]) * (rows - p[0]) - (q[0] - p[0]) * (columns - p[1]) > 0 for p, q in ((a, b), (b, c), (c, a))
    )
    canvas[(ab == bc) & (bc == ca)] = colour


def _add_brushwork(canvas: Array, draw: RandomStream) -> Array:
    strokes = 0.9 + 0.16 * make_layered_noise(draw, SIZE, (64, 24), 2)
    return np.clip(canvas * strokes[..., None], 0, 1)


def _choose_colour(draw: RandomStream, *names: str) -> Colour:
    text = draw.choose_pooled(SHADES[draw.choice(names)])
    return int(text[0:2], 16) / 255, int(text[2:4], 16) / 255, int(text[4:6], 16) / 255


def _mix_colours(one: Colour, other: Colour, share: float) -> Colour:
    red, green, blue = (a * (1 - share) + b * share for a, b in zip(one, other, strict=True))
    return red, green, blue
