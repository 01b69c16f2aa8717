"""Agents that know the goals: the upper bound of a board, and the teacher of imitation.

They never ask the evaluator for anything. An oracle has the episodes and walks a shadow of its own
through the same scene with the same motion; because motion is exact, the shadow is always where the
agent is. In this process only: no team's agent can be one.
"""

from random import Random

from nav_eval.agents.baselines import (
    BaselineAgent,
    BaselineContext,
    BaselineObservation,
    choose_cheapest_sensor,
)
from nav_eval.agents.messages import Action
from nav_eval.cache import get_cache_folder
from nav_eval.config.schema.task import GOALS
from nav_eval.dataset.episode import Episode, Goal, PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.randomness import derive_seed
from nav_eval.scene.navigation import DistanceField, Ground
from nav_eval.simulator.expert import Expert
from nav_eval.simulator.motion import ASK, TELEPORT, AgentState, Body
from nav_eval.simulator.scene_manager import SceneManager, resolve_goals
from nav_eval.tasks.base import find_target_points

NAMED_PLACES = {*GOALS, TELEPORT, ASK}  #: actions that need to be told where, or what

#: stop well inside the success distance, not at its edge
MARGIN = 0.75


class Oracle(BaselineAgent):
    """Walks to every goal in order and stops there; with less skill, it sometimes does anything else."""

    name = "oracle"

    def __init__(self, context: BaselineContext, *, skill: float = 1.0, seed: int = 0, stops: bool = True) -> None:
        """`skill` is how often it does the right thing; without `stops` it never stops by mistake."""
        if not 0.0 <= skill <= 1.0:
            raise ConfigError(f"skill is {skill}; it is a share of actions, between 0 and 1.")
        self.sensors = choose_cheapest_sensor(context)
        self._benchmark = context.benchmark
        self._episodes = context.episodes
        self._scenes = SceneManager(context.benchmark, cache=get_cache_folder())
        self._skill = skill
        self._seed = seed
        self._turn_angle = _turn_angle(context)
        names = [action.name for action in context.benchmark.task.actions if action.name not in NAMED_PLACES]
        self._mistakes = names if stops else [name for name in names if name != "stop"]

    def reset(self, episode: PublicEpisode) -> None:
        whole = self._episodes[episode.episode_id]
        place = self._scenes.open(whole.scene_id, self._benchmark.robot(whole.private.robot))
        whole = resolve_goals(whole, place.semantics, place.ground)
        sliding = self._benchmark.simulator.physics.allow_sliding
        self._ground = place.ground
        self._body = Body(self._benchmark.task, place.ground, sliding=sliding)
        self._expert = Expert(self._body, turn_angle=self._turn_angle)
        self._state: AgentState = self._body.start(whole.private.start)
        self._fields = self._targets(whole, place.ground)
        self._random = Random(derive_seed(self._seed, "oracle", episode.episode_id))

    def act(self, observation: BaselineObservation) -> str | Action:
        action = self._choice()
        self.follow(action)
        return action

    def follow(self, action: str) -> None:
        """Take into account that this was done, whoever decided it."""
        if action == "stop":
            self._fields = self._fields[1:]
        self._state = self._body.apply(self._state, action, {})

    def _choice(self) -> str:
        if self._skill < 1.0 and self._random.random() >= self._skill:
            return self._random.choice(self._mistakes)
        return self.advise()

    def advise(self) -> str:
        """What is best now: the teacher of an agent that decides for itself (DAgger)."""
        if not self._fields:
            return "stop"
        near = self._benchmark.evaluation.success_distance * MARGIN
        following = self._expert.choose_actions(self._state, self._fields[0], near=near)
        return following[0] if following else "stop"

    def _targets(self, episode: Episode, ground: Ground) -> list[DistanceField]:
        to_view_points = self._benchmark.evaluation.distance_to == "view_points"
        has_legs = self._benchmark.task.type == "lh_vln"
        legs: list[tuple[Goal, ...]] = [s.goals for s in episode.subtasks] if has_legs else [episode.goals]
        return [ground.distance_field(find_target_points(goals, to_view_points=to_view_points)) for goals in legs]


def _turn_angle(context: BaselineContext) -> float:
    turn = context.benchmark.task.action("turn_left")
    if turn is None:
        raise ConfigError(
            "The oracle walks with turn_left, turn_right and move_forward, which this task does not have."
        )
    return turn.params["turn_angle"]
