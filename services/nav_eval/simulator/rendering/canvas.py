"""A scene prepared once and painted many times: domain randomisation without preparing it again.

Preparation folds colours into vertices and merges what looks alike. A canvas is prepared with every surface white, so
that only light decides what is merged, and with one material per patch (a material of an object), so that every vertex
knows its patch. Patches whose texture may change are batches of their own; so are those that are shaded pixel by
pixel. In front there is room for small things (`moving_room`). A look then changes bytes only: tints, the textures of
some batches, lamps, and what stands in the room.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Material, Scene, Texture
from nav_eval.simulator.rendering.lighting import Lighting, choose_lighting
from nav_eval.simulator.rendering.moving_room import PlacedThing, place_things, reserve_room
from nav_eval.simulator.rendering.preparation import prepare_with_origins
from nav_eval.simulator.rendering.prepared_scene import (
    DULL,
    SHADED,
    Batch,
    Chunks,
    PreparedScene,
    VertexOrigins,
    classify_materials,
)
from nav_eval.simulator.rendering.tints import Brush, encode_tints, paint_tints

MOST_PATCHES = 65536
"""Triangles name their material by two bytes."""
NO_CURVE = np.tile(np.arange(256, dtype=np.uint8), (3, 1))
_WHITE = Texture(pixels=np.full((1, 1, 4), 255, dtype=np.uint8))
_FINE = Texture(pixels=np.broadcast_to(np.uint8(255), (512, 512, 4)))
"""Stands for a texture that is not known yet: texture coordinates are merged as finely as it needs."""
_LATER: tuple[NDArray[np.uint8], ...] = ()
"""Mipmaps of a texture that few views show: made when it is uploaded."""
_NUMBERS = count(1)  #: of the canvases of this process
_TINT = slice(20, 24)  #: bytes of a vertex

Array = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)


class Patches(NamedTuple):
    """What is painted alike: one material of one object."""

    material: NDArray[np.int64]  #: P
    thing: NDArray[np.int64]  #: P, object ids
    of_triangle: NDArray[np.int64]  #: T


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Look:
    """What a canvas shows."""

    base: Array  #: P × 4, the linear colour of each patch
    colors: NDArray[np.uint8]  #: V × 4, of the scene's vertices,
    curve: NDArray[np.uint8] = field(default_factory=lambda: NO_CURVE)  #: 3 × 256, and what becomes of their bytes
    textures: Mapping[int, Texture | None] = field(default_factory=dict)  #: of patches, in place of the scene's
    lighting: Lighting
    things: Sequence[PlacedThing] = ()


class BlankScene(NamedTuple):
    """A scene prepared to be painted; what a cache keeps."""

    prepared: PreparedScene  #: with the scene's textures alone
    origins: VertexOrigins  #: of all vertices but those of the room; materials are patches


def find_patches(scene: Scene) -> Patches:
    pairs = scene.triangle_material.astype(np.int64) << 32 | scene.triangle_object
    distinct, number = np.unique(pairs, return_inverse=True)
    return Patches(distinct >> 32, distinct & 0xFFFFFFFF, number.reshape(-1))


def prepare_blank(scene: Scene, patches: Patches, *, slots: Sequence[int], surfaces: NDArray[np.int64]) -> BlankScene:
    """Prepare a scene to be painted.

    `slots` are the patches whose texture may change; there is room for a small thing per row of `surfaces`, which says
    its category and object.
    """
    looks = [replace(scene.materials[n], base_color=_make_white(scene.materials[n])) for n in patches.material]
    pictures = []
    for number, patch in enumerate(slots):
        texture = looks[patch].texture
        pictures.append(_FINE if texture is None else scene.textures[texture])
        looks[patch] = replace(looks[patch], texture=len(scene.textures) + number)
    white = replace(
        scene,
        materials=tuple(looks),
        textures=(*scene.textures, *pictures),
        triangle_material=patches.of_triangle.astype(np.uint16),
    )
    prepared, origins = prepare_with_origins(white)
    known = len(scene.textures)
    own = replace(
        prepared,
        textures=prepared.textures[:known],
        mipmaps=prepared.mipmaps[:known],
        batches=tuple(replace(batch, tinted=True) for batch in prepared.batches),
    )
    shaded = len(patches.material) if is_shaded(prepared) else None
    batch = Batch(texture=None, tinted=True, shaded=shaded)
    return BlankScene(reserve_room(own, surfaces, batch=batch), origins)


def is_shaded(scene: PreparedScene) -> bool:
    """Whether small things in it must be: their light differs from place to place."""
    return len(scene.normals) > 0 and not scene.lighting.is_uniform


def _make_white(material: Material) -> tuple[float, float, float, float]:
    return 1.0, 1.0, 1.0, material.base_color[3]


class PaintedCanvas:
    """A scene that can be painted. It belongs to one renderer at a time: a new look replaces the one before."""

    def __init__(self, scene: Scene, patches: Patches, blank: BlankScene, *, slots: Sequence[int]) -> None:
        materials = [scene.materials[number] for number in patches.material]
        self.lighting = choose_lighting(scene)
        self.base = np.array([material.base_color for material in materials], dtype=np.float64).reshape(-1, 4)
        self._materials = materials
        self._glow = np.array([material.emissive for material in materials], dtype=np.float64).reshape(-1, 3)
        patched = replace(scene, materials=tuple(materials), triangle_material=patches.of_triangle.astype(np.uint16))
        self._kinds = classify_materials(patched, self.lighting)
        self._shaded = np.flatnonzero(self._kinds == SHADED).tolist() if len(blank.prepared.normals) else []
        self._origins = blank.origins
        self._normals = scene.normals
        self._slots = slots
        self._pictures = [None if m.texture is None else blank.prepared.textures[m.texture] for m in materials]
        self._light: tuple[Lighting, Array, Array] | None = None
        self._writable = replace(
            blank.prepared,
            digest=f"{blank.prepared.digest}-{next(_NUMBERS)}",  # renderers are shared by digest, canvases by nobody
            vertices=np.array(blank.prepared.vertices),
            normals=np.array(blank.prepared.normals),
            chunks=Chunks._make(np.array(array) for array in blank.prepared.chunks),
        )

    def paint(self, look: Look) -> PreparedScene:
        """The scene with this look."""
        vertices = self._writable.vertices
        rows = vertices.view(np.uint8).reshape(len(vertices), -1)[: len(self._origins.vertex), _TINT]
        light, sheen = self._find_light(look.lighting)
        brush = Brush(self._origins.vertex, self._origins.material, self._kinds, look.base, self._glow, light, sheen)
        paint_tints(brush, look.colors, look.curve, rows)
        place_things(self._writable, look.things)
        pictures = [look.textures.get(patch, self._pictures[patch]) or _WHITE for patch in self._slots]
        return replace(
            self._shown,
            textures=(*self._shown.textures, *pictures),
            mipmaps=(*self._shown.mipmaps, *(_LATER for _ in pictures)),
            materials=self._paint_materials(look),
            lighting=look.lighting,
        )

    def tint_thing(
        self, color: Array, colors: NDArray[np.uint8] | None, normals: NDArray[np.float32]
    ) -> NDArray[np.uint8]:
        """Tints of a small thing under these vertex colours; without them it is lit like the scene's lit surfaces."""
        if colors is not None:
            return encode_tints(colors[:, :3] / 255.0 * color)
        if is_shaded(self._writable):
            return np.tile(np.append(np.round(color * 255), 255).astype(np.uint8), (len(normals), 1))
        facing = normals.astype(np.float64)
        return encode_tints(self.lighting.compute_diffuse(facing) * color + self.lighting.compute_sheen(facing))

    @cached_property
    def _shown(self) -> PreparedScene:
        """Behind arrays that cannot be written to: kernels are compiled for those."""
        scene = self._writable
        return replace(
            scene,
            vertices=_make_read_only(scene.vertices),
            normals=_make_read_only(scene.normals),
            chunks=Chunks._make(_make_read_only(array) for array in scene.chunks),
        )

    def _find_light(self, lighting: Lighting) -> tuple[Array, Array]:
        """Light and sheen of dull surfaces by vertex; nothing where there are none."""
        if self._light is None or self._light[0] is not lighting:
            self._light = (lighting, *self._compute_light(lighting))
        return self._light[1:]

    def _compute_light(self, lighting: Lighting) -> tuple[Array, Array]:
        if not (self._kinds == DULL).any():
            return np.zeros((0, 3)), np.zeros((0, 3))
        sides = np.where(self._origins.is_back, -1.0, 1.0)
        normals = self._normals[self._origins.vertex].astype(np.float64) * sides[:, None]
        is_plain = np.array([material.texture is None for material in self._materials])[self._origins.material]
        return lighting.compute_diffuse(normals), lighting.compute_sheen(normals) * is_plain[:, None]

    def _paint_materials(self, look: Look) -> tuple[Material, ...]:
        """Of batches that are shaded, with one more for small things."""
        if not self._shaded:
            return ()
        materials = list(self._materials)
        for patch in self._shaded:
            red, green, blue, alpha = look.base[patch].tolist()
            materials[patch] = replace(materials[patch], base_color=(red, green, blue, alpha))
        return (*materials, Material(unlit=False))


def choose_slots(patches: Patches, refinished: Collection[int]) -> list[int]:
    """The patches of these materials."""
    return [number for number, material in enumerate(patches.material.tolist()) if material in refinished]


def _make_read_only(array: NDArray[T]) -> NDArray[T]:
    view = array.view()
    view.setflags(write=False)
    return view
