"""A crash is never worth more than going on: not than doing nothing, and, where more is better, than anything else."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.metrics.lh_vln import METRIC_NAMES as LH_METRICS
from nav_eval.metrics.lh_vln import ScoringOptions
from nav_eval.metrics.registry import METRICS
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.records.scoring import ScoringRule, is_higher_better
from nav_eval.scene.navigation import OpenPlane
from nav_eval.tasks import Moved, Progress, TaskRules
from nav_eval.tasks.base import Task
from nav_eval.tasks.long_horizon import LongHorizonTask
from nav_eval.tasks.navigation import VLNTask

START: Vec3 = (0.0, 0.0, 0.0)
GOALS: tuple[Vec3, ...] = ((4.0, 0.0, 0.0), (4.0, 0.0, 5.0), (-3.0, 0.0, 1.0))
LIMIT = 12
GENERAL = ("success", "oracle_success", "spl", "soft_spl", "navigation_error", "oracle_navigation_error",
           "path_length", "steps", "collisions", "ndtw", "sdtw")  # fmt: skip
MOVES = st.lists(
    st.tuples(st.sampled_from(["move_forward", "stop"]), st.integers(-6, 6), st.integers(-6, 6)), max_size=LIMIT
)


def episode() -> Episode:
    legs = tuple(
        Subtask(target="x", goals=(Goal(position=goal),), ground_truth_steps=9, ground_truth_distance=5.0)
        for goal in GOALS
    )
    private = PrivateEpisode(
        scene_id="x.glb",
        start=Pose(START),
        goals=(Goal(position=GOALS[0]),),
        subtasks=legs,
        reference_path=(START, GOALS[0]),
    )
    return Episode(public=PublicEpisode(episode_id="one"), private=private)


def begin(task: type[Task], *, stop_needed: bool, rule: ScoringRule = ScoringRule.DOCUMENTED) -> Progress:
    names = GENERAL if task is VLNTask else (*LH_METRICS, "oracle_success", "path_length", "collisions")
    options = ScoringOptions(rule=rule)
    rules = TaskRules(metrics=names, max_steps=LIMIT, stop_needed=stop_needed, scoring=options)
    return task(rules).start(episode(), OpenPlane())


def walk(progress: Progress, moves: list[tuple[str, int, int]]) -> Vec3:
    place = START
    for action, x, z in moves:
        if progress.over:
            break
        place = place if action == "stop" else (float(x), 0.0, float(z))
        progress.advance(Moved(action=action, position=place))
    return place


def is_better(name: str, one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return False
    higher = METRICS.get(name).higher_is_better if name in METRICS else is_higher_better(name)
    return one > other + 1e-12 if higher else one < other - 1e-12


@pytest.mark.parametrize(
    ("task", "rule"),
    [
        (VLNTask, ScoringRule.DOCUMENTED),
        (LongHorizonTask, ScoringRule.DOCUMENTED),
        (LongHorizonTask, ScoringRule.REFERENCE),
    ],
)
@pytest.mark.parametrize("stop_needed", [True, False])
@settings(max_examples=100, deadline=None)
@given(moves=MOVES, later=MOVES)
def test_a_crash_is_never_rewarded(
    task: type[Task],
    rule: ScoringRule,
    stop_needed: bool,
    moves: list[tuple[str, int, int]],
    later: list[tuple[str, int, int]],
) -> None:
    crashed = begin(task, stop_needed=stop_needed, rule=rule)
    place = walk(crashed, moves)
    if crashed.over:
        return
    crashed.abort()
    worth = crashed.result().metrics
    idle, went_on = (begin(task, stop_needed=stop_needed, rule=rule) for _ in range(2))
    walk(idle, moves)
    while not idle.over:
        idle.advance(Moved(action="turn_left", position=place))
    walk(went_on, [*moves, *later])
    for name, value in worth.items():
        assert value is None or math.isfinite(value)
        assert not is_better(name, value, idle.result().metrics[name]), name
        assert not is_better(name, value, went_on.result().metrics[name]), name


def test_closed_sub_tasks_stay_earned() -> None:
    progress = begin(LongHorizonTask, stop_needed=True)
    progress.advance(Moved(action="move_forward", position=GOALS[0]))
    progress.advance(Moved(action="stop", position=GOALS[0]))
    progress.abort()
    metrics = progress.result().metrics
    assert metrics["isr"] == metrics["tar"] == pytest.approx(1 / 3)
    assert metrics["ne"] is None
