"""Is a folder of somebody's data what an evaluation will look for? docs/data.md shows what each dataset looks like.

Walks through the folder, recognises the datasets in it, and checks each: scenes (`scene_check`), and episodes by
which files belong together and whether our loaders take them.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nav_eval.dataset.json_file import SourceFile
from nav_eval.dataset.loader import DatasetRequest, stream_episodes
from nav_eval.errors import DatasetError, SceneError
from nav_eval.evaluation.scene_check import CheckedDataset, SceneLayout, check_scenes, find_layout
from nav_eval.simulator.scene_manager import find_scene

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


def find_episode_files(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
    """The splits that lie in a folder; `names` is what it holds."""
    yield from _find_sqa3d(folder, names)
    if folder.name == "episode_task" and any(name.startswith("batch_") for name in names):
        yield EpisodeFiles(dataset="LH-VLN", root=folder.parent, path=folder, format="lhvln")
    elif folder.name == "task" and any(name.startswith("batch_") for name in names):
        if not (folder.parent / "episode_task").is_dir():
            yield EpisodeFiles(dataset="LH-VLN", root=folder.parent, path=folder, format="lhvln")
    elif "content" in names and (folder / "content").is_dir():
        yield _find_by_content(folder)
    else:
        yield from _find_documents(folder, names)


def check_episodes(collection: CheckedDataset, files: EpisodeFiles, *, sample: int | None, scenes: Path | None) -> None:
    """Load some episodes, or all of them, and look for their scenes and companions."""
    split = files.split or files.path.name
    try:
        loaded = list(stream_episodes(files.request(episodes=sample)))
    except DatasetError as error:
        collection.add_corrupt(files.path, str(error))
        return
    collection.count("splits")
    collection.count("episodes read" if sample else "episodes", len(loaded))
    _check_companions(collection, files, split)
    ids = sorted({episode.scene_id for episode in loaded})
    if scenes is not None:
        _check_episode_scenes(collection, files, ids, scenes)
    elif files.format != "sqa3d":  # its questions are answered and scored without the scans
        collection.add_note(
            files.path, f"names {_format_some(ids)}, not looked for: --scenes FOLDER says where they should be."
        )


def check_batches(collection: CheckedDataset) -> None:
    """LH-VLN: which of its batches are there."""
    folder = collection.root / "episode_task"
    folder = folder if folder.is_dir() else collection.root / "task"
    here = {path.name.split(".")[0] for path in folder.iterdir()}
    absent = [f"batch_{number}" for number in _BATCHES if f"batch_{number}" not in here]
    if absent:
        collection.add_note(folder, f"does not have {', '.join(absent)}.")


def _check_companions(collection: CheckedDataset, files: EpisodeFiles, split: str) -> None:
    if files.format not in ("r2r", "rxr") or split.startswith("test"):
        return
    expert = files.path.with_name(files.path.name.replace(".json", "_gt.json", 1))
    if expert.exists():
        collection.count("expert files")
    else:
        collection.add_note(files.path, f"has no {expert.name} beside it: nDTW will compare with way-points.")


def _check_episode_scenes(collection: CheckedDataset, files: EpisodeFiles, ids: Sequence[str], root: Path) -> None:
    absent = []
    for scene_id in ids:
        try:
            find_scene(scene_id, root)
            collection.count("scenes found")
        except SceneError:
            absent.append(scene_id)
    if absent:
        collection.add_missing(
            files.path, f"{len(absent)} of {len(ids)} scenes are not under {root}: {_format_some(absent)}."
        )


def _format_some(scenes: Sequence[str]) -> str:
    return ", ".join(scenes[:_MOST_SCENES_NAMED]) + (" …" if len(scenes) > _MOST_SCENES_NAMED else "")


def _find_sqa3d(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
    parts = {(match["part"], match["split"]): name for name in names if (match := _SQA3D.fullmatch(name))}
    for part, split in sorted(parts):
        paired = part == "questions" and ("sqa_annotations", split) in parts
        if not paired:  # a pair is read through its annotations; a lone half is shown as what it is
            yield EpisodeFiles(
                dataset="SQA3D", root=folder, path=folder / parts[part, split], format="sqa3d", split=split
            )


def _find_by_content(folder: Path) -> EpisodeFiles:
    """Habitat's layout: `<split>/<split>.json.gz` and a file per scene in `<split>/content/`."""
    first = next(iter(sorted((folder / "content").glob("*.json.gz"))), None)
    dataset, form = _detect_habitat_kind(first)
    return EpisodeFiles(
        dataset=dataset, root=folder.parent, path=folder / f"{folder.name}.json.gz", format=form, split=folder.name
    )


def _find_documents(folder: Path, names: Sequence[str]) -> Iterator[EpisodeFiles]:
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
            kind = _detect_document_kind(folder / name)
            if kind is not None:
                root = folder.parent if folder.name == match["split"] else folder
                yield EpisodeFiles(dataset=kind[0], root=root, path=folder / name, format=kind[1], split=match["split"])


def _detect_habitat_kind(file: Path | None) -> tuple[str, str]:
    start = b"" if file is None else _read_beginning(file)
    if b'"image_goals"' in start or b'"goal_object_id"' in start:
        return "ImageNav", "imagenav"
    if b'"shortest_paths"' in start and b'"object_category"' not in start:
        return "PointNav", "pointnav"
    return "ObjectNav", "objectnav"


def _detect_document_kind(file: Path) -> tuple[str, str] | None:
    """What a lone episode file is; None for other JSON."""
    start = _read_beginning(file)
    if b'"nav_eval"' in start[:200]:
        return "nav-eval episodes", "nav_eval"
    if b'"episodes"' not in start:
        return None
    if b'"instruction_text"' in start:
        return "R2R-CE", "r2r"
    if b'"goals_by_category"' in start:
        return "ObjectNav", "objectnav"
    return ("PointNav", "pointnav") if b'"start_position"' in start else None


def _read_beginning(file: Path) -> bytes:
    """Enough of a file to tell what it is; nothing of one that cannot be read."""
    try:
        return next(SourceFile(path=file).chunks(), b"")
    except DatasetError:
        return b""


DEEPEST = 8  #: folders below the one that is checked
MOST_FOLDERS = 100_000
SAMPLE_SCENES, SAMPLE_EPISODES = 1, 20


class NothingKnown(DatasetError):
    """Nothing in the folder looks like a dataset that we know; docs/data.md shows how each must be laid out."""


def check_data(
    root: Path, *, scenes: Path | None = None, everything: bool = False, say: Callable[[str], None] = lambda _: None
) -> list[CheckedDataset]:
    """What there is under `root`, and what is wrong with it.

    Every scene is looked at, one per dataset is read; of every split the first episodes are. `everything` reads all.
    `scenes` is where the episodes' scenes should be (by default `root/scene_datasets`, where that exists).
    """
    if not root.is_dir():
        raise DatasetError(f"{root} is no folder; give the one that holds the data.")
    beside = root / "scene_datasets"
    scenes = scenes if scenes is not None else beside if beside.is_dir() else None
    found = _DatasetWalk()
    for folder in _walk_folders(root):
        found.look_at(folder)
    if not found.collections:
        raise NothingKnown(
            f"Nothing under {root} looks like a dataset that we know; docs/data.md shows how each must be laid out."
        )
    found.check(everything=everything, scenes=scenes, say=say)
    return list(found.collections.values())


class _DatasetWalk:
    """What the walk came across, by dataset and root."""

    def __init__(self) -> None:
        self.collections: dict[tuple[str, Path], CheckedDataset] = {}
        self._scenes: dict[tuple[str, Path], tuple[SceneLayout, dict[Path, str]]] = {}
        self._episodes: dict[tuple[str, Path], list[EpisodeFiles]] = {}

    def look_at(self, folder: Path) -> None:
        if self._add_scene(folder):
            return
        entries = sorted(folder.iterdir())
        for entry in entries:
            if entry.suffix == ".glb":
                self._add_scene(entry)
        for files in find_episode_files(folder, [entry.name for entry in entries]):
            key = (files.dataset, files.root)
            self._add_dataset(key)
            self._episodes.setdefault(key, []).append(files)

    def check(self, *, everything: bool, scenes: Path | None, say: Callable[[str], None]) -> None:
        for key, (layout, places) in self._scenes.items():
            say(f"{layout.name}: {len(places)} scenes in {key[1]}")
            read = len(places) if everything else SAMPLE_SCENES
            check_scenes(self.collections[key], layout, places, sample=read)
        for key, splits in self._episodes.items():
            say(f"{key[0]}: {len(splits)} splits in {key[1]}")
            sample = None if everything else SAMPLE_EPISODES
            for files in splits:
                check_episodes(self.collections[key], files, sample=sample, scenes=scenes)
            if key[0] == "LH-VLN":
                check_batches(self.collections[key])

    def _add_scene(self, path: Path) -> bool:
        known = find_layout(path)
        if known is None:
            return False
        layout, scan = known
        key = (layout.name, layout.root(path))
        self._add_dataset(key)
        self._scenes.setdefault(key, (layout, {}))[1][path] = scan
        return True

    def _add_dataset(self, key: tuple[str, Path]) -> None:
        self.collections.setdefault(key, CheckedDataset(name=key[0], root=key[1]))


def _is_entered(name: str) -> bool:
    """Habitat's scenes and LH-VLN's batches belong to the folder they are in."""
    return name != "content" and not name.startswith("batch_")


def _walk_folders(root: Path) -> Iterator[Path]:
    """The folder and those below it, links included, none twice, scenes not entered."""
    seen: set[Path] = set()
    for folder, below, _ in os.walk(root, followlinks=True):
        path = Path(folder)
        real = path.resolve()
        depth = len(path.relative_to(root).parts)
        entered = real not in seen and len(seen) < MOST_FOLDERS
        is_scene = entered and path != root and find_layout(path) is not None
        below[:] = [] if not entered or is_scene or depth >= DEEPEST else sorted(filter(_is_entered, below))
        if entered:
            seen.add(real)
            yield path
