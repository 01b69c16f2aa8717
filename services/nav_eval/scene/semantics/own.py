"""Our own annotation: `<scene>.semantics.json` next to `<scene>.glb`.

Objects are tied to triangles by the glTF nodes' `extras.object_id`. All coordinates are those of
the scene as it is read: metres, Y up.
"""

from pathlib import Path

import msgspec

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import SceneError
from nav_eval.scene.model import Region, SceneObject, Semantics
from nav_eval.scene.semantics.labels import vector


class ObjectEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: int
    category: str
    center: Vec3
    size: Vec3
    region: str | None = None
    name: str | None = None
    attributes: dict[str, str] = {}


class RegionEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    id: str
    category: str
    lower: Vec3
    upper: Vec3
    floor_polygon: tuple[tuple[float, float], ...] = ()


class SemanticsFile(msgspec.Struct, frozen=True, omit_defaults=True):
    objects: list[ObjectEntry] = []
    regions: list[RegionEntry] = []
    categories: list[str] = []
    """Optional: the order of category ids after 0."""


def semantics_path(scene: Path) -> Path:
    """Where the annotation of a scene file belongs."""
    return scene.with_suffix(".semantics.json")


def read_semantics(content: bytes, *, source: str) -> Semantics:
    """The annotation in a file's bytes."""
    try:
        table = msgspec.json.decode(content, type=SemanticsFile, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable annotation: {error}.") from error
    objects = tuple(_object(entry, source) for entry in table.objects)
    repeated = len(objects) - len({thing.object_id for thing in objects})
    if repeated:
        raise SceneError(f"{source}: {repeated} object ids are used twice; every object needs its own.")
    return Semantics(
        objects=objects,
        regions=tuple(
            Region(
                region_id=entry.id,
                category=entry.category,
                lower=entry.lower,
                upper=entry.upper,
                floor_polygon=entry.floor_polygon,
            )
            for entry in table.regions
        ),
        categories=("", *table.categories),
    )


def write_semantics(semantics: Semantics, path: Path) -> None:
    """Write the annotation to `path` (see `semantics_path`); equal input gives equal bytes."""
    table = SemanticsFile(
        objects=[
            ObjectEntry(
                id=thing.object_id,
                category=thing.category,
                center=vector(thing.center),
                size=vector(thing.size),
                region=thing.region,
                name=thing.name,
                attributes=dict(sorted(thing.attributes.items())),
            )
            for thing in semantics.objects
        ],
        regions=[
            RegionEntry(
                id=region.region_id,
                category=region.category,
                lower=vector(region.lower),
                upper=vector(region.upper),
                floor_polygon=tuple((float(x), float(z)) for x, z in region.floor_polygon),
            )
            for region in semantics.regions
        ],
        categories=[category for category in semantics.categories if category],
    )
    path.write_bytes(msgspec.json.format(msgspec.json.encode(table), indent=1))


def _object(entry: ObjectEntry, source: str) -> SceneObject:
    if not 0 < entry.id < 2**32:
        raise SceneError(f'{source}: object id {entry.id} is not possible; ids start at 1, 0 is "nothing".')
    return SceneObject(
        object_id=entry.id,
        category=entry.category,
        center=entry.center,
        size=entry.size,
        region=entry.region,
        name=entry.name,
        attributes=entry.attributes,
    )
