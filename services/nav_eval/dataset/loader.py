"""What a dataset loader is: a request in, episodes out; the formats by name, and which of the episodes are wanted.

`load_dataset` gives them all at once as a `TaskDataset`, `stream_episodes` one by one in bounded memory. Both apply the
same filters and refuse the same faults.

A request is plain: a configuration fills it in; so does a test, or a command line. A loader is a function from a
request to its episodes, in file order, each passed through `nav_eval.dataset.episode.check_episodes`. Filters by
id, scene and language and the sampling are applied to what it yields; only what decides which files to open (split,
role) is the loader's own. Other packages add theirs through the entry-point group `nav_eval.datasets`.

    @register_dataset("my_format")
    def load_my_format(request: DatasetRequest) -> Iterator[Episode]: ...

A sample depends on the seed and the episode ids alone. An episode's rank is a hash of both, and the N smallest ranks
win: the same in every process and on every machine, unchanged by the order of the file, and a sample of 200 contains
the sample of 100.
"""

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Protocol, overload

import msgspec

from nav_eval.dataset.episode import Episode
from nav_eval.dataset.json_file import FileLimits, SourceFile
from nav_eval.errors import DatasetError
from nav_eval.registry import Registry

EVERYTHING = "*"  # Habitat's word for "no filter"
_SUFFIXES = (".json.gz", ".json", ".jsonl.gz", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class DatasetRequest:
    """Which episodes of which file, in which format. A filter that is not given, or holds "*", lets all pass."""

    format: str  #: a name in `nav_eval.dataset.loader.DATASETS`
    path: Path  #: file or folder; `{split}` and `{role}` in it are filled in
    split: str | None = None
    episodes: int | None = None  #: at most so many, after all filters
    seed: int | None = None  #: with `episodes`: a fixed sample instead of the first ones
    episode_ids: Sequence[str] | None = None
    scenes: Sequence[str] | None = None  #: full scene ids, file names or their stems
    languages: Sequence[str] | None = None  #: as the file spells them: en-US, hi-IN, …
    roles: Sequence[str] | None = None  #: rxr: guide, follower; lhvln: lh, step
    gt_path: Path | None = None  #: r2r, rxr: expert paths; without it the file `…_gt.json.gz` beside the data
    limits: FileLimits = field(default_factory=FileLimits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.episodes is not None and self.episodes < 1:
            raise DatasetError(f"episodes is {self.episodes}; give a number above 0, or null for all.")

    def fill(self, template: Path, *, role: str = "") -> Path:
        """A path with its placeholders replaced."""
        text = str(template).replace("{role}", role)
        if "{split}" in text and self.split is None:
            raise DatasetError(f"The path {template} contains {{split}}, but no split is given.")
        return Path(text.replace("{split}", self.split or ""))

    def source(self, path: Path) -> SourceFile:
        return SourceFile(path=path, limits=self.limits)

    def main_file(self, *, role: str = "") -> Path:
        """The data file: the path itself, or the split's file when the path is a folder."""
        path = self.fill(self.path, role=role)
        if not path.is_dir():
            return path
        candidates = self._candidates(path, role=role)
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        looked_for = ", ".join(str(candidate) for candidate in candidates) or "nothing, as no split is given"
        raise DatasetError(f"{path} is a folder without the split's file; looked for {looked_for}.")

    def _candidates(self, folder: Path, *, role: str) -> list[Path]:
        if self.split is None:
            return []
        name = f"{self.split}_{role}" if role else self.split
        return [place / f"{name}{suffix}" for place in (folder, folder / self.split) for suffix in _SUFFIXES]


def make_filter(filter_values: Sequence[str] | None) -> frozenset[str] | None:
    """The values a filter lets pass, or None when it lets all pass."""
    return None if not filter_values or EVERYTHING in filter_values else frozenset(filter_values)


def strip_suffixes(path: Path) -> str:
    """The file's name without any of its endings we know: `val_seen.json.gz` → `val_seen`."""
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.stem


class DatasetLoader(Protocol):
    """Reads one format."""

    def __call__(self, request: DatasetRequest, /) -> Iterator[Episode]: ...


DATASETS: Registry[DatasetLoader] = Registry("dataset format", entry_point_group="nav_eval.datasets")


def register_dataset(name: str) -> Callable[[DatasetLoader], DatasetLoader]:
    """Decorator: the loader of the format `name`."""
    return DATASETS.register(name)


_SHOWN = 10


def select_episodes(episodes: Iterable[Episode], request: DatasetRequest) -> Iterator[Episode]:
    """The wanted episodes in file order; a filter value that fits nothing is an error."""
    matching = _apply_filters(episodes, request)
    if request.episodes is None:
        return matching
    if request.seed is not None:
        return _sample_episodes(matching, size=request.episodes, seed=request.seed)
    if _make_filters(request):
        return _take_first(matching, request.episodes)
    return islice(matching, request.episodes)


def list_scene_names(scene_id: str) -> frozenset[str]:
    """The names by which a filter may call a scene: `00800-TEE/TEE.basis.glb` is also `TEE` and `00800-TEE`."""
    path = PurePosixPath(scene_id)
    return frozenset({scene_id, path.name, path.name.split(".")[0], path.parent.name}) - {""}


def _make_filters(request: DatasetRequest) -> dict[str, frozenset[str]]:
    named = {"episode_ids": request.episode_ids, "scenes": request.scenes, "languages": request.languages}
    return {name: values for name, given in named.items() if (values := make_filter(given)) is not None}


def _get_names(episode: Episode, filter_name: str) -> frozenset[str]:
    if filter_name == "episode_ids":
        return frozenset({episode.episode_id})
    if filter_name == "scenes":
        return list_scene_names(episode.scene_id)
    language = episode.instruction.language if episode.instruction else None
    return frozenset({language} if language else ())


def _apply_filters(episodes: Iterable[Episode], request: DatasetRequest) -> Iterator[Episode]:
    filters = _make_filters(request)
    if not filters:
        yield from episodes
        return
    missing = {name: set(values) for name, values in filters.items()}
    for episode in episodes:
        found = {name: _get_names(episode, name) & values for name, values in filters.items()}
        for name, values in found.items():
            missing[name] -= values
        if all(found.values()):
            yield episode
    _refuse_missing(missing, request)


def _refuse_missing(missing: dict[str, set[str]], request: DatasetRequest) -> None:
    for name, values in missing.items():
        if values:
            shown = ", ".join(repr(value) for value in sorted(values)[:_SHOWN])
            more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
            raise DatasetError(f"{request.path}: no episode fits {name} {shown}{more}; correct the filter.")


def _take_first(episodes: Iterator[Episode], count: int) -> Iterator[Episode]:
    """As islice, but reads to the end, so that filters see all there is before they complain."""
    yield from islice(episodes, count)
    for _ in episodes:
        pass


def _sample_episodes(episodes: Iterator[Episode], *, size: int, seed: int) -> Iterator[Episode]:
    chosen = heapq.nsmallest(
        size, enumerate(episodes), key=lambda numbered: _hash_id(numbered[1].episode_id, seed=seed)
    )
    for _, episode in sorted(chosen, key=lambda numbered: numbered[0]):
        yield episode


def _hash_id(episode_id: str, *, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{episode_id}".encode(), digest_size=16).digest()


_ENCODER = msgspec.json.Encoder(order="deterministic")


class TaskDataset(Sequence[Episode]):
    """Episodes in their order, also by id, with a digest of what they say."""

    def __init__(self, episodes: Iterable[Episode]) -> None:
        self.episodes: tuple[Episode, ...] = tuple(episodes)
        self._by_id = {episode.episode_id: episode for episode in self.episodes}
        if len(self._by_id) < len(self.episodes):
            raise DatasetError(f"Episode id {_find_most_repeated(self.episodes)!r} occurs twice; ids must differ.")

    def __len__(self) -> int:
        return len(self.episodes)

    @overload
    def __getitem__(self, index: int) -> Episode: ...
    @overload
    def __getitem__(self, index: slice) -> "TaskDataset": ...
    def __getitem__(self, index: int | slice) -> "Episode | TaskDataset":
        return TaskDataset(self.episodes[index]) if isinstance(index, slice) else self.episodes[index]

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def by_id(self, episode_id: str) -> Episode:
        if episode_id not in self._by_id:
            raise DatasetError(f"There is no episode {episode_id!r} among the {len(self)} that are loaded.")
        return self._by_id[episode_id]

    @property
    def episode_ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    @cached_property
    def scene_ids(self) -> tuple[str, ...]:
        """Every scene once, in order of first use."""
        return tuple(dict.fromkeys(episode.scene_id for episode in self.episodes))

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the episodes' canonical encodings; the order of the episodes does not matter."""
        return compute_episodes_digest(self.episodes)


def compute_episodes_digest(episodes: Iterable[Episode]) -> str:
    """One line of hex that changes when any episode changes, and stays when they are only re-ordered."""
    each = sorted(hashlib.sha256(_ENCODER.encode(episode)).digest() for episode in episodes)
    return hashlib.sha256(b"".join(each)).hexdigest()


def load_dataset(request: DatasetRequest) -> TaskDataset:
    """All episodes that the request asks for."""
    return TaskDataset(stream_episodes(request))


def stream_episodes(request: DatasetRequest) -> Iterator[Episode]:
    """The episodes that the request asks for, one by one."""
    loader = DATASETS.get(request.format)
    count = 0
    for count, episode in enumerate(select_episodes(_check_distinct(loader(request), request), request), start=1):  # noqa: B007
        yield episode
    if not count:
        raise DatasetError(f"{request.path}: no episode is left after the filters.")


def _check_distinct(episodes: Iterator[Episode], request: DatasetRequest) -> Iterator[Episode]:
    seen: set[str] = set()
    for episode in episodes:
        if episode.episode_id in seen:
            raise DatasetError(f"{request.path}: episode id {episode.episode_id!r} occurs twice; ids must differ.")
        seen.add(episode.episode_id)
        yield episode
    if not seen:
        in_split = f" in split {request.split!r}" if request.split else ""
        raise DatasetError(f"{request.path} holds no episodes{in_split}.")


def _find_most_repeated(episodes: tuple[Episode, ...]) -> str:
    return Counter(episode.episode_id for episode in episodes).most_common(1)[0][0]
