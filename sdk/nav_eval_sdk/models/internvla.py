"""InternVLA-N1's agent class: `reset()`, `step(rgb, depth, pose, instruction, intrinsic=, look_down=)`.

Its real-world server fixes the instruction in its source, so for an evaluation the class is called instead. Depth is in
metres; the pose is where the camera is since the start (x ahead, y left, z up), from gps and compass where the task has
them; the intrinsic is 4 × 4 with cx = (width − 1) / 2, as in its own code. Action 5 asks to look down: the cameras are
tilted by 30°, it is asked again with `look_down=True`, and then they are tilted back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from nav_eval_sdk.agent import Agent, Array, Episode, Observation
from nav_eval_sdk.errors import BadAnswer
from nav_eval_sdk.models.numbers import name_actions, plan_walk

LOOK_DOWN, LOOK_UP, LOOK_DEGREES = "look_down", "look_up", 30.0
MAX_LOOKS = 3  #: in a row
HORIZON = 4  #: actions of a trajectory that are carried out before the model is asked again


class InternVlaAgent(Agent):
    """One model object, one episode at a time."""

    name = "InternVLA-N1"
    max_actions = 100

    def __init__(
        self,
        model: Any,  # noqa: ANN401
        *,
        camera: str = "rgb",
        depth: str = "depth",
        odometry: bool = True,
        horizon: int = HORIZON,
    ) -> None:
        self.sensors = (camera, depth, "gps", "compass") if odometry else (camera, depth)
        self._model, self._camera, self._depth, self._horizon = model, camera, depth, horizon

    def reset(self, episode: Episode) -> None:
        self._model.reset()
        self._looks = _count_looks(episode)
        self._looking_down = False
        self._looked = 0

    def act(self, observation: Observation) -> list[str]:
        before = [LOOK_UP] * self._looks if self._looking_down else []
        names = self._ask(observation, look_down=self._looking_down)
        self._looking_down = False
        while names[-1] == LOOK_DOWN:
            self._looked += 1
            if self._looked > MAX_LOOKS:
                raise BadAnswer(f"The model asked {self._looked} times in a row to look down, and did nothing.")
            if self._looks:
                self._looking_down = True
                return [*before, *names[:-1], *[LOOK_DOWN] * self._looks]
            names = [*names[:-1], *self._ask(observation, look_down=True)]  # a body that cannot look down
        self._looked = 0
        return [*before, *names]

    def _ask(self, observation: Observation, *, look_down: bool) -> list[str]:
        """Actions up to the first look down."""
        camera = observation.episode.task.sensors[self._camera].camera
        answer = self._model.step(
            observation[self._camera],
            self._get_metres(observation),
            _make_pose(observation, 0.0 if camera is None else camera.position[1]),
            observation.instruction,
            intrinsic=None if camera is None else _pad_matrix(camera.make_intrinsics(pixel_centers="whole")),
            look_down=look_down,
        )
        numbers = _get(answer, "output_action", "discrete_action")
        trajectory = _get(answer, "output_trajectory", "trajectory")
        if numbers is not None:
            names = name_actions(numbers if hasattr(numbers, "__iter__") else [numbers])
            return names[: names.index(LOOK_DOWN) + 1] if LOOK_DOWN in names else names
        if trajectory is None:
            raise BadAnswer("The model answered neither an action nor a trajectory.")
        points = np.asarray(trajectory, dtype=float)
        rows = points[0] if points.ndim == 3 else points.reshape(-1, points.shape[-1])
        return plan_walk(rows.tolist(), observation.episode.task, limit=self._horizon)

    def _get_metres(self, observation: Observation) -> Array:
        camera, picture = observation.episode.task.sensors[self._depth].camera, observation[self._depth]
        return picture if camera is None or camera.depth is None else camera.depth.to_metres(picture)


def _get(answer: Any, *names: str) -> Any:  # noqa: ANN401
    """A field of the answer, whether it is an object or a dictionary."""
    for name in names:
        value = answer.get(name) if isinstance(answer, Mapping) else getattr(answer, name, None)
        if value is not None:
            return value
    return None


def _count_looks(episode: Episode) -> int:
    """How many actions tilt the cameras by 30°; none where the task cannot."""
    motions = episode.task.motions
    if LOOK_DOWN not in motions or LOOK_UP not in motions:
        return 0
    return max(1, round(LOOK_DEGREES / abs(motions[LOOK_DOWN].up_degrees)))


def _pad_matrix(matrix: Array) -> Array:
    padded = np.eye(4)
    padded[:3, :3] = matrix
    return padded


def _make_pose(observation: Observation, height: float) -> Array:
    """Where the camera is since the start: x ahead, y left, z up. A gps of two numbers is [ahead, right]."""
    pose = np.eye(4)
    pose[2, 3] = height
    if "gps" not in observation.sensors or "compass" not in observation.sensors:
        return pose
    gps, yaw = np.ravel(observation["gps"]), float(np.ravel(observation["compass"])[0])
    ahead, right = (gps[0], gps[1]) if gps.size == 2 else (-gps[2], gps[0])
    pose[0, 3], pose[1, 3] = float(ahead), -float(right)
    pose[:2, :2] = [[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]]
    return pose


def wrap_internvla(make: Callable[[], Any], **options: Any) -> Callable[[], InternVlaAgent]:  # noqa: ANN401
    """What `serve` takes, from whatever makes the model object; options are those of `InternVlaAgent`."""
    return lambda: InternVlaAgent(make(), **options)
