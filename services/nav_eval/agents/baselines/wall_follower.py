"""An agent with nothing but depth: it keeps the wall on its right hand, and so sees most of a house."""

import numpy as np
from numpy.typing import NDArray

from nav_eval.agents.baselines.registry import Baseline, BaselineContext, Senses, register_baseline
from nav_eval.config.schema import DepthSensor
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

AHEAD = 0.45  #: metres that must be free in front of the camera to step on
BESIDE = 1.2  #: metres within which the right-hand wall counts as being there


class WallFollower(Baseline):
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

    def act(self, observation: Senses) -> str:
        self._taken += 1
        if self._taken > self._steps:
            return "stop"
        depth = observation.sensors[self._sensor]
        if not is_free(depth, low=1 / 3, high=2 / 3):
            self._turned_right = False
            return "turn_left"
        if not self._turned_right and nearest(depth, low=5 / 6, high=1.0) > BESIDE:
            self._turned_right = True  # once, then a step, or it would turn on the spot for ever
            return "turn_right"
        self._turned_right = False
        return "move_forward"


def is_free(depth: NDArray[np.float32], *, low: float, high: float) -> bool:
    """Whether the picture between these fractions of its width shows room for a step."""
    return nearest(depth, low=low, high=high) > AHEAD


def nearest(depth: NDArray[np.float32], *, low: float, high: float) -> float:
    """The closest thing at eye height in a band of the picture; 0 means a hole, which counts as far away."""
    height, width = depth.shape[:2]
    band = depth[height // 3 : 2 * height // 3, int(low * width) : int(high * width)]
    seen = band[band > 0]
    return float(seen.min()) if seen.size else float("inf")


@register_baseline("wall_follower")
def make_wall_follower(context: BaselineContext, *, steps: int = 150) -> Baseline:
    cameras = {name: s for name, s in context.benchmark.sensors().items() if isinstance(s, DepthSensor)}
    if not cameras:
        raise ConfigError("The wall follower needs a depth sensor, and this benchmark has none.")
    ahead = min(cameras, key=lambda name: (abs(cameras[name].yaw), name))
    return WallFollower(sensor=ahead, steps=steps)
