"""What must hold for every LH-VLN dataset under the documented rule."""

import dataclasses
import math
import random

from hypothesis import given
from hypothesis import strategies as st

from nav_eval.metrics.lh_vln import (
    METRIC_NAMES,
    CgtWeight,
    ScoringOptions,
    ScoringRule,
    SubtaskTable,
    score,
    score_each,
)
from nav_eval.records.results import SubtaskRecord

metres = st.floats(min_value=0, max_value=1e6, allow_nan=False)
options = st.builds(
    ScoringOptions,
    cgt_weight=st.sampled_from(CgtWeight),
    success_distance=st.floats(min_value=0.01, max_value=10),
)
records = st.builds(
    SubtaskRecord,
    success=st.booleans(),
    oracle_success=st.booleans(),
    navigation_error=st.none() | metres,
    ground_truth_distance=st.none() | metres,
    ground_truth_steps=st.integers(min_value=0, max_value=500),
    steps=st.none() | st.integers(min_value=0, max_value=500),
    path_length=st.none() | metres,
)
tasks = st.lists(records, min_size=1, max_size=5)
datasets = st.lists(tasks, min_size=1, max_size=8)


def table(dataset: list[list[SubtaskRecord]]) -> SubtaskTable:
    return SubtaskTable.from_tasks(dataset)


@given(datasets, options)
def test_every_score_is_between_0_and_1(dataset: list[list[SubtaskRecord]], chosen: ScoringOptions) -> None:
    scores = score(table(dataset), chosen)._asdict()
    error = scores.pop("ne")
    assert math.isnan(error) or error >= 0
    assert all(0.0 <= value <= 1.0 for value in scores.values()), scores


@given(datasets, options)
def test_a_perfect_agent_gets_exactly_1(dataset: list[list[SubtaskRecord]], chosen: ScoringOptions) -> None:
    perfect = [
        [
            dataclasses.replace(record, success=True, oracle_success=True, navigation_error=chosen.success_distance / 2)
            for record in task
        ]
        for task in dataset
    ]
    scores = score(table(perfect), chosen)
    assert (scores.isr, scores.csr, scores.cgt, scores.tar, scores.score) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert (scores.sr, scores.osr) == (1.0, 1.0)


@given(datasets, options, st.randoms(use_true_random=False))
def test_the_order_of_episodes_does_not_matter(
    dataset: list[list[SubtaskRecord]], chosen: ScoringOptions, rng: random.Random
) -> None:
    shuffled = rng.sample(dataset, len(dataset))
    assert _equal(score(table(dataset), chosen), score(table(shuffled), chosen))


@given(datasets, options, st.data())
def test_a_failed_subtask_never_raises_a_score(
    dataset: list[list[SubtaskRecord]], chosen: ScoringOptions, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(dataset) - 1))
    place = data.draw(st.integers(0, len(dataset[index])))
    failed = dataclasses.replace(data.draw(records), success=False, oracle_success=False)
    longer = [list(task) for task in dataset]
    longer[index].insert(place, failed)
    before, after = score(table(dataset), chosen), score(table(longer), chosen)
    for name in ("isr", "csr", "cgt"):
        assert getattr(after, name) <= getattr(before, name) + 1e-12


@given(datasets, options)
def test_the_board_is_the_mean_of_its_tasks(dataset: list[list[SubtaskRecord]], chosen: ScoringOptions) -> None:
    whole, each = score(table(dataset), chosen)._asdict(), score_each(table(dataset), chosen)
    for name in METRIC_NAMES:
        known = [value for value in each[name] if not math.isnan(value)]
        mean = math.fsum(known) / len(known) if known else math.nan
        assert math.isclose(mean, whole[name], abs_tol=1e-12) or (math.isnan(mean) and math.isnan(whole[name]))


@given(datasets)
def test_one_task_alone_scores_the_same_under_both_entries_of_the_reference(
    dataset: list[list[SubtaskRecord]],
) -> None:
    reference = ScoringOptions(rule=ScoringRule.REFERENCE)
    scorable = [
        [
            dataclasses.replace(
                record,
                ground_truth_steps=record.ground_truth_steps + 1,
                navigation_error=record.navigation_error or 0.0,
            )
            for record in task
        ]
        for task in dataset
    ]
    each = score_each(table(scorable), reference)
    for index, task in enumerate(scorable):
        alone = score(table([task]), reference)._asdict()
        assert all(_same(alone[name], each[name][index]) for name in METRIC_NAMES)


def _equal(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    return all(_same(a, b) for a, b in zip(first, second, strict=True))


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))
