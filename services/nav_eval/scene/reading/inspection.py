"""What there is to say about a scene that was just read."""

from collections import Counter
from dataclasses import asdict, dataclass

from nav_eval.dataset.episode import Vec3
from nav_eval.scene.model import Scene
from nav_eval.scene.reading.shape import Shape


@dataclass(frozen=True, kw_only=True, slots=True)
class Inspection:
    """Figures and sentences, ready to be printed or written as JSON."""

    file: str
    triangles: int  #: usable ones
    file_triangles: int  #: those without area included
    vertices: int
    meshes: int
    materials: int
    unlit_materials: int
    textures: int
    texture_pixels: int
    lights: int
    lower: Vec3
    upper: Vec3
    size: Vec3
    up: str
    floors: tuple[float, ...]  #: heights of the large level surfaces
    storey_height: float | None  #: metres from a floor to what is above it
    objects: int
    regions: int
    categories: dict[str, int]  #: how many objects of each, most frequent first
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def inspect_scene(scene: Scene) -> Inspection:
    """The figures of a scene."""
    lower, upper = (_rounded(corner.tolist()) for corner in scene.bounds)
    vertical = Shape(scene).along(1)
    counts = Counter(thing.category for thing in scene.semantics.objects)
    return Inspection(
        file=scene.report.source,
        triangles=len(scene.triangles),
        file_triangles=scene.report.file_triangles,
        vertices=len(scene.positions),
        meshes=scene.report.meshes,
        materials=len(scene.materials),
        unlit_materials=sum(material.unlit for material in scene.materials),
        textures=len(scene.textures),
        texture_pixels=sum(texture.pixels.shape[0] * texture.pixels.shape[1] for texture in scene.textures),
        lights=len(scene.lights),
        lower=lower,
        upper=upper,
        size=_rounded([high - low for low, high in zip(lower, upper, strict=True)]),
        up=scene.report.up,
        floors=tuple(round(height, 2) for height in vertical.floors),
        storey_height=None if vertical.storey_height is None else round(vertical.storey_height, 2),
        objects=len(scene.semantics.objects),
        regions=len(scene.semantics.regions),
        categories=dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        notes=scene.report.notes,
        warnings=scene.report.warnings,
    )


def _rounded(values: list[float]) -> Vec3:
    x, y, z = (round(float(value), 4) for value in values)
    return x, y, z
