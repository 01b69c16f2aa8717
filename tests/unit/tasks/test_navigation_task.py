"""Single-goal episodes, step by step, in a world without walls."""

import math
from collections.abc import Sequence

import pytest

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode
from nav_eval.errors import DatasetError
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.tasks import TASKS, Moved, TaskResult, TaskRules
from nav_eval.tasks.localization import LocalizationTask
from nav_eval.tasks.navigation import find_reference_path

METRICS = ("success", "spl", "soft_spl", "navigation_error", "steps", "collisions", "coverage", "ndtw", "time")


class StraightLines:
    def __init__(self, points: Sequence[Vec3] = ()) -> None:
        self._points = points

    def distance_field(self, points: Sequence[Vec3]) -> "StraightLines":
        return StraightLines(points)

    def distance(self, position: Vec3) -> float:
        return min(math.dist(point, position) for point in self._points)


def make_episode(**private: object) -> Episode:
    defaults: dict[str, object] = {
        "scene_id": "plane",
        "start": Pose((0.0, 0.0, 0.0)),
        "goals": (Goal(position=(0.0, 0.0, -2.0), view_points=(Pose((0.0, 0.0, -1.0)),)),),
        "reference_path": ((0.0, 0.0, 0.0), (0.0, 0.0, -2.0)),
    }
    return Episode(
        public=PublicEpisode(episode_id="e"),
        private=PrivateEpisode(**(defaults | private)),  # type: ignore[arg-type]
    )


def walk(episode: Episode, actions: str, rules: TaskRules, *, task: str = "vln") -> TaskResult:
    """f: a quarter metre forward, c: a collision, t: a turn, s: stop."""
    progress = TASKS.get(task)(rules).start(episode, StraightLines())
    z = 0.0
    for letter in actions:
        assert not progress.over
        z -= 0.25 if letter == "f" else 0.0
        action = {"f": "move_forward", "c": "move_forward", "t": "turn_left", "s": "stop"}[letter]
        progress.advance(Moved(action=action, position=(0.0, 0.0, z), collided=letter == "c", seconds=0.5))
    return progress.result()


@pytest.mark.parametrize(
    ("actions", "success", "why"),
    [
        ("ffffffffs", 1.0, "stands on the goal and says so"),
        ("ffffs", 0.0, "strict: exactly the success distance is outside"),
        ("fffffs", 1.0, "inside the success distance"),
        ("ffffffff", 0.0, "stands on the goal without a stop"),
        ("s", 0.0, "stops at once, far away"),
    ],
)
def test_success(actions: str, success: float, why: str) -> None:
    result = walk(make_episode(), actions, TaskRules(metrics=METRICS, success_distance=1.0))
    assert result.metrics["success"] == success, why


def test_a_straight_walk_is_worth_full_marks() -> None:
    result = walk(make_episode(), "ffffffffs", TaskRules(metrics=METRICS))
    assert result.metrics == pytest.approx(
        {
            "success": 1.0,
            "spl": 1.0,
            "soft_spl": 1.0,
            "navigation_error": 0.0,
            "steps": 9.0,
            "collisions": 0.0,
            "coverage": 1.0,
            "ndtw": 1.0,
            "time": 4.5,
        }
    )
    assert result.stopped


def test_turns_and_collisions_cost_steps_but_no_metres() -> None:
    result = walk(make_episode(), "tctffffffffs", TaskRules(metrics=METRICS))
    assert result.metrics["spl"] == 1.0
    assert result.metrics["collisions"] == 1.0
    assert result.metrics["steps"] == 12.0


def test_the_step_limit_ends_an_episode_and_a_stop_on_it_still_counts() -> None:
    rules = TaskRules(metrics=METRICS, max_steps=9)
    assert not walk(make_episode(), "ffffffffc", rules).stopped
    assert walk(make_episode(), "ffffffffs", rules).metrics["success"] == 1.0


def test_view_points_decide_where_the_task_says_so() -> None:
    rules = TaskRules(metrics=METRICS, success_distance=0.1, to_view_points=True)
    assert walk(make_episode(), "ffffs", rules, task="objectnav").metrics["success"] == 1.0


def test_an_episode_without_goals_is_refused() -> None:
    with pytest.raises(DatasetError, match="'e' has no goal"):
        walk(make_episode(goals=()), "s", TaskRules(metrics=METRICS))


def test_no_reference_means_no_number() -> None:
    result = walk(make_episode(reference_path=()), "s", TaskRules(metrics=METRICS))
    assert result.metrics["ndtw"] is None
    assert result.metrics["coverage"] is None


def test_a_sparse_reference_gets_the_density_of_steps_and_a_dense_one_is_kept() -> None:
    assert len(find_reference_path(make_episode())) == 9
    dense = ((0.0, 0.0, 0.0), (0.0, 0.0, -0.3))
    assert find_reference_path(make_episode(dense_path=dense)) == dense


def test_localization_is_answered_once() -> None:
    rules = TaskRules(metrics=("acc@0.5m", "acc@15deg"))
    progress = LocalizationTask(rules).start(make_episode(), StraightLines())
    assert progress.result().metrics == {"acc@0.5m": 0.0, "acc@15deg": 0.0}
    progress.answer([Pose((5.0, 5.0, 0.0), (0.0, 0.0, 0.1, 1.0)), Pose((0.1, 0.0, 0.0), (0.0, 0.0, 0.1, 1.0))])
    assert progress.over
    assert progress.result().metrics == {"acc@0.5m": 1.0, "acc@15deg": 1.0}
