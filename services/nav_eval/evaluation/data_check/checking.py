"""Walk through a folder, recognise the datasets in it, and check each."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from nav_eval.errors import DatasetError
from nav_eval.evaluation.data_check.episodes import EpisodeFiles, check_batches, check_episodes, episode_files
from nav_eval.evaluation.data_check.findings import Collection
from nav_eval.evaluation.data_check.scenes import SceneLayout, check_scenes, layout_of

DEEPEST = 8  #: folders below the one that is checked
MOST_FOLDERS = 100_000
SAMPLE_SCENES, SAMPLE_EPISODES = 1, 20


class NothingKnown(DatasetError):
    """Nothing in the folder looks like a dataset that we know; docs/data.md shows how each must be laid out."""


def check_data(
    root: Path, *, scenes: Path | None = None, everything: bool = False, say: Callable[[str], None] = lambda _: None
) -> list[Collection]:
    """What there is under `root`, and what is wrong with it.

    Every scene is looked at, one per dataset is read; of every split the first episodes are. `everything` reads all.
    `scenes` is where the episodes' scenes should be (by default `root/scene_datasets`, where that exists).
    """
    if not root.is_dir():
        raise DatasetError(f"{root} is no folder; give the one that holds the data.")
    beside = root / "scene_datasets"
    scenes = scenes if scenes is not None else beside if beside.is_dir() else None
    found = _Found()
    for folder in _folders(root):
        found.look_at(folder)
    if not found.collections:
        raise NothingKnown(
            f"Nothing under {root} looks like a dataset that we know; docs/data.md shows how each must be laid out."
        )
    found.check(everything=everything, scenes=scenes, say=say)
    return list(found.collections.values())


class _Found:
    """What the walk came across, by dataset and root."""

    def __init__(self) -> None:
        self.collections: dict[tuple[str, Path], Collection] = {}
        self._scenes: dict[tuple[str, Path], tuple[SceneLayout, dict[Path, str]]] = {}
        self._episodes: dict[tuple[str, Path], list[EpisodeFiles]] = {}

    def look_at(self, folder: Path) -> None:
        if self._scene(folder):
            return
        entries = sorted(folder.iterdir())
        for entry in entries:
            if entry.suffix == ".glb":
                self._scene(entry)
        for files in episode_files(folder, [entry.name for entry in entries]):
            key = (files.dataset, files.root)
            self._collection(key)
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

    def _scene(self, path: Path) -> bool:
        known = layout_of(path)
        if known is None:
            return False
        layout, scan = known
        key = (layout.name, layout.root(path))
        self._collection(key)
        self._scenes.setdefault(key, (layout, {}))[1][path] = scan
        return True

    def _collection(self, key: tuple[str, Path]) -> None:
        self.collections.setdefault(key, Collection(name=key[0], root=key[1]))


def _is_entered(name: str) -> bool:
    """Habitat's scenes and LH-VLN's batches belong to the folder they are in."""
    return name != "content" and not name.startswith("batch_")


def _folders(root: Path) -> Iterator[Path]:
    """The folder and those below it, links included, none twice, scenes not entered."""
    seen: set[Path] = set()
    for folder, below, _ in os.walk(root, followlinks=True):
        path = Path(folder)
        real = path.resolve()
        depth = len(path.relative_to(root).parts)
        entered = real not in seen and len(seen) < MOST_FOLDERS
        is_scene = entered and path != root and layout_of(path) is not None
        below[:] = [] if not entered or is_scene or depth >= DEEPEST else sorted(filter(_is_entered, below))
        if entered:
            seen.add(real)
            yield path
