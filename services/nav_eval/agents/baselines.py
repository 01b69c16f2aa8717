"""Agents to compare with, and how a command line asks for one: `noisy_oracle?skill=0.8&seed=3`.

A baseline has the shape that the SDK serves (`reset`, `act`, class attributes for its description), so each is also
an agent of its own: `nav-eval-sdk serve nav_eval.agents.baselines:RandomAgent`. All but the oracles (`oracle`) use only
what every agent may see. Most see nothing, or only how near the walls are: what a score is worth without looking.
The one that reads is in `keyword_agent`, those that answer questions are in `question_baselines`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Protocol, TypeAlias
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from nav_eval.agents.messages import Action, AgentDescription, Encoding
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode, PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.randomness import derive_seed
from nav_eval.registry import Registry
from nav_eval.sensors import DepthSensor


class BaselineObservation(Protocol):
    """What `act` gets: the SDK's observation and ours both have this."""

    @property
    def sensors(self) -> Mapping[str, Any]: ...

    @property
    def texts(self) -> Mapping[str, str]: ...


class BaselineAgent:
    """An agent in this process; the class attributes describe it."""

    name: ClassVar[str] = "baseline"
    version: ClassVar[str] = "1"
    sensors: Sequence[str] = ()  #: empty means all
    max_episodes: ClassVar[int] = 64  #: every episode gets an instance of its own
    rig: str = ""  #: which of the benchmark's rigs it plays with; empty: the first

    def describe(self) -> AgentDescription:
        return AgentDescription(
            name=self.name,
            version=self.version,
            sensors=dict.fromkeys(self.sensors, (Encoding.RAW,)),
            max_episodes=self.max_episodes,
            rig=self.rig,
        )

    def reset(self, episode: PublicEpisode) -> None:
        """A new episode begins."""

    def act(self, observation: BaselineObservation) -> str | list[str] | Action:
        """The name of the next action, or of the next few; or an action with more to say."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineContext:
    """What a baseline may be made from. Only oracles look at the episodes."""

    benchmark: BenchmarkConfig
    episodes: Mapping[str, Episode]  #: by id, private halves included


Factory: TypeAlias = Callable[..., BaselineAgent]
"""Called with the context and the options of the command line as keywords."""

BASELINES: Registry[Factory] = Registry("baseline", entry_point_group="nav_eval.baselines")


def register_baseline(name: str) -> Callable[[Factory], Factory]:
    """Decorator: make a baseline available as `baseline:name`."""
    return BASELINES.register(name)


def make_baseline(text: str, context: BaselineContext) -> BaselineAgent:
    """The baseline that `name?option=value&…` asks for."""
    name, _, query = text.partition("?")
    options = {key: _parse_value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    rig = str(options.pop("rig", ""))
    context = replace(context, benchmark=context.benchmark.with_rig(rig))
    factory = BASELINES.get(name)
    try:
        agent = factory(context, **options)
    except TypeError as error:
        raise ConfigError(f"Baseline {name!r} does not take these options: {query}. ({error})") from error
    agent.rig = rig
    return agent


def _parse_value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def choose_cheapest_sensor(context: BaselineContext) -> tuple[str, ...]:
    """One sensor that costs nothing: an agent that asks for none gets, and pays for, all of them."""
    suite = context.benchmark.sensors()
    plain = [name for name, sensor in suite.items() if not sensor.is_rendered]
    return tuple(plain[:1])


#: how often each action comes: the published random agents of LH-VLN (all alike) and of VLN-CE (as its experts act)
DISTRIBUTIONS: Mapping[str, Mapping[str, float]] = {
    "lh_vln": {"stop": 0.25, "turn_left": 0.25, "move_forward": 0.25, "turn_right": 0.25},
    "vln_ce": {"stop": 0.02, "move_forward": 0.68, "turn_left": 0.15, "turn_right": 0.15},
}
#: VLN-CE's hand-made agent: a random heading, then this many steps, the mean length of an expert's way
FORWARD_STEPS = 37


class StopAgent(BaselineAgent):
    """Says at once that it has arrived."""

    name = "stop"
    sensors = ("instruction",)

    def act(self, observation: BaselineObservation) -> str:
        return "stop"


def get_draw_key(episode: PublicEpisode) -> str:
    """What tells episodes apart in every run: on a wire their ids differ each time, the words do not."""
    return get_instruction(episode) if episode.instruction else episode.episode_id


class RandomAgent(BaselineAgent):
    """Draws every action; the draw depends on the seed and on what is told alone."""

    name = "random"
    sensors = ("instruction",)

    def __init__(self, *, distribution: str = "lh_vln", seed: int = 0) -> None:
        if distribution not in DISTRIBUTIONS:
            raise ConfigError(f"There is no distribution {distribution!r}; known: {', '.join(DISTRIBUTIONS)}.")
        self._weights = DISTRIBUTIONS[distribution]
        self._seed = seed
        self._random = Random(seed)

    def reset(self, episode: PublicEpisode) -> None:
        self._random = Random(derive_seed(self._seed, "random", get_draw_key(episode)))

    def act(self, observation: BaselineObservation) -> str:
        return self._random.choices(list(self._weights), list(self._weights.values()))[0]


class ForwardAgent(BaselineAgent):
    """Turns somewhere, walks straight on with an occasional turn, stops."""

    name = "forward"
    sensors = ("instruction",)

    def __init__(self, *, steps: int = FORWARD_STEPS, seed: int = 0) -> None:
        self._steps = steps
        self._seed = seed
        self._plan: list[str] = []

    def reset(self, episode: PublicEpisode) -> None:
        draw = Random(derive_seed(self._seed, "forward", get_draw_key(episode)))
        plan = ["turn_left"] * draw.randrange(12)
        for _ in range(self._steps):
            plan += ["move_forward"] if draw.random() < 0.8 else [draw.choice(["turn_left", "turn_right"])]
        self._plan = [*plan, "stop"][::-1]

    def act(self, observation: BaselineObservation) -> str:
        return self._plan.pop() if self._plan else "stop"


@register_baseline("stop")
def make_stop(context: BaselineContext) -> BaselineAgent:
    return _make_walker(StopAgent(), context)


@register_baseline("random")
def make_random(context: BaselineContext, *, distribution: str | None = None, seed: int = 0) -> BaselineAgent:
    if context.benchmark.task.type == "eqa":
        from nav_eval.agents.question_baselines import RandomAnswerAgent

        return _make_blind(RandomAnswerAgent(seed=seed), context)
    default = "lh_vln" if context.benchmark.task.type == "lh_vln" else "vln_ce"
    return _make_walker(RandomAgent(distribution=distribution or default, seed=seed), context)


@register_baseline("forward")
def make_forward(context: BaselineContext, *, steps: int = FORWARD_STEPS, seed: int = 0) -> BaselineAgent:
    return _make_walker(ForwardAgent(steps=steps, seed=seed), context)


def _make_walker(agent: BaselineAgent, context: BaselineContext) -> BaselineAgent:
    if all(action.name != "stop" for action in context.benchmark.task.actions):
        raise ConfigError(f"baseline:{agent.name} walks and stops, and here nobody walks: bring an agent that answers.")
    return _make_blind(agent, context)


def _make_blind(agent: BaselineAgent, context: BaselineContext) -> BaselineAgent:
    agent.sensors = choose_cheapest_sensor(context)
    return agent


AHEAD = 0.45  #: metres that must be free in front of the camera to step on
BESIDE = 1.2  #: metres within which the right-hand wall counts as being there


class WallFollower(BaselineAgent):
    """Forward where it is free, left where it is not, right where the wall ends; stops after `steps`."""

    name = "wall_follower"

    def __init__(self, *, sensor: str, steps: int = 150) -> None:
        self.sensors = (sensor,)
        self._sensor = sensor
        self._steps = steps
        self._taken = 0
        self._turned_right = False

    def reset(self, episode: PublicEpisode) -> None:
        self._taken, self._turned_right = 0, False

    def act(self, observation: BaselineObservation) -> str:
        self._taken += 1
        if self._taken > self._steps:
            return "stop"
        depth = observation.sensors[self._sensor]
        if not is_free(depth, low=1 / 3, high=2 / 3):
            self._turned_right = False
            return "turn_left"
        if not self._turned_right and find_nearest(depth, low=5 / 6, high=1.0) > BESIDE:
            self._turned_right = True  # once, then a step, or it would turn on the spot for ever
            return "turn_right"
        self._turned_right = False
        return "move_forward"


def is_free(depth: NDArray[np.float32], *, low: float, high: float) -> bool:
    """Whether the picture between these fractions of its width shows room for a step."""
    return find_nearest(depth, low=low, high=high) > AHEAD


def find_nearest(depth: NDArray[np.float32], *, low: float, high: float) -> float:
    """The closest thing at eye height in a band of the picture; 0 means a hole, which counts as far away."""
    height, width = depth.shape[:2]
    band = depth[height // 3 : 2 * height // 3, int(low * width) : int(high * width)]
    seen = band[band > 0]
    return float(seen.min()) if seen.size else float("inf")


@register_baseline("wall_follower")
def make_wall_follower(context: BaselineContext, *, steps: int = 150) -> BaselineAgent:
    cameras = {name: s for name, s in context.benchmark.sensors().items() if isinstance(s, DepthSensor)}
    if not cameras:
        raise ConfigError("The wall follower needs a depth sensor, and this benchmark has none.")
    ahead = min(cameras, key=lambda name: (abs(cameras[name].yaw), name))
    return WallFollower(sensor=ahead, steps=steps)


def get_instruction(episode: PublicEpisode) -> str:
    """The instruction, whether it is our record or the SDK's plain text."""
    instruction = episode.instruction
    if instruction is None:
        return episode.object_category or ""
    return instruction if isinstance(instruction, str) else instruction.text


@register_baseline("keyword")
def make_keyword(context: BaselineContext) -> BaselineAgent:
    from nav_eval.agents.keyword_agent import make_keyword_agent

    return make_keyword_agent(context)


@register_baseline("majority")
def make_majority(context: BaselineContext) -> BaselineAgent:
    from nav_eval.agents.question_baselines import MajorityAgent

    return MajorityAgent(context)


@register_baseline("blind")
def make_blind(context: BaselineContext) -> BaselineAgent:
    from nav_eval.agents.question_baselines import BlindAgent

    return BlindAgent(context)


@register_baseline("oracle")
def make_oracle(context: BaselineContext) -> BaselineAgent:
    if context.benchmark.task.type == "eqa":
        from nav_eval.agents.question_baselines import QuestionOracle

        return QuestionOracle(context)
    from nav_eval.agents.oracle import Oracle  # which needs a simulator

    return Oracle(context)


@register_baseline("waypoint_oracle")
def make_waypoint_oracle(context: BaselineContext) -> BaselineAgent:
    from nav_eval.agents.goal_oracles import WaypointOracle  # which needs a simulator

    return WaypointOracle(context)


@register_baseline("trajectory_oracle")
def make_trajectory_oracle(context: BaselineContext) -> BaselineAgent:
    from nav_eval.agents.goal_oracles import TrajectoryOracle  # which needs a simulator

    return TrajectoryOracle(context)


@register_baseline("pixel_oracle")
def make_pixel_oracle(context: BaselineContext, *, camera: str = "depth") -> BaselineAgent:
    from nav_eval.agents.goal_oracles import PixelOracle  # which needs a simulator

    return PixelOracle(context, camera=camera)


@register_baseline("noisy_oracle")
def make_noisy_oracle(context: BaselineContext, *, skill: float = 0.8, seed: int = 0, stops: int = 1) -> BaselineAgent:
    from nav_eval.agents.oracle import Oracle  # which needs a simulator

    return Oracle(context, skill=skill, seed=seed, stops=bool(stops))
