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
from nav_eval.simulator.rendering.lighting import FacingShares, Lighting, choose_lighting
from nav_eval.simulator.rendering.moving_room import (
    ON_DULL,
    ON_SHADED,
    THING_VERTICES,
    MovingRoom,
    PlacedThings,
    ThingShapes,
    reserve_room,
)
from nav_eval.simulator.rendering.preparation import prepare_with_origins
from nav_eval.simulator.rendering.prepared_scene import (
    DULL,
    GROUP,
    SHADED,
    Batch,
    Chunks,
    PreparedScene,
    VertexOrigins,
    classify_materials,
    number_distinct,
)
from nav_eval.simulator.rendering.texel_files import StoredTexture
from nav_eval.simulator.rendering.tints import Brush, Inks, find_inks, paint_tints

MOST_PATCHES = 65536
"""Triangles name their material by two bytes."""
_WHITE = Texture(pixels=np.full((1, 1, 4), 255, dtype=np.uint8))
_FINE = Texture(pixels=np.broadcast_to(np.uint8(255), (512, 512, 4)))
"""Stands for a texture that is not known yet: texture coordinates are merged as finely as it needs."""
_LATER: tuple[NDArray[np.uint8], ...] = ()
"""Mipmaps of a texture that few views show: made when it is uploaded."""
_NUMBERS = count(1)  #: of the canvases of this process
_KEPT_INKS = 2
_NO_LIGHT = np.zeros((1, 1, 3))

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
    colors: NDArray[np.uint8]  #: N × 4, vertex colours,
    places: NDArray[np.int32]  #: and which of them each vertex of the scene has; the same array for looks alike
    textures: Mapping[int, Texture | None] = field(default_factory=dict)  #: of patches, in place of the scene's
    lighting: Lighting
    things: PlacedThings = field(default_factory=lambda: PlacedThings.make_room(0))


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

    def __init__(
        self,
        scene: Scene,
        patches: Patches,
        blank: BlankScene,
        *,
        slots: Sequence[int],
        shapes: ThingShapes,
        stored: Mapping[int, StoredTexture],
    ) -> None:
        """`shapes` are those of small things; `stored` are textures that looks may have, by identity."""
        materials = [scene.materials[number] for number in patches.material]
        self.lighting = choose_lighting(scene)
        self.base = np.array([material.base_color for material in materials], dtype=np.float64).reshape(-1, 4)
        self._materials = materials
        self._glow = np.array([material.emissive for material in materials], dtype=np.float64).reshape(-1, 3)
        self._is_plain = np.array([material.texture is None for material in materials], dtype=np.bool_)
        patched = replace(scene, materials=tuple(materials), triangle_material=patches.of_triangle.astype(np.uint16))
        self._kinds = classify_materials(patched, self.lighting)
        self._shaded = np.flatnonzero(self._kinds == SHADED).tolist() if len(blank.prepared.normals) else []
        self._origins = blank.origins
        self._facing, self._normals = self._find_facing(scene)
        self._inks: dict[int, tuple[NDArray[np.int32], Inks]] = {}
        self._slots = slots
        self._pictures = [None if m.texture is None else blank.prepared.textures[m.texture] for m in materials]
        self._light: tuple[Lighting, Array, Array] | None = None
        self._light_of_things: tuple[Lighting, Array, Array] | None = None
        self._tints = np.zeros(len(blank.prepared.vertices), dtype=np.uint32)
        self._writable = replace(
            blank.prepared,
            digest=f"{blank.prepared.digest}-{next(_NUMBERS)}",  # renderers are shared by digest, canvases by nobody
            vertices=np.array(blank.prepared.vertices),
            moving_vertices=blank.prepared.moving_chunks // GROUP * THING_VERTICES,
            tints=self._tints,
            normals=np.array(blank.prepared.normals),
            chunks=Chunks._make(np.array(array) for array in blank.prepared.chunks),
            stored=stored,
        )
        self._room = MovingRoom(self._writable, self._tints, shapes)

    @property
    def lights_things_by(self) -> int:
        """What a small thing on a lit surface is lit by."""
        return ON_SHADED if is_shaded(self._writable) else ON_DULL

    def paint(self, look: Look) -> PreparedScene:
        """The scene with this look."""
        light, sheen = self._find_light(look.lighting)
        brush = Brush(self._kinds, look.base, self._glow, self._is_plain, light, sheen)
        paint_tints(self._find_inks(look.places), brush, look.colors, self._tints[: len(self._origins.vertex)])
        self._room.place(look.things, *self._find_light_of_things(look))
        pictures = [look.textures.get(patch, self._pictures[patch]) or _WHITE for patch in self._slots]
        return replace(
            self._shown,
            textures=(*self._shown.textures, *pictures),
            mipmaps=(*self._shown.mipmaps, *(_LATER for _ in pictures)),
            materials=self._paint_materials(look),
            lighting=look.lighting,
            placed_vertices=len(look.things.shape) * THING_VERTICES,
        )

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

    def _find_facing(self, scene: Scene) -> tuple[NDArray[np.int32], Array]:
        """How each dull vertex faces, and the normals of these ways."""
        dull = np.flatnonzero(self._kinds[self._origins.material] == DULL)
        facing = np.zeros(len(self._origins.vertex), dtype=np.int32)
        sides = np.where(self._origins.is_back[dull], np.float32(-1.0), np.float32(1.0))
        normals = scene.normals[self._origins.vertex[dull]] * sides[:, None] + np.float32(0.0)  # -0 is 0
        facing[dull], first = number_distinct(np.ascontiguousarray(normals, dtype=np.float32).view(np.int32))
        return facing, normals[first].astype(np.float64)

    def _find_inks(self, places: NDArray[np.int32]) -> Inks:
        if id(places) not in self._inks:
            while len(self._inks) >= _KEPT_INKS:
                self._inks.pop(next(iter(self._inks)))
            of_vertex, origins = places[self._origins.vertex], self._origins
            inks = find_inks(origins.material, of_vertex, self._facing, patches=len(self._materials))
            self._inks[id(places)] = places, inks
        return self._inks[id(places)][1]

    def _find_light(self, lighting: Lighting) -> tuple[Array, Array]:
        """Light and sheen of dull surfaces, by way of facing."""
        if self._light is None or self._light[0] is not lighting:
            if self._light is None:  # looks change how strong lights are and their colour, nothing else
                self._shares = FacingShares.over(self._normals, lighting)
            self._light = lighting, *self._shares.add_up(lighting)
        return self._light[1:]

    def _find_light_of_things(self, look: Look) -> tuple[Array, Array]:
        """The same for small things, by shape and vertex; nothing where none needs it."""
        if not (look.things.lit_by == ON_DULL).any():
            return _NO_LIGHT, _NO_LIGHT
        if self._light_of_things is None or self._light_of_things[0] is not look.lighting:
            shapes = self._room.shapes.normals
            if self._light_of_things is None:
                normals = shapes.reshape(-1, 3).astype(np.float64)
                self._shares_of_things = FacingShares.over(normals, look.lighting)
            light, sheen = self._shares_of_things.add_up(look.lighting)
            self._light_of_things = look.lighting, light.reshape(shapes.shape), sheen.reshape(shapes.shape)
        return self._light_of_things[1:]

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
