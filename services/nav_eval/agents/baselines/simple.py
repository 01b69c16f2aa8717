"""Agents that see nothing: what a score is worth without looking."""

from collections.abc import Mapping
from random import Random

from nav_eval.agents.baselines.registry import Baseline, BaselineContext, Senses, blind, register_baseline
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.randomness import subseed

#: how often each action comes: the published random agents of LH-VLN (all alike) and of VLN-CE (as its experts act)
DISTRIBUTIONS: Mapping[str, Mapping[str, float]] = {
    "lh_vln": {"stop": 0.25, "turn_left": 0.25, "move_forward": 0.25, "turn_right": 0.25},
    "vln_ce": {"stop": 0.02, "move_forward": 0.68, "turn_left": 0.15, "turn_right": 0.15},
}
#: VLN-CE's hand-made agent: a random heading, then this many steps, the mean length of an expert's way
FORWARD_STEPS = 37


class StopAgent(Baseline):
    """Says at once that it has arrived."""

    name = "stop"
    sensors = ("instruction",)

    def act(self, observation: Senses) -> str:
        return "stop"


class RandomAgent(Baseline):
    """Draws every action; the draw depends on the seed and the episode alone."""

    name = "random"
    sensors = ("instruction",)

    def __init__(self, *, distribution: str = "lh_vln", seed: int = 0) -> None:
        if distribution not in DISTRIBUTIONS:
            raise ConfigError(f"There is no distribution {distribution!r}; known: {', '.join(DISTRIBUTIONS)}.")
        self._weights = DISTRIBUTIONS[distribution]
        self._seed = seed
        self._random = Random(seed)

    def reset(self, episode: PublicEpisode) -> None:
        self._random = Random(subseed(self._seed, "random", episode.episode_id))

    def act(self, observation: Senses) -> str:
        return self._random.choices(list(self._weights), list(self._weights.values()))[0]


class ForwardAgent(Baseline):
    """Turns somewhere, walks straight on with an occasional turn, stops."""

    name = "forward"
    sensors = ("instruction",)

    def __init__(self, *, steps: int = FORWARD_STEPS, seed: int = 0) -> None:
        self._steps = steps
        self._seed = seed
        self._plan: list[str] = []

    def reset(self, episode: PublicEpisode) -> None:
        draw = Random(subseed(self._seed, "forward", episode.episode_id))
        plan = ["turn_left"] * draw.randrange(12)
        for _ in range(self._steps):
            plan += ["move_forward"] if draw.random() < 0.8 else [draw.choice(["turn_left", "turn_right"])]
        self._plan = [*plan, "stop"][::-1]

    def act(self, observation: Senses) -> str:
        return self._plan.pop() if self._plan else "stop"


@register_baseline("stop")
def make_stop(context: BaselineContext) -> Baseline:
    return _unseeing(StopAgent(), context)


@register_baseline("random")
def make_random(context: BaselineContext, *, distribution: str | None = None, seed: int = 0) -> Baseline:
    default = "lh_vln" if context.benchmark.task.type == "lh_vln" else "vln_ce"
    return _unseeing(RandomAgent(distribution=distribution or default, seed=seed), context)


@register_baseline("forward")
def make_forward(context: BaselineContext, *, steps: int = FORWARD_STEPS, seed: int = 0) -> Baseline:
    return _unseeing(ForwardAgent(steps=steps, seed=seed), context)


def _unseeing(agent: Baseline, context: BaselineContext) -> Baseline:
    agent.sensors = blind(context)
    return agent
