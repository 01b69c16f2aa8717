"""Room in a prepared scene for small things that each look of it places anew.

The first chunks of such a scene are theirs, one group per thing. A shape is cut into chunks once; putting it down
scales and moves what was worked out. Room that nobody uses holds triangles without an area, which are never drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.compilation import compile_uncounted_inline, compile_uncounted_kernel
from nav_eval.simulator.rendering.prepared_scene import (
    CHUNK_TRIANGLES,
    GROUP,
    VERTEX,
    Batch,
    Chunks,
    PreparedScene,
    compute_chunk_bounds,
    compute_longest_edges,
    compute_normal_cones,
    make_blocks,
    split_into_chunks,
)
from nav_eval.simulator.rendering.tints import encode_light, get_tables, pack_tint

THING_VERTICES = 640
"""Vertices per thing at most; its triangles fit one group of chunks."""
ON_BAKED, ON_DULL, ON_SHADED = 0, 1, 2
"""Whether a thing has the light of its support's colours, of the scene's lamps, or is shaded pixel by pixel."""
_TOP, _SIDE = 1.0, 0.8
"""How much of the light on its support the sides of a thing get, by how they face."""


DullLight = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.uint8]]
"""Light and sheen of dull surfaces by shape and vertex, and the tables that light is encoded with."""


class ThingShapes(NamedTuple):
    """Closed meshes of one metre, cut into chunks; kernels take them whole. What a shape does not fill is empty."""

    vertices: NDArray[np.int64]  #: S, how many of each shape
    chunks: NDArray[np.int64]  #: S
    positions: NDArray[np.float32]  #: S × THING_VERTICES × 3
    normals: NDArray[np.float32]
    triangles: NDArray[np.uint32]  #: S × (GROUP · CHUNK_TRIANGLES) × 3
    bounds: NDArray[np.float32]  #: S × GROUP × 6
    cones: NDArray[np.float32]
    longest: NDArray[np.float32]
    corners: NDArray[np.float32]


class PlacedThings(NamedTuple):
    """Shapes put down, and what they get of light."""

    shape: NDArray[np.int64]  #: N
    size: NDArray[np.float32]
    position: NDArray[np.float32]  #: N × 3, of its middle
    color: NDArray[np.float64]  #: N × 3, linear
    lit_by: NDArray[np.int64]  #: N: ON_BAKED, ON_DULL or ON_SHADED
    support: NDArray[np.float64]  #: N × 3, the colour of what carries it, 0 to 255

    @classmethod
    def make_room(cls, count: int) -> "PlacedThings":
        return cls(
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.float32),
            np.zeros((count, 3), dtype=np.float32),
            np.zeros((count, 3)),
            np.zeros(count, dtype=np.int64),
            np.zeros((count, 3)),
        )


def make_shapes(
    meshes: Sequence[tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]],
) -> ThingShapes:
    """Cut meshes (positions, normals, triangles) into chunks."""
    count, room = len(meshes), GROUP * CHUNK_TRIANGLES
    shapes = ThingShapes(
        vertices=np.zeros(count, dtype=np.int64),
        chunks=np.zeros(count, dtype=np.int64),
        positions=np.zeros((count, THING_VERTICES, 3), dtype=np.float32),
        normals=np.zeros((count, THING_VERTICES, 3), dtype=np.float32),
        triangles=np.zeros((count, room, 3), dtype=np.uint32),
        bounds=np.zeros((count, GROUP, 6), dtype=np.float32),
        cones=np.zeros((count, GROUP, 5), dtype=np.float32),
        longest=np.zeros((count, GROUP), dtype=np.float32),
        corners=np.zeros((count, GROUP, 9 * CHUNK_TRIANGLES), dtype=np.float32),
    )
    for number, mesh in enumerate(meshes):
        _add_shape(shapes, number, *mesh)
    return shapes


def _add_shape(
    shapes: ThingShapes,
    number: int,
    positions: NDArray[np.float64],
    normals: NDArray[np.float64],
    triangles: NDArray[np.int64],
) -> None:
    order, _ = split_into_chunks(positions[triangles].mean(axis=1).astype(np.float32))
    count = -(-len(order) // CHUNK_TRIANGLES)
    if count > GROUP or len(positions) > THING_VERTICES:
        raise ValueError(f"a thing of {len(order)} triangles and {len(positions)} vertices does not fit its room")
    filled = np.zeros((count * CHUNK_TRIANGLES, 3), dtype=np.uint32)
    filled[: len(order)] = triangles[order]
    filled[len(order) :] = triangles[order[-1], 0]  # the last chunk is filled up with triangles without an area
    first = np.arange(count + 1, dtype=np.int64) * CHUNK_TRIANGLES
    points = positions[filled].astype(np.float32)
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]).astype(np.float64)
    across[len(order) :] = across[len(order) - 1]
    outward = across / np.linalg.norm(across, axis=1, keepdims=True)
    shapes.vertices[number], shapes.chunks[number] = len(positions), count
    shapes.positions[number, : len(positions)], shapes.normals[number, : len(normals)] = positions, normals
    shapes.triangles[number, : len(filled)] = filled
    shapes.bounds[number, :count] = compute_chunk_bounds(points, first)
    shapes.cones[number, :count] = compute_normal_cones(outward, first)
    shapes.longest[number, :count] = compute_longest_edges(points, first)
    shapes.corners[number, :count] = make_blocks(points, first)


def reserve_room(scene: PreparedScene, surfaces: NDArray[np.int64], *, batch: Batch) -> PreparedScene:
    """The scene with room for a thing per row of `surfaces` in front, drawn by a batch of its own."""
    things = len(surfaces)
    chunks, moving = scene.chunks, things * GROUP
    room = moving * CHUNK_TRIANGLES
    empty = Chunks(
        first=np.arange(moving, dtype=np.int64) * CHUNK_TRIANGLES,
        batch=np.zeros(moving, dtype=np.int32),
        bounds=np.zeros((moving, 6), dtype=np.float32),
        cones=np.zeros((moving, 5), dtype=np.float32),
        longest=np.zeros(moving, dtype=np.float32),
        group_bounds=np.zeros((things, 6), dtype=np.float32),
        group_longest=np.zeros(things, dtype=np.float32),
        corners=np.zeros((moving, 9 * CHUNK_TRIANGLES), dtype=np.float32),
        triangles=np.zeros((room, 3), dtype=np.uint32),
    )
    shifted = chunks._replace(first=chunks.first + room, batch=chunks.batch + np.int32(1))
    vertices = np.zeros(things * THING_VERTICES, dtype=VERTEX)
    vertices["surface"] = np.repeat(np.arange(things) + len(scene.surfaces), THING_VERTICES)
    shaded = len(scene.normals) > 0
    return replace(
        scene,
        vertices=np.concatenate([scene.vertices, vertices]),
        chunks=Chunks._make(np.concatenate([room, own]) for room, own in zip(empty, shifted, strict=True)),
        batches=(batch, *scene.batches),
        normals=np.concatenate([scene.normals, np.zeros((shaded * len(vertices), 3), dtype=np.float32)]),
        surfaces=np.concatenate([scene.surfaces, surfaces]),
        moving_chunks=moving,
    )


@dataclass(slots=True, eq=False)
class MovingRoom:
    """The room of one scene, whose arrays can be written to."""

    scene: PreparedScene
    tints: NDArray[np.uint32]  #: of all its vertices
    shapes: ThingShapes
    _reach: np.float32 = field(init=False)
    _holds: int = field(init=False)  #: so many things stand in it

    def __post_init__(self) -> None:
        self._reach, self._holds = np.float32(self.scene.size), self.scene.moving_chunks // GROUP

    def place(self, things: PlacedThings, light: NDArray[np.float64], sheen: NDArray[np.float64]) -> None:
        """Put things in place of those before; `light` and `sheen` are of dull surfaces, by shape and vertex."""
        scene, count = self.scene, len(things.shape)
        if count or self._holds:
            start = len(scene.vertices) - scene.moving_vertices
            _place(
                scene.chunks,
                scene.vertices["position"][start:],
                self.tints[start:],
                scene.normals[start:],
                self.shapes,
                things,
                (light, sheen, *get_tables()),
                (start, self._holds, self._reach),
            )
        self._holds = count


@compile_uncounted_kernel
def _place(
    chunks: Chunks,
    positions: NDArray[np.float32],
    tints: NDArray[np.uint32],
    normals: NDArray[np.float32],
    shapes: ThingShapes,
    things: PlacedThings,
    dull: DullLight,
    room: tuple[int, int, np.float32],
) -> None:
    start, before, reach = room
    for number in range(max(len(things.shape), before)):
        filled = shapes.chunks[things.shape[number]] if number < len(things.shape) else 0
        _clear(chunks, number * GROUP + filled, (number + 1) * GROUP, reach)
        if filled:
            _fill(chunks, positions, normals, shapes, things, number, start)
            _tint(tints, shapes, things, number, dull)
        for k in range(3):
            lower, upper = reach, -reach
            for chunk in range(number * GROUP, (number + 1) * GROUP):
                lower, upper = min(lower, chunks.bounds[chunk, k]), max(upper, chunks.bounds[chunk, k + 3])
            chunks.group_bounds[number, k], chunks.group_bounds[number, k + 3] = lower, upper
        longest = np.float32(0.0)
        for chunk in range(number * GROUP, (number + 1) * GROUP):
            longest = max(longest, chunks.longest[chunk])
        chunks.group_longest[number] = longest


@compile_uncounted_inline
def _clear(chunks: Chunks, first: int, end: int, reach: np.float32) -> None:
    """Boxes turned inside out are outside every view; those that are so already hold nothing."""
    for chunk in range(first, end):
        if chunks.bounds[chunk, 0] > chunks.bounds[chunk, 3]:
            continue
        for k in range(3):
            chunks.bounds[chunk, k], chunks.bounds[chunk, k + 3] = reach, -reach
        chunks.longest[chunk] = 0.0
        for k in range(chunks.cones.shape[1]):
            chunks.cones[chunk, k] = 0.0
        for k in range(chunks.corners.shape[1]):
            chunks.corners[chunk, k] = 0.0
        for triangle in range(chunk * CHUNK_TRIANGLES, (chunk + 1) * CHUNK_TRIANGLES):
            for k in range(3):
                chunks.triangles[triangle, k] = 0


@compile_uncounted_inline
def _fill(
    chunks: Chunks,
    positions: NDArray[np.float32],
    normals: NDArray[np.float32],
    shapes: ThingShapes,
    things: PlacedThings,
    number: int,
    start: int,
) -> None:
    shape, size, place = things.shape[number], things.size[number], _get_place(things, number)
    first = number * THING_VERTICES
    for i in range(shapes.vertices[shape]):
        for k in range(3):
            positions[first + i, k] = shapes.positions[shape, i, k] * size + place[k]
        if len(normals):
            for k in range(3):
                normals[first + i, k] = shapes.normals[shape, i, k]
    for i in range(shapes.chunks[shape]):
        chunk = number * GROUP + i
        for k in range(6):
            chunks.bounds[chunk, k] = shapes.bounds[shape, i, k] * size + place[k % 3]
        chunks.longest[chunk] = shapes.longest[shape, i] * size
        for k in range(chunks.cones.shape[1]):
            chunks.cones[chunk, k] = shapes.cones[shape, i, k]
        for k in range(9):
            for lane in range(k * CHUNK_TRIANGLES, (k + 1) * CHUNK_TRIANGLES):
                chunks.corners[chunk, lane] = shapes.corners[shape, i, lane] * size + place[k % 3]
        for lane in range(CHUNK_TRIANGLES):
            for k in range(3):
                corner = shapes.triangles[shape, i * CHUNK_TRIANGLES + lane, k]
                chunks.triangles[chunk * CHUNK_TRIANGLES + lane, k] = corner + np.uint32(start + first)


@compile_uncounted_inline
def _get_place(things: PlacedThings, number: int) -> tuple[np.float32, np.float32, np.float32]:
    return things.position[number, 0], things.position[number, 1], things.position[number, 2]


@compile_uncounted_inline
def _tint(
    tints: NDArray[np.uint32],
    shapes: ThingShapes,
    things: PlacedThings,
    number: int,
    dull: DullLight,
) -> None:
    for i in range(shapes.vertices[things.shape[number]]):
        red, green, blue = (
            _choose_tint(shapes, things, number, i, 0, dull),
            _choose_tint(shapes, things, number, i, 1, dull),
            _choose_tint(shapes, things, number, i, 2, dull),
        )
        tints[number * THING_VERTICES + i] = pack_tint(red, green, blue, 255)


@compile_uncounted_inline
def _choose_tint(shapes: ThingShapes, things: PlacedThings, number: int, vertex: int, k: int, dull: DullLight) -> int:
    """Red, green or blue of a vertex."""
    shape, color, lit_by = things.shape[number], things.color[number, k], things.lit_by[number]
    if lit_by == ON_BAKED:
        facing = _SIDE + (_TOP - _SIDE) * min(max(np.float64(shapes.normals[shape, vertex, 1]), -1.0), 1.0)
        light = np.rint(min(max(things.support[number, k] * facing, 0.0), 255.0)) / 255.0
        return encode_light(light * color, dull[2], dull[3])
    if lit_by == ON_DULL:
        return encode_light(dull[0][shape, vertex, k] * color + dull[1][shape, vertex, k], dull[2], dull[3])
    return int(np.rint(color * 255.0))
