"""The scene graph, flattened: which node stands where in the world, and the lamps on nodes (KHR_lights_punctual)."""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.formats import geometry
from nav_eval.scene.formats.gltf.document import Document, read_floats
from nav_eval.scene.formats.gltf.schema import Instancing, Node, PunctualLight
from nav_eval.scene.formats.scene_folder import check_limit
from nav_eval.scene.model import MOST_LAMPS, Light
from nav_eval.scene.semantics import to_vector

DOOR_NAME = re.compile(r"IfcDoor(?![a-z])")  # IfcDoor, IfcDoor:…, IfcDoorStandardCase; not IfcDoorframe


class PlacedNode(NamedTuple):
    node: int  #: which node
    matrix: NDArray[np.float64]  #: local to world, 4 × 4, column vectors
    object_id: int  #: from the node's or an ancestor's `extras.object_id`; 0 for none
    visible: bool
    """False where the node or an ancestor is hidden (KHR_node_visibility), or is a door of a building model."""


def place_nodes(document: Document) -> dict[int, PlacedNode]:
    """All nodes of the document's scene in the order of a walk through the tree."""
    nodes = document.gltf.nodes
    check_limit(len(nodes), limit=document.limits.nodes, what="nodes", source=document.source)
    placed: dict[int, PlacedNode] = {}
    stack = [(root, PlacedNode(-1, np.eye(4), 0, True), 0) for root in reversed(_find_roots(document))]
    while stack:
        index, parent, depth = stack.pop()
        node = document.item(nodes, index, "node")
        if index in placed:
            raise document.error(
                f"node {index} is reached twice: the node graph is cyclic or shared, not a tree; export the file again."
            )
        check_limit(depth, limit=document.limits.depth, what="levels of nodes", source=document.source)
        placed[index] = _place_node(node, index, parent)
        stack += [(child, placed[index], depth + 1) for child in reversed(node.children)]
    return placed


def is_closed_door(node: Node) -> bool:
    """Building models (IFC) fill every doorway with the solid of a closed door; we leave it open."""
    return DOOR_NAME.match(node.name) is not None


def compute_local_matrix(node: Node) -> NDArray[np.float64]:
    """A node's own transform."""
    if node.matrix is not None:
        return np.array(node.matrix, np.float64).reshape(4, 4).T
    placement = compose_matrices(np.array([node.translation]), np.array([node.rotation]), np.array([node.scale]))
    return placement.reshape(4, 4)


def compose_matrices(
    translations: NDArray[np.float64], rotations: NDArray[np.float64], scales: NDArray[np.float64]
) -> NDArray[np.float64]:
    """N matrices that scale, then rotate (quaternions x, y, z, w), then move."""
    matrices = np.tile(np.eye(4), (len(translations), 1, 1))
    matrices[:, :3, :3] = compute_rotation_matrices(rotations) * scales[:, None, :]
    matrices[:, :3, 3] = translations
    return matrices


def compute_rotation_matrices(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """N × 3 × 3 rotations; a quaternion of length zero does not turn."""
    lengths = np.linalg.norm(quaternions, axis=1, keepdims=True)
    x, y, z, w = np.where(lengths > 0, quaternions / np.where(lengths > 0, lengths, 1), (0.0, 0.0, 0.0, 1.0)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=-1),
            np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=-1),
            np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=1,
    )


def compute_instance_matrices(document: Document, placed: PlacedNode) -> NDArray[np.float64]:
    """The world matrices at which a node's mesh is drawn: one, or one per GPU instance."""
    instancing = document.gltf.nodes[placed.node].extensions.instancing
    if instancing is None:
        return placed.matrix[None]
    with np.errstate(over="ignore", invalid="ignore"):  # broken instances are found by their triangles
        return np.asarray(placed.matrix @ _read_instance_matrices(document, instancing, placed.node))


def _find_roots(document: Document) -> list[int]:
    gltf = document.gltf
    if not gltf.scenes:
        children = {child for node in gltf.nodes for child in node.children}
        return [index for index in range(len(gltf.nodes)) if index not in children]
    if len(gltf.scenes) > 1:
        document.log.warn(f"The file holds {len(gltf.scenes)} scenes; only its default scene is read.")
    return document.item(gltf.scenes, gltf.scene or 0, "scene").nodes


def _place_node(node: Node, index: int, parent: PlacedNode) -> PlacedNode:
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = parent.matrix @ compute_local_matrix(node)
    visibility = node.extensions.visibility
    visible = parent.visible and (visibility is None or visibility.visible) and not is_closed_door(node)
    return PlacedNode(index, matrix, _get_object_id(node, parent.object_id), visible)


def _get_object_id(node: Node, inherited: int) -> int:
    extras = node.extras if isinstance(node.extras, dict) else {}
    match extras.get("object_id"):
        case int(object_id) if 0 <= object_id < 2**32:
            return object_id
    return inherited


def _read_instance_matrices(document: Document, instancing: Instancing, node: int) -> NDArray[np.float64]:
    widths = {"TRANSLATION": 3, "ROTATION": 4, "SCALE": 3}
    stored = {name: index for name, index in instancing.attributes.items() if name in widths}
    values = {name: read_floats(document, index).astype(np.float64) for name, index in stored.items()}
    counts = {len(array) for array in values.values()}
    if len(counts) > 1 or any(array.shape[1] != widths[name] for name, array in values.items()):
        raise document.error(f"node {node}: its instance attributes do not fit together; export the file again.")
    count = counts.pop() if counts else 1
    check_limit(count, limit=document.limits.nodes, what="instances", source=document.source)
    return compose_matrices(
        values.get("TRANSLATION", np.zeros((count, 3))),
        values.get("ROTATION", np.tile((0.0, 0.0, 0.0, 1.0), (count, 1))),
        values.get("SCALE", np.ones((count, 3))),
    )


LIGHT_KINDS = {"directional": "sun", "point": "point", "spot": "spot"}


def read_lights(document: Document, placed: Iterable[PlacedNode]) -> tuple[Light, ...]:
    """The visible lights, in world space."""
    table = document.gltf.extensions.lights
    known = table.lights if table else []
    lights = []
    for node in placed:
        reference = document.gltf.nodes[node.node].extensions.light
        if reference is not None and node.visible:
            lights.append(_make_light(document, document.item(known, reference.light, "light"), node))
    if len(lights) > MOST_LAMPS:
        document.log.warn(f"The file holds {len(lights)} lamps; only the {MOST_LAMPS} brightest are shown.")
    return tuple(lights)


def _make_light(document: Document, light: PunctualLight, node: PlacedNode) -> Light:
    if light.type not in LIGHT_KINDS:
        raise document.error(f"a light has the unknown type {light.type!r}; export the file again.")
    direction = geometry.normalize(-node.matrix[None, :3, 2])[0]
    return Light(
        kind=LIGHT_KINDS[light.type],
        color=light.color,
        intensity=light.intensity,
        position=to_vector(node.matrix[:3, 3]),
        direction=to_vector(direction),
        range=math.inf if light.range is None else light.range,
        inner_cone=light.spot.inner_cone_angle,
        outer_cone=light.spot.outer_cone_angle,
    )
