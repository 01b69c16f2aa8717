"""How a visual of a world looks: SDF's own colours and pictures, Gazebo's named materials, and Ogre scripts.

Scripts are read for what decides the look of a room: the picture, the diffuse colour, and the material that they
build upon.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.color import to_linear
from nav_eval.scene.formats.gazebo.model_library import ModelFolder, ModelLibrary
from nav_eval.scene.formats.gazebo.xml_tree import XmlNode, parse_numbers
from nav_eval.scene.formats.images import TextureFiles
from nav_eval.scene.formats.scene_folder import MissingFile, SceneFolder
from nav_eval.scene.formats.trimesh_loader import NEUTRAL
from nav_eval.scene.model import AlphaMode, Material, ReadLog, Texture
from nav_eval.scene.semantics import to_vector

#: Colours that every Gazebo brings, as sRGB fractions; others of `Gazebo/…` are shown in neutral grey, with a warning.
NAMED_COLORS = {
    "Black": (0, 0, 0), "FlatBlack": (0.1, 0.1, 0.1), "DarkGrey": (0.175, 0.175, 0.175),
    "DarkGray": (0.175, 0.175, 0.175), "Grey": (0.7, 0.7, 0.7), "Gray": (0.7, 0.7, 0.7),
    "LightGrey": (0.85, 0.85, 0.85), "White": (1, 1, 1), "Red": (1, 0, 0), "RedBright": (0.87, 0.26, 0.07),
    "Green": (0, 1, 0), "Blue": (0, 0, 1), "SkyBlue": (0.13, 0.44, 0.70), "Yellow": (1, 1, 0),
    "DarkYellow": (0.7, 0.7, 0), "ZincYellow": (0.97, 0.95, 0.21), "Orange": (1, 0.5, 0.04), "Purple": (1, 0, 1),
    "Turquoise": (0, 1, 1), "Indigo": (0.33, 0, 0.5), "Gold": (0.8, 0.65, 0.13), "Wood": (0.55, 0.4, 0.25),
    "WoodFloor": (0.6, 0.45, 0.28), "WoodPallet": (0.6, 0.48, 0.32), "Bricks": (0.55, 0.3, 0.22),
    "CeilingTiled": (0.85, 0.85, 0.82), "Grass": (0.3, 0.45, 0.2), "Road": (0.3, 0.3, 0.3),
    "Residential": (0.35, 0.35, 0.35),
}  # fmt: skip
SCRIPT = re.compile(r"^\s*material\s+(?P<name>[^\s:{]+)(?:\s*:\s*(?P<parent>[^\s{]+))?\s*(?=\{)", re.MULTILINE)
DIFFUSE = re.compile(r"\bdiffuse\s+(?P<color>(?:[\d.eE+-]+[ \t]+){2}[\d.eE+-]+)")
PICTURE = re.compile(r"\btexture[ \t]+\"?(?P<file>[^\s\"}]+)")
LINE_COMMENT = re.compile(r"//[^\n]*")


class MaterialReader:
    """Materials of all visuals of a world, each kept once."""

    def __init__(self, library: ModelLibrary, log: ReadLog) -> None:
        self._library = library
        self._log = log
        self._slots: dict[Material, int] = {}
        self._pictures: dict[Path, int | None] = {}
        self.textures: list[Texture] = []

    @property
    def materials(self) -> list[Material]:
        return list(self._slots)

    def get_slot(self, material: Material) -> int:
        return self._slots.setdefault(material, len(self._slots))

    def read(self, visual: XmlNode, *, model: Path) -> Material | None:
        """What the SDF says about a visual; None where it says nothing and a mesh's own materials count."""
        node = visual.find("material")
        found = None if node is None else self._read_script(node, model) or self._read_colors(node, model)
        opacity = 1.0 - float(visual.read_numbers("transparency", default=(0.0,), source=str(model))[0])
        if opacity >= 1.0:
            return found
        return make_translucent(found or NEUTRAL, opacity)

    def _read_colors(self, node: XmlNode, model: Path) -> Material | None:
        picture = node.read_text("pbr", "metal", "albedo_map") or node.read_text("pbr", "specular", "albedo_map")
        is_colored = node.find("diffuse") is not None or node.find("ambient") is not None
        if not picture and not is_colored and node.find("emissive") is None:
            return None
        grey = (0.7, 0.7, 0.7, 1.0)
        ambient = tuple(node.read_numbers("ambient", default=grey, source=str(model)).tolist())
        color = node.read_numbers("diffuse", default=(1.0,) * 4 if picture else ambient, source=str(model))
        emissive = node.read_numbers("emissive", default=(0.0,) * 4, source=str(model))
        texture = self._add_picture(picture, model) if picture else None
        material = replace(_make_plain(color[:3]), texture=texture, emissive=_to_linear(emissive[:3]))
        return material if color[3] >= 1.0 else make_translucent(material, float(color[3]))

    def _read_script(self, node: XmlNode, model: Path) -> Material | None:
        name = node.read_text("script", "name")
        if not name:
            return None
        for uri in (child.text for child in node.find("script").iterate("uri")):  # type: ignore[union-attr]
            material = self._find_in_scripts(name, uri, model)
            if material is not None:
                return material
        color = NAMED_COLORS.get(name.rpartition("/")[2]) if name.startswith("Gazebo/") else None
        if color is None:
            self._log.warn(f"The material {name[:80]!r} is not there; a neutral grey is shown instead.")
            return NEUTRAL
        return _make_plain(np.array(color, np.float64))

    def _find_in_scripts(self, name: str, uri: str, model: Path) -> Material | None:
        """A script may be named itself, or the folder that holds it."""
        for path, root in self._list_scripts(uri, model):
            text = SceneFolder(path, self._library.limits).read_main().decode("utf-8", "replace")
            body = _find_body(LINE_COMMENT.sub("", text), name)
            if body is not None:
                return self._parse_body(body, path, root)
        return None

    def _list_scripts(self, uri: str, model: Path) -> list[tuple[Path, Path]]:
        if "media/materials/scripts" in uri:  # Gazebo's own, which are in NAMED_COLORS
            return []
        try:
            return [self._library.find_file(uri, model=model)]
        except MissingFile:
            folder = self._library.find_folder(uri, model=model)
        if folder is None:
            return []
        return [(path, folder[1]) for path in sorted(folder[0].glob("*.material"))]

    def _parse_body(self, body: str, script: Path, root: Path) -> Material:
        diffuse, picture = DIFFUSE.search(body), PICTURE.search(body)
        color = np.ones(3) if diffuse is None else parse_numbers(diffuse["color"], what="diffuse", source=str(script))
        texture = None if picture is None else self._load_picture(picture["file"], script, root)
        return replace(_make_plain(np.ones(3) if texture is not None else color), texture=texture)

    def _add_picture(self, uri: str, model: Path) -> int | None:
        try:
            path, root = self._library.find_file(uri, model=model)
        except MissingFile as error:
            self._log.warn(f"{error} The plain colour is shown instead.")
            return None
        return self._load_picture(path.name, path, root)

    def _load_picture(self, name: str, beside: Path, root: Path) -> int | None:
        folder = ModelFolder(beside, root, limits=self._library.limits)
        path = folder.resolve(name)[1]
        if path not in self._pictures:
            files = TextureFiles(folder, self._log)
            index = files.get_index(name)
            self.textures += files.textures
            self._pictures[path] = None if index is None else len(self.textures) - 1
        return self._pictures[path]


def make_translucent(material: Material, opacity: float) -> Material:
    red, green, blue, alpha = material.base_color
    return replace(material, base_color=(red, green, blue, alpha * max(opacity, 0.0)), alpha_mode=AlphaMode.BLEND)


def _make_plain(color: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Material:
    return Material(base_color=(*_to_linear(color), 1.0), unlit=False)


def _to_linear(color: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> tuple[float, float, float]:
    return to_vector(to_linear(np.clip(color, 0.0, 1.0)))


def _find_body(text: str, name: str) -> str | None:
    """What stands in the braces after `material NAME`, with its parent's before it so that its own words win."""
    bodies = {match["name"]: match for match in SCRIPT.finditer(text)}
    lines: list[str] = []
    visited: set[str] = set()
    while name in bodies and name not in visited:
        visited.add(name)
        match = bodies[name]
        lines.append(_cut_braces(text, match.end()))
        name = match["parent"] or ""
    return "\n".join(lines) or None


def _cut_braces(text: str, start: int) -> str:
    depth, begin = 0, text.find("{", start)
    for place in range(begin, len(text)) if begin >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[begin + 1 : place]
    if begin < 0:
        raise SceneError("A material script has no body; repair or remove it.")
    return text[begin + 1 :]
