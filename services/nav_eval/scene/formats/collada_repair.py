"""COLLADA files made fit for trimesh's reader: skins as plain meshes, and without what it stumbles over.

Skinned and morphed meshes come in the pose in which they were bound to their bones: every instance of a controller
becomes one of the mesh that the controller deforms, placed by the bind shape matrix. And one camera that is not there,
or a picture without a name, must not take the whole scene with it.
"""

from xml.etree import ElementTree

from nav_eval.errors import SceneError
from nav_eval.scene.model import ReadLog

#: Never shown, and often broken.
IDLE = ("library_animations", "library_animation_clips", "library_cameras", "library_lights", "library_physics_models",
        "library_physics_scenes", "instance_camera", "instance_light", "extra")  # fmt: skip
NUMBERS = ("color", "float", "float_array", "matrix", "rotate", "scale", "translate")
NAMELESS = "a picture without a name"
IDENTITY = "1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1"
MAX_CHAIN = 8  # controllers of controllers: a skin over a morph over a mesh


def place_skins(root: ElementTree.Element, space: str, log: ReadLog) -> None:
    """Put meshes in the place of controllers."""
    deformers = {controller.get("id", ""): controller for controller in root.iter(f"{space}controller")}
    parents = {child: parent for parent in root.iter() for child in parent}
    placed = 0
    for instance in list(root.iter(f"{space}instance_controller")):
        mesh, matrix = _find_mesh(deformers, instance.get("url", ""), space)
        if mesh is not None:
            _replace(parents, instance, mesh=mesh, matrix=matrix, space=space)
            placed += 1
    if placed:
        log.note(f"{placed:,} skinned or morphed meshes are frozen in the pose in which they were bound.")


def repair_collada(content: bytes, log: ReadLog) -> bytes:
    """The file without cameras, lights and animations, with a name for every picture and points in its numbers."""
    root, space = parse_xml(content, log)
    idle = {space + name for name in IDLE}
    materials = {f"#{material.get('id')}" for material in root.iter(f"{space}material")}
    for parent in list(root.iter()):
        for child in list(parent):
            is_dangling = child.tag == f"{space}instance_material" and child.get("target") not in materials
            if is_dangling:
                log.warn(f"The material {child.get('target', '')[:60]!r} does not exist: a neutral grey is shown.")
            if is_dangling or child.tag in idle:
                parent.remove(child)
    for image in root.iter(f"{space}image"):
        named = next(image.iter(f"{space}init_from"), None)
        if named is None:
            named = ElementTree.SubElement(image, f"{space}init_from")
        if not len(named) and not (named.text or "").strip():
            named.text = NAMELESS
    for name in NUMBERS:
        for element in root.iter(space + name):
            element.text = (element.text or "").replace(",", ".")
    return write_xml(root)


def parse_xml(content: bytes, log: ReadLog) -> tuple[ElementTree.Element, str]:
    """The tree, and what precedes its names; whoever calls has refused document types before."""
    try:
        root = ElementTree.fromstring(content)  # noqa: S314 (document types were refused)
    except ElementTree.ParseError as error:
        raise SceneError(f"{log.source}: is not well-formed XML ({error}); export it again.") from error
    space = root.tag.rpartition("}")[0] + "}" if "}" in root.tag else ""
    if space:
        ElementTree.register_namespace("", space.strip("{}"))
    return root, space


def write_xml(root: ElementTree.Element) -> bytes:
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _find_mesh(deformers: dict[str, ElementTree.Element], url: str, space: str) -> tuple[str | None, str]:
    """The url of the mesh that a controller deforms in the end, and where it was bound."""
    matrix = IDENTITY
    for _ in range(MAX_CHAIN):
        controller = deformers.get(url.removeprefix("#"))
        if controller is None:
            return (url if url.startswith("#") else None), matrix
        deformer = next((part for part in controller if part.tag in (f"{space}skin", f"{space}morph")), None)
        if deformer is None:
            return None, matrix
        bound = deformer.findtext(f"{space}bind_shape_matrix")
        matrix = bound or matrix
        url = deformer.get("source", "")
    return None, matrix


def _replace(
    parents: dict[ElementTree.Element, ElementTree.Element],
    instance: ElementTree.Element,
    *,
    mesh: str,
    matrix: str,
    space: str,
) -> None:
    """A skin stands where its bones are, not where its node is: its mesh goes into a node at the top of the scene."""
    parent = above = parents[instance]
    while above.tag == f"{space}node" and above in parents:
        above = parents[above]
    parent.remove(instance)
    node = ElementTree.SubElement(above if above.tag == f"{space}visual_scene" else parent, f"{space}node")
    ElementTree.SubElement(node, f"{space}matrix").text = matrix
    plain = ElementTree.SubElement(node, f"{space}instance_geometry", url=mesh)
    plain.extend(part for part in instance if part.tag == f"{space}bind_material")
