"""What one evaluation case is, split into what an agent may see and what only the evaluator may see.

The halves are different types on purpose: everything that talks to an agent takes a `PublicEpisode`,
so a goal or a reference path cannot reach the wire by mistake. Frames: metres, Y up, −Z forward,
quaternions x, y, z, w.

These are msgspec structs rather than dataclasses: files of 10⁵ episodes are decoded straight into
them, validated in C. Defaults are left out of the encoding, so a field that is added later changes
neither old files nor their digests. `gc=False`: frozen and made of plain values, they form no cycles.
"""

from typing import Annotated, Any, TypeAlias

import msgspec

Coordinate: TypeAlias = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
"""Metres. Nothing we navigate is 1000 km wide; a larger number is a mistake, and squares stay finite."""
Vec3: TypeAlias = tuple[Coordinate, Coordinate, Coordinate]
Quaternion: TypeAlias = tuple[float, float, float, float]

IDENTITY_ROTATION: Quaternion = (0.0, 0.0, 0.0, 1.0)


class _Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """What the structs of this module have in common."""


class Pose(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Where something stands and which way it faces."""

    position: Vec3
    rotation: Quaternion = IDENTITY_ROTATION


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
    """One evaluation case; the seeds' flat names are properties of it."""

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
