"""The cloned policy as an agent of the challenge: `python agent.py`, or the image that the Dockerfile makes."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import numpy as np
from features import ACTIONS, SENSORS, Moment, Senses
from policy import Policy

from nav_eval_sdk import Agent, Episode, Observation, serve

WEIGHTS = Path(os.environ.get("POLICY", Path(__file__).parent / "policy.npz"))
SHARPNESS = 2.0
"""Chances are raised to this power: 1 draws as the expert's habits are, much more always takes the likeliest."""


class ClonedAgent(Agent):
    """Does what the expert would most likely do. Draws depend on what it is told, so a run can be repeated."""

    name = "behaviour cloning"
    version = "1"
    sensors = SENSORS

    def __init__(self) -> None:
        self._policy = Policy.load(WEIGHTS)

    def reset(self, episode: Episode) -> None:
        self._senses = Senses()
        self._policy.start()
        self._draw = np.random.default_rng(zlib.crc32(episode.instruction.encode()))

    def act(self, observation: Observation) -> str:
        moment = Moment(observation["depth"], observation["pointgoal"])
        chances = self._policy.chances(self._senses.numbers(moment)) ** SHARPNESS
        action = ACTIONS[int(self._draw.choice(len(ACTIONS), p=chances / chances.sum()))]
        self._senses.acted(action)
        return action


if __name__ == "__main__":
    serve(ClonedAgent)
