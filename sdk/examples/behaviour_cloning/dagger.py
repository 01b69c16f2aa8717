"""Practice: the policy walks the training houses itself, and the oracle says at every step what would be best (DAgger).

    python dagger.py train.yaml --policy policy.npz --out practice.npz
    python train.py oracle.hdf5 practice.npz --out policy.npz

A policy that has only seen an expert's walks has never stood before a wall. Here it gets there by itself and is told
how to get away. Needs `nav-eval[gym,render]`; nothing of this is at hand in an evaluation.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from agent import SHARPNESS
from features import ACTIONS, SENSORS, Moment, Senses
from policy import Policy

from nav_eval.agents.baselines import BaselineContext
from nav_eval.agents.oracle import Oracle
from nav_eval.envs import NavEnv

Array = np.ndarray[Any, Any]

TURN = 12  #: steps before it is decided again who leads
SHOWN = 0.25  #: how often that is the oracle, so that goals are reached
PATIENCE = 4  #: advised stops that may be ignored before one is made


class Practice:
    """One learner in the houses of one benchmark."""

    def __init__(self, benchmark: Path, policy: Policy, *, steps: int, seed: int) -> None:
        self.env = NavEnv(benchmark, sensors=list(SENSORS), overrides=[f"evaluation.max_steps={steps}"])
        episodes = {episode.episode_id: episode for episode in self.env.episodes}
        self._oracle = Oracle(BaselineContext(benchmark=self.env.benchmark, episodes=episodes))
        self._policy = policy
        self._draw = np.random.default_rng(seed)

    def episode(self) -> tuple[Array, Array]:
        """What was sensed, and what the oracle advised."""
        observation, _ = self.env.reset()
        self._oracle.reset(self.env.episode.public)
        self._policy.start()
        self._shown, self._ignored = False, 0
        senses = Senses()
        numbers, advice, over = [], [], False
        while not over:
            numbers.append(senses.numbers(Moment(observation["depth"], observation["pointgoal"])))
            advice.append(self._oracle.advise())
            action = self._action(numbers[-1], advice[-1], step=len(advice))
            senses.acted(action)
            self._oracle.follow(action)
            observation, _, terminated, truncated, _ = self.env.step(ACTIONS.index(action))
            over = terminated or truncated
        return np.array(numbers, np.float32), np.array([ACTIONS.index(name) for name in advice])

    def _action(self, numbers: Array, advised: str, *, step: int) -> str:
        """The learner's choice or the oracle's; nobody stops where the oracle would not."""
        if step % TURN == 1:
            self._shown = self._draw.random() < SHOWN
        chances = self._policy.chances(numbers) ** SHARPNESS
        chosen = ACTIONS[int(self._draw.choice(len(ACTIONS), p=chances / chances.sum()))]
        if self._shown or self._ignored >= PATIENCE or (chosen == "stop" != advised):
            chosen = advised
        self._ignored = self._ignored + 1 if advised == "stop" != chosen else 0
        return chosen


def main() -> None:
    options = _options()
    practice = Practice(options.benchmark, Policy.load(options.policy), steps=options.steps, seed=options.seed)
    practice.env.reset(seed=options.seed)
    kept: dict[str, Array] = {}
    for number in range(options.episodes):
        kept[f"numbers_{number}"], kept[f"actions_{number}"] = practice.episode()
        if (number + 1) % 10 == 0:
            print(f"{number + 1} episodes", flush=True)
    practice.env.close()
    np.savez_compressed(options.out, **kept)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", type=Path, help="the training houses")
    parser.add_argument("--policy", type=Path, default=Path("policy.npz"))
    parser.add_argument("--out", type=Path, default=Path("practice.npz"))
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--steps", type=int, default=120, help="at most so many per episode")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
