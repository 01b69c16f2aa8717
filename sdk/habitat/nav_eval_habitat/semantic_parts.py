"""What the semantic scenes of every data set are made of."""

from collections.abc import Iterable

import numpy as np

import magnum as mn
from habitat_sim.semantic_scene import SemanticCategory, SemanticObject, SemanticRegion
from nav_eval.scene.model import SceneObject


def make_box(thing: SceneObject) -> mn.Range3D:
    return mn.Range3D.from_center(thing.center, np.asarray(thing.size) / 2)


def number_categories(names: Iterable[str]) -> dict[str, SemanticCategory]:
    """Categories in order of appearance."""
    return {name: SemanticCategory({"": name, "raw": name}, index) for index, name in enumerate(dict.fromkeys(names))}


def put_into(thing: SemanticObject, region: SemanticRegion) -> None:
    thing.region = region
    region.objects.append(thing)
