"""What it takes to make an episode, whatever the task: a request, an attempt at it, a generator per scene; targets with
words that mean them and places that count as being there; and the expert's way to them, leg by leg."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.config.schema.generation import Language
from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, Subtask
from nav_eval.generator_version import FIRST_GENERATOR, GeneratorVersion
from nav_eval.records.geometry import Pose, Vec3, measure_distance
from nav_eval.scene.model import SceneObject
from nav_eval.simulator.expert import ExpertWalk
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks.base import STOP
from nav_eval_worlds.episodes.site import Site
from nav_eval_worlds.instructions.descriptions import Reference
from nav_eval_worlds.instructions.words import is_target
from nav_eval_worlds.randomness import RandomStream, Split

#: of all episodes, those whose goal may be in sight at the start
VISIBLE_START_SHARE = 0.15


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerationRequest:
    """What is to be made."""

    benchmark: BenchmarkConfig  #: task, actions, robots and rules that the episodes are for
    count: int
    seed: int
    split: str  #: name of the split, in ids and draws
    subtasks: tuple[int, int] = (2, 4)  #: fewest and most of a long-horizon episode
    generator: GeneratorVersion = FIRST_GENERATOR
    language: Language = "en"

    def make_stream(self, *keys: str | int) -> RandomStream:
        """The draws of this request under a name."""
        return RandomStream(self.seed, *keys, split=self.pool, generator=self.generator)

    @property
    def pool(self) -> Split:
        """Which houses and templates belong to the split."""
        return get_split_pool(self.split)


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeAttempt:
    """One attempt at one episode."""

    number: int  #: of the episode in its file
    episode_id: str
    draw: RandomStream


class EpisodeGenerator(ABC):
    """Makes the episodes of one scene."""

    @abstractmethod
    def draw(self, case: EpisodeAttempt, *, strict: bool) -> Episode | None:
        """An episode, or None when this draw is no good. Not strict: what this scene cannot give is not asked for."""


def get_split_pool(split: str) -> Split:
    """`val_unseen` and `test` are unseen; `train` and `val_seen` are seen."""
    return "unseen" if "unseen" in split or split.startswith("test") else "seen"


def is_visible_start_allowed(draw: RandomStream) -> bool:
    """Whether this episode is one of the few whose goal may be seen from the start."""
    return draw.fork("in sight").chance(VISIBLE_START_SHARE)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EpisodeTarget:
    """Something to go to."""

    thing: SceneObject
    reference: Reference
    goals: tuple[Goal, ...]  #: places beside every thing that the words may mean
    room: str  #: kind of room; empty where the scene does not say

    @property
    def category(self) -> str:
        return self.thing.category

    @property
    def positions(self) -> list[Vec3]:
        return [goal.position for goal in self.goals]


def find_targets(site: Site) -> list[EpisodeTarget]:
    """Every target of a scene. Things that look alike are one target: the words mean all of them."""
    found: dict[tuple[int, ...], EpisodeTarget] = {}
    for thing in site.around.semantics.objects:
        reference = site.around.describer.describe(thing) if is_target(thing) else None
        if reference is None:
            continue
        meant = tuple(other.object_id for other in reference.things)
        if meant not in found:
            goals = tuple(goal for other in reference.things for goal in make_goals_beside(other, site))
            if goals:
                room = site.around.describer.room_kind(thing.region) or ""
                found[meant] = EpisodeTarget(thing=thing, reference=reference, goals=goals, room=room)
    return list(found.values())


def make_goals_beside(thing: SceneObject, site: Site) -> list[Goal]:
    """One goal per place, so that every side of a bed counts."""
    return [
        Goal(position=place, object_id=str(thing.object_id), category=thing.category)
        for place in site.places_beside(thing)
    ]


#: the expert needs less than this share of the allowed steps
SHARE_OF_STEPS = 0.6


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ExpertLeg:
    """A way to some goals."""

    walk: ExpertWalk
    geodesic: float  #: metres of the shortest way to the nearest goal
    corners: tuple[Vec3, ...]  #: of that way

    @property
    def end(self) -> AgentState:
        return self.walk.states[-1]

    @property
    def actions(self) -> tuple[str, ...]:
        """With the stop that closes it."""
        return (*self.walk.actions, STOP)

    @property
    def metres(self) -> float:
        """What the expert walked."""
        positions = [state.position for state in self.walk.states]
        return math.fsum(measure_distance(a, b) for a, b in pairwise(positions))


def walk_leg(
    site: Site, start: AgentState, points: Sequence[Vec3], *, limit: int, near: float | None = None
) -> ExpertLeg | None:
    """The expert's way to the nearest of these points; None where it does not arrive in time."""
    field = site.ground.distance_field(points)
    geodesic = field.distance(start.position)
    if math.isinf(geodesic):
        return None
    walk = site.expert.walk(start, field, near=near or site.near, limit=limit)
    if not walk.arrived:
        return None
    from_start = site.ground.distance_field([start.position])
    nearest = min(points, key=from_start.distance)
    return ExpertLeg(walk=walk, geodesic=geodesic, corners=tuple(site.ground.shortest_path(start.position, nearest)))


def get_expert_limit(site: Site) -> int:
    """The expert needs fewer actions than this, so that others have time to err."""
    return int(SHARE_OF_STEPS * site.benchmark.evaluation.max_steps)


def make_private_half(
    site: Site,
    start: Pose,
    legs: Sequence[ExpertLeg],
    *,
    goals: tuple[Goal, ...] = (),
    subtasks: tuple[Subtask, ...] = (),
    info: Mapping[str, Any],
) -> PrivateEpisode:
    """What the evaluator knows of an episode that the expert walked."""
    return PrivateEpisode(
        scene_id=site.around.scene_id,
        start=start,
        goals=goals,
        reference_path=_drop_repeats(corner for leg in legs for corner in leg.corners),
        dense_path=_drop_repeats(state.position for leg in legs for state in leg.walk.states),
        expert_actions=tuple(action for leg in legs for action in leg.actions),
        subtasks=subtasks,
        shortest_path_length=math.fsum(leg.geodesic for leg in legs),
        robot=site.robot.name,
        info=dict(info),
    )


def make_subtask(target: EpisodeTarget, leg: ExpertLeg) -> Subtask:
    return Subtask(
        target=target.category,
        region=target.thing.region,
        goals=target.goals,
        reference_path=leg.corners,
        ground_truth_steps=len(leg.actions),
        ground_truth_distance=leg.metres,
    )


def _drop_repeats(points: Iterable[Vec3]) -> tuple[Vec3, ...]:
    """Every position once in a row; turning on the spot adds none."""
    kept: list[Vec3] = []
    for point in points:
        if not kept or point != kept[-1]:
            kept.append(point)
    return tuple(kept)
