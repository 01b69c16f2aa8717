"""Scene datasets: which folders are scenes, what belongs to each, and whether the files are whole.

Every mesh has its first bytes and its length looked at, which finds pointers, web pages and cut-off downloads
for the price of a few bytes. Some are read in full, by the readers that an evaluation uses.
"""

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene


class FindingKind(StrEnum):
    MISSING = "missing"  #: an evaluation would look for it in vain
    CORRUPT = "corrupt"  #: it is there, but cannot be used
    NOTE = "note"  #: worth knowing; nothing is wrong


@dataclass(frozen=True, kw_only=True, slots=True)
class DataFinding:
    """One sentence about one file or folder."""

    kind: FindingKind
    path: str
    text: str


@dataclass(kw_only=True, slots=True)
class CheckedDataset:
    """One dataset that was recognised, and what was found in it."""

    name: str  #: HM3D, R2R-CE, …
    root: Path
    counts: dict[str, int] = field(default_factory=dict)  #: what there is of what
    findings: list[DataFinding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return all(finding.kind is FindingKind.NOTE for finding in self.findings)

    def add_missing(self, path: Path, text: str) -> None:
        self._add(FindingKind.MISSING, path, text)

    def add_corrupt(self, path: Path, text: str) -> None:
        self._add(FindingKind.CORRUPT, path, text)

    def add_note(self, path: Path, text: str) -> None:
        self._add(FindingKind.NOTE, path, text)

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def as_dict(self) -> dict[str, object]:
        return {
            "dataset": self.name,
            "root": str(self.root),
            "sound": self.sound,
            "counts": self.counts,
            "findings": [{"kind": f.kind.value, "path": f.path, "text": f.text} for f in self.findings],
        }

    def _add(self, kind: FindingKind, path: Path, text: str) -> None:
        self.findings.append(DataFinding(kind=kind, path=str(path), text=text))


_GLB_HEADER = struct.Struct("<4sII")
_REPLICA = {
    *(f"apartment_{number}" for number in range(3)),
    *(f"frl_apartment_{number}" for number in range(6)),
    *(f"office_{number}" for number in range(5)),
    *(f"room_{number}" for number in range(3)),
    "hotel_0",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SceneLayout:
    """How a dataset keeps its scenes; `{scan}` is the name of one."""

    name: str
    is_scene: Callable[[Path], str | None]  #: the scan's name if a folder (or, for Gibson, a file) is one
    meshes: tuple[str, ...]  #: one of them must be there
    annotation: tuple[str, ...] = ()  #: all of them, or none
    navmesh: str = ""
    splits: Mapping[str, int] = field(default_factory=dict)  #: how many scenes the release has in each
    whole: int | None = None  #: how many it has without splits

    def root(self, scene: Path) -> Path:
        """The folder of the dataset, above its splits."""
        folder = scene.parent
        return folder.parent if folder.name in self.splits else folder


def _match_folder(pattern: str) -> Callable[[Path], str | None]:
    expression = re.compile(pattern)

    def scan_of(path: Path) -> str | None:
        match = expression.fullmatch(path.name)
        return match["scan"] if match and path.is_dir() else None

    return scan_of


def _match_matterport(path: Path) -> str | None:
    scan = path.name
    looks_like_one = re.fullmatch(r"[A-Za-z0-9]{11}", scan) and path.is_dir()
    files = (f"{scan}.glb", f"{scan}.house", f"{scan}_semantic.ply")
    return scan if looks_like_one and any((path / file).exists() for file in files) else None


def _match_gibson(path: Path) -> str | None:
    beside_its_mesh = path.suffix == ".glb" and path.with_suffix(".navmesh").exists()
    in_its_folder = path.suffix == ".glb" and path.parent.name.startswith("gibson")
    return path.stem if path.is_file() and (beside_its_mesh or in_its_folder) else None


def _match_replica(path: Path) -> str | None:
    return path.name if path.name in _REPLICA and path.is_dir() else None


LAYOUTS: Sequence[SceneLayout] = (
    SceneLayout(
        name="HM3D",
        is_scene=_match_folder(r"\d{5}-(?P<scan>[A-Za-z0-9]{11})"),
        meshes=("{scan}.basis.glb", "{scan}.glb"),
        annotation=("{scan}.semantic.txt", "{scan}.semantic.glb"),
        navmesh="{scan}.basis.navmesh",
        splits={"train": 800, "val": 100, "minival": 10, "test": 100},
    ),
    SceneLayout(
        name="MP3D",
        is_scene=_match_matterport,
        meshes=("{scan}.glb",),
        annotation=("{scan}.house", "{scan}_semantic.ply"),
        navmesh="{scan}.navmesh",
        whole=90,
    ),
    SceneLayout(
        name="ScanNet",
        is_scene=_match_folder(r"(?P<scan>scene\d{4}_\d{2})"),
        meshes=("{scan}_vh_clean_2.ply",),
        annotation=("{scan}.aggregation.json", "{scan}_vh_clean_2.0.010000.segs.json"),
        whole=1513,
    ),
    SceneLayout(
        name="Replica",
        is_scene=_match_replica,
        meshes=("mesh.ply",),
        annotation=("habitat/info_semantic.json", "habitat/mesh_semantic.ply"),
        navmesh="habitat/mesh_semantic.navmesh",
        whole=18,
    ),
    SceneLayout(
        name="Gibson", is_scene=_match_gibson, meshes=("{scan}.glb",), navmesh="{scan}.navmesh", splits={}, whole=None
    ),
)


def find_layout(path: Path) -> tuple[SceneLayout, str] | None:
    """Whose scene this folder or file is, and its name."""
    for layout in LAYOUTS:
        scan = layout.is_scene(path)
        if scan is not None:
            return layout, scan
    return None


def check_scenes(collection: CheckedDataset, layout: SceneLayout, scenes: Mapping[Path, str], *, sample: int) -> None:
    """Look at every scene; read the first `sample` of them in full."""
    meshes = []
    for place, scan in sorted(scenes.items()):
        folder = place if place.is_dir() else place.parent
        collection.count("scenes")
        mesh = _check_mesh(collection, layout, folder, scan)
        _check_annotation(collection, layout, folder, scan)
        if layout.navmesh and (folder / layout.navmesh.format(scan=scan)).exists():
            collection.count("navigation meshes")
        if mesh is not None:
            meshes.append(mesh)
    for mesh in meshes[:sample]:
        _read_mesh(collection, mesh)
    _check_completeness(collection, layout, scenes)


def _check_mesh(collection: CheckedDataset, layout: SceneLayout, folder: Path, scan: str) -> Path | None:
    names = [name.format(scan=scan) for name in layout.meshes]
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        collection.add_missing(folder, f"has no mesh; looked for {' or '.join(names)}.")
        return None
    fault = find_fault(found)
    if fault is not None:
        collection.add_corrupt(found, fault)
        return None
    return found


def _check_annotation(collection: CheckedDataset, layout: SceneLayout, folder: Path, scan: str) -> None:
    names = [name.format(scan=scan) for name in layout.annotation]
    absent = [name for name in names if not (folder / name).is_file()]
    if names and not absent:
        collection.count("annotated")
    elif names and len(absent) < len(names):
        collection.add_missing(
            folder, f"is half annotated: {', '.join(absent)} is not there, so nothing in it has a name."
        )


def _read_mesh(collection: CheckedDataset, mesh: Path) -> None:
    try:
        scene = read_scene(mesh)
    except SceneError as error:
        collection.add_corrupt(mesh, str(error))
        return
    collection.count("read in full")
    for warning in scene.report.warnings:
        collection.add_note(mesh, warning)


def _check_completeness(collection: CheckedDataset, layout: SceneLayout, scenes: Mapping[Path, str]) -> None:
    for split, number in layout.splits.items():
        here = sum(place.parent.name == split for place in scenes)
        if 0 < here < number:
            collection.add_note(collection.root / split, f"has {here} of the release's {number} scenes.")
    if layout.whole is not None and len(scenes) < layout.whole:
        collection.add_note(collection.root, f"has {len(scenes)} of the release's {layout.whole} scenes.")


def find_fault(mesh: Path) -> str | None:
    """What the first bytes and the length give away, if anything."""
    size = mesh.stat().st_size
    with mesh.open("rb") as file:
        start = file.read(_GLB_HEADER.size)
    if not start:
        return "is empty; download it again."
    if start.startswith(b"version http"):
        return "is a Git LFS pointer, not the file itself; run `git lfs pull`."
    if mesh.suffix == ".ply":
        return None if start.startswith(b"ply") else f"is no PLY file: it begins with {start!r}."
    if len(start) < _GLB_HEADER.size or not start.startswith(b"glTF"):
        return f"is no GLB file: it begins with {start!r}."
    length = _GLB_HEADER.unpack(start)[2]
    return f"is cut off: {size:,} of {length:,} bytes; download it again." if size < length else None
