"""Room in a prepared scene for small things that each look of it places anew.

The first chunks of such a scene are theirs, one group per thing. A shape is cut into chunks once; putting it down
scales and moves what was worked out. Room that nobody uses holds triangles without an area, which are never drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from nav_eval.records.geometry import Vec3
from nav_eval.simulator.rendering.prepared_scene import (
    CHUNK_TRIANGLES,
    GROUP,
    VERTEX,
    Batch,
    Chunks,
    PreparedScene,
    compute_chunk_bounds,
    compute_group_boxes,
    compute_longest_edges,
    compute_normal_cones,
    make_blocks,
    split_into_chunks,
)

THING_VERTICES = 640
"""Vertices per thing at most; its triangles fit one group of chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class ThingShape:
    """A closed mesh of one metre, cut into chunks."""

    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    triangles: NDArray[np.uint32]  #: whole chunks; the last one is filled up with triangles without an area
    bounds: NDArray[np.float32]
    cones: NDArray[np.float32]
    longest: NDArray[np.float32]
    corners: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PlacedThing:
    """A shape put down."""

    shape: ThingShape
    size: float
    position: Vec3  #: of its middle
    tints: NDArray[np.uint8]  #: V × 4


def make_shape(
    positions: NDArray[np.float64], normals: NDArray[np.float64], triangles: NDArray[np.int64]
) -> ThingShape:
    """Cut a mesh into chunks."""
    order, _ = split_into_chunks(positions[triangles].mean(axis=1).astype(np.float32))
    count = -(-len(order) // CHUNK_TRIANGLES)
    if count > GROUP or len(positions) > THING_VERTICES:
        raise ValueError(f"a thing of {len(order)} triangles and {len(positions)} vertices does not fit its room")
    filled = np.zeros((count * CHUNK_TRIANGLES, 3), dtype=np.uint32)
    filled[: len(order)] = triangles[order]
    filled[len(order) :] = triangles[order[-1], 0]
    first = np.arange(count + 1, dtype=np.int64) * CHUNK_TRIANGLES
    points = positions[filled].astype(np.float32)
    across = np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]).astype(np.float64)
    across[len(order) :] = across[len(order) - 1]
    outward = across / np.linalg.norm(across, axis=1, keepdims=True)
    return ThingShape(
        positions=positions.astype(np.float32),
        normals=normals.astype(np.float32),
        triangles=filled,
        bounds=compute_chunk_bounds(points, first),
        cones=compute_normal_cones(outward, first),
        longest=compute_longest_edges(points, first),
        corners=make_blocks(points, first),
    )


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


def place_things(scene: PreparedScene, things: Sequence[PlacedThing]) -> None:
    """Put things into the room of a scene whose arrays can be written to, in place of those before."""
    for number in range(scene.moving_chunks // GROUP):
        _clear(scene, number)
        if number < len(things):
            _fill(scene, number, things[number])
    groups, moving = scene.moving_chunks // GROUP, scene.moving_chunks
    bounds, longest = compute_group_boxes(scene.chunks.bounds[:moving], scene.chunks.longest[:moving])
    scene.chunks.group_bounds[:groups], scene.chunks.group_longest[:groups] = bounds, longest


def _clear(scene: PreparedScene, number: int) -> None:
    """Boxes turned inside out are outside every view."""
    chunks, rows = scene.chunks, slice(number * GROUP, (number + 1) * GROUP)
    reach = np.float32(scene.size)
    chunks.bounds[rows, :3], chunks.bounds[rows, 3:] = reach, -reach
    chunks.cones[rows], chunks.longest[rows], chunks.corners[rows] = 0.0, 0.0, 0.0
    chunks.triangles[rows.start * CHUNK_TRIANGLES : rows.stop * CHUNK_TRIANGLES] = 0


def _fill(scene: PreparedScene, number: int, thing: PlacedThing) -> None:
    shape, chunks = thing.shape, scene.chunks
    size, place = np.float32(thing.size), np.array(thing.position, dtype=np.float32)
    start = len(scene.vertices) + (number - scene.moving_chunks // GROUP) * THING_VERTICES
    own = scene.vertices[start : start + len(shape.positions)]
    own["position"], own["tint"] = shape.positions * size + place, thing.tints
    if len(scene.normals):
        scene.normals[start : start + len(shape.normals)] = shape.normals
    first = number * GROUP
    rows = slice(first, first + len(shape.bounds))
    chunks.bounds[rows] = shape.bounds * size + np.tile(place, 2)
    chunks.cones[rows], chunks.longest[rows] = shape.cones, shape.longest * size
    corners = shape.corners.reshape(len(shape.bounds), 9, CHUNK_TRIANGLES) * size + np.tile(place, 3)[:, None]
    chunks.corners[rows] = corners.reshape(len(shape.bounds), -1)
    lanes = slice(first * CHUNK_TRIANGLES, first * CHUNK_TRIANGLES + len(shape.triangles))
    chunks.triangles[lanes] = shape.triangles + np.uint32(start)
