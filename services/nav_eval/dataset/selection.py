"""Which of the loaded episodes are wanted: by id, scene and language, then the first N or a fixed sample.

The sample depends on the seed and the episode ids alone. An episode's rank is a hash of both, and
the N smallest ranks win: the same in every process and on every machine, unchanged by the order of
the file, and a sample of 200 contains the sample of 100.
"""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath

from nav_eval.dataset.episode import Episode
from nav_eval.dataset.request import DatasetRequest, wanted
from nav_eval.errors import DatasetError

_SHOWN = 10


def select(episodes: Iterable[Episode], request: DatasetRequest) -> Iterator[Episode]:
    """The wanted episodes in file order; a filter value that fits nothing is an error."""
    matching = _filtered(episodes, request)
    if request.episodes is None:
        return matching
    if request.seed is not None:
        return _sample(matching, size=request.episodes, seed=request.seed)
    if _filters(request):
        return _first(matching, request.episodes)
    return islice(matching, request.episodes)


def scene_names(scene_id: str) -> frozenset[str]:
    """The names by which a filter may call a scene: `00800-TEE/TEE.basis.glb` is also `TEE` and `00800-TEE`."""
    path = PurePosixPath(scene_id)
    return frozenset({scene_id, path.name, path.name.split(".")[0], path.parent.name}) - {""}


def _filters(request: DatasetRequest) -> dict[str, frozenset[str]]:
    named = {"episode_ids": request.episode_ids, "scenes": request.scenes, "languages": request.languages}
    return {name: values for name, given in named.items() if (values := wanted(given)) is not None}


def _names_of(episode: Episode, filter_name: str) -> frozenset[str]:
    if filter_name == "episode_ids":
        return frozenset({episode.episode_id})
    if filter_name == "scenes":
        return scene_names(episode.scene_id)
    language = episode.instruction.language if episode.instruction else None
    return frozenset({language} if language else ())


def _filtered(episodes: Iterable[Episode], request: DatasetRequest) -> Iterator[Episode]:
    filters = _filters(request)
    if not filters:
        yield from episodes
        return
    missing = {name: set(values) for name, values in filters.items()}
    for episode in episodes:
        found = {name: _names_of(episode, name) & values for name, values in filters.items()}
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


def _first(episodes: Iterator[Episode], count: int) -> Iterator[Episode]:
    """As islice, but reads to the end, so that filters see all there is before they complain."""
    yield from islice(episodes, count)
    for _ in episodes:
        pass


def _sample(episodes: Iterator[Episode], *, size: int, seed: int) -> Iterator[Episode]:
    chosen = heapq.nsmallest(size, enumerate(episodes), key=lambda numbered: _rank(numbered[1].episode_id, seed=seed))
    for _, episode in sorted(chosen, key=lambda numbered: numbered[0]):
        yield episode


def _rank(episode_id: str, *, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{episode_id}".encode(), digest_size=16).digest()
