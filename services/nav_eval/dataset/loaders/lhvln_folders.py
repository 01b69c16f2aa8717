"""LH-VLN as folders: `task/batch_k/{2,3,4}/<instruction>/` with the expert's pictures step by step.

`config.json` is the task, `success/trial_1/task.json` the recorded way, and every step is a folder
`<number>_<action>_for_<target>`. How many of these there are is the ground truth of CGT, counted as
the published evaluator counts them.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from nav_eval.dataset.decoding import Place
from nav_eval.dataset.document import read_value
from nav_eval.dataset.episode import Episode, Vec3
from nav_eval.dataset.loaders.lhvln_records import (
    ExpertWay,
    RawLongTask,
    RawStepTask,
    long_episode,
    pose,
    step_episode,
    targets_of,
)
from nav_eval.dataset.request import DatasetRequest
from nav_eval.dataset.validation import checked

SceneFilter = Callable[[str, Place], bool]

_TRIAL = Path("success", "trial_1")


class _RawTrial(msgspec.Struct, kw_only=True, gc=False):
    pos: tuple[Vec3, ...] = ()
    yaw: tuple[float, ...] = ()
    action: tuple[str, ...] = ()


class _RawRecording(msgspec.Struct, kw_only=True, gc=False):
    """`task.json`: one trial per sub-task."""

    trial: dict[str, _RawTrial] = {}
    distances: tuple[float, ...] = msgspec.field(name="Geo dis", default=())

    def legs(self) -> list[_RawTrial]:
        return [self.trial[name] for name in sorted(self.trial, key=number_in)]


_TASK = msgspec.json.Decoder(RawLongTask)
_STEP_TASK = msgspec.json.Decoder(RawStepTask)
_RECORDING = msgspec.json.Decoder(_RawRecording)


def count_expert_steps(entries: Iterable[str], targets: Sequence[str], *, place: Place) -> tuple[int, ...]:
    """Folders that end in the target's name, minus one; a category that occurs twice gets the sum both times."""
    names = list(entries)
    counts = [sum(name.endswith(f"_for_{target}") for name in names) for target in targets]
    for target, count in zip(targets, counts, strict=True):
        if not count:
            raise place.refuse(f"no step folder ends in '_for_{target}'; the recording lacks this target.")
    return tuple(count - 1 for count in counts)


def number_in(name: str) -> int:
    """`batch_7` → 7; names without a number come first."""
    match = re.search(r"(\d+)$", name)
    return int(match[1]) if match else -1


def long_tasks(request: DatasetRequest, batch: Path, *, keep: SceneFilter) -> Iterator[Episode]:
    """The tasks of one `task/batch_k`, in the order of their folders' names."""
    for config in sorted(batch.glob("*/*/config.json")):
        task = read_value(request.source(config), _TASK)
        place = Place(config)
        if keep(task.scene, place):
            expert = _expert_way(request, config.parent / _TRIAL, task)
            name = f"{batch.name}-{_tag(config.parent.relative_to(batch))}"
            episode = long_episode(task, episode_id=name, place=place, expert=expert)
            yield from checked(iter((episode,)), config)


def step_tasks(request: DatasetRequest, batch: Path, *, keep: SceneFilter) -> Iterator[Episode]:
    """The step tasks that belong to `task/batch_k`: the files of `step_task/batch_k`."""
    for path in sorted((batch.parent.parent / "step_task" / batch.name).glob("*.json")):
        task = read_value(request.source(path), _STEP_TASK)
        place = Place(path)
        if keep(task.scene, place):
            episode = step_episode(task, episode_id=f"{batch.name}-step-{_tag(Path(path.stem))}", place=place)
            yield from checked(iter((episode,)), path)


def _expert_way(request: DatasetRequest, trial: Path, task: RawLongTask) -> ExpertWay:
    if not trial.is_dir():
        return ExpertWay()
    targets = [target.name for target in targets_of(task.subtasks, Place(trial))]
    steps = count_expert_steps((entry.name for entry in trial.iterdir()), targets, place=Place(trial))
    recording = trial / "task.json"
    if not recording.is_file():
        return ExpertWay(steps=steps)
    return _recorded_way(read_value(request.source(recording), _RECORDING), steps, place=Place(recording))


def _recorded_way(recording: _RawRecording, steps: tuple[int, ...], *, place: Place) -> ExpertWay:
    legs = recording.legs()
    if any(len(leg.pos) != len(leg.yaw) for leg in legs):
        raise place.refuse("a trial has not as many yaw as pos; each position needs its heading.")
    poses = [pose(position, yaw) for leg in legs for position, yaw in zip(leg.pos, leg.yaw, strict=True)]
    return ExpertWay(
        start=poses[0] if poses else None,
        legs=tuple(leg.pos for leg in legs),
        actions=tuple(action for leg in legs for action in leg.action),
        steps=steps,
        distances=recording.distances,
    )


def _tag(path: Path) -> str:
    """A short name for a folder that is called like its instruction; it tells an agent nothing."""
    return hashlib.blake2b(path.as_posix().encode(), digest_size=5).hexdigest()
