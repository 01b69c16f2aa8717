"""Scripted rollouts of the published LH-VLN simulator, through our task code, on the open plane."""

import json
import math
from collections.abc import Sequence

import pytest

from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.errors import DatasetError
from nav_eval.metrics.lh_vln import METRIC_NAMES, ScoringOptions, ScoringRule, SubtaskTable, score
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.records.results import SubtaskRecord
from nav_eval.tasks import TASKS, Moved, TaskResult, TaskRules
from support.paths import TESTS

ORACLE = json.loads((TESTS / "data" / "oracle" / "oracle_lhvln.json").read_text())
REFERENCE = ScoringOptions(rule=ScoringRule.REFERENCE)


class OpenPlane:
    """No walls: the way is the straight line, except to places declared out of reach."""

    def __init__(self, unreachable: Sequence[Sequence[float]] = ()) -> None:
        self._unreachable = [tuple(point) for point in unreachable]

    def distance_field(self, points: Sequence[Vec3]) -> "PlaneField":
        return PlaneField([point for point in points if point not in self._unreachable])


class PlaneField:
    def __init__(self, points: Sequence[Vec3]) -> None:
        self._points = points

    def distance(self, position: Vec3) -> float:
        return min((math.dist(point, position) for point in self._points), default=math.inf)


def episode_of(world: dict) -> Episode:
    floor = world["start"][1]
    subtasks = [
        Subtask(
            target=target,
            region=region,
            goals=tuple(
                Goal(position=(thing["center"][0], floor, thing["center"][2]), category=target)
                for thing in world["regions"].get(region, [])
                if thing["category"] == target
            ),
            ground_truth_steps=steps,
        )
        for target, region, steps in zip(world["targets"], world["target_regions"], world["gt_step"], strict=True)
    ]
    start = Pose((world["start"][0], world["start"][1], world["start"][2]))
    private = PrivateEpisode(scene_id="plane", start=start, subtasks=tuple(subtasks))
    return Episode(public=PublicEpisode(episode_id="r"), private=private)


def roll_out(rollout: dict, scoring: ScoringOptions) -> TaskResult:
    rules = TaskRules(
        metrics=METRIC_NAMES,
        max_steps=rollout["max_step"],
        success_distance=rollout["success_dis"],
        scoring=scoring,
    )
    world = rollout["world"]
    progress = TASKS.get("lh_vln")(rules).start(episode_of(world), OpenPlane(world.get("unreachable") or ()))
    x, y, z = world["start"]
    turns = 0
    for action in rollout["actions"]:
        assert not progress.over
        if action == "turn_left":
            turns += 1
        elif action == "turn_right":
            turns -= 1
        elif action == "move_forward":
            x -= 0.25 * math.sin(math.radians(30 * turns))
            z -= 0.25 * math.cos(math.radians(30 * turns))
        progress.advance(Moved(action=action, position=(x, y, z)))
    return progress.result()


def numbers(values: list) -> list[float]:
    return [float(value) for value in values]


@pytest.mark.parametrize("rollout", ORACLE["rollouts"], ids=lambda rollout: f"{rollout['id']}-{rollout['kind']}")
def test_reference_rollout(rollout: dict) -> None:
    result = roll_out(rollout, REFERENCE)
    expected, records = rollout["output"]["results"], result.subtasks
    attempted = [record for record in records if record.navigation_error is not None]
    assert [record.success for record in records] == expected["successes"]
    assert [record.oracle_success for record in records] == expected["oracle_successes"]
    assert [record.steps for record in attempted] == expected["navigation_steps"]
    errors = [record.navigation_error for record in attempted]
    truths = [record.ground_truth_distance for record in attempted]
    assert errors == pytest.approx(numbers(expected["navigation_errors"]), abs=1e-5)
    assert truths == pytest.approx(numbers(expected["gt_path"]), abs=1e-5)
    assert result.stopped is rollout["output"]["done"]
    assert result.steps == rollout["output"]["steps"]
    for name, value in rollout["output"]["metrics"].items():
        finite = math.isfinite(float(value))
        assert result.metrics[name.lower()] == (pytest.approx(value, abs=1e-5) if finite else None), name


@pytest.mark.parametrize("dataset", ORACLE["rollout_sets"], ids=lambda dataset: dataset["id"])
def test_reference_rollout_sets(dataset: dict) -> None:
    tasks: list[Sequence[SubtaskRecord]] = [roll_out(rollout, REFERENCE).subtasks for rollout in dataset["inputs"]]
    scores = score(SubtaskTable.from_tasks(tasks), REFERENCE)._asdict()
    expected = {name.lower(): float(value) for name, value in dataset["output"].items()}
    assert scores == pytest.approx(expected, abs=1e-5, nan_ok=True)


def test_a_target_that_the_region_does_not_have_is_named() -> None:
    world = next(case["world"] for case in ORACLE["rollout_raises"] if "absent" in case["kind"])
    with pytest.raises(DatasetError, match="'ghost' is known in region '1'"):
        TASKS.get("lh_vln")(TaskRules(metrics=METRIC_NAMES)).start(episode_of(world), OpenPlane())


def by_kind(kind: str) -> dict:
    return next(rollout for rollout in ORACLE["rollouts"] if rollout["kind"] == kind)


def test_documented_counts_what_was_never_closed() -> None:
    """Parking at the first target without a stop earns 0.4 under the published code, hardly anything as documented."""
    parked = by_kind("never_stops_but_parks_at_target_1")
    reference, documented = roll_out(parked, REFERENCE), roll_out(parked, ScoringOptions())
    assert reference.metrics["tar"] == 1.0
    assert [record.navigation_error is None for record in documented.subtasks] == [False, False]
    assert documented.metrics["tar"] is not None
    assert documented.metrics["tar"] < 0.8


def test_documented_truth_is_the_experts_not_the_agents() -> None:
    rollout = by_kind("stop_wrong_place_first_then_second_ok")
    records = roll_out(rollout, ScoringOptions()).subtasks
    box, table = (0.0, -3.125), (-3.125, -2.25)
    assert records[0].ground_truth_distance == pytest.approx(math.dist((0, 0), box))
    assert records[1].ground_truth_distance == pytest.approx(math.dist(box, table))


@pytest.mark.parametrize("rule", ScoringRule)
def test_an_episode_that_never_began_is_worth_nothing(rule: ScoringRule) -> None:
    rollout = by_kind("perfect_two_targets") | {"actions": []}
    metrics = roll_out(rollout, ScoringOptions(rule=rule)).metrics
    assert metrics.pop("ne") in (None, 0.0)
    assert set(metrics.values()) == {0.0}
