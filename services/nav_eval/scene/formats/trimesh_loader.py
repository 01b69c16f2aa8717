"""Formats that trimesh reads, behind our own limits and our own report.

trimesh's loaders give plain arrays, which become parts like those of our own readers. They get bytes and never a
path or an address: what a file names beside itself is looked for by `SceneFolder`, and pictures are decoded by our
own decoder. Whoever calls has compared the sizes that the file claims with the limits before. For XML (COLLADA, 3MF)
`scan_xml` does: a document type may define entities that unfold into gigabytes, so it is refused, and instances of
instances multiply, so `InstanceTree` counts the copies before anybody makes them.
"""

import io
import logging
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

import numpy as np
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats import geometry, images
from nav_eval.scene.formats.geometry import MeshPart, PartList
from nav_eval.scene.formats.scene_folder import ReadLimits, check_limit
from nav_eval.scene.model import Material, ReadLog, Scene

NEUTRAL = Material(base_color=(0.6, 0.6, 0.6, 1.0), unlit=False)
"""What a surface looks like of which its file says nothing: the grey that OBJ files get, in linear light."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LoadedMesh:
    """One piece as trimesh read it, placed where its file says."""

    vertices: NDArray[np.float64]  #: V × 3
    faces: NDArray[np.int64]  #: T × 3
    matrix: NDArray[np.float64]  #: 4 × 4, to the file's own frame
    arguments: Mapping[str, Any]  #: whatever else the loader found, under trimesh's names

    def get_corners(self, name: str, width: int) -> NDArray[np.float64] | None:
        """The numbers of this name, a row per corner of a triangle; None unless there is one for each vertex."""
        values = self.arguments.get(name)
        if values is None or np.ndim(values) != 2 or len(values) != len(self.vertices):
            return None
        return np.asarray(values, np.float64)[self.faces.ravel(), :width]


def load_meshes(
    content: bytes, *, kind: str, log: ReadLog, resolver: object = None, **options: object
) -> list[LoadedMesh]:
    """The pieces of a file of this kind ("stl", "off", "dae", "3mf")."""
    from trimesh.exchange.load import mesh_loaders

    try:
        with warnings.catch_warnings(), _report_warnings(log):
            warnings.simplefilter("error", DeprecationWarning)  # how numpy says that text ends in the middle
            load: Callable[..., dict[str, Any]] = mesh_loaders[kind]
            loaded = load(file_obj=io.BytesIO(content), file_type=kind, resolver=resolver, **options)
            return list(_split(loaded))
    except SceneError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200]
        raise SceneError(f"{log.source}: is not a usable {kind.upper()} file ({reason}); export it again.") from error


def _split(loaded: Mapping[str, Any]) -> Iterator[LoadedMesh]:
    """One mesh, or a scene of several with the places of their instances."""
    geometries = loaded.get("geometry", {"": loaded})
    places = loaded.get("graph") or [{"geometry": name} for name in geometries]
    for place in places:
        arguments = geometries.get(place.get("geometry"))
        if arguments is not None:
            yield LoadedMesh(
                vertices=np.asarray(arguments["vertices"], np.float64).reshape(-1, 3),
                faces=np.asarray(arguments["faces"], np.int64).reshape(-1, 3),
                matrix=np.asarray(place.get("matrix", np.eye(4)), np.float64).reshape(4, 4),
                arguments=arguments,
            )


def add_mesh(parts: PartList, mesh: LoadedMesh, *, to_world: NDArray[np.float64], material: int, log: ReadLog) -> None:
    """Add a piece; every corner gets a vertex of its own, flat unless the file has normals."""
    if not len(mesh.faces):
        return
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
        raise SceneError(f"{log.source}: a face uses a vertex that does not exist (there are {len(mesh.vertices):,}).")
    parts.reserve(vertices=mesh.faces.size, triangles=len(mesh.faces))
    matrix = to_world @ mesh.matrix
    positions = geometry.transform_points(mesh.vertices[mesh.faces.ravel()], matrix)
    triangles = np.arange(len(positions), dtype=np.uint32).reshape(-1, 3)
    triangles = triangles[:, ::-1] if geometry.is_mirroring(matrix) else triangles
    parts.add(
        MeshPart(
            positions=positions,
            normals=_pick_normals(mesh, matrix, positions, triangles),
            uvs=_pick_uvs(mesh),
            colors=_pick_colors(mesh),
            triangles=triangles,
            material=material,
        )
    )


def join_meshes(
    meshes: Iterable[LoadedMesh], *, to_world: NDArray[np.float64], limits: ReadLimits, log: ReadLog
) -> Scene:
    """One scene of pieces that all look neutral."""
    parts = PartList(limits, log)
    for mesh in meshes:
        add_mesh(parts, mesh, to_world=to_world, material=0, log=log)
    return parts.join(materials=[NEUTRAL])


def _pick_normals(
    mesh: LoadedMesh, matrix: NDArray[np.float64], positions: NDArray[np.float32], triangles: NDArray[np.uint32]
) -> NDArray[np.float32]:
    smooth = mesh.get_corners("vertex_normals", 3)
    if smooth is not None:
        return geometry.transform_normals(smooth.astype(np.float32), matrix)
    return np.repeat(geometry.compute_face_normals(positions, triangles), 3, axis=0)


def _pick_uvs(mesh: LoadedMesh) -> NDArray[np.float32]:
    """trimesh counts v from the bottom of the picture, we count from the top."""
    uvs = getattr(mesh.arguments.get("visual"), "uv", None)
    if uvs is None or len(uvs) != len(mesh.vertices):
        return np.zeros((mesh.faces.size, 2), np.float32)
    chosen = np.asarray(uvs, np.float32)[mesh.faces.ravel()]
    return np.stack([chosen[:, 0], 1 - chosen[:, 1]], axis=1)


def _pick_colors(mesh: LoadedMesh) -> NDArray[np.uint8]:
    shades = mesh.get_corners("vertex_colors", 4)
    if shades is None or shades.shape[1] < 3:
        return np.full((mesh.faces.size, 4), 255, np.uint8)
    levels = np.rint(np.clip(np.nan_to_num(shades), 0, 1) * 255).astype(np.uint8)
    return images.to_linear_bytes(levels)


@contextmanager
def _report_warnings(log: ReadLog) -> Iterator[None]:
    """What trimesh tells its logger about this file goes into the file's report."""
    handler = _ReportHandler(log)
    logger = logging.getLogger("trimesh")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _ReportHandler(logging.Handler):
    def __init__(self, log: ReadLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:  # other threads read other files
            self._log.warn(f"trimesh: {record.getMessage()[:200]}")


class MalformedXml(SceneError):
    """The file is not well-formed XML; export it again."""


class DoctypeRefused(SceneError):
    """The file declares a document type, which scenes never need and bombs are made of; remove the <!DOCTYPE …>."""


@dataclass(slots=True)
class XmlElement:
    """An element that is open, by its name without namespace."""

    name: str
    attributes: dict[str, str]
    start: int  #: byte at which it begins
    end: int = 0  #: byte at which its closing tag begins; 0 while it is open
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Complete at the element's end, and only if the scan was asked for it."""
        return "".join(self.pieces).strip()


OnElement = Callable[[XmlElement, list[XmlElement]], None]
"""Called with the element and those around it, outermost first."""


def scan_xml(
    content: bytes,
    *,
    source: str,
    limits: ReadLimits,
    on_start: OnElement,
    on_end: OnElement | None = None,
    text_of: frozenset[str] = frozenset(),
) -> None:
    """Walk over all elements; the text of those named in `text_of` is gathered."""
    check_limit(len(content), limit=limits.text_bytes, what="bytes of XML", source=source)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    around: list[XmlElement] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        check_limit(len(around) + 1, limit=limits.depth, what="levels of XML", source=source)
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        element = XmlElement(name.rpartition(" ")[2], plain, parser.CurrentByteIndex)
        on_start(element, around)
        around.append(element)

    def end(_: str) -> None:
        element = around.pop()
        element.end = parser.CurrentByteIndex
        if on_end is not None:
            on_end(element, around)

    def add_text(text: str) -> None:
        if around and around[-1].name in text_of:
            around[-1].pieces.append(text)

    def refuse_doctype(*_: object) -> None:
        raise DoctypeRefused(f"{source}: {DoctypeRefused.__doc__}")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse_doctype
    if text_of:
        parser.CharacterDataHandler = add_text
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: encodings that nobody knows
        raise MalformedXml(f"{source}: is not well-formed XML ({error}); export it again.") from error


@dataclass(slots=True)
class InstanceTree:
    """Who holds whom, and how large each is by itself."""

    source: str
    limits: ReadLimits
    sizes: dict[str, int] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)
    _totals: dict[str, int] = field(default_factory=dict)

    def add_size(self, owner: str, size: int) -> None:
        self.sizes[owner] = self.sizes.get(owner, 0) + size

    def add_child(self, owner: str, child: str) -> None:
        self.children.setdefault(owner, []).append(child)

    def count_total(self, root: str, *, depth: int = 0) -> int:
        """The size of all that `root` holds, every instance counted."""
        check_limit(depth, limit=self.limits.depth, what="levels of instances", source=self.source)
        if root in self._totals:
            if self._totals[root] < 0:
                raise SceneError(f"{self.source}: {root!r} is cyclic: it holds itself.")
            return self._totals[root]
        self._totals[root] = -1
        inner = sum(self.count_total(child, depth=depth + 1) for child in self.children.get(root, ()))
        self._totals[root] = self.sizes.get(root, 0) + inner
        return self._totals[root]
