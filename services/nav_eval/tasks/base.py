"""What a task is: what has to be done, how far an episode has come, when it is over, and what it was worth.

A task never moves anybody. An `EpisodePlay` applies an action and tells the task what came of it; the
task asks its world only for distances. So the same code runs in a simulator, in a replay without
pictures, and on the open plane of a test.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, TypeVar

from nav_eval.config.schema import EvaluationConfig, ScoringConfig, TaskConfig
from nav_eval.config.schema.task import GOALS
from nav_eval.dataset.episode import Episode, Goal
from nav_eval.errors import RecordError
from nav_eval.metrics.lh_vln import ScoringOptions
from nav_eval.metrics.registry import Parameters
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.records.results import EpisodeOutcome, SubtaskRecord
from nav_eval.records.scoring import LH_VLN_RANKING, CgtWeight, ScoringRule
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
    questions: int = 0  #: to the informant, per episode
    takes_goals: bool = False  #: an agent may name goals that a controller walks to

    def is_last_step(self, steps: int) -> bool:
        """Whether so many actions are all that an episode may have."""
        return steps >= self.max_steps


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskStage:
    """One thing to be done: go to the nearest of these goals and stop there."""

    name: str  #: of what is looked for
    goals: tuple[Goal, ...]
    field: DistanceField  #: how far it is to them
    region: str | None = None  #: where they are, if the dataset says so


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
    groups: Mapping[str, str] = field(default_factory=dict)  #: further things to group results by


class Progress(ABC):
    """One episode under way."""

    steps: int = 0
    over: bool = False
    aborted: bool = False

    @property
    def closed_stages(self) -> int:
        """How many stages stops have closed; tasks of one stage need not say."""
        return int(self.result().stopped)

    def abort(self) -> None:
        """The agent's fault ends the episode here: what it has not earned for good, it has not earned."""
        self.aborted = True

    @abstractmethod
    def advance(self, moved: Moved) -> None:
        """Take one action into account. Must not be called once the episode is over."""

    def answer(self, poses: Sequence[Pose]) -> None:
        """Take an answer into account; only tasks that are answered rather than walked have one."""
        raise RecordError("This task is walked: it takes actions and no answer.")

    def answer_in_words(self, text: str) -> None:
        """Take an answer into account that is text."""
        raise RecordError("This task takes no answer in words.")

    @abstractmethod
    def result(self) -> TaskResult:
        """The worth of the episode as it stands; final once it is over or was cut short."""


class Task(ABC):
    """What an agent has to do."""

    uses_motion: ClassVar[bool] = True
    """False for tasks that are answered rather than walked."""
    answers_in_words: ClassVar[bool] = False
    """Among those that are answered: by text rather than by poses."""
    stop_meaning: ClassVar[str] = "unspecified"
    """What `stop` says, as agents are told: ends_episode, closes_subtask, none, or unspecified."""

    def __init__(self, rules: TaskRules) -> None:
        self.rules = rules

    @abstractmethod
    def start(self, episode: Episode, world: World) -> Progress:
        """Begin an episode with the agent at its start position."""

    def build_stages(self, episode: Episode, world: World) -> tuple[TaskStage, ...]:
        """What has to be done, in order: here one stage with the episode's goals, and none where nobody walks."""
        if not (self.uses_motion and episode.goals):
            return ()
        categories = (goal.category for goal in episode.goals if goal.category)
        name = episode.public.object_category or next(categories, "goal")
        return (TaskStage(name=name, goals=episode.goals, field=self.field(episode.goals, world)),)

    def field(self, goals: Sequence[Goal], world: World) -> DistanceField:
        """How far it is to the nearest of these goals, as the rules measure it."""
        points = find_target_points(goals, to_view_points=self.rules.to_view_points)
        return (OpenPlane() if self.rules.straight_lines else world).distance_field(points)


T = TypeVar("T", bound=type[Task])

TASKS: Registry[type[Task]] = Registry("task", entry_point_group="nav_eval.tasks")


def register_task(name: str) -> Callable[[T], T]:
    """Class decorator: make a task available to configurations as `name`."""

    def add(cls: T) -> T:
        TASKS.register(name)(cls)
        return cls

    return add


def is_success(result: TaskResult | EpisodeOutcome) -> bool:
    """Whether an episode did what it should: all its sub-tasks where there are any, otherwise what the metric says."""
    if result.subtasks:
        return all(subtask.success for subtask in result.subtasks)
    return bool(result.metrics.get("success", result.metrics.get("exact_match")))


def find_target_points(goals: Sequence[Goal], *, to_view_points: bool) -> list[Vec3]:
    """The places that distances are measured to."""
    if to_view_points:
        seen_from = [pose.position for goal in goals for pose in goal.view_points]
        if seen_from:
            return seen_from
    return [goal.position for goal in goals]


def build_task(task: TaskConfig, evaluation: EvaluationConfig) -> Task:
    """The task that a benchmark describes."""
    return TASKS.get(task.type)(make_task_rules(task, evaluation))


def make_task_rules(task: TaskConfig, evaluation: EvaluationConfig) -> TaskRules:
    return TaskRules(
        metrics=task.metric_names,
        metric_parameters={metric.name: metric.params for metric in task.metrics if metric.params},
        max_steps=evaluation.max_steps,
        success_distance=evaluation.success_distance,
        stop_needed=evaluation.require_stop,
        straight_lines=evaluation.distance == "euclidean",
        to_view_points=evaluation.distance_to == "view_points",
        scoring=make_scoring_options(task.scoring, success_distance=evaluation.success_distance),
        takes_goals=any(task.action(name) for name in GOALS),
        questions=0 if (ask := task.action("ask")) is None else int(ask.params["budget"]),
    )


def make_scoring_options(scoring: ScoringConfig, *, success_distance: float) -> ScoringOptions:
    return ScoringOptions(
        rule=ScoringRule(scoring.rule),
        success_distance=success_distance,
        cgt_weight=CgtWeight(scoring.cgt_weight),
        ranking_weights=scoring.ranking or LH_VLN_RANKING,
    )
