"""Lamps of a glTF scene (KHR_lights_punctual)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import Light
from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.gltf.document import Document
from nav_eval.scene.reading.gltf.nodes import PlacedNode
from nav_eval.scene.reading.gltf.schema import PunctualLight

KINDS = {"directional": "sun", "point": "point", "spot": "point"}


def read_lights(document: Document, placed: Iterable[PlacedNode]) -> tuple[Light, ...]:
    """The visible lights, in world space."""
    table = document.gltf.extensions.lights
    known = table.lights if table else []
    lights = []
    for node in placed:
        reference = document.gltf.nodes[node.node].extensions.light
        if reference is not None and node.visible:
            lights.append(_light(document, document.item(known, reference.light, "light"), node))
    return tuple(lights)


def _light(document: Document, light: PunctualLight, node: PlacedNode) -> Light:
    if light.type not in KINDS:
        raise document.error(f"a light has the unknown type {light.type!r}; export the file again.")
    if light.type == "spot":
        document.log.warn("Spot lights are shown as point lights.")
    direction = geometry.normalized(-node.matrix[None, :3, 2])[0]
    return Light(
        kind=KINDS[light.type],
        color=light.color,
        intensity=light.intensity,
        position=_vector(node.matrix[:3, 3]),
        direction=_vector(direction),
        **({} if light.range is None else {"range": light.range}),
    )


def _vector(values: NDArray[np.floating]) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
