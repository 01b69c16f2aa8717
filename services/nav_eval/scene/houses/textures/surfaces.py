"""Repeating patterns of floors, walls, wood and cloth.

Each maker paints one repeat (1.5 m) as brightness around white, which the material's colour tints;
three channels where the hue itself varies.
"""

import numpy as np

from nav_eval.scene.houses.randomness import Draw
from nav_eval.scene.houses.textures.noise import Array, coordinates, layered, noise, speckle

LARGE, SMALL = (512, 512), (256, 256)


def grain(draw: Draw) -> Array:
    """Wood with the grain along u."""
    return _tinted(_grain(draw, SMALL))


def planks(draw: Draw) -> Array:
    return _boards(draw, rows=draw.choice((10, 12)))


def wide_planks(draw: Draw) -> Array:
    return _boards(draw, rows=draw.choice((6, 8)))


def parquet(draw: Draw) -> Array:
    """Squares of short strips, every other one turned."""
    size, squares, strips = LARGE[0], 4, draw.choice((4, 5))
    side = size // squares
    whole = np.ones(LARGE)
    for row in range(squares):
        for column in range(squares):
            patch = _strips(draw, side, strips)
            place = slice(row * side, (row + 1) * side), slice(column * side, (column + 1) * side)
            whole[place] = patch if (row + column) % 2 else patch.T
    return _tinted(whole)


def tiles(draw: Draw) -> Array:
    return _tiles(draw, draw.choice((4, 5)), draw.choice((4, 5)))


def large_tiles(draw: Draw) -> Array:
    return _tiles(draw, 2, draw.choice((2, 3)))


def checker_tiles(draw: Draw) -> Array:
    count = draw.choice((4, 6))
    rows, columns = coordinates(LARGE)
    dark = ((rows * count).astype(int) + (columns * count).astype(int)) % 2
    light: Array = _tiles(draw, count, count) * (1 - dark * draw.between(0.35, 0.65))
    return light


def square_tiles(draw: Draw) -> Array:
    return _tiles(draw, 10, 10, joint=0.95)


def mosaic(draw: Draw) -> Array:
    return _tiles(draw, 30, 30, vary=0.25, joint=0.93)


def subway_tiles(draw: Draw) -> Array:
    return _bond(draw, rows=draw.choice((16, 20)), columns=draw.choice((8, 10)), joint=0.82, vary=0.06)


def brick(draw: Draw) -> Array:
    rough = layered(draw, LARGE, (64, 64), 2)
    return _bond(draw, rows=20, columns=6, joint=1.25, vary=0.3) * (0.78 + 0.22 * rough) * 0.8


def carpet(draw: Draw) -> Array:
    soft = layered(draw, LARGE, (16, 16), 3)
    return 0.72 + 0.16 * soft + 0.12 * speckle(draw, LARGE)


def concrete(draw: Draw) -> Array:
    return 0.7 + 0.24 * layered(draw, LARGE, (4, 4), 5) + 0.05 * speckle(draw, LARGE)


def plaster(draw: Draw) -> Array:
    return 0.955 + 0.03 * layered(draw, SMALL, (16, 16), 3) + 0.012 * speckle(draw, SMALL)


def wall_stripes(draw: Draw) -> Array:
    _, columns = coordinates(SMALL)
    count = draw.choice((6, 8, 10))
    stripe = ((columns * count * 2).astype(int) % 2) * np.ones(SMALL)
    return 1 - stripe * draw.between(0.08, 0.16) - 0.02 * speckle(draw, SMALL)


def wall_dots(draw: Draw) -> Array:
    rows, columns = coordinates(SMALL)
    count = draw.choice((8, 10))
    shift = 0.5 * ((rows * count).astype(int) % 2)
    down, across = (rows * count) % 1 - 0.5, (columns * count + shift) % 1 - 0.5
    dot = (down * down + across * across) < draw.between(0.02, 0.05)
    return 1 - 0.2 * dot - 0.02 * speckle(draw, SMALL)


def wall_diamonds(draw: Draw) -> Array:
    rows, columns = coordinates(SMALL)
    count = draw.choice((5, 6))
    down, across = abs((rows * count) % 1 - 0.5), abs((columns * count) % 1 - 0.5)
    line = abs(down + across - 0.5) < 0.05
    flower = (down * down + across * across) < 0.015
    return 1 - 0.16 * line - 0.2 * flower - 0.02 * speckle(draw, SMALL)


def weave(draw: Draw) -> Array:
    rows, columns = np.indices(SMALL)
    over = ((rows // 2 + columns // 2) % 2) * 0.06
    return 0.86 + over + 0.08 * speckle(draw, SMALL)


def tweed(draw: Draw) -> Array:
    rows, columns = np.indices(SMALL)
    bone = ((rows + np.where((columns // 8) % 2, columns, -columns)) // 2 % 4 < 2) * 0.13
    return 0.8 + bone + 0.07 * speckle(draw, SMALL)


def knit(draw: Draw) -> Array:
    rows, columns = np.indices(SMALL)
    rib = abs((columns % 8) - 3.5) / 3.5
    stitch = ((rows + (columns % 8 > 3) * 2) % 6) / 6
    return 0.95 - 0.12 * rib - 0.07 * stitch - 0.04 * speckle(draw, SMALL)


def plain_cloth(draw: Draw) -> Array:
    return 0.93 + 0.04 * layered(draw, SMALL, (8, 8), 3) + 0.03 * speckle(draw, SMALL)


def cloth_stripes(draw: Draw) -> Array:
    rows, _ = coordinates(SMALL)
    count = draw.choice((8, 10, 14))
    light = ((rows * count * 2).astype(int) % 2) * np.ones(SMALL)
    return 0.62 + 0.36 * light - 0.03 * speckle(draw, SMALL)


def cloth_checks(draw: Draw) -> Array:
    rows, columns = coordinates(SMALL)
    count = draw.choice((8, 12))
    down, across = (rows * count * 2).astype(int) % 2, (columns * count * 2).astype(int) % 2
    light: Array = 0.64 + 0.18 * (down + across) - 0.03 * speckle(draw, SMALL)
    return light


def leather(draw: Draw) -> Array:
    return 0.84 + 0.1 * layered(draw, SMALL, (48, 48), 2) + 0.05 * noise(draw, SMALL, (6, 6))


def brushed(draw: Draw) -> Array:
    return 0.88 + 0.1 * noise(draw, SMALL, (256, 6)) + 0.02 * speckle(draw, SMALL)


def glaze(draw: Draw) -> Array:
    return 0.9 + 0.1 * layered(draw, SMALL, (5, 5), 3)


def marble(draw: Draw) -> Array:
    warp = layered(draw, SMALL, (4, 4), 5)
    veins = abs(layered(draw, SMALL, (3, 3), 6) - 0.5) * 2
    line = np.clip(1 - veins * 9, 0, 1)
    return 0.98 - 0.34 * line * line - 0.1 * warp


def granite(draw: Draw) -> Array:
    grit = speckle(draw, SMALL)
    light: Array = 0.86 + 0.1 * layered(draw, SMALL, (64, 64), 2) - 0.3 * (grit > 0.93) + 0.1 * (grit < 0.06)
    return light


def wicker(draw: Draw) -> Array:
    rows, columns = np.indices(SMALL)
    over = (rows // 8 + columns // 16) % 2
    bulge = np.where(over, abs((columns % 16) - 7.5) / 7.5, abs((rows % 8) - 3.5) / 3.5)
    return 1 - 0.45 * bulge * bulge - 0.06 * speckle(draw, SMALL)


def cardboard(draw: Draw) -> Array:
    return 0.9 + 0.05 * noise(draw, SMALL, (4, 128)) + 0.05 * layered(draw, SMALL, (8, 8), 3)


def leaves(draw: Draw) -> Array:
    clumps = layered(draw, SMALL, (24, 24), 3)
    light = 0.55 + 0.75 * clumps
    return np.stack([light * 0.95, light, light * 0.85], axis=-1)


def mirror(draw: Draw) -> Array:
    """A bright, cool gradient stands in for a reflection."""
    rows, columns = coordinates(SMALL)
    shine = abs(((rows + columns) * 2 + draw.between(0, 2)) % 2 - 1)
    return 0.86 + 0.14 * shine


def _grain(draw: Draw, shape: tuple[int, int]) -> Array:
    long_waves = noise(draw, shape, (24, 2))
    streaks = noise(draw, shape, (shape[0] // 3, 4))
    pores = noise(draw, shape, (shape[0], 24))
    return 0.62 + 0.16 * long_waves + 0.14 * streaks + 0.08 * pores


def _tinted(light: Array) -> Array:
    """Darker wood is redder wood."""
    dark = 1 - light
    return np.stack([1 - 0.85 * dark, 1 - 1.05 * dark, 1 - 1.2 * dark], axis=-1)


def _boards(draw: Draw, rows: int) -> Array:
    """Rows of boards with staggered ends."""
    light = _grain(draw, LARGE)
    edges = [round(n * LARGE[0] / rows) for n in range(rows + 1)]
    for row in range(rows):
        strip = light[edges[row] : edges[row + 1]]
        strip[:] = np.roll(strip, draw.below(LARGE[1]), axis=1)
        ends = sorted((draw.below(LARGE[1] // 2), LARGE[1] // 2 + draw.below(LARGE[1] // 2)))
        strip[:, ends[0] : ends[1]] *= draw.uniform(0.84, 1.0)
        strip *= draw.uniform(0.9, 1.04)
        strip[:, ends] *= 0.55
        strip[-2:] *= 0.6
    return _tinted(np.clip(light, 0, 1))


def _strips(draw: Draw, side: int, strips: int) -> Array:
    patch = _grain(draw, (side, side))
    edges = [round(n * side / strips) for n in range(strips + 1)]
    for row in range(strips):
        patch[edges[row] : edges[row + 1]] *= draw.uniform(0.82, 1.04)
        patch[edges[row]] *= 0.7
    patch[:, 0] *= 0.7
    return np.clip(patch, 0, 1)


def _tiles(draw: Draw, rows: int, columns: int, *, vary: float = 0.08, joint: float = 0.7) -> Array:
    down, across = coordinates(LARGE)
    shades = 1 - vary * draw.units(rows, columns)
    light = shades[(down * rows).astype(int), (across * columns).astype(int)]
    light = light * (0.94 + 0.06 * layered(draw, LARGE, (6, 6), 4))
    width = max(2.0, LARGE[0] / rows * 0.02)
    gap = ((down * LARGE[0]) % (LARGE[0] / rows) < width) | ((across * LARGE[1]) % (LARGE[1] / columns) < width)
    return np.where(gap, joint, light)


def _bond(draw: Draw, *, rows: int, columns: int, joint: float, vary: float) -> Array:
    """Stones in rows, every other row shifted by half a stone."""
    down, across = coordinates(LARGE)
    row = (down * rows).astype(int)
    place = across * columns + 0.5 * (row % 2)
    shades = 1 - vary * draw.units(rows, columns)
    light = shades[row, place.astype(int) % columns]
    gap = ((down * rows) % 1 < 0.09) | (place % 1 < 0.09 * columns / rows)
    return np.where(gap, joint, light)
