"""The cloned policy as an agent of the challenge: `python agent.py`, or the image that the Dockerfile makes."""

from __future__ import annotations

import math
import os
import zlib
from pathlib import Path

import numpy as np
from policy import Policy
from senses import ACTIONS, SENSORS, Moment, Senses

from nav_eval_sdk import Agent, Episode, Observation, serve

WEIGHTS = Path(os.environ.get("POLICY", Path(__file__).parent / "policy.npz"))
SHARPNESS = 2.0
"""Chances are raised to this power: 1 draws as the expert's habits are, much more always takes the likeliest."""


class ClonedAgent(Agent):
    """Does what the expert would most likely do. Draws depend on the instruction alone, so a run can be repeated."""

    name = "behaviour cloning"
    version = "1"
    sensors = SENSORS

    def __init__(self) -> None:
        self._policy = Policy.load(WEIGHTS)

    def reset(self, episode: Episode) -> None:
        self._senses: Senses | None = None
        self._policy.start()
        self._draw = np.random.default_rng(zlib.crc32(episode.instruction.encode()))

    def act(self, observation: Observation) -> str:
        if self._senses is None:
            self._senses = Senses(observation.instruction, observation.texts["categories"].splitlines())
        chances = self._policy.chances(self._senses.numbers(moment_of(observation))) ** SHARPNESS
        action = ACTIONS[int(self._draw.choice(len(ACTIONS), p=chances / chances.sum()))]
        self._senses.acted(action)
        return action


def moment_of(observation: Observation) -> Moment:
    """The pose is a 3 × 4 matrix [R | t] in the world."""
    pose = observation["pose"]
    return Moment(
        depth_left=observation["depth_left"],
        depth_front=observation["depth_front"],
        depth_right=observation["depth_right"],
        semantic_front=observation["semantic_front"],
        position=(float(pose[0, 3]), float(pose[2, 3])),
        yaw=math.atan2(float(pose[0, 2]), float(pose[2, 2])),
    )


if __name__ == "__main__":
    serve(ClonedAgent)
