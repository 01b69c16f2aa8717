"""LH-VLN: `lhvln`. Long-horizon tasks of two to four `Move_to`, and the step tasks cut from them.

The release holds each task twice: in `episode_task/batch_k.json.gz`, and in `task/batch_k/{2,3,4}/<instruction>/`
with the expert's pictures step by step. Where both are, the batch files are read. In a folder, `config.json` is the
task, `success/trial_1/task.json` the recorded path, and every step a folder `<number>_<action>_for_<target>`: how many
there are is the ground truth of CGT, counted as the published evaluator counts them.

Splits: `train`, `val`, `test` go by scene number, as the challenge does; `train_by_batch`,
`val_by_batch`, `test_by_batch` by batch; `batch_k` is one batch; no split is everything.
Roles: `lh` (the default) and `step`.

The parts of a task that count are the `Move_to('object_region')` of its sub-task list, in order. The object's name may
itself contain `_`, so it is split from the right. A task has no start rotation: the published evaluator lets the agent
face −Z, our identity. Yaw is in degrees, 180 looks along −Z.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode, Subtask, check_episodes
from nav_eval.dataset.json_records import RecordPlace, decode_record, read_members, read_value
from nav_eval.dataset.loader import DatasetRequest, make_filter, register_dataset, strip_suffixes
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Pose, Vec3, from_lh_vln_yaw, make_yaw_rotation

_MOVE_TO = re.compile(r"""\s*Move_to\s*\(\s*["'](?P<target>.+)_(?P<region>[^_]+)["']\s*\)\s*""")
_ROOM = re.compile(r"[^:]*:\s*(?P<room>.+)")

_Steps = Annotated[int, msgspec.Meta(ge=0)]
_Metres = Annotated[float, msgspec.Meta(ge=0)]


class RawLongTask(msgspec.Struct, kw_only=True, gc=False):
    """`lh_task` of a batch file, and `config.json` of a folder."""

    instruction: str = msgspec.field(name="Task instruction")
    subtasks: tuple[str, ...] = msgspec.field(name="Subtask list")
    robot: str = msgspec.field(name="Robot")
    scene: str = msgspec.field(name="Scene")
    objects: tuple[Any, ...] = msgspec.field(name="Object", default=())
    start: Vec3 | None = msgspec.field(name="Start pos", default=None)
    steps: tuple[_Steps, ...] | None = msgspec.field(name="gt_step", default=None)


class RawStepTask(msgspec.Struct, kw_only=True, gc=False):
    """`st_task` of a batch file, and the files of `step_task/`."""

    instruction: str = msgspec.field(name="Task instruction")
    robot: str = msgspec.field(name="Robot")
    scene: str = msgspec.field(name="Scene")
    target: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    regions: Annotated[tuple[str | int, ...], msgspec.Meta(min_length=1)] = msgspec.field(name="Region")
    start: int
    end: int
    start_pos: Vec3
    start_yaw: float
    trajectory: str = msgspec.field(name="trajectory path", default="")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpertPath:
    """What the folders know beyond the record: how the expert did it, leg by leg."""

    start: Pose | None = None
    legs: tuple[tuple[Vec3, ...], ...] = ()
    actions: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    distances: tuple[_Metres, ...] = ()


class NamedTarget(NamedTuple):
    name: str
    region: str


def parse_targets(subtasks: Sequence[str], place: RecordPlace) -> tuple[NamedTarget, ...]:
    """The targets of the `Move_to` entries; grabbing and releasing is not scored."""
    targets = tuple(_parse_target(entry, place) for entry in subtasks if "Move_to" in entry)
    if not targets:
        raise place.refuse(f"Subtask list is {list(subtasks)}; it needs at least one Move_to('object_region').")
    return targets


def _parse_target(entry: str, place: RecordPlace) -> NamedTarget:
    match = _MOVE_TO.fullmatch(entry)
    if match is None:
        raise place.refuse(f"Subtask list holds {entry!r}; allowed is Move_to('object_region').")
    return NamedTarget(match["target"], match["region"])


def make_long_episode(
    task: RawLongTask, *, episode_id: str, place: RecordPlace, expert: ExpertPath | None = None
) -> Episode:
    """A task with several targets."""
    expert = expert or ExpertPath()
    start = expert.start or (Pose(task.start) if task.start else None)
    if start is None:
        raise place.refuse("Start pos is missing, and there is no success/trial_1/task.json to take it from.")
    return Episode(
        public=PublicEpisode(episode_id=episode_id, instruction=Instruction(text=task.instruction)),
        private=PrivateEpisode(
            scene_id=task.scene,
            start=start,
            dense_path=tuple(point for leg in expert.legs for point in leg),
            expert_actions=expert.actions,
            subtasks=_make_subtasks(task, expert, place),
            robot=task.robot,
            info={"rooms": [_parse_room(entry) for entry in task.objects], "subtask_list": list(task.subtasks)},
        ),
    )


def _make_subtasks(task: RawLongTask, expert: ExpertPath, place: RecordPlace) -> tuple[Subtask, ...]:
    targets = parse_targets(task.subtasks, place)
    steps = task.steps or expert.steps
    if steps and len(steps) != len(targets):
        raise place.refuse(f"gt_step is {list(steps)}; {len(targets)} entries are needed, one per Move_to.")
    return tuple(
        Subtask(
            target=target.name,
            region=target.region,
            reference_path=leg or (),
            ground_truth_steps=count,
            ground_truth_distance=distance,
        )
        for target, leg, count, distance in zip(
            targets,
            _match_values(expert.legs, targets),
            _match_values(steps, targets),
            _match_values(expert.distances, targets),
            strict=True,
        )
    )


def _match_values(values: tuple[Any, ...], targets: tuple[NamedTarget, ...]) -> tuple[Any, ...]:
    """One value per target, or none for any: a list of another length cannot be told apart."""
    return values if len(values) == len(targets) else (None,) * len(targets)


def _parse_room(entry: object) -> str | None:
    """`["toy", "Region 8: Bathroom"]` → `Bathroom`; votes may end in a tie: `Tie: Laundry room & Bathroom`."""
    if not isinstance(entry, list | tuple) or len(entry) < 2 or not isinstance(entry[1], str):
        return None
    match = _ROOM.fullmatch(entry[1])
    return match["room"] if match else None


def make_step_episode(task: RawStepTask, *, episode_id: str, place: RecordPlace) -> Episode:
    """One leg with an instruction of its own."""
    if task.end < task.start:
        raise place.refuse(f"end is {task.end}, before start {task.start}.")
    subtask = Subtask(target=task.target[0], region=str(task.regions[0]), ground_truth_steps=task.end - task.start + 1)
    return Episode(
        public=PublicEpisode(episode_id=episode_id, instruction=Instruction(text=task.instruction)),
        private=PrivateEpisode(
            scene_id=task.scene,
            start=make_pose(task.start_pos, task.start_yaw),
            subtasks=(subtask,),
            robot=task.robot,
            info={"trajectory_path": task.trajectory},
        ),
    )


def make_pose(position: Vec3, yaw_degrees: float) -> Pose:
    """A recorded pose in our frame."""
    return Pose(position, make_yaw_rotation(from_lh_vln_yaw(yaw_degrees)))


SceneFilter = Callable[[str, RecordPlace], bool]

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
        return [self.trial[name] for name in sorted(self.trial, key=parse_number)]


_TASK = msgspec.json.Decoder(RawLongTask)
_STEP_TASK = msgspec.json.Decoder(RawStepTask)
_RECORDING = msgspec.json.Decoder(_RawRecording)


def count_expert_steps(entries: Iterable[str], targets: Sequence[str], *, place: RecordPlace) -> tuple[int, ...]:
    """Folders that end in the target's name, minus one; a category that occurs twice gets the sum both times."""
    names = list(entries)
    counts = [sum(name.endswith(f"_for_{target}") for name in names) for target in targets]
    for target, count in zip(targets, counts, strict=True):
        if not count:
            raise place.refuse(f"no step folder ends in '_for_{target}'; the recording lacks this target.")
    return tuple(count - 1 for count in counts)


def parse_number(name: str) -> int:
    """`batch_7` → 7; names without a number come first."""
    match = re.search(r"(\d+)$", name)
    return int(match[1]) if match else -1


def read_long_tasks(request: DatasetRequest, batch: Path, *, keep: SceneFilter) -> Iterator[Episode]:
    """The tasks of one `task/batch_k`, in the order of their folders' names."""
    for config in sorted(batch.glob("*/*/config.json")):
        task = read_value(request.source(config), _TASK)
        place = RecordPlace(config)
        if keep(task.scene, place):
            expert = _read_expert_path(request, config.parent / _TRIAL, task)
            name = f"{batch.name}-{_make_tag(config.parent.relative_to(batch))}"
            episode = make_long_episode(task, episode_id=name, place=place, expert=expert)
            yield from check_episodes(iter((episode,)), config)


def read_step_tasks(request: DatasetRequest, batch: Path, *, keep: SceneFilter) -> Iterator[Episode]:
    """The step tasks that belong to `task/batch_k`: the files of `step_task/batch_k`."""
    for path in sorted((batch.parent.parent / "step_task" / batch.name).glob("*.json")):
        task = read_value(request.source(path), _STEP_TASK)
        place = RecordPlace(path)
        if keep(task.scene, place):
            episode = make_step_episode(task, episode_id=f"{batch.name}-step-{_make_tag(Path(path.stem))}", place=place)
            yield from check_episodes(iter((episode,)), path)


def _read_expert_path(request: DatasetRequest, trial: Path, task: RawLongTask) -> ExpertPath:
    if not trial.is_dir():
        return ExpertPath()
    targets = [target.name for target in parse_targets(task.subtasks, RecordPlace(trial))]
    steps = count_expert_steps((entry.name for entry in trial.iterdir()), targets, place=RecordPlace(trial))
    recording = trial / "task.json"
    if not recording.is_file():
        return ExpertPath(steps=steps)
    return _convert_recording(read_value(request.source(recording), _RECORDING), steps, place=RecordPlace(recording))


def _convert_recording(recording: _RawRecording, steps: tuple[int, ...], *, place: RecordPlace) -> ExpertPath:
    legs = recording.legs()
    if any(len(leg.pos) != len(leg.yaw) for leg in legs):
        raise place.refuse("a trial has not as many yaw as pos; each position needs its heading.")
    poses = [make_pose(position, yaw) for leg in legs for position, yaw in zip(leg.pos, leg.yaw, strict=True)]
    return ExpertPath(
        start=poses[0] if poses else None,
        legs=tuple(leg.pos for leg in legs),
        actions=tuple(action for leg in legs for action in leg.action),
        steps=steps,
        distances=recording.distances,
    )


def _make_tag(path: Path) -> str:
    """A short name for a folder that is called like its instruction; it tells an agent nothing."""
    return hashlib.blake2b(path.as_posix().encode(), digest_size=5).hexdigest()


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
    roles = _read_roles(request)
    keep = _make_scene_filter(request.split)
    for batch in _select_batches(request):
        if batch.is_dir():
            yield from read_long_tasks(request, batch, keep=keep) if "lh" in roles else ()
            yield from read_step_tasks(request, batch, keep=keep) if "step" in roles else ()
        else:
            yield from check_episodes(_read_batch(request, batch, keep=keep, roles=roles), batch)


def _read_batch(request: DatasetRequest, batch: Path, *, keep: SceneFilter, roles: frozenset[str]) -> Iterator[Episode]:
    file = RecordPlace(batch)
    for key, text in read_members(request.source(batch)):
        place = file.at(f"task {key!r}")
        entry = decode_record(text, _ENTRY, place=place)
        if not keep(entry.lh_task.scene, place):
            continue
        name = f"{strip_suffixes(batch)}-{key}"
        if "lh" in roles:
            yield make_long_episode(entry.lh_task, episode_id=name, place=place)
        if "step" in roles:
            for number, task in enumerate(entry.st_task, start=1):
                yield make_step_episode(task, episode_id=f"{name}-step{number}", place=place)


def _read_roles(request: DatasetRequest) -> frozenset[str]:
    if not request.roles:
        return frozenset({"lh"})
    roles = make_filter(request.roles) or frozenset(ROLES)
    if not roles.issubset(ROLES):
        raise DatasetError(f"roles {sorted(roles - set(ROLES))} are not known; allowed are {', '.join(ROLES)} and '*'.")
    return roles


def find_scene_split(scene: str, place: RecordPlace) -> str:
    """By the number that HM3D scenes begin with: below 700 train, below 800 val, then test."""
    number = scene.partition("-")[0]
    if not number.isdecimal():
        raise place.refuse(f"Scene is {scene!r}; a split by scene needs a name that begins with HM3D's number.")
    if int(number) < _FIRST_VAL_SCENE:
        return "train"
    return "val" if int(number) < _FIRST_TEST_SCENE else "test"


def _make_scene_filter(split: str | None) -> SceneFilter:
    split = _normalize_split(split)
    if split not in _SPLITS:
        return lambda scene, place: True
    return lambda scene, place: find_scene_split(scene, place) == split


def _normalize_split(split: str | None) -> str | None:
    """The published loader says `valid`."""
    return split.replace("valid", "val") if split else split


def _select_batches(request: DatasetRequest) -> list[Path]:
    """The batches of the split, in their order."""
    found = _find_batches(request.fill(request.path))
    split = _normalize_split(request.split)
    if split is None or split in _SPLITS:
        return found
    if split.endswith(_BY_BATCH) and split.removesuffix(_BY_BATCH) in _SPLITS:
        part = split.removesuffix(_BY_BATCH)
        return [batch for batch in found if _SPLIT_OF_BATCH.get(parse_number(strip_suffixes(batch))) == part]
    if split in map(strip_suffixes, found):
        return [batch for batch in found if strip_suffixes(batch) == split]
    raise DatasetError(
        f"split is {request.split!r}; allowed are {', '.join(_SPLITS)} (by scene), the same with {_BY_BATCH}, "
        f"or a batch: {', '.join(map(strip_suffixes, found))}."
    )


def _find_batches(path: Path) -> list[Path]:
    if not path.is_dir() or any(path.glob("*/*/config.json")):
        return [path]
    for pattern in ("episode_task/batch_*.json.gz", "batch_*.json.gz", "batch_*.json"):
        if files := list(path.glob(pattern)):
            return sorted(files, key=_to_sort_key)
    for pattern in ("task/batch_*", "batch_*"):
        if folders := [folder for folder in path.glob(pattern) if folder.is_dir()]:
            return sorted(folders, key=_to_sort_key)
    raise DatasetError(f"{path} has no batch_k.json.gz, no episode_task/ with them, and no task/batch_k folders.")


def _to_sort_key(batch: Path) -> tuple[int, str]:
    return parse_number(strip_suffixes(batch)), batch.name
