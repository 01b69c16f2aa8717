"""nav-eval's annotation of a scene as Habitat's semantic scene."""

import magnum as mn
from habitat_sim.semantic_scene import SemanticCategory, SemanticObject, SemanticRegion, SemanticScene
from nav_eval.scene.model import Region, Semantics
from nav_eval_habitat.scan_objects import make_hm3d_scene, make_matterport_scene
from nav_eval_habitat.semantic_parts import make_box, number_categories, put_into
from nav_eval_habitat.world import HM3D, MATTERPORT, World


def make_semantic_scene(world: World | None) -> SemanticScene:
    """Empty where there is no world, or no annotation."""
    if world is None or not world.semantics.objects:
        return SemanticScene()
    if world.annotation == MATTERPORT:
        return make_matterport_scene(world)
    if world.annotation == HM3D:
        return make_hm3d_scene(world)
    return _make_numbered(world.semantics, shift=world.id_shift)


def _make_region(region: Region, *, id: str, category: SemanticCategory | None, index: int) -> SemanticRegion:
    made = SemanticRegion(id=id, category=category, aabb=mn.Range3D(region.lower, region.upper), index=index)
    made.poly_loop_points = [mn.Vector2(x, z) for x, z in region.floor_polygon]
    return made


def _make_numbered(semantics: Semantics, *, shift: int) -> SemanticScene:
    """Our own: `category_number`, and an object for what has no name, so that places are values."""
    categories = number_categories(["Unknown", *semantics.categories[1:]])
    rooms = number_categories([region.category for region in semantics.regions])
    nowhere = SemanticRegion(id="_-1", category=None, aabb=mn.Range3D())
    regions = [
        _make_region(region, id=f"_{region.region_id}", category=rooms[region.category], index=index)
        for index, region in enumerate(semantics.regions)
    ]
    by_id = {region.region_id: made for region, made in zip(semantics.regions, regions, strict=True)}
    unknown = SemanticObject(id="Unknown_0", semantic_id=0, category=categories["Unknown"], aabb=mn.Range3D())
    objects = [unknown]
    put_into(unknown, nowhere)
    for thing in semantics.objects:
        number = thing.object_id - shift
        named = SemanticObject(
            id=f"{thing.category}_{number}",
            semantic_id=number,
            category=categories[thing.category],
            aabb=make_box(thing),
        )
        put_into(named, by_id.get(thing.region or "", nowhere))
        objects.append(named)
    if shift and semantics.objects and semantics.objects[0].object_id - shift == 0:
        objects = objects[1:]  # the data set itself counts from 0
    return SemanticScene(objects, regions, (), tuple(categories.values()))
