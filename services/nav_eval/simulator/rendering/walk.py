"""A seeded walk through a scene: the camera poses of benchmarks and of tests on real houses.

It goes the shortest way from one random place to the next, in steps of 25 cm and turns of at most
30°, as an agent would. Where there is no ground to walk on, the camera hovers inside the scene.
"""

import math
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from nav_eval.dataset.episode import Vec3
from nav_eval.errors import NavigationError
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import Ground, build_navigation

EYE_HEIGHT = 1.25
STEP = 0.25
TURN = math.radians(30)


class EyePose(NamedTuple):
    """Where the camera is, and its yaw in radians, positive to the left; it looks level."""

    x: float
    y: float
    z: float
    yaw: float

    @property
    def position(self) -> Vec3:
        return (self.x, self.y, self.z)


def seeded_walk(scene: Scene, *, steps: int, seed: int = 0) -> list[EyePose]:
    """The first `steps` poses of a walk through the scene."""
    rng = np.random.default_rng(seed)
    try:
        ground = build_navigation(scene)
        poses = walk_on(ground, rng)
    except NavigationError:
        poses = _hover(scene, rng)
    return list(islice(poses, steps))


def walk_on(ground: Ground, rng: np.random.Generator) -> Iterator[EyePose]:
    """Endless; from one place of an island to the next."""
    here = ground.random_navigable_point(rng)
    yaw = float(rng.uniform(-math.pi, math.pi))
    yield _eye(here, yaw)
    while True:
        goal = ground.random_navigable_point(rng, island=ground.island(here))
        for start, end in pairwise(ground.shortest_path(here, goal)):
            for pose in _along(start, end, yaw):
                yaw = pose.yaw
                yield pose
            here = end


def _along(start: Vec3, end: Vec3, yaw: float) -> Iterator[EyePose]:
    """Turn towards the end of a straight stretch, then walk it."""
    x, y, z = (b - a for a, b in zip(start, end, strict=True))
    length = math.hypot(x, z)
    if length < STEP / 2:
        return
    heading = math.atan2(-x, -z)
    while abs(missing := math.remainder(heading - yaw, 2 * math.pi)) > 1e-9:
        yaw += max(-TURN, min(TURN, missing))
        yield _eye(start, yaw)
    for number in range(1, max(1, round(length / STEP)) + 1):
        share = min(1.0, number * STEP / length)
        yield _eye((start[0] + share * x, start[1] + share * y, start[2] + share * z), yaw)


def _hover(scene: Scene, rng: np.random.Generator) -> Iterator[EyePose]:
    lower, upper = (corner.astype(float) for corner in scene.bounds)
    yaw = 0.0
    while True:
        x, y, z = lower + (upper - lower) * rng.uniform(0.3, 0.7, 3)
        for _ in range(12):
            yaw = math.remainder(yaw + TURN, 2 * math.pi)
            yield EyePose(float(x), float(y), float(z), yaw)


def _eye(foot: Vec3, yaw: float) -> EyePose:
    return EyePose(float(foot[0]), float(foot[1]) + EYE_HEIGHT, float(foot[2]), math.remainder(yaw, 2 * math.pi))
