"""Running means and the ranking: the same numbers whatever the order and the split into shards."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.records.results import EpisodeOutcome, EpisodeStatus, SubtaskRecord
from nav_eval.records.scoring import (
    RunningMean,
    ScoreTally,
    compute_ranking_sum,
    compute_ranking_value,
    find_success,
    get_scored_value,
    is_higher_better,
)

values = st.none() | st.booleans() | st.floats(-1e6, 1e6)
outcomes = st.builds(
    EpisodeOutcome,
    episode_id=st.uuids().map(str),
    status=st.sampled_from([EpisodeStatus.COMPLETED, EpisodeStatus.FAILED, EpisodeStatus.TIMEOUT]),
    metrics=st.dictionaries(st.sampled_from(["tar", "success", "ne", "navigation_error"]), values),
    num_steps=st.integers(0, 500),
    timing=st.just({"total": 2.0}),
)


@settings(deadline=None)
@given(st.lists(outcomes, max_size=30), st.integers(1, 5))
def test_shards_together_give_the_mean_of_what_is_scored(episodes: list[EpisodeOutcome], shards: int) -> None:
    tallies = [ScoreTally() for _ in range(shards)]
    for index, outcome in enumerate(episodes):
        tallies[index % shards].add(outcome)
    total = ScoreTally.from_parts(json.loads(json.dumps(tally.to_json())) for tally in tallies)
    for name, mean in total.means().items():
        scored = [get_scored_value(each, name, higher_is_better=is_higher_better(name)) for each in episodes]
        known = [value for value in scored if value is not None]
        assert mean == (pytest.approx(math.fsum(known) / len(known), abs=1e-6) if known else None)
    assert (total.episodes, total.seconds) == (len(episodes), 2.0 * len(episodes))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 5))
def test_zeros_in_one_step_are_zeros_one_by_one(numbers: list[float], zeros: int) -> None:
    at_once, one_by_one = RunningMean(), RunningMean()
    for number in numbers:
        at_once.add(number)
        one_by_one.add(number)
    for _ in range(zeros):
        one_by_one.add(0.0, failed=True)
    together = at_once.with_zeros(zeros)
    assert (together.count, together.failures) == (one_by_one.count, one_by_one.failures)
    assert together.mean == pytest.approx(one_by_one.mean, abs=1e-6)
    assert together.std == pytest.approx(one_by_one.std, rel=1e-6, abs=1e-3)


def test_the_ranking_is_an_exact_weighted_sum() -> None:
    weights = {"a": 0.1, "b": 0.2, "c": 0.7}
    assert compute_ranking_sum(weights, {"a": 1.0, "b": 1.0, "c": 1.0}.get) == 1.0
    assert compute_ranking_sum(weights, {"a": 1.0, "b": 1.0}.get) is None


def test_a_failure_ranks_with_zeros_and_an_unfinished_number_not_at_all() -> None:
    crashed = EpisodeOutcome(episode_id="a", status=EpisodeStatus.FAILED, metrics={"a": 0.5}, num_steps=3)
    assert compute_ranking_value(crashed, {"a": 0.5, "b": 0.5}) == 0.25
    assert compute_ranking_value(crashed, {"a": 0.5, "b": 0.5}, {"b": False}) is None


def make_subtask(*, success: bool) -> SubtaskRecord:
    return SubtaskRecord(
        success=success,
        oracle_success=True,
        navigation_error=0.4,
        ground_truth_distance=4.0,
        ground_truth_steps=20,
        steps=30,
    )


@pytest.mark.parametrize(
    ("metrics", "subtasks", "status", "solved"),
    [
        ({"success": True}, (), EpisodeStatus.COMPLETED, True),
        ({"success": False, "sr": 1.0}, (), EpisodeStatus.COMPLETED, False),
        ({"sr": 1.0}, (False,), EpisodeStatus.COMPLETED, True),
        ({"sr": None, "tar": 1.0}, (True, True), EpisodeStatus.COMPLETED, True),
        ({"tar": 1.0}, (True, False), EpisodeStatus.COMPLETED, False),
        ({"answer": 0.7}, (), EpisodeStatus.COMPLETED, None),
        ({"sr": 1.0}, (), EpisodeStatus.FAILED, False),
    ],
)
def test_an_episode_is_solved_by_its_metric_or_by_all_of_its_subtasks(
    metrics: dict[str, float | None], subtasks: tuple[bool, ...], status: EpisodeStatus, solved: bool | None
) -> None:
    closed = tuple(make_subtask(success=success) for success in subtasks)
    outcome = EpisodeOutcome(episode_id="a", status=status, metrics=metrics, num_steps=3, subtasks=closed)
    assert find_success(outcome) is solved
