"""COLLADA: scenes as XML, with materials, pictures and instances.

trimesh and pycollada read the geometry. What they pass over without a word (the unit, the vertical, lights, skins,
strips, transparency) is found by a look of our own at the XML, which also counts instances before they are copied.
"""

import io
import zipfile
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, PngImagePlugin

from nav_eval.errors import SceneError
from nav_eval.records.geometry import Vec3
from nav_eval.scene.color import to_linear
from nav_eval.scene.formats.collada_repair import parse_xml, place_skins, repair_collada, write_xml
from nav_eval.scene.formats.collada_surfaces import cut_polygons, settle_opacity
from nav_eval.scene.formats.geometry import PartList
from nav_eval.scene.formats.images import TextureFiles
from nav_eval.scene.formats.markup import repair_markup
from nav_eval.scene.formats.scene_folder import ReadLimits, SceneFolder, check_limit
from nav_eval.scene.formats.trimesh_loader import (
    NEUTRAL,
    InstanceTree,
    LoadedMesh,
    MalformedXml,
    XmlElement,
    add_mesh,
    load_meshes,
    scan_xml,
)
from nav_eval.scene.model import AlphaMode, Material, ReadLog, Scene
from nav_eval.scene.semantics import to_vector

if TYPE_CHECKING:
    from trimesh.visual.material import PBRMaterial

PRIMITIVES = ("triangles", "polylist", "polygons", "tristrips", "trifans")
#: Elements that mean something to a viewer and nothing to trimesh's reader.
LEFT_OUT = {
    "instance_controller": "skinned or morphed meshes without a mesh",
    "instance_light": "lights",
    "animation": "animations",
    "lines": "sets of lines",
    "linestrips": "line strips",
    "convex_mesh": "convex meshes",
    "spline": "splines",
}
TEXTS = frozenset({"up_axis", "init_from", "vcount"})
#: The file's axes in ours, Y up: rows are what becomes x, y and z.
UPRIGHT = {
    "X_UP": ((0, -1, 0), (1, 0, 0), (0, 0, 1)),
    "Y_UP": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "Z_UP": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
}
PICTURE = "picture"


def read_collada(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a .dae file: Y up and in metres, as its asset says."""
    content, outline = _open(content, source=log.source, limits=folder.limits)
    if outline.up_axis != "Y_UP":
        log.note(f"The file says {outline.up_axis}; turned to +Y.")
    return _read(content, outline, to_world=outline.to_world, folder=folder, log=log)


def read_collada_unturned(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The same in the file's own axes, whichever it calls up: Gazebo and RViz do not look at `<up_axis>`."""
    content, outline = _open(content, source=log.source, limits=folder.limits)
    to_metres = np.diag([outline.metres, outline.metres, outline.metres, 1.0])
    return _read(content, outline, to_world=to_metres, folder=folder, log=log)


def _read(
    content: bytes, outline: "_Outline", *, to_world: NDArray[np.float64], folder: SceneFolder, log: ReadLog
) -> Scene:
    content, outline, cut_out = _simplify(content, outline, folder=folder, log=log)
    outline.report(log)
    meshes = _load(content, log)
    shown = _Materials(TextureFiles(folder, log), cut_out)
    parts = PartList(folder.limits, log)
    for mesh in meshes:
        add_mesh(parts, mesh, to_world=to_world, material=shown.get_slot(mesh), log=log)
    return parts.join(materials=shown.materials, textures=shown.files.textures)


def _simplify(
    content: bytes, outline: "_Outline", *, folder: SceneFolder, log: ReadLog
) -> "tuple[bytes, _Outline, frozenset[str]]":
    """The file with plain meshes, triangles and opacities, what it holds then, and pictures that cut out."""
    if not (outline.has_skins or outline.has_polygons or outline.has_transparency):
        return content, outline, frozenset()
    root, space = parse_xml(content, log)
    if outline.has_skins:
        place_skins(root, space, log)
    if outline.has_polygons:
        cut_polygons(root, space, log)
    cut_out = settle_opacity(root, space, log)
    content = write_xml(root)
    return content, _Outline(content, source=log.source, limits=folder.limits), cut_out


def list_picture_files(content: bytes, *, source: str, limits: ReadLimits) -> list[str]:
    """The files that the images of a .dae file come from."""
    return _open(content, source=source, limits=limits)[1].pictures


def _open(content: bytes, *, source: str, limits: ReadLimits) -> "tuple[bytes, _Outline]":
    """The file, as well-formed as can be, and what it holds."""
    try:
        return content, _Outline(content, source=source, limits=limits)
    except MalformedXml as error:
        mended = repair_markup(content)
        try:
            return mended, _Outline(mended, source=source, limits=limits)
        except MalformedXml:
            raise error from None


def _load(content: bytes, log: ReadLog) -> list[LoadedMesh]:
    """Strictly at first; a file with a broken reference is read without what it refers to, and that is said."""
    cause: BaseException | None = None
    for repair in (lambda content, _: content, repair_collada):
        try:
            content = repair(content, log)
            return load_meshes(content, kind="dae", log=log, resolver=_StandIns(), ignore_broken=False)
        except SceneError as error:
            cause = error.__cause__
    meshes = load_meshes(content, kind="dae", log=log, resolver=_StandIns(), ignore_broken=True)
    log.warn(f"Something broken is left out, with what depends on it ({type(cause).__name__}: {cause}).")
    return meshes


class _Outline:
    """What the XML says beside the geometry."""

    def __init__(self, content: bytes, *, source: str, limits: ReadLimits) -> None:
        if zipfile.is_zipfile(io.BytesIO(content)):  # pycollada would unpack it
            raise SceneError(f"{source}: is a ZIP archive; unpack it and read the .dae file inside.")
        self._source = source
        self._limits = limits
        self._tree = InstanceTree(source, limits)
        self._stride = 1
        self._counts: Counter[str] = Counter()
        self.has_polygons = False
        self.has_transparency = False
        self.up_axis = "Y_UP"
        self.metres = 1.0
        self.pictures: list[str] = []
        scan_xml(content, source=source, limits=limits, on_start=self._start, on_end=self._end, text_of=TEXTS)
        corners = self._tree.count_total("scene")
        check_limit(corners, limit=3 * limits.triangles, what="corners of placed triangles at most", source=source)

    @property
    def to_world(self) -> NDArray[np.float64]:
        matrix = np.eye(4)
        matrix[:3, :3] = self.metres * np.array(UPRIGHT[self.up_axis])
        return matrix

    @property
    def has_skins(self) -> bool:
        return self._counts["instance_controller"] > 0

    def report(self, log: ReadLog) -> None:
        if self.metres != 1.0:
            log.note(f"The file's unit is {self.metres:g} m; scaled to metres.")
        for name, what in LEFT_OUT.items():
            if self._counts[name]:
                log.warn(f"{self._counts[name]:,} {what} are left out.")
        if self._counts["texture"]:
            log.warn(f"{self._counts['texture']:,} pictures for something else than the diffuse colour are left out.")
        if self._counts["visual_scene"] > 1:
            log.warn(f"The file holds {self._counts['visual_scene']:,} scenes; only its default one is read.")

    def _start(self, element: XmlElement, around: list[XmlElement]) -> None:
        name, parent = element.name, around[-1].name if around else ""
        if not around and name != "COLLADA":
            raise SceneError(f"{self._source}: is XML, but no COLLADA file: it begins with <{name[:40]}>.")
        if name == "unit" and len(around) == 2:
            self.metres = self._to_metres(element.attributes.get("meter", "1"))
        elif name in PRIMITIVES:
            self._stride = 1
        elif name == "input" and parent in PRIMITIVES:
            self._stride = max(self._stride, 1 + _to_count(element.attributes.get("offset", "0")))
        elif name in ("node", "visual_scene"):
            self._tree.add_child("scene" if name == "visual_scene" else _find_owner(around), _make_key(element))
            check_limit(len(self._tree.children), limit=self._limits.nodes, what="nodes", source=self._source)
        elif name in ("instance_node", "instance_geometry"):
            self._tree.add_child(
                _find_owner(around), name.removeprefix("instance_") + element.attributes.get("url", "")
            )
        if (
            name in LEFT_OUT
            or name == "visual_scene"
            or (name == "texture" and parent not in ("diffuse", "transparent"))
        ):
            self._counts[name] += 1
            check_limit(self._counts[name], limit=self._limits.nodes, what=f"<{name}> elements", source=self._source)

    def _end(self, element: XmlElement, around: list[XmlElement]) -> None:
        name, parent = element.name, around[-1].name if around else ""
        if name == "up_axis" and len(around) == 2:
            if element.text not in UPRIGHT:
                raise SceneError(f"{self._source}: <up_axis> is {element.text[:40]!r}; it must be X_UP, Y_UP or Z_UP.")
            self.up_axis = element.text
        elif name == "p" and parent in PRIMITIVES:  # a number and the blank before it take two bytes at least
            mesh = next((outer for outer in around if outer.name == "geometry"), around[0])
            self._tree.add_size(_make_key(mesh), (element.end - element.start) // (2 * self._stride))
        elif name == "init_from" and parent == "image":
            self.pictures.append(element.text)
        elif name == "vcount" and not self.has_polygons:
            self.has_polygons = bool(set(element.text.split()) - {"3"})
        elif name == "polygons":
            self.has_polygons = True
        elif name in ("transparent", "transparency"):
            self.has_transparency = True

    def _to_metres(self, text: str) -> float:
        try:
            metres = float(text.replace(",", "."))  # some writers follow their country's comma
        except ValueError:
            metres = 0.0
        if not 0.0 < metres < 1e9:
            raise SceneError(f"{self._source}: its unit is {text[:40]!r} metres, which is not possible.")
        return metres


def _make_key(element: XmlElement) -> str:
    """How instances refer to an element; by its place in the file if it has no id."""
    if element.name == "visual_scene" or "id" not in element.attributes:
        return f"{element.name} at {element.start}"
    return f"{element.name}#{element.attributes['id']}"


def _find_owner(around: list[XmlElement]) -> str:
    return next((_make_key(outer) for outer in reversed(around) if outer.name in ("node", "visual_scene")), "library")


def _to_count(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 4 else 0


class _StandIns:
    """Gives trimesh a picture of one pixel that carries the file's name: it is our decoder that opens files."""

    def get(self, name: str) -> bytes:
        label = PngImagePlugin.PngInfo()
        label.add_itxt(PICTURE, name)
        stream = io.BytesIO()
        Image.new("L", (1, 1)).save(stream, "PNG", pnginfo=label)
        return stream.getvalue()


class _Materials:
    """Materials in the order in which meshes use them."""

    def __init__(self, files: TextureFiles, cut_out: frozenset[str]) -> None:
        self.files = files
        self._cut_out = cut_out
        self._slots: dict[Material, int] = {}

    @property
    def materials(self) -> list[Material]:
        return list(self._slots)

    def get_slot(self, mesh: LoadedMesh) -> int:
        found = getattr(mesh.arguments.get("visual"), "material", None)
        material = NEUTRAL if found is None else self._convert(found)
        if found is None and mesh.get_corners("vertex_colors", 3) is not None:
            material = Material(unlit=False)
        return self._slots.setdefault(material, len(self._slots))

    def _convert(self, found: "PBRMaterial") -> Material:
        """trimesh's factors are sRGB here, as in the file."""
        picture = found.baseColorTexture
        name = "" if picture is None else picture.info[PICTURE].strip()
        texture = None if picture is None else self.files.get_index(name)
        factor = np.full(4, 255) if found.baseColorFactor is None else np.asarray(found.baseColorFactor)
        alpha = float(factor[3]) / 255
        solid = AlphaMode.MASK if name in self._cut_out else AlphaMode.OPAQUE
        return Material(
            base_color=(*_to_linear(factor[:3] / 255), alpha),
            texture=texture,
            unlit=False,
            alpha_mode=AlphaMode.BLEND if alpha < 1.0 else solid,
            emissive=_to_linear(np.zeros(3) if found.emissiveFactor is None else np.asarray(found.emissiveFactor)),
        )


def _to_linear(srgb: NDArray[np.float64]) -> Vec3:
    return to_vector(to_linear(np.clip(np.nan_to_num(srgb), 0, 1)))
