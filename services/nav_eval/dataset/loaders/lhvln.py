"""LH-VLN: `lhvln`. Long-horizon tasks of two to four `Move_to`, and the step tasks cut from them.

The release holds each task twice: in `episode_task/batch_k.json.gz` (read here) and as folders with
pictures under `task/batch_k` (`lhvln_folders`). Where both are, the batch files are read.

Splits: `train`, `val`, `test` go by scene number, as the challenge does; `train_by_batch`,
`val_by_batch`, `test_by_batch` by batch; `batch_k` is one batch; no split is everything.
Roles: `lh` (the default) and `step`.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from nav_eval.dataset.decoding import Place, decode
from nav_eval.dataset.document import read_members
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.loaders.lhvln_folders import SceneFilter, long_tasks, number_in, step_tasks
from nav_eval.dataset.loaders.lhvln_records import RawLongTask, RawStepTask, long_episode, step_episode
from nav_eval.dataset.registry import register_dataset
from nav_eval.dataset.request import DatasetRequest, stem, wanted
from nav_eval.dataset.validation import checked
from nav_eval.errors import DatasetError

ROLES = ("lh", "step")

_SPLIT_OF_BATCH = {**dict.fromkeys(range(1, 6), "train"), 6: "val", 7: "test", 8: "test"}
_SPLITS = ("train", "val", "test")
_BY_BATCH = "_by_batch"
_FIRST_VAL_SCENE, _FIRST_TEST_SCENE = 700, 800


class _RawEntry(msgspec.Struct, kw_only=True, gc=False):
    """One member of a batch file: a task, and the step tasks on its way."""

    lh_task: RawLongTask
    st_task: tuple[RawStepTask, ...] = ()


_ENTRY = msgspec.json.Decoder(_RawEntry)


@register_dataset("lhvln")
def load_lhvln(request: DatasetRequest) -> Iterator[Episode]:
    """A batch file, a folder of them, a folder of batch folders, or the root of the release."""
    roles = _roles(request)
    keep = _scene_filter(request.split)
    for batch in _batches(request):
        if batch.is_dir():
            yield from long_tasks(request, batch, keep=keep) if "lh" in roles else ()
            yield from step_tasks(request, batch, keep=keep) if "step" in roles else ()
        else:
            yield from checked(_batch_episodes(request, batch, keep=keep, roles=roles), batch)


def _batch_episodes(
    request: DatasetRequest, batch: Path, *, keep: SceneFilter, roles: frozenset[str]
) -> Iterator[Episode]:
    file = Place(batch)
    for key, text in read_members(request.source(batch)):
        place = file.at(f"task {key!r}")
        entry = decode(text, _ENTRY, place=place)
        if not keep(entry.lh_task.scene, place):
            continue
        name = f"{stem(batch)}-{key}"
        if "lh" in roles:
            yield long_episode(entry.lh_task, episode_id=name, place=place)
        if "step" in roles:
            for number, task in enumerate(entry.st_task, start=1):
                yield step_episode(task, episode_id=f"{name}-step{number}", place=place)


def _roles(request: DatasetRequest) -> frozenset[str]:
    if not request.roles:
        return frozenset({"lh"})
    roles = wanted(request.roles) or frozenset(ROLES)
    if not roles.issubset(ROLES):
        raise DatasetError(f"roles {sorted(roles - set(ROLES))} are not known; allowed are {', '.join(ROLES)} and '*'.")
    return roles


def split_of_scene(scene: str, place: Place) -> str:
    """By the number that HM3D scenes begin with: below 700 train, below 800 val, then test."""
    number = scene.partition("-")[0]
    if not number.isdecimal():
        raise place.refuse(f"Scene is {scene!r}; a split by scene needs a name that begins with HM3D's number.")
    if int(number) < _FIRST_VAL_SCENE:
        return "train"
    return "val" if int(number) < _FIRST_TEST_SCENE else "test"


def _scene_filter(split: str | None) -> SceneFilter:
    split = _canonical(split)
    if split not in _SPLITS:
        return lambda scene, place: True
    return lambda scene, place: split_of_scene(scene, place) == split


def _canonical(split: str | None) -> str | None:
    """The published loader says `valid`."""
    return split.replace("valid", "val") if split else split


def _batches(request: DatasetRequest) -> list[Path]:
    """The batches of the split, in their order."""
    found = _find_batches(request.fill(request.path))
    split = _canonical(request.split)
    if split is None or split in _SPLITS:
        return found
    if split.endswith(_BY_BATCH) and split.removesuffix(_BY_BATCH) in _SPLITS:
        part = split.removesuffix(_BY_BATCH)
        return [batch for batch in found if _SPLIT_OF_BATCH.get(number_in(stem(batch))) == part]
    if split in map(stem, found):
        return [batch for batch in found if stem(batch) == split]
    raise DatasetError(
        f"split is {request.split!r}; allowed are {', '.join(_SPLITS)} (by scene), the same with {_BY_BATCH}, "
        f"or a batch: {', '.join(map(stem, found))}."
    )


def _find_batches(path: Path) -> list[Path]:
    if not path.is_dir() or any(path.glob("*/*/config.json")):
        return [path]
    for pattern in ("episode_task/batch_*.json.gz", "batch_*.json.gz", "batch_*.json"):
        if files := list(path.glob(pattern)):
            return sorted(files, key=_order)
    for pattern in ("task/batch_*", "batch_*"):
        if folders := [folder for folder in path.glob(pattern) if folder.is_dir()]:
            return sorted(folders, key=_order)
    raise DatasetError(f"{path} has no batch_k.json.gz, no episode_task/ with them, and no task/batch_k folders.")


def _order(batch: Path) -> tuple[int, str]:
    return number_in(stem(batch)), batch.name
