"""What a task is: how far an episode has come, when it is over, and what it was worth.

A task never moves anybody. The executor applies an action and tells the task what came of it; the
task asks its world only for distances. So the same code runs in a simulator, in a replay without
pictures, and on the open plane of a test.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

from nav_eval.dataset.episode import Episode, Goal, Vec3
from nav_eval.metrics.lh_vln import ScoringOptions, SubtaskRecord
from nav_eval.metrics.registry import Parameters
from nav_eval.registry import Registry
from nav_eval.scene.navigation import DistanceField, OpenPlane

STOP = "stop"


class World(Protocol):
    """What a task asks of the ground it happens on."""

    def distance_field(self, goals: Sequence[Vec3], /) -> DistanceField: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRules:
    """What a benchmark decides about a task."""

    metrics: tuple[str, ...]  #: what to report
    metric_parameters: Mapping[str, Parameters] = field(default_factory=dict)  #: by metric, where it has any
    max_steps: int = 500  #: actions per episode, stops included
    success_distance: float = 1.0  #: metres; strictly closer is a success
    stop_needed: bool = True  #: a success must be claimed by a stop
    straight_lines: bool = False  #: measure distances through walls instead of along the ground
    to_view_points: bool = False  #: measure to where a goal is seen from rather than to the goal itself
    scoring: ScoringOptions = field(default_factory=ScoringOptions)  #: long-horizon tasks only


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """What came of one action."""

    action: str
    position: Vec3
    collided: bool = False
    seconds: float = 0.0  #: wall clock since the action before


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskResult:
    """What an episode was worth, and every raw quantity that says so."""

    metrics: dict[str, float | None]
    steps: int
    stopped: bool  #: the agent ended the episode by itself
    subtasks: tuple[SubtaskRecord, ...] = ()


class Progress(ABC):
    """One episode under way."""

    steps: int = 0
    over: bool = False

    @abstractmethod
    def advance(self, moved: Moved) -> None:
        """Take one action into account. Must not be called once the episode is over."""

    @abstractmethod
    def result(self) -> TaskResult:
        """The worth of the episode as it stands; final once it is over or was cut short."""


class Task(ABC):
    """What an agent has to do."""

    uses_motion: ClassVar[bool] = True
    """False for tasks that are answered rather than walked."""

    def __init__(self, rules: TaskRules) -> None:
        self.rules = rules

    @abstractmethod
    def start(self, episode: Episode, world: World) -> Progress:
        """Begin an episode with the agent at its start position."""

    def field(self, goals: Sequence[Goal], world: World) -> DistanceField:
        """How far it is to the nearest of these goals, as the rules measure it."""
        points = target_points(goals, to_view_points=self.rules.to_view_points)
        return (OpenPlane() if self.rules.straight_lines else world).distance_field(points)


T = TypeVar("T", bound=type[Task])

TASKS: Registry[type[Task]] = Registry("task", entry_point_group="nav_eval.tasks")


def register_task(name: str) -> Callable[[T], T]:
    """Class decorator: make a task available to configurations as `name`."""

    def add(cls: T) -> T:
        TASKS.register(name)(cls)
        return cls

    return add


def target_points(goals: Sequence[Goal], *, to_view_points: bool) -> list[Vec3]:
    """The places that distances are measured to."""
    if to_view_points:
        seen_from = [pose.position for goal in goals for pose in goal.view_points]
        if seen_from:
            return seen_from
    return [goal.position for goal in goals]
