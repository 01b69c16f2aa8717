"""What has to be done in an episode, stage by stage, and how far it is to each stage's goals."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from nav_eval.dataset.episode import Episode, Goal, Vec3
from nav_eval.metrics.lh_vln import Rule
from nav_eval.scene.navigation import DistanceField, Ground
from nav_eval.tasks import Progress, Task
from nav_eval.tasks.base import target_points


@runtime_checkable
class Staged(Protocol):
    """Progress through several stages; tasks of one stage need not say."""

    @property
    def stage(self) -> int: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Leg:
    """One stage of an episode before anybody has walked it."""

    name: str
    region: str | None
    goals: tuple[Goal, ...]
    field: DistanceField


def legs_of(episode: Episode, task: Task, ground: Ground, progress: Progress) -> list[Leg]:
    """The stages as the task sees them; none where nobody walks."""
    if not task.uses_motion:
        return []
    if not isinstance(progress, Staged):  # a VLN task ignores the sub-tasks that an episode may have
        return [_leg(_goal_name(episode), None, episode.goals, task, ground)] if episode.goals else []
    first: dict[str, tuple[str | None, tuple[Goal, ...]]] = {}
    legs = []
    for subtask in episode.subtasks:
        region, goals = first.setdefault(subtask.target, (subtask.region, subtask.goals))
        if task.rules.scoring.rule is not Rule.REFERENCE:  # which looks a category up by its first mention
            region, goals = subtask.region, subtask.goals
        legs.append(_leg(subtask.target, region, goals, task, ground))
    return legs


def stage_of(progress: Progress, legs: Sequence[Leg]) -> int:
    """The stage under way; the last one once all are closed."""
    stage = progress.stage if isinstance(progress, Staged) else 0
    return min(stage, max(0, len(legs) - 1))


def closed_stages(progress: Progress) -> int:
    """How many stages stops have closed."""
    return progress.stage if isinstance(progress, Staged) else int(progress.result().stopped)


def reference_of(episode: Episode, legs: Sequence[Leg], ground: Ground) -> tuple[str, list[list[Vec3]]]:
    """The ways of the expert: the dataset's densest ones, or else the shortest ones on the ground."""
    private = episode.private
    by_stage = [list(subtask.reference_path) for subtask in episode.subtasks if len(subtask.reference_path) > 1]
    if len(private.dense_path) > 1:
        return "reference", [list(private.dense_path)]
    if by_stage:
        return "reference", by_stage
    if len(private.reference_path) > 1:
        return "reference", [list(private.reference_path)]
    return "shortest", _shortest(episode.start_position, legs, ground)


def _shortest(start: Vec3, legs: Sequence[Leg], ground: Ground) -> list[list[Vec3]]:
    ways = []
    for leg in legs:
        places = target_points(leg.goals, to_view_points=True)
        if not places:
            break
        nearest = min(places, key=ground.distance_field([start]).distance)  # as far there as back
        way = ground.shortest_path(start, nearest)
        if not way:
            break
        ways.append(way)
        start = nearest
    return ways


def _leg(name: str, region: str | None, goals: tuple[Goal, ...], task: Task, ground: Ground) -> Leg:
    return Leg(name=name, region=region, goals=goals, field=task.field(goals, ground))


def _goal_name(episode: Episode) -> str:
    categories = (goal.category for goal in episode.goals if goal.category)
    return episode.public.object_category or next(categories, "goal")
