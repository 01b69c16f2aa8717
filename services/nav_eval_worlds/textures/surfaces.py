"""Repeating patterns of floors, walls, wood and cloth, and the seamless noise that they are made of.

Each painter paints one repeat (1.5 m) as brightness around white, which the material's colour tints;
three channels where the hue itself varies. Noise is basic arithmetic only, so that every machine paints the same bytes.
"""

import numpy as np
from numpy.typing import NDArray

from nav_eval_worlds.randomness import RandomStream

Array = NDArray[np.float64]


def make_noise(draw: RandomStream, shape: tuple[int, int], cells: tuple[int, int]) -> Array:
    """Smooth periodic noise in [0, 1]; `cells` bumps down and across."""
    lattice = draw.units(*cells)
    return _interpolate_rows(_interpolate_rows(lattice, shape[0]).T, shape[1]).T


def make_layered_noise(draw: RandomStream, shape: tuple[int, int], cells: tuple[int, int], octaves: int) -> Array:
    """Noise over noise, each octave twice as fine and half as strong."""
    total, weight, whole = np.zeros(shape), 1.0, 0.0
    for octave in range(octaves):
        scale = 1 << octave
        fine = (min(cells[0] * scale, shape[0]), min(cells[1] * scale, shape[1]))
        total += weight * make_noise(draw, shape, fine)
        whole, weight = whole + weight, weight / 2
    return total / whole


def make_speckle(draw: RandomStream, shape: tuple[int, int]) -> Array:
    """Independent pixels in [0, 1]."""
    return draw.units(*shape)


def make_coordinates(shape: tuple[int, int]) -> tuple[Array, Array]:
    """Rows and columns of the pixel centres in [0, 1), as broadcastable arrays."""
    rows = (np.arange(shape[0]) + 0.5)[:, None] / shape[0]
    columns = (np.arange(shape[1]) + 0.5)[None, :] / shape[1]
    return rows, columns


def _interpolate_rows(lattice: Array, size: int) -> Array:
    """Interpolate the rows of a periodic lattice to `size` rows."""
    count = len(lattice)
    place = np.arange(size) * (count / size)
    low = place.astype(np.int64)
    part = place - low
    smooth = (part * part * (3 - 2 * part))[:, None]
    first, second = lattice[low % count], lattice[(low + 1) % count]
    stretched: Array = first + (second - first) * smooth
    return stretched


LARGE, SMALL = (512, 512), (256, 256)


def paint_grain(draw: RandomStream) -> Array:
    """Wood with the grain along u."""
    return _tint_wood(_make_grain(draw, SMALL))


def paint_planks(draw: RandomStream) -> Array:
    return _make_boards(draw, rows=draw.choice((10, 12)))


def paint_wide_planks(draw: RandomStream) -> Array:
    return _make_boards(draw, rows=draw.choice((6, 8)))


def paint_parquet(draw: RandomStream) -> Array:
    """Squares of short strips, every other one turned."""
    size, squares, strips = LARGE[0], 4, draw.choice((4, 5))
    side = size // squares
    whole = np.ones(LARGE)
    for row in range(squares):
        for column in range(squares):
            patch = _make_strips(draw, side, strips)
            place = slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side)
            whole[place] = patch if (row + column) % 2 else patch.T
    return _tint_wood(whole)


def paint_tiles(draw: RandomStream) -> Array:
    return _make_tiles(draw, draw.choice((4, 5)), draw.choice((4, 5)))


def paint_large_tiles(draw: RandomStream) -> Array:
    return _make_tiles(draw, 2, draw.choice((2, 3)))


def paint_checker_tiles(draw: RandomStream) -> Array:
    count = draw.choice((4, 6))
    rows, columns = make_coordinates(LARGE)
    dark = ((rows * count).astype(int) + (columns * count).astype(int)) % 2
    light: Array = _make_tiles(draw, count, count) * (1 - dark * draw.between(0.35, 0.65))
    return light


def paint_square_tiles(draw: RandomStream) -> Array:
    return _make_tiles(draw, 10, 10, joint=0.95)


def paint_mosaic(draw: RandomStream) -> Array:
    return _make_tiles(draw, 30, 30, vary=0.25, joint=0.93)


def paint_subway_tiles(draw: RandomStream) -> Array:
    return _make_bond(draw, rows=draw.choice((16, 20)), columns=draw.choice((8, 10)), joint=0.82, vary=0.06)


def paint_brick(draw: RandomStream) -> Array:
    rough = make_layered_noise(draw, LARGE, (64, 64), 2)
    return _make_bond(draw, rows=20, columns=6, joint=1.25, vary=0.3) * (0.78 + 0.22 * rough) * 0.8


def paint_carpet(draw: RandomStream) -> Array:
    soft = make_layered_noise(draw, LARGE, (16, 16), 3)
    return 0.72 + 0.16 * soft + 0.12 * make_speckle(draw, LARGE)


def paint_concrete(draw: RandomStream) -> Array:
    return 0.7 + 0.24 * make_layered_noise(draw, LARGE, (4, 4), 5) + 0.05 * make_speckle(draw, LARGE)


def paint_plaster(draw: RandomStream) -> Array:
    return 0.955 + 0.03 * make_layered_noise(draw, SMALL, (16, 16), 3) + 0.012 * make_speckle(draw, SMALL)


def paint_wall_stripes(draw: RandomStream) -> Array:
    _, columns = make_coordinates(SMALL)
    count = draw.choice((6, 8, 10))
    stripe = ((columns * count * 2).astype(int) % 2) * np.ones(SMALL)
    return 1 - stripe * draw.between(0.08, 0.16) - 0.02 * make_speckle(draw, SMALL)


def paint_wall_dots(draw: RandomStream) -> Array:
    rows, columns = make_coordinates(SMALL)
    count = draw.choice((8, 10))
    shift = 0.5 * ((rows * count).astype(int) % 2)
    down, across = (rows * count) % 1 - 0.5, (columns * count + shift) % 1 - 0.5
    dot = (down * down + across * across) < draw.between(0.02, 0.05)
    return 1 - 0.2 * dot - 0.02 * make_speckle(draw, SMALL)


def paint_wall_diamonds(draw: RandomStream) -> Array:
    rows, columns = make_coordinates(SMALL)
    count = draw.choice((5, 6))
    down, across = abs((rows * count) % 1 - 0.5), abs((columns * count) % 1 - 0.5)
    line = abs(down + across - 0.5) < 0.05
    flower = (down * down + across * across) < 0.015
    return 1 - 0.16 * line - 0.2 * flower - 0.02 * make_speckle(draw, SMALL)


def paint_weave(draw: RandomStream) -> Array:
    rows, columns = np.indices(SMALL)
    over = ((rows // 2 + columns // 2) % 2) * 0.06
    return 0.86 + over + 0.08 * make_speckle(draw, SMALL)


def paint_tweed(draw: RandomStream) -> Array:
    rows, columns = np.indices(SMALL)
    bone = ((rows + np.where((columns // 8) % 2, columns, -columns)) // 2 % 4 < 2) * 0.13
    return 0.8 + bone + 0.07 * make_speckle(draw, SMALL)


def paint_knit(draw: RandomStream) -> Array:
    rows, columns = np.indices(SMALL)
    rib = abs((columns % 8) - 3.5) / 3.5
    stitch = ((rows + (columns % 8 > 3) * 2) % 6) / 6
    return 0.95 - 0.12 * rib - 0.07 * stitch - 0.04 * make_speckle(draw, SMALL)


def paint_plain_cloth(draw: RandomStream) -> Array:
    return 0.93 + 0.04 * make_layered_noise(draw, SMALL, (8, 8), 3) + 0.03 * make_speckle(draw, SMALL)


def paint_cloth_stripes(draw: RandomStream) -> Array:
    rows, _ = make_coordinates(SMALL)
    count = draw.choice((8, 10, 14))
    light = ((rows * count * 2).astype(int) % 2) * np.ones(SMALL)
    return 0.62 + 0.36 * light - 0.03 * make_speckle(draw, SMALL)


def paint_cloth_checks(draw: RandomStream) -> Array:
    rows, columns = make_coordinates(SMALL)
    count = draw.choice((8, 12))
    down, across = (rows * count * 2).astype(int) % 2, (columns * count * 2).astype(int) % 2
    light: Array = 0.64 + 0.18 * (down + across) - 0.03 * make_speckle(draw, SMALL)
    return light


def paint_leather(draw: RandomStream) -> Array:
    return 0.84 + 0.1 * make_layered_noise(draw, SMALL, (48, 48), 2) + 0.05 * make_noise(draw, SMALL, (6, 6))


def paint_brushed(draw: RandomStream) -> Array:
    return 0.88 + 0.1 * make_noise(draw, SMALL, (256, 6)) + 0.02 * make_speckle(draw, SMALL)


def paint_glaze(draw: RandomStream) -> Array:
    return 0.9 + 0.1 * make_layered_noise(draw, SMALL, (5, 5), 3)


def paint_marble(draw: RandomStream) -> Array:
    warp = make_layered_noise(draw, SMALL, (4, 4), 5)
    veins = abs(make_layered_noise(draw, SMALL, (3, 3), 6) - 0.5) * 2
    line = np.clip(1 - veins * 9, 0, 1)
    return 0.98 - 0.34 * line * line - 0.1 * warp


def paint_granite(draw: RandomStream) -> Array:
    grit = make_speckle(draw, SMALL)
    light: Array = 0.86 + 0.1 * make_layered_noise(draw, SMALL, (64, 64), 2) - 0.3 * (grit > 0.93) + 0.1 * (grit < 0.06)
    return light


def paint_wicker(draw: RandomStream) -> Array:
    rows, columns = np.indices(SMALL)
    over = (rows // 8 + columns // 16) % 2
    bulge = np.where(over, abs((columns % 16) - 7.5) / 7.5, abs((rows % 8) - 3.5) / 3.5)
    return 1 - 0.45 * bulge * bulge - 0.06 * make_speckle(draw, SMALL)


def paint_cardboard(draw: RandomStream) -> Array:
    return 0.9 + 0.05 * make_noise(draw, SMALL, (4, 128)) + 0.05 * make_layered_noise(draw, SMALL, (8, 8), 3)


def paint_leaves(draw: RandomStream) -> Array:
    clumps = make_layered_noise(draw, SMALL, (24, 24), 3)
    light = 0.55 + 0.75 * clumps
    return np.stack([light * 0.95, light, light * 0.85], axis=-1)


def paint_mirror(draw: RandomStream) -> Array:
    """A bright, cool gradient stands in for a reflection."""
    rows, columns = make_coordinates(SMALL)
    shine = abs(((rows + columns) * 2 + draw.between(0, 2)) % 2 - 1)
    return 0.86 + 0.14 * shine


def paint_pane(draw: RandomStream) -> Array:
    """Clear glass: a faint slanting sheen; the fourth channel says how much of it hides what is behind."""
    rows, columns = make_coordinates(SMALL)
    place = (rows + columns + draw.unit()) % 1
    wide, narrow = np.clip(1 - abs(place - 0.35) / 0.16, 0, 1), np.clip(1 - abs(place - 0.62) / 0.05, 0, 1)
    soft = make_layered_noise(draw, SMALL, (3, 3), 3)
    sheen = 0.2 + 0.5 * wide * (0.6 + 0.4 * soft) + 0.35 * narrow * soft + 0.1 * soft
    return np.stack([0.94 + 0 * sheen, 0.98 + 0 * sheen, 1.0 + 0 * sheen, sheen], axis=-1)


def _make_grain(draw: RandomStream, shape: tuple[int, int]) -> Array:
    long_waves = make_noise(draw, shape, (24, 2))
    streaks = make_noise(draw, shape, (shape[0] // 3, 4))
    pores = make_noise(draw, shape, (shape[0], 24))
    return 0.62 + 0.16 * long_waves + 0.14 * streaks + 0.08 * pores


def _tint_wood(light: Array) -> Array:
    """Darker wood is redder wood."""
    dark = 1 - light
    return np.stack([1 - 0.85 * dark, 1 - 1.05 * dark, 1 - 1.2 * dark], axis=-1)


def _make_boards(draw: RandomStream, rows: int) -> Array:
    """Rows of boards with staggered ends."""
    light = _make_grain(draw, LARGE)
    edges = [round(n * LARGE[0] / rows) for n in range(rows + 1)]
    for row in range(rows):
        strip = light[edges[row] : edges[row + 1]]
        strip[:] = np.roll(strip, draw.below(LARGE[1]), axis=1)
        ends = sorted((draw.below(LARGE[1] // 2), LARGE[1] // 2 + draw.below(LARGE[1] // 2)))
        strip[:, ends[0] : ends[1]] *= draw.uniform(0.84, 1.0)
        strip *= draw.uniform(0.9, 1.04)
        strip[:, ends] *= 0.55
        strip[-2:] *= 0.6
    return _tint_wood(np.clip(light, 0, 1))


def _make_strips(draw: RandomStream, side: int, strips: int) -> Array:
    patch = _make_grain(draw, (side, side))
    edges = [round(n * side / strips) for n in range(strips + 1)]
    for row in range(strips):
        patch[edges[row] : edges[row + 1]] *= draw.uniform(0.82, 1.04)
        patch[edges[row]] *= 0.7
    patch[:, 0] *= 0.7
    return np.clip(patch, 0, 1)


def _make_tiles(draw: RandomStream, rows: int, columns: int, *, vary: float = 0.08, joint: float = 0.7) -> Array:
    down, across = make_coordinates(LARGE)
    shades = 1 - vary * draw.units(rows, columns)
    light = shades[(down * rows).astype(int), (across * columns).astype(int)]
    light = light * (0.94 + 0.06 * make_layered_noise(draw, LARGE, (6, 6), 4))
    width = max(2.0, LARGE[0] / rows * 0.02)
    gap = ((down * LARGE[0]) % (LARGE[0] / rows) < width) | ((across * LARGE[1]) % (LARGE[1] / columns) < width)
    return np.where(gap, joint, light)


def _make_bond(draw: RandomStream, *, rows: int, columns: int, joint: float, vary: float) -> Array:
    """Stones in rows, every other row shifted by half a stone."""
    down, across = make_coordinates(LARGE)
    row = (down * rows).astype(int)
    place = across * columns + 0.5 * (row % 2)
    shades = 1 - vary * draw.units(rows, columns)
    light = shades[row, place.astype(int) % columns]
    gap = ((down * rows) % 1 < 0.09) | (place % 1 < 0.09 * columns / rows)
    return np.where(gap, joint, light)
