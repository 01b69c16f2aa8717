"""LH-VLN's records, which have spaces in their keys, and the episodes they become.

The parts of a task that count are the `Move_to('object_region')` of its sub-task list, in order. The
object's name may itself contain `_`, so it is split from the right. A task has no start rotation: the
published evaluator lets the agent face −Z, our identity. Yaw is in degrees, 180 looks along −Z.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import msgspec

from nav_eval.dataset.decoding import Place
from nav_eval.dataset.episode import Episode, Instruction, Pose, PrivateEpisode, PublicEpisode, Subtask, Vec3
from nav_eval.frames import quaternion_from_yaw, yaw_from_lh_vln_degrees

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
class ExpertWay:
    """What the folders know beyond the record: how the expert did it, leg by leg."""

    start: Pose | None = None
    legs: tuple[tuple[Vec3, ...], ...] = ()
    actions: tuple[str, ...] = ()
    steps: tuple[int, ...] = ()
    distances: tuple[_Metres, ...] = ()


class Target(NamedTuple):
    name: str
    region: str


def targets_of(subtasks: Sequence[str], place: Place) -> tuple[Target, ...]:
    """The targets of the `Move_to` entries; grabbing and releasing is not scored."""
    targets = tuple(_target(entry, place) for entry in subtasks if "Move_to" in entry)
    if not targets:
        raise place.refuse(f"Subtask list is {list(subtasks)}; it needs at least one Move_to('object_region').")
    return targets


def _target(entry: str, place: Place) -> Target:
    match = _MOVE_TO.fullmatch(entry)
    if match is None:
        raise place.refuse(f"Subtask list holds {entry!r}; allowed is Move_to('object_region').")
    return Target(match["target"], match["region"])


def long_episode(task: RawLongTask, *, episode_id: str, place: Place, expert: ExpertWay | None = None) -> Episode:
    """A task with several targets."""
    expert = expert or ExpertWay()
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
            subtasks=_subtasks(task, expert, place),
            robot=task.robot,
            info={"rooms": [_room(entry) for entry in task.objects], "subtask_list": list(task.subtasks)},
        ),
    )


def _subtasks(task: RawLongTask, expert: ExpertWay, place: Place) -> tuple[Subtask, ...]:
    targets = targets_of(task.subtasks, place)
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
            _one_each(expert.legs, targets),
            _one_each(steps, targets),
            _one_each(expert.distances, targets),
            strict=True,
        )
    )


def _one_each(values: tuple[Any, ...], targets: tuple[Target, ...]) -> tuple[Any, ...]:
    """One value per target, or none for any: a list of another length cannot be told apart."""
    return values if len(values) == len(targets) else (None,) * len(targets)


def _room(entry: object) -> str | None:
    """`["toy", "Region 8: Bathroom"]` → `Bathroom`; votes may end in a tie: `Tie: Laundry room & Bathroom`."""
    if not isinstance(entry, list | tuple) or len(entry) < 2 or not isinstance(entry[1], str):
        return None
    match = _ROOM.fullmatch(entry[1])
    return match["room"] if match else None


def step_episode(task: RawStepTask, *, episode_id: str, place: Place) -> Episode:
    """One leg with an instruction of its own."""
    if task.end < task.start:
        raise place.refuse(f"end is {task.end}, before start {task.start}.")
    subtask = Subtask(target=task.target[0], region=str(task.regions[0]), ground_truth_steps=task.end - task.start + 1)
    return Episode(
        public=PublicEpisode(episode_id=episode_id, instruction=Instruction(text=task.instruction)),
        private=PrivateEpisode(
            scene_id=task.scene,
            start=pose(task.start_pos, task.start_yaw),
            subtasks=(subtask,),
            robot=task.robot,
            info={"trajectory_path": task.trajectory},
        ),
    )


def pose(position: Vec3, yaw_degrees: float) -> Pose:
    """A recorded pose in our frame."""
    return Pose(position, quaternion_from_yaw(yaw_from_lh_vln_degrees(yaw_degrees)))
