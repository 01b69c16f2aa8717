"""A Gazebo world put together: its models, those that they include, their visuals, and the lamps.

What is seen is what is in the way, as in every other scene: collision shapes are not read. Every model that the world
places is one object of the scene, named as the world names it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.formats.gazebo.materials import MaterialReader, make_translucent
from nav_eval.scene.formats.gazebo.meshes import MeshLibrary
from nav_eval.scene.formats.gazebo.model_library import ModelLibrary, get_model_name
from nav_eval.scene.formats.gazebo.poses import TO_OURS, FrameTable, Matrix, make_scaling, read_pose
from nav_eval.scene.formats.gazebo.shapes import make_shape
from nav_eval.scene.formats.gazebo.xml_tree import XmlNode
from nav_eval.scene.formats.geometry import MeshPart, PartList
from nav_eval.scene.formats.inspection import check_plausible
from nav_eval.scene.formats.scene_folder import MissingFile, check_limit
from nav_eval.scene.formats.trimesh_loader import NEUTRAL, MalformedXml
from nav_eval.scene.model import Light, ReadLog, Scene
from nav_eval.scene.semantics import Label, label_scene, to_vector

WORLD_SUFFIXES = (".world", ".sdf")
MAX_DEPTH = 32  # of models within models
TRAILING_NUMBERS = re.compile(r"([_\-. ]*\d+)+$|_clone(_\d+)*$")
WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
GROUND_SIZE = 100.0  # metres: the ground plane that comes with Gazebo
FARTHEST = 1e4  # metres from where most models stand: what is farther fell, or was thrown, before the world was saved
LAMP_DISTANCE = 2.0  # metres at which a lamp is as bright as in Gazebo, whose light falls off by another rule
LEFT_OUT = {"actor": "actors", "road": "roads", "population": "populations of models"}
UNSEEN_SHAPES = {"empty", "image"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where a walk through models has come to."""

    model: Path  #: the SDF file that is being read
    matrix: Matrix  #: from the element's frame to ours
    object_id: int
    depth: int = 0


def read_world(path: Path, library: ModelLibrary) -> Scene:
    """The world in an SDF file, Y up, every model an object."""
    log = ReadLog(str(path))
    scene = _WorldReader(library, log).read(path)
    check_plausible(scene, log)
    log.up = "+Z (SDF's rule)"
    return replace(scene, report=log.report())


class _WorldReader:
    def __init__(self, library: ModelLibrary, log: ReadLog) -> None:
        self._library = library
        self._log = log
        self._materials = MaterialReader(library, log)
        self._meshes = MeshLibrary(library, self._materials, log)
        self._parts = PartList(library.limits, log)
        self._lights: list[Light] = []
        self._labels: dict[int, Label] = {}
        self._collisions = 0
        self._placed = 0

    def read(self, path: Path) -> Scene:
        root = self._library.read_sdf(path)
        world = root.find("world")
        owner = root if world is None else world
        self._place_all(_apply_state(owner), path)
        self._meshes.report()
        if self._collisions:
            self._log.note(f"{self._collisions:,} collision shapes are not read: what is seen is in the way.")
        scene = self._parts.join(
            materials=self._materials.materials, textures=self._materials.textures, lights=self._lights
        )
        return label_scene(scene, triangle_object=scene.triangle_object, labels=self._labels)

    def _place_all(self, world: XmlNode, path: Path) -> None:
        frames = FrameTable(world, source=str(path))
        for name, what in LEFT_OUT.items():
            count = sum(1 for _ in world.iterate(name))
            if count:
                self._log.warn(f"{count:,} {what} are left out.")
        placed = [(node, TO_OURS @ frames.place(node)) for node in world.iterate("model", "include", "light")]
        middle = np.median([matrix[:3, 3] for _, matrix in placed], axis=0) if placed else np.zeros(3)
        for node, matrix in placed:
            if node.name == "light":
                self._add_light(node, matrix, source=str(path))
                continue
            away = float(np.linalg.norm(matrix[:3, 3] - middle))
            if away > FARTHEST:
                label = _make_label(node).name
                self._log.warn(
                    f"The model {label!r} stands {away:.3g} m from the others and is left out; correct its pose."
                )
                continue
            object_id = len(self._labels) + 1
            self._labels[object_id] = _make_label(node)
            place = _Place(model=path, matrix=matrix, object_id=object_id)
            self._place_model(node, place) if node.name == "model" else self._place_include(node, place)

    def _place_include(self, include: XmlNode, place: _Place) -> None:
        """An included model; its own pose counts unless the include has one."""
        uri = include.read_text("uri")
        name = get_model_name(uri)
        if include.attributes.get("placement_frame") or include.find("placement_frame") is not None:
            self._log.warn(f"The placement frame of {name!r} is left out: its origin is placed instead.")
        try:
            path = self._library.find_model(uri)
            root = self._library.read_sdf(path)
        except MissingFile as error:
            if not self._place_builtin(name, place):
                self._log.warn(f"{error} It is left out.")
            return
        except MalformedXml as error:
            self._log.warn(f"A model is left out: {error}")
            return
        for node in root.iterate("model", "light"):
            own = np.eye(4) if include.find("pose") is not None else read_pose(node.find("pose"), source=str(path))
            inner = replace(place, model=path, matrix=place.matrix @ own)
            if node.name == "light":
                self._add_light(node, inner.matrix, source=str(path))
            else:
                self._place_model(node, inner)

    def _place_builtin(self, name: str, place: _Place) -> bool:
        """What every Gazebo brings and every world uses."""
        if name == "sun":
            self._lights.append(Light(kind="sun", intensity=np.pi * 0.8, direction=(0.5, -0.9, -0.1)))
        elif name == "ground_plane":
            size = XmlNode("size", {}, text=f"{GROUND_SIZE} {GROUND_SIZE}")
            ground = make_shape(XmlNode("plane", {}, [size]), source=str(place.model))
            assert ground is not None
            self._add_parts([replace(ground, material=self._materials.get_slot(NEUTRAL))], place.matrix, place)
        return name in ("sun", "ground_plane")

    def _place_model(self, model: XmlNode, place: _Place) -> None:
        check_limit(place.depth, limit=MAX_DEPTH, what="models within models", source=str(place.model))
        self._placed += 1
        check_limit(self._placed, limit=self._library.limits.nodes, what="models", source=self._log.source)
        frames = FrameTable(model, source=str(place.model))
        for node in model.iterate("link", "model", "include"):
            inner = replace(place, matrix=place.matrix @ frames.place(node), depth=place.depth + 1)
            if node.name == "link":
                self._place_link(node, inner)
            elif node.name == "model":
                self._place_model(node, inner)
            else:
                self._place_include(node, inner)

    def _place_link(self, link: XmlNode, place: _Place) -> None:
        self._collisions += sum(1 for _ in link.iterate("collision"))
        source = str(place.model)
        for node in link.iterate("light"):
            self._add_light(node, place.matrix @ read_pose(node.find("pose"), source=source), source=source)
        for visual in link.iterate("visual"):
            pose = read_pose(visual.find("pose"), source=source)
            self._add_visual(visual, replace(place, matrix=place.matrix @ pose))

    def _add_visual(self, visual: XmlNode, place: _Place) -> None:
        shapes = [child for child in (visual.find("geometry") or visual).children if child.name not in UNSEEN_SHAPES]
        material = self._materials.read(visual, model=place.model)
        if material is not None and material.base_color[3] <= 0.0:
            return
        for shape in shapes:
            if shape.name == "mesh":
                self._add_mesh(shape, visual, place)
                continue
            part = make_shape(shape, source=str(place.model))
            if part is None:
                self._log.warn(f"A shape of the kind <{shape.name[:40]}> is left out.")
                continue
            slot = self._materials.get_slot(material or NEUTRAL)
            self._add_parts([replace(part, material=slot)], place.matrix, place)

    def _add_mesh(self, mesh: XmlNode, visual: XmlNode, place: _Place) -> None:
        if mesh.find("submesh") is not None:
            self._log.warn("A visual shows one part of a mesh (<submesh>); the whole mesh is shown instead.")
        try:
            parts = self._meshes.get_parts(mesh.read_text("uri"), model=place.model)
        except SceneError as error:
            self._log.warn(f"A mesh is left out: {error}")
            return
        scale = mesh.read_numbers("scale", default=(1.0, 1.0, 1.0), source=str(place.model))
        self._add_parts(self._paint(parts, visual, place.model), place.matrix @ make_scaling(scale), place)

    def _paint(self, parts: list[MeshPart], visual: XmlNode, model: Path) -> Iterable[MeshPart]:
        """With the SDF's material where it has one, else with the mesh's own."""
        said = self._materials.read(visual, model=model)
        if said is None:
            return parts
        if visual.find("material") is not None:
            return [replace(part, material=self._materials.get_slot(said)) for part in parts]
        own = [self._materials.materials[part.material] for part in parts]
        clear = [self._materials.get_slot(make_translucent(material, said.base_color[3])) for material in own]
        return [replace(part, material=slot) for part, slot in zip(parts, clear, strict=True)]

    def _add_parts(self, parts: Iterable[MeshPart], matrix: Matrix, place: _Place) -> None:
        for part in parts:
            self._parts.reserve(vertices=len(part.positions), triangles=len(part.triangles))
            self._parts.place(part, matrix, object_id=place.object_id)

    def _add_light(self, node: XmlNode, matrix: Matrix, *, source: str) -> None:
        color = node.read_numbers("diffuse", default=(1.0, 1.0, 1.0, 1.0), source=source)[:3]
        strength = float(node.read_numbers("intensity", default=(1.0,), source=source)[0])
        if node.attributes.get("type") == "directional":
            direction = node.read_numbers("direction", default=(0.0, 0.0, -1.0), source=source)
            turned = matrix[:3, :3] @ direction
            self._lights.append(
                Light(kind="sun", color=to_vector(color), intensity=np.pi * strength, direction=to_vector(turned))
            )
            return
        if node.attributes.get("type") == "spot":
            self._log.note("Spot lights are read as lamps that shine all around.")
        fall = [float(node.read_numbers("attenuation", name, default=(value,), source=source)[0])
                for name, value in (("constant", 1.0), ("linear", 0.0), ("quadratic", 0.0))]  # fmt: skip
        divisor = fall[0] + fall[1] * LAMP_DISTANCE + fall[2] * LAMP_DISTANCE**2
        reach = float(node.read_numbers("attenuation", "range", default=(10.0,), source=source)[0])
        self._lights.append(
            Light(
                kind="point",
                color=to_vector(color),
                intensity=np.pi * strength * LAMP_DISTANCE**2 / max(divisor, 1e-3),
                position=to_vector(matrix[:3, 3]),
                range=reach,
            )
        )


def _apply_state(world: XmlNode) -> XmlNode:
    """The world as it was saved: a state moves models and says which are gone."""
    state = world.find("state")
    if state is None:
        return world
    poses = {node.label: node.find("pose") for node in state.iterate("model")}
    gone = Counter(node.text for deletions in state.iterate("deletions") for node in deletions.iterate("name"))
    return replace(world, children=list(_move_saved(world, poses, gone)))


def _move_saved(world: XmlNode, poses: dict[str, XmlNode | None], gone: Counter[str]) -> Iterator[XmlNode]:
    for node in world.children:
        name = node.label or node.read_text("name")
        if node.name not in ("model", "include") or name not in poses:
            if not (node.name in ("model", "include") and name in gone):
                yield node
            continue
        pose = poses[name]
        others = [child for child in node.children if child.name != "pose"]
        yield replace(node, children=others if pose is None else [pose, *others])


def _make_label(node: XmlNode) -> Label:
    """The world's name for a model is its name; without its number it is what kind of thing it is."""
    name = node.label or node.read_text("name") or get_model_name(node.read_text("uri"))
    kind = WORD_STARTS.sub("_", TRAILING_NUMBERS.sub("", name)) or name
    return Label(category=re.sub(r"[\s\-.]+", "_", kind).lower() or "model", name=name or None)
