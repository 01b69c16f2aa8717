"""Episode datasets: which files belong together, and whether our loaders take them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nav_eval.dataset.dataset import stream_episodes
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.source import SourceFile
from nav_eval.errors import DatasetError, SceneError
from nav_eval.evaluation.data_check.findings import Collection
from nav_eval.simulator.scene_files import find_scene

_PLAIN = re.compile(r"(?P<split>\w+?)\.json(\.gz)?")
_RXR = re.compile(r"(?P<split>\w+?)_(?P<role>guide|follower)\.json\.gz")
_SQA3D = re.compile(r"v1_balanced_(?P<part>questions|sqa_annotations|localization)_(?P<split>\w+)_scannetv2\.json")
_BATCHES = range(1, 9)
_MOST_SCENES_NAMED = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeFiles:
    """One split of one dataset, as a loader would be asked for it."""

    dataset: str  #: R2R-CE, ObjectNav, …
    root: Path
    path: Path  #: file or folder for the loader
    format: str
    split: str | None = None
    role: str | None = None

    def request(self, *, episodes: int | None) -> DatasetRequest:
        roles = None if self.role is None else [self.role]
        return DatasetRequest(format=self.format, path=self.path, split=self.split, roles=roles, episodes=episodes)


def episode_files(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
    """The splits that lie in a folder; `names` is what it holds."""
    yield from _sqa3d(folder, names)
    if folder.name == "episode_task" and any(name.startswith("batch_") for name in names):
        yield EpisodeFiles(dataset="LH-VLN", root=folder.parent, path=folder, format="lhvln")
    elif folder.name == "task" and any(name.startswith("batch_") for name in names):
        if not (folder.parent / "episode_task").is_dir():
            yield EpisodeFiles(dataset="LH-VLN", root=folder.parent, path=folder, format="lhvln")
    elif "content" in names and (folder / "content").is_dir():
        yield _by_content(folder)
    else:
        yield from _documents(folder, names)


def check_episodes(collection: Collection, files: EpisodeFiles, *, sample: int | None, scenes: Path | None) -> None:
    """Load some episodes, or all of them, and look for their scenes and companions."""
    split = files.split or files.path.name
    try:
        loaded = list(stream_episodes(files.request(episodes=sample)))
    except DatasetError as error:
        collection.corrupt(files.path, str(error))
        return
    collection.count("splits")
    collection.count("episodes read" if sample else "episodes", len(loaded))
    _companions(collection, files, split)
    ids = sorted({episode.scene_id for episode in loaded})
    if scenes is not None:
        _scenes(collection, files, ids, scenes)
    elif files.format != "sqa3d":  # its questions are answered and scored without the scans
        collection.note(files.path, f"names {_some(ids)}, not looked for: --scenes FOLDER says where they should be.")


def check_batches(collection: Collection) -> None:
    """LH-VLN: which of its batches are there."""
    folder = collection.root / "episode_task"
    folder = folder if folder.is_dir() else collection.root / "task"
    here = {path.name.split(".")[0] for path in folder.iterdir()}
    absent = [f"batch_{number}" for number in _BATCHES if f"batch_{number}" not in here]
    if absent:
        collection.note(folder, f"does not have {', '.join(absent)}.")


def _companions(collection: Collection, files: EpisodeFiles, split: str) -> None:
    if files.format not in ("r2r", "rxr") or split.startswith("test"):
        return
    expert = files.path.with_name(files.path.name.replace(".json", "_gt.json", 1))
    if expert.exists():
        collection.count("expert files")
    else:
        collection.note(files.path, f"has no {expert.name} beside it: nDTW will compare with way-points.")


def _scenes(collection: Collection, files: EpisodeFiles, ids: Sequence[str], root: Path) -> None:
    absent = []
    for scene_id in ids:
        try:
            find_scene(scene_id, root)
            collection.count("scenes found")
        except SceneError:
            absent.append(scene_id)
    if absent:
        collection.missing(files.path, f"{len(absent)} of {len(ids)} scenes are not under {root}: {_some(absent)}.")


def _some(scenes: Sequence[str]) -> str:
    return ", ".join(scenes[:_MOST_SCENES_NAMED]) + (" …" if len(scenes) > _MOST_SCENES_NAMED else "")


def _sqa3d(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
    parts = {(match["part"], match["split"]): name for name in names if (match := _SQA3D.fullmatch(name))}
    for part, split in sorted(parts):
        paired = part == "questions" and ("sqa_annotations", split) in parts
        if not paired:  # a pair is read through its annotations; a lone half is shown as what it is
            yield EpisodeFiles(
                dataset="SQA3D", root=folder, path=folder / parts[part, split], format="sqa3d", split=split
            )


def _by_content(folder: Path) -> EpisodeFiles:
    """Habitat's layout: `<split>/<split>.json.gz` and a file per scene in `<split>/content/`."""
    first = next(iter(sorted((folder / "content").glob("*.json.gz"))), None)
    dataset, form = _habitat_kind(first)
    return EpisodeFiles(
        dataset=dataset,
        root=folder.parent,
        path=folder / f"{folder.name}.json.gz",
        format=form,
        split=folder.name,
    )


def _documents(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
    for name in sorted(names):
        if name.endswith(("_gt.json.gz", "_gt.json")):
            continue
        if match := _RXR.fullmatch(name):
            root = folder.parent if folder.name == match["split"] else folder
            path = folder / f"{match['split']}_{{role}}.json.gz"
            yield EpisodeFiles(
                dataset="RxR-CE", root=root, path=path, format="rxr", split=match["split"], role=match["role"]
            )
        elif match := _PLAIN.fullmatch(name):
            kind = _document_kind(folder / name)
            if kind is not None:
                root = folder.parent if folder.name == match["split"] else folder
                yield EpisodeFiles(dataset=kind[0], root=root, path=folder / name, format=kind[1], split=match["split"])


def _habitat_kind(file: Path | None) -> tuple[str, str]:
    start = b"" if file is None else _beginning(file)
    if b'"image_goals"' in start or b'"goal_object_id"' in start:
        return "ImageNav", "imagenav"
    if b'"shortest_paths"' in start and b'"object_category"' not in start:
        return "PointNav", "pointnav"
    return "ObjectNav", "objectnav"


def _document_kind(file: Path) -> tuple[str, str] | None:
    """What a lone episode file is; None for other JSON."""
    start = _beginning(file)
    if b'"nav_eval"' in start[:200]:
        return "nav-eval episodes", "nav_eval"
    if b'"episodes"' not in start:
        return None
    if b'"instruction_text"' in start:
        return "R2R-CE", "r2r"
    if b'"goals_by_category"' in start:
        return "ObjectNav", "objectnav"
    return ("PointNav", "pointnav") if b'"start_position"' in start else None


def _beginning(file: Path) -> bytes:
    """Enough of a file to tell what it is; nothing of one that cannot be read."""
    try:
        return next(SourceFile(path=file).chunks(), b"")
    except DatasetError:
        return b""
