"""Runs to report on."""

import random

from nav_eval.records.results import EpisodeResult, EpisodeStatus, SubtaskRecord


def episode(number=0, **changes):
    """One completed episode, or whatever else `changes` make of it."""
    fields = {
        "episode_id": f"ep_{number}",
        "status": EpisodeStatus.COMPLETED,
        "metrics": {"success": 1.0, "spl": 0.8, "navigation_error": 0.5},
        "num_steps": 45,
        "scene_id": f"scene_{number % 4}",
    }
    return EpisodeResult(**(fields | changes))


def played(count=40, *, seed=0, skill=0.6, **changes):
    """A run of `count` episodes; the seed decides the luck, the number of an episode its scene and its goal."""
    draw = random.Random(seed)
    episodes = []
    for number in range(count):
        success = float(draw.random() < skill)
        metrics = {"success": success, "spl": success * draw.uniform(0.5, 1.0), "navigation_error": draw.uniform(0, 9)}
        legs = 2 + number % 3
        subtask = SubtaskRecord(
            success=bool(success),
            oracle_success=True,
            navigation_error=1.0,
            ground_truth_distance=4.0,
            ground_truth_steps=16,
            steps=20,
        )
        episodes.append(
            episode(
                number,
                metrics=metrics,
                subtasks=(subtask,) * legs,
                instruction="walk " * (5 + number % 40),
                trajectory=((0.0, 0.0, 0.0), (1.0, 0.0, -1.0)),
                **changes,
            )
        )
    return episodes
