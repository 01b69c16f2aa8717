"""Buildings whose size can be turned up in three ways: more rooms, the same rooms cut finer, round things rounder.

Wings side by side, each a corridor with eight furnished rooms, everything textured by code. The first
wing is the same in every building of a seed, so that views from it can be compared.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Material, Scene, Texture

ROOM, HEIGHT, CORRIDOR, WALL, DOOR, LINTEL = 4.0, 2.7, 1.8, 0.1, 0.9, 2.05
ROOMS_PER_WING, OBJECTS_PER_ROOM = 8, 14
TEXTURES, TEXTURE_SIZE = 48, 1024

Points = NDArray[np.float64]


@dataclass(slots=True)
class _Parts:
    detail: int = 1
    positions: list[Points] = field(default_factory=list)
    uvs: list[Points] = field(default_factory=list)
    triangles: list[NDArray[np.int64]] = field(default_factory=list)
    materials: list[int] = field(default_factory=list)

    def add(self, positions: Points, uvs: Points, triangles: NDArray[np.int64], material: int) -> None:
        self.positions.append(positions)
        self.uvs.append(uvs)
        self.triangles.append(triangles)
        self.materials.append(material)


def building(*, rooms: int, cuts: int = 0, detail: int = 1, seed: int = 0) -> Scene:
    """About 12,500 triangles per room, four times as many for every cut, detail² times as many for finer grids."""
    parts = _Parts(detail)
    for wing in range(-(-rooms // ROOMS_PER_WING)):
        here = min(ROOMS_PER_WING, rooms - wing * ROOMS_PER_WING)
        z = wing * (2 * ROOM + CORRIDOR + 1.0)
        _corridor(parts, z, length=ROOM * ((here + 1) // 2))
        for number in range(here):
            rng = np.random.default_rng((seed, wing, number))
            _room(parts, x0=ROOM * (number // 2), z=z, side=1 if number % 2 else -1, rng=rng)
    for _ in range(cuts):
        parts = _cut(parts)
    return _scene(parts, seed)


def _corridor(parts: _Parts, z: float, *, length: float) -> None:
    low, high = z - CORRIDOR / 2, z + CORRIDOR / 2
    _slab(parts, (0, -WALL, low), (length, 0, high), material=1, cells=8)
    _slab(parts, (0, HEIGHT, low), (length, HEIGHT + WALL, high), material=2, cells=8)
    _slab(parts, (-WALL, 0, low), (0, HEIGHT, high), material=0, cells=4)
    _slab(parts, (length, 0, low), (length + WALL, HEIGHT, high), material=0, cells=4)


def _room(parts: _Parts, *, x0: float, z: float, side: int, rng: np.random.Generator) -> None:
    x1 = x0 + ROOM
    near, far = z + side * CORRIDOR / 2, z + side * (CORRIDOR / 2 + ROOM)
    low, high = min(near, far), max(near, far)
    looks = rng.integers(3, TEXTURES, OBJECTS_PER_ROOM + 3)
    _slab(parts, (x0, -WALL, low), (x1, 0, high), material=int(looks[0]), cells=8)
    _slab(parts, (x0, HEIGHT, low), (x1, HEIGHT + WALL, high), material=2, cells=8)
    wall = int(looks[1])
    for x in (x0, x1 - WALL):
        _slab(parts, (x, 0, low), (x + WALL, HEIGHT, high), material=wall, cells=6)
    _slab(parts, (x0, 0, far - WALL / 2), (x1, HEIGHT, far + WALL / 2), material=wall, cells=6)
    door = x0 + ROOM / 2 - DOOR / 2
    for left, right, bottom in ((x0, door, 0.0), (door + DOOR, x1, 0.0), (door, door + DOOR, LINTEL)):
        _slab(parts, (left, bottom, near - WALL / 2), (right, HEIGHT, near + WALL / 2), material=wall, cells=4)
    for look in looks[3:]:
        _thing(parts, (x0 + 0.4, low + 0.4), (x1 - 0.4, high - 0.4), int(look), rng)


def _thing(
    parts: _Parts, low: tuple[float, float], high: tuple[float, float], material: int, rng: np.random.Generator
) -> None:
    """A box, a pillar or a ball, along the walls so that the middle of the room stays free."""
    x, z = rng.uniform(low, high)
    side = rng.integers(4)
    x, z = (low[0], high[0], x, x)[side], (z, z, low[1], high[1])[side]
    size = rng.uniform((0.15, 0.3, 0.15), (0.35, 1.6, 0.35))
    if rng.random() < 0.4:
        _slab(parts, (x - size[0], 0, z - size[2]), (x + size[0], size[1], z + size[2]), material=material, cells=7)
    else:
        _revolved(parts, (x, z), size, material, ball=rng.random() < 0.5)


def _slab(parts: _Parts, lower: tuple[float, ...], upper: tuple[float, ...], *, material: int, cells: int) -> None:
    """A box whose six faces are grids of cells × cells."""
    low, high = np.asarray(lower, float), np.asarray(upper, float)
    cells *= parts.detail
    ticks = np.linspace(0, 1, cells + 1)
    u, v = (grid.ravel() for grid in np.meshgrid(ticks, ticks, indexing="ij"))
    index = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = (corner.ravel() for corner in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    for axis in range(3):
        i, j = (axis + 1) % 3, (axis + 2) % 3
        for at, outwards in ((low, False), (high, True)):
            points = np.empty((len(u), 3))
            points[:, axis] = at[axis]
            points[:, i] = low[i] + u * (high[i] - low[i])
            points[:, j] = low[j] + v * (high[j] - low[j])
            uvs = np.stack([points[:, i], points[:, j]], 1) / 2.0
            parts.add(points, uvs, faces if outwards else faces[:, ::-1], material)


def _revolved(parts: _Parts, foot: tuple[float, float], size: Points, material: int, *, ball: bool) -> None:
    rows, columns = 16 * parts.detail, 20 * parts.detail
    t, angle = np.meshgrid(np.linspace(0, 1, rows + 1), np.linspace(0, 2 * np.pi, columns + 1), indexing="ij")
    radius = np.sin(np.pi * t) if ball else 0.6 + 0.4 * np.cos(6 * t)
    points = np.stack(
        [foot[0] + size[0] * radius * np.cos(angle), size[1] * t, foot[1] + size[0] * radius * np.sin(angle)], axis=-1
    ).reshape(-1, 3)
    uvs = np.stack([angle / np.pi, 2 * t], axis=-1).reshape(-1, 2)
    index = np.arange((rows + 1) * (columns + 1)).reshape(rows + 1, columns + 1)
    a, b, c, d = (corner.ravel() for corner in (index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]))
    parts.add(points, uvs, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]), material)


def _cut(parts: _Parts) -> _Parts:
    """Every triangle into four; neighbours share the new corners of their common edge."""
    finer = _Parts()
    for points, uvs, triangles, material in zip(
        parts.positions, parts.uvs, parts.triangles, parts.materials, strict=True
    ):
        edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        unique, number = np.unique(edges, axis=0, return_inverse=True)
        middle = number.reshape(-1, 3) + len(points)
        a, b, c = triangles.T
        ab, bc, ca = middle.T
        corners = ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
        finer.add(
            np.concatenate([points, points[unique].mean(axis=1)]),
            np.concatenate([uvs, uvs[unique].mean(axis=1)]),
            np.concatenate([np.stack(corner, 1) for corner in corners]),
            material,
        )
    return finer


def _scene(parts: _Parts, seed: int) -> Scene:
    starts = np.cumsum([0, *(len(points) for points in parts.positions)])
    positions = np.concatenate(parts.positions).astype(np.float32)
    triangles = np.concatenate([t + start for t, start in zip(parts.triangles, starts, strict=False)])
    sizes = [len(t) for t in parts.triangles]
    points = positions[triangles]
    normals = np.zeros_like(positions)
    for corner in range(3):
        np.add.at(normals, triangles[:, corner], np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]))
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return Scene(
        positions=positions,
        normals=np.where(lengths > 0, normals / np.maximum(lengths, 1e-12), (0, 1, 0)).astype(np.float32),
        uvs=np.concatenate(parts.uvs).astype(np.float32),
        colors=np.full((len(positions), 4), 255, dtype=np.uint8),
        triangles=triangles.astype(np.uint32),
        triangle_material=np.repeat(parts.materials, sizes).astype(np.uint16),
        # One mesh per thing, as exporters write them: six faces of a box are one object.
        triangle_object=np.repeat(_objects(parts), sizes).astype(np.uint32),
        triangle_category=np.zeros(len(triangles), dtype=np.uint16),
        materials=tuple(Material(name=f"m{i}", texture=i) for i in range(TEXTURES)),
        textures=_textures(seed),
    )


def _objects(parts: _Parts) -> list[int]:
    """Ten neighbouring parts of one material become one object."""
    numbers, current, held = [], 0, 0
    for before, material in zip([None, *parts.materials], parts.materials, strict=False):
        if material != before or held == 10:
            current, held = current + 1, 0
        held += 1
        numbers.append(current)
    return numbers


@cache
def _textures(seed: int) -> tuple[Texture, ...]:
    return tuple(_texture(np.random.default_rng((seed, 1000 + number))) for number in range(TEXTURES))


def _texture(rng: np.random.Generator) -> Texture:
    """Smooth noise at three scales over a pattern of tiles."""
    picture = np.zeros((TEXTURE_SIZE, TEXTURE_SIZE, 3))
    for cells in (8, 64, 256):
        coarse = rng.random((cells, cells, 3))
        picture += np.kron(coarse, np.ones((TEXTURE_SIZE // cells, TEXTURE_SIZE // cells, 1))) / 3
    tile = TEXTURE_SIZE // int(rng.integers(4, 12))
    grout = (np.arange(TEXTURE_SIZE) % tile < 8).astype(float)
    shade = 1 - 0.5 * np.maximum(grout[:, None], grout[None, :])
    color = rng.uniform(0.4, 1.0, 3)
    pixels = np.full((TEXTURE_SIZE, TEXTURE_SIZE, 4), 255, dtype=np.uint8)
    pixels[..., :3] = 255 * np.clip(picture * shade[..., None] * color + 0.1, 0, 1)
    return Texture(pixels=pixels)
