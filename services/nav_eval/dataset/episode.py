"""What one evaluation case is, split into what an agent may see and what only the evaluator may see.

The halves are different types on purpose: everything that talks to an agent takes a `PublicEpisode`,
so a goal or a reference path cannot reach the wire by mistake. Frames: metres, Y up, −Z forward,
quaternions x, y, z, w.

These are msgspec structs rather than dataclasses: files of 10⁵ episodes are decoded straight into
them, validated in C. Defaults are left out of the encoding, so a field that is added later changes
neither old files nor their digests. `gc=False`: frozen and made of plain values, they form no cycles.

The decoder checks types, ranges and finiteness. Left for `check_episode` are the rules of our world: rotations are
unit quaternions, a scene id is a place inside the scene folder, an instruction says something.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.dataset.json_records import RecordPlace
from nav_eval.records.geometry import Pose, Quaternion, Vec3


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What the structs of this module have in common."""


class Instruction(_Record, frozen=True, kw_only=True):
    """What the agent is told."""

    text: str
    tokens: tuple[str, ...] = ()
    """Words, never vocabulary indices."""
    language: str | None = None


class GoalImage(_Record, frozen=True, kw_only=True):
    """The camera that takes the goal picture of an image-goal episode; the simulator renders it."""

    pose: Pose
    hfov: float
    width: int
    height: int


class Goal(_Record, frozen=True, kw_only=True):
    """One place that counts as the target."""

    position: Vec3
    radius: float | None = None
    """Carried for round trips; success is decided by the benchmark's success distance."""
    object_id: str | None = None
    category: str | None = None
    view_points: tuple[Pose, ...] = ()
    """Places from which the object is seen; distances are measured to these where the task says so."""
    image: GoalImage | None = None


class Subtask(_Record, frozen=True, kw_only=True):
    """One leg of a long-horizon episode, in the order in which it must be done."""

    target: str
    """Object category, as the dataset names it."""
    region: str | None = None
    """Only objects inside this region count."""
    goals: tuple[Goal, ...] = ()
    """Empty when the dataset names only category and region: the scene's semantics then fill it in."""
    reference_path: tuple[Vec3, ...] = ()
    ground_truth_steps: int | None = None
    """Expert actions, the closing stop included where the dataset counts it."""
    ground_truth_distance: float | None = None
    """Metres of the expert, from the start or from the previous goal."""


class PublicEpisode(_Record, frozen=True, kw_only=True):
    """All that an agent may know when an episode starts."""

    episode_id: str
    instruction: Instruction | None = None
    object_category: str | None = None
    """The category to find (ObjectNav)."""


class PrivateEpisode(_Record, frozen=True, kw_only=True):
    """What only the evaluator may know."""

    scene_id: str
    start: Pose
    goals: tuple[Goal, ...] = ()
    reference_path: tuple[Vec3, ...] = ()
    """Sparse way-points, as in R2R."""
    dense_path: tuple[Vec3, ...] = ()
    """The expert's positions step by step; nDTW compares with these when they exist."""
    expert_actions: tuple[str, ...] = ()
    subtasks: tuple[Subtask, ...] = ()
    shortest_path_length: float | None = None
    """Geodesic metres stated by the dataset; the simulator measures its own."""
    robot: str | None = None
    info: dict[str, Any] = {}


class Episode(_Record, frozen=True, kw_only=True):
    """One evaluation case; the specification's flat names are properties of it."""

    public: PublicEpisode
    private: PrivateEpisode

    @property
    def episode_id(self) -> str:
        return self.public.episode_id

    @property
    def instruction(self) -> Instruction | None:
        return self.public.instruction

    @property
    def scene_id(self) -> str:
        return self.private.scene_id

    @property
    def start_position(self) -> Vec3:
        return self.private.start.position

    @property
    def start_rotation(self) -> Quaternion:
        return self.private.start.rotation

    @property
    def goals(self) -> tuple[Goal, ...]:
        return self.private.goals

    @property
    def reference_path(self) -> tuple[Vec3, ...]:
        return self.private.reference_path

    @property
    def subtasks(self) -> tuple[Subtask, ...]:
        return self.private.subtasks


UNIT_TOLERANCE = 1e-3
"""Files round to as few as five digits."""


def check_episodes(episodes: Iterator[Episode], file: Path) -> Iterator[Episode]:
    """The same episodes, each found sound; `file` is for the message."""
    place = RecordPlace(file)
    for episode in episodes:
        check_episode(episode, place)
        yield episode


def check_episode(episode: Episode, place: RecordPlace) -> None:
    """Refuse an episode that no simulator could start. Goals are checked where they are made: episodes share them."""
    private, instruction = episode.private, episode.public.instruction
    if not episode.public.episode_id:
        raise place.refuse("an episode has an empty episode_id; give each its own.")
    if instruction is not None and not instruction.text.strip():
        raise _locate(episode, place).refuse("the instruction is empty; give a text.")
    if not _is_unit(private.start.rotation):
        raise _locate(episode, place).refuse(_describe_rotation("start_rotation", private.start.rotation))
    if not is_inside(private.scene_id):
        raise _locate(episode, place).refuse(
            f"scene_id is {private.scene_id!r}; allowed is a path inside the scene folder, without '..'."
        )


def check_goals(goals: tuple[Goal, ...], place: RecordPlace) -> None:
    """Refuse goals whose view points or cameras have no proper rotation."""
    for goal in goals:
        for pose in goal.view_points:
            if not _is_unit(pose.rotation):
                raise place.refuse(_describe_rotation("a view point's rotation", pose.rotation))
        if goal.image is not None and not _is_unit(goal.image.pose.rotation):
            raise place.refuse(_describe_rotation("a goal image's rotation", goal.image.pose.rotation))


def is_inside(scene_id: str) -> bool:
    """Whether the id stays inside the folder it will be joined to."""
    if not scene_id or scene_id[0] in "/\\" or "\0" in scene_id:
        return False
    return ".." not in scene_id or ".." not in scene_id.replace("\\", "/").split("/")


def _locate(episode: Episode, place: RecordPlace) -> RecordPlace:
    return place.episode(episode.episode_id)


def _is_unit(rotation: Quaternion) -> bool:
    x, y, z, w = rotation
    return abs(x * x + y * y + z * z + w * w - 1.0) <= 2 * UNIT_TOLERANCE


def _describe_rotation(field: str, rotation: Quaternion) -> str:
    return f"{field} is {list(rotation)}; allowed is a unit quaternion x, y, z, w."
