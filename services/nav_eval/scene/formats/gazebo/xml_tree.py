"""SDF documents as a tree of elements, read behind the same limits as every XML file."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats.markup import repair_markup
from nav_eval.scene.formats.scene_folder import ReadLimits
from nav_eval.scene.formats.trimesh_loader import MalformedXml, XmlElement, scan_xml

#: Elements whose text is read; all others are structure, or nothing that a scene shows.
TEXTS = frozenset({
    "albedo_map", "ambient", "center", "constant", "diffuse", "direction", "emissive", "falloff", "height",
    "inner_angle", "intensity", "length", "linear", "name", "normal", "outer_angle", "point", "pose", "quadratic",
    "radii", "radius", "range", "scale", "sdf", "size", "specular", "static", "transparency", "uri", "visualize",
})  # fmt: skip


@dataclass(slots=True)
class XmlNode:
    """An element with what it holds."""

    name: str
    attributes: dict[str, str]
    children: list["XmlNode"] = field(default_factory=list)
    text: str = ""

    @property
    def label(self) -> str:
        """What the document calls it."""
        return self.attributes.get("name", "")

    def find(self, *path: str) -> "XmlNode | None":
        """The first element at the end of this path, if there is one."""
        node: XmlNode | None = self
        for name in path:
            node = next(node.iterate(name), None) if node is not None else None
        return node

    def iterate(self, *names: str) -> Iterator["XmlNode"]:
        """Its children of these names, in order."""
        return (child for child in self.children if child.name in names)

    def read_text(self, *path: str) -> str:
        """The text at the end of this path; empty if there is none."""
        node = self.find(*path)
        return "" if node is None else node.text

    def read_numbers(self, *path: str, default: tuple[float, ...], source: str) -> NDArray[np.float64]:
        """As many numbers as the default has; colours may leave out their alpha."""
        text = self.read_text(*path)
        if not text:
            return np.array(default)
        numbers = parse_numbers(text, what=f"<{path[-1]}>", source=source)
        if len(numbers) == 3 and len(default) == 4:
            numbers = np.append(numbers, default[3])
        if len(numbers) != len(default):
            raise SceneError(f"{source}: <{path[-1]}> is {text[:60]!r}; it must be {len(default)} numbers.")
        return numbers


def parse_numbers(text: str, *, what: str, source: str) -> NDArray[np.float64]:
    """The finite numbers that an element lists."""
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise SceneError(f"{source}: {what} is {text[:60]!r}; it must be numbers.")
    return numbers


def parse_xml(content: bytes, *, source: str, limits: ReadLimits) -> XmlNode:
    """The root of a document, which may be as loose as Gazebo's reader allows."""
    try:
        return _parse(content, source=source, limits=limits)
    except MalformedXml as error:
        try:
            return _parse(repair_markup(content), source=source, limits=limits)
        except MalformedXml:
            raise error from None


def _parse(content: bytes, *, source: str, limits: ReadLimits) -> XmlNode:
    roots: list[XmlNode] = []
    opened: list[XmlNode] = []

    def start(element: XmlElement, around: list[XmlElement]) -> None:
        del opened[len(around) :]
        node = XmlNode(element.name, element.attributes)
        (opened[-1].children if opened else roots).append(node)
        opened.append(node)

    def end(element: XmlElement, around: list[XmlElement]) -> None:
        opened[len(around)].text = element.text

    scan_xml(content, source=source, limits=limits, on_start=start, on_end=end, text_of=TEXTS)
    return roots[0]
