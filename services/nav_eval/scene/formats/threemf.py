"""3MF: solids for printing, XML in a ZIP archive. Read for objects and rooms drawn in CAD; colours are left out."""

import io
import zipfile
import zlib
from collections import Counter

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.formats.scene_folder import ReadLimits, SceneFolder, check_limit
from nav_eval.scene.formats.trimesh_loader import InstanceTree, XmlElement, join_meshes, load_meshes, scan_xml
from nav_eval.scene.model import ReadLog, Scene

MODEL = "3d/3dmodel.model"
UNITS = {"micron": 1e-6, "millimeter": 0.001, "centimeter": 0.01, "inch": 0.0254, "foot": 0.3048, "meter": 1.0}
MAX_FILES = 10_000
MAX_INSTANCES = 4096  # trimesh tells equal names apart in quadratic time
KNOWN_EXTENSIONS = ("m", "p", "s")  # materials, production, slices: usual prefixes of what may be passed over
LOOKS = ("basematerials", "colorgroup", "texture2dgroup", "compositematerials", "multiproperties")


def read_3mf(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Scene:
    """The scene in a .3mf file, in metres and in the file's own frame."""
    outline = _Outline(log.source, folder.limits)
    for name, model in _unpack_models(content, log, folder.limits).items():
        outline.add(name, model)
    outline.check()
    scale = np.diag([*[outline.metres] * 3, 1.0])
    log.note(f"The file's unit is {outline.metres:g} m; scaled to metres.")
    if outline.unread:
        names = ", ".join(sorted(outline.unread))[:100]
        log.warn(f"The file requires the 3MF extensions {names}, which are not read: what they describe is left out.")
    if outline.looks:
        log.warn("The colours and pictures of the 3MF file are left out.")
    return join_meshes(load_meshes(content, kind="3mf", log=log), to_world=scale, limits=folder.limits, log=log)


def _unpack_models(content: bytes, log: ReadLog, limits: ReadLimits) -> dict[str, bytes]:
    """The archive's models by name, once all that it promises to unpack to is within the limits."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = archive.infolist()
            check_limit(len(files), limit=MAX_FILES, what="files in the archive", source=log.source)
            unpacked = sum(file.file_size for file in files)
            check_limit(unpacked, limit=limits.text_bytes, what="bytes once unpacked", source=log.source)
            models = {file.filename: archive.read(file) for file in files if file.filename.lower().endswith(".model")}
    except (zipfile.BadZipFile, zipfile.LargeZipFile, RuntimeError, OSError, ValueError, EOFError) as error:
        raise SceneError(f"{log.source}: is not a usable ZIP archive, as 3MF files are ({error}).") from error
    except zlib.error as error:
        raise SceneError(f"{log.source}: is damaged ({error}); copy it again.") from error
    main = [name for name in models if MODEL in name.lower()]
    if len(main) != 1:
        raise SceneError(f"{log.source}: must hold one 3D/3dmodel.model, and holds {len(main)}; export it again.")
    return models


class _Outline:
    """What the models of one archive hold, and how often it is placed."""

    def __init__(self, source: str, limits: ReadLimits) -> None:
        self._source = source
        self._limits = limits
        self._tree = InstanceTree(source, limits)
        self._counts: Counter[str] = Counter()
        self._paths: Counter[str] = Counter()
        self._meshes: Counter[str] = Counter()  #: by the file that they are in
        self._file = ""
        self.metres = UNITS["millimeter"]
        self.looks = False
        self.unread = set[str]()  #: prefixes of extensions that the file cannot do without

    def add(self, name: str, model: bytes) -> None:
        self._file = name
        scan_xml(model, source=f"{self._source}: {name}", limits=self._limits, on_start=self._start)

    def check(self) -> None:
        """Refuse what would be too much, or what trimesh would put together wrongly."""
        instances = self._tree.count_total("build")
        check_limit(instances, limit=MAX_INSTANCES, what="placed objects", source=self._source)
        for path, uses in self._paths.items():
            if uses > 1 or self._meshes[path] != 1:
                raise SceneError(
                    f"{self._source}: {path!r} holds {self._meshes[path]} meshes and is used {uses} times; only "
                    "one of each can be read. Export it as one model, or as GLB."
                )

    def _start(self, element: XmlElement, around: list[XmlElement]) -> None:
        name, attributes = element.name, element.attributes
        if not around:
            self._start_model(element)
        elif name in ("vertex", "triangle"):
            self._counts[name] += 1
            limit = self._limits.vertices if name == "vertex" else self._limits.triangles
            check_limit(self._counts[name], limit=limit, what=f"<{name}> elements", source=self._source)
        elif name == "mesh":
            self._meshes[self._file] += 1
            self._tree.add_size(_find_owner(around), 1)
        elif name == "component":
            self._tree.add_child(_find_owner(around), attributes.get("objectid", ""))
            if "path" in attributes:
                self._paths[attributes["path"].strip("/")] += 1
        elif name == "item":
            if "path" in attributes:
                raise SceneError(
                    f"{self._source}: its build places objects of other files ({attributes['path'][:100]!r}), which is "
                    "not read. Export it as one model, or as GLB."
                )
            self._tree.add_child("build", attributes.get("objectid", ""))
        self.looks |= name in LOOKS

    def _start_model(self, element: XmlElement) -> None:
        if element.name != "model":
            raise SceneError(f"{self._source}: {self._file} begins with <{element.name[:40]}> instead of <model>.")
        unit = element.attributes.get("unit", "millimeter")
        if unit not in UNITS:
            raise SceneError(f"{self._source}: is drawn in {unit[:40]!r}; known are {', '.join(UNITS)}.")
        if MODEL in self._file.lower():
            self.metres = UNITS[unit]
        self.unread |= set(element.attributes.get("requiredextensions", "").split()) - set(KNOWN_EXTENSIONS)


def _find_owner(around: list[XmlElement]) -> str:
    return next((outer.attributes.get("id", "") for outer in reversed(around) if outer.name == "object"), "")
