"""What a scene is once it has been read, whatever file it came from.

One flat triangle list in world space (metres, Y up, right-handed), with materials and textures by
index. Readers produce it; the renderer, the navigation mesh and the previews consume it. A scene
carries its own report, so that nothing a reader left out stays unsaid: readers write every conversion
they made and everything they left out into a `ReadLog` while they work.
"""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from nav_eval.generator_version import FIRST_GENERATOR
from nav_eval.records.geometry import Vec3
from nav_eval.scene.splats import SplatCloud


class AlphaMode(StrEnum):
    OPAQUE = "opaque"  #: alpha is ignored
    MASK = "mask"  #: below the cutoff there is a hole
    BLEND = "blend"  #: glass: drawn blended, and an obstacle like any other


class Wrap(StrEnum):
    REPEAT = "repeat"
    CLAMP = "clamp"
    MIRROR = "mirror"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Texture:
    """A decoded picture."""

    pixels: NDArray[np.uint8]  #: height × width × 4, first row on top; sRGB where it is a colour
    wrap_u: Wrap = Wrap.REPEAT
    wrap_v: Wrap = Wrap.REPEAT
    nearest: bool = False  #: magnify without filtering


@dataclass(frozen=True, kw_only=True, slots=True)
class Shading:
    """How a lit surface answers to light: glTF's metallic-roughness model. Maps are indices into `Scene.textures`."""

    metallic: float = 0.0
    roughness: float = 1.0
    roughness_map: int | None = None  #: green is a factor on the roughness, blue one on the metal
    normal_map: int | None = None
    normal_scale: float = 1.0
    occlusion_map: int | None = None  #: red: how much of the light from everywhere arrives
    occlusion_strength: float = 1.0
    emission_map: int | None = None  #: sRGB factor on the material's emission
    reflectance: Vec3 = (0.04, 0.04, 0.04)  #: what is mirrored straight on where there is no metal
    coat: float = 0.0  #: of clear varnish on top: how much,
    coat_roughness: float = 0.0  #: and how rough
    sheen: Vec3 = (0.0, 0.0, 0.0)  #: colour of the fibres of cloth, seen where it is grazed,
    sheen_roughness: float = 0.0  #: and how much they stand out
    transmission: float = 0.0  #: glass: how much of what is behind shines through,
    transmission_color: Vec3 = (1.0, 1.0, 1.0)  #: and what becomes of white on the way
    transmission_map: int | None = None  #: red is a factor on the transmission


MATTE = Shading()
MAPS = ("roughness_map", "normal_map", "occlusion_map", "emission_map", "transmission_map")
"""The fields of `Shading` that are textures."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """How a surface looks; texture coordinates already include the material's UV set and transform."""

    name: str = ""
    base_color: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0)  #: linear factor
    texture: int | None = None  #: index into `Scene.textures`
    unlit: bool = True  #: colours are final (scans, KHR_materials_unlit): no light is applied
    alpha_mode: AlphaMode = AlphaMode.OPAQUE
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    emissive: Vec3 = (0.0, 0.0, 0.0)  #: linear, added to the lit colour
    shading: Shading = MATTE  #: of no account where it is unlit

    @property
    def maps(self) -> tuple[int, ...]:
        """All textures that it shows."""
        others = (getattr(self.shading, name) for name in MAPS)
        return tuple(index for index in (self.texture, *others) if index is not None)

    def move_maps(self, by: int) -> "Material":
        """The same where `by` more textures come before its own."""
        numbers = {name: getattr(self.shading, name) for name in MAPS}
        moved = {name: number + by for name, number in numbers.items() if number is not None}
        texture = None if self.texture is None else self.texture + by
        return replace(self, texture=texture, shading=replace(self.shading, **moved))


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneObject:
    """One thing that the semantic annotation names."""

    object_id: int  #: the instance id in pictures; 0 is "nothing"
    category: str
    center: Vec3
    size: Vec3  #: extents of the axis-aligned box
    region: str | None = None
    name: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)  #: colour, material, … for referring expressions


@dataclass(frozen=True, kw_only=True, slots=True)
class Region:
    """A room, or another part of the building."""

    region_id: str
    category: str
    lower: Vec3
    upper: Vec3
    floor_polygon: tuple[tuple[float, float], ...] = ()  #: (x, z), where known

    def contains(self, point: Vec3) -> bool:
        """Whether a place on the ground belongs to it."""
        if not self.lower[1] - 0.5 <= point[1] < self.upper[1] - 0.5:
            return False
        x, z = point[0], point[2]
        if len(self.floor_polygon) < 3:
            return self.lower[0] <= x <= self.upper[0] and self.lower[2] <= z <= self.upper[2]
        inside = False
        corners = self.floor_polygon
        for (ax, az), (bx, bz) in zip(corners, (*corners[1:], corners[0]), strict=True):
            if (az > z) != (bz > z) and x < (bx - ax) * (z - az) / (bz - az) + ax:
                inside = not inside
        return inside


@dataclass(frozen=True, kw_only=True, slots=True)
class Semantics:
    objects: tuple[SceneObject, ...] = ()
    regions: tuple[Region, ...] = ()
    categories: tuple[str, ...] = ("",)  #: category id → name; id 0 is "nothing"
    generator: int = FIRST_GENERATOR  #: of a generated house


ROOM = "room"
"""Kind of a light that is all around, as in a bright room: see `simulator.rendering.surroundings`."""
MOST_LAMPS = 64
"""That are drawn; the brightest ones, where there are more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Light:
    """A lamp. Scans have none: their light is in the picture."""

    kind: str  #: "sun" (direction), "point" (position), "spot" (both), or ROOM
    color: Vec3 = (1.0, 1.0, 1.0)
    intensity: float = 1.0
    position: Vec3 = (0.0, 0.0, 0.0)
    direction: Vec3 = (0.0, -1.0, 0.0)
    range: float = 15.0  #: metres; infinite where nothing ends it
    inner_cone: float = 0.0  #: radians from the axis of a spot within which it is at its brightest,
    outer_cone: float = math.pi / 4  #: and beyond which there is nothing
    baked: bool = False  #: its light is in the colours already (generated houses): it shines on nothing else


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneReport:
    """What happened while reading: conversions made, things ignored."""

    source: str = ""
    notes: tuple[str, ...] = ()  #: what was done on purpose (up axis turned, recentred, …)
    warnings: tuple[str, ...] = ()  #: what was left out, one sentence each
    file_triangles: int = 0  #: triangles in the file, those without area included
    meshes: int = 0  #: pieces that were placed, every instance counted
    up: str = ""  #: which axis of the file is up, and who says so


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scene:
    """A scene ready for rendering and navigation."""

    positions: NDArray[np.float32]  #: V × 3
    normals: NDArray[np.float32]  #: V × 3, unit length
    uvs: NDArray[np.float32]  #: V × 2, (0, 0) is the top left of the picture
    colors: NDArray[np.uint8]  #: V × 4, linear factor, white where the file has none
    triangles: NDArray[np.uint32]  #: T × 3, counter-clockwise seen from the front
    triangle_material: NDArray[np.uint16]  #: T, index into `materials`
    triangle_object: NDArray[np.uint32]  #: T, `SceneObject.object_id`, 0 for none
    triangle_category: NDArray[np.uint16]  #: T, index into `semantics.categories`
    materials: tuple[Material, ...]
    textures: tuple[Texture, ...] = ()
    semantics: Semantics = Semantics()
    lights: tuple[Light, ...] = ()
    splats: SplatCloud | None = None  #: what pictures show instead of the triangles' colours
    report: SceneReport = SceneReport()

    @property
    def bounds(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lower and upper corner over the vertices that triangles use."""
        used = np.zeros(len(self.positions), bool)
        used[self.triangles] = True
        points = self.positions[used]
        return points.min(axis=0), points.max(axis=0)


class ReadLog:
    """Notes and warnings in the order in which they came up, each sentence once."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.triangles = 0
        self.meshes = 0
        self.up = ""
        self._notes: dict[str, None] = {}
        self._warnings: dict[str, None] = {}

    def note(self, sentence: str) -> None:
        """Something was done on purpose."""
        self._notes[sentence] = None

    def warn(self, sentence: str) -> None:
        """Something was left out."""
        self._warnings[sentence] = None

    def report(self) -> SceneReport:
        return SceneReport(
            source=self.source,
            notes=tuple(self._notes),
            warnings=tuple(self._warnings),
            file_triangles=self.triangles,
            meshes=self.meshes,
            up=self.up,
        )


#: how bright a surface is that faces this way under a plain light, which makes the rooms of a model without lamps
#: readable; the sum over axes of squared normals is 1
_FACING = {"up": 1.0, "down": 0.62, "x": 0.86, "z": 0.76}


def apply_lighting(scene: Scene, lighting: str) -> Scene:
    """The scene under a light by choice.

    `auto` is the scene as it is: lit materials are lit when it is drawn. `flat` shows the colours of the file, `unlit`
    also without the light that is baked into a generated house. `lit` gives a model without lamps an even light by
    facing, without highlights. `environment` puts what is lit into a bright room, beside the file's own lamps.
    """
    if lighting == "environment":
        is_lit = not all(material.unlit for material in scene.materials)
        return replace(scene, lights=(*scene.lights, Light(kind=ROOM))) if is_lit else scene
    if lighting in ("flat", "unlit"):
        baked = lighting == "unlit" and scene.lights
        return drop_light(replace(scene, colors=np.full_like(scene.colors, 255)) if baked else scene)
    if lighting == "lit" and not scene.lights:
        return drop_light(_apply_plain_light(scene))
    return scene


def drop_light(scene: Scene) -> Scene:
    """The scene with all colours shown as they are."""
    return replace(scene, materials=tuple(replace(material, unlit=True) for material in scene.materials))


def mark_baked_lights(scene: Scene) -> Scene:
    """The scene with lamps that shine on nothing if none of its surfaces is lit: their light is in the colours."""
    if not all(material.unlit for material in scene.materials):
        return scene
    return replace(scene, lights=tuple(replace(light, baked=True) for light in scene.lights))


def _apply_plain_light(scene: Scene) -> Scene:
    normals = scene.normals.astype(np.float64)
    vertical = np.where(normals[:, 1] > 0, _FACING["up"], _FACING["down"])
    light = normals[:, 0] ** 2 * _FACING["x"] + normals[:, 1] ** 2 * vertical + normals[:, 2] ** 2 * _FACING["z"]
    unlit = np.array([material.unlit for material in scene.materials], dtype=bool)
    bright = np.ones(len(scene.positions))
    lit_corners = scene.triangles[~unlit[scene.triangle_material]].reshape(-1)
    bright[lit_corners] = light[lit_corners]
    colors = scene.colors.astype(np.float64)
    colors[:, :3] *= bright[:, None]
    return replace(scene, colors=np.round(np.clip(colors, 0, 255)).astype(np.uint8))
