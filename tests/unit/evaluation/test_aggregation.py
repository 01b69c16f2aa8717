"""From episodes to a run: what counts, what does not, and that order never matters."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import episode, played

from nav_eval.errors import UnknownName
from nav_eval.evaluation.aggregation import DuplicateEpisode, FinalAggregator, MetricsAggregator, RealtimeAggregator
from nav_eval.evaluation.report import count_words, get_grouping, group_by_instruction, group_by_path, group_by_subtasks
from nav_eval.metrics.statistics import Bootstrap
from nav_eval.records.results import EpisodeStatus
from nav_eval.records.scoring import get_scored_value, is_scored

quick = Bootstrap(replicates=99)


def crashed(number, **changes):
    fields = {"status": EpisodeStatus.FAILED, "cause": "agent_crash", "metrics": {}, "num_steps": 0}
    return episode(number, **(fields | changes))


def aggregated(results, **settings):
    return FinalAggregator(bootstrap=quick, **settings).aggregate(results)


def test_the_seeds_interface(tmp_path):
    aggregator = MetricsAggregator(bootstrap=quick)
    for result in played(10):
        aggregator.add_episode_result(result)
    metrics = aggregator.get_aggregated_metrics()
    assert list(metrics) == ["success", "spl", "navigation_error"]
    assert all(item.count == 10 for item in metrics.values())
    aggregator.export_json(str(tmp_path / "deep" / "results.json"))
    assert (tmp_path / "deep" / "results.json").exists()


@pytest.mark.parametrize(
    ("status", "cause", "scored"),
    [
        (EpisodeStatus.COMPLETED, None, True),
        (EpisodeStatus.FAILED, "agent_crash", True),  # the agent's own fault counts
        (EpisodeStatus.FAILED, "agent_oom", True),
        (EpisodeStatus.FAILED, "protocol_error", True),
        (EpisodeStatus.TIMEOUT, "agent_timeout", True),
        (EpisodeStatus.TIMEOUT, None, True),
        (EpisodeStatus.FAILED, "infrastructure", False),  # ours does not
        (EpisodeStatus.FAILED, "cancelled", False),
        (EpisodeStatus.CANCELLED, None, False),
    ],
)
def test_who_is_at_fault_decides_whether_an_episode_counts(status, cause, scored):
    result = episode(status=status, cause=cause)
    assert is_scored(result) is scored
    assert aggregated([result]).metrics["success"].count == scored


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
@pytest.mark.parametrize(
    ("status", "higher", "expected"),
    [
        (EpisodeStatus.FAILED, True, 0.0),  # crashing must not be better than failing
        (EpisodeStatus.TIMEOUT, True, 0.0),
        (EpisodeStatus.FAILED, False, None),  # no distance is the worst one
        (EpisodeStatus.COMPLETED, True, None),  # a finished episode without a score is our mistake: shown, not hidden
    ],
)
def test_a_score_that_a_failure_left_open_is_zero(value, status, higher, expected):
    result = episode(status=status, metrics={"m": value})
    assert get_scored_value(result, "m", higher_is_better=higher) == expected


def test_crashing_on_hard_episodes_does_not_raise_a_mean():
    honest = [episode(i, metrics={"success": float(i % 2), "navigation_error": 5.0}) for i in range(10)]
    evasive = [crashed(i) if result.metrics["success"] == 0 else result for i, result in enumerate(honest)]
    ours, theirs = aggregated(honest), aggregated(evasive)
    assert ours.metrics["success"].mean == theirs.metrics["success"].mean == 0.5
    assert theirs.metrics["navigation_error"].invalid == 5
    assert theirs.invalid == {"navigation_error": [f"ep_{i}" for i in range(0, 10, 2)]}


def test_invalid_values_are_named():
    results = [episode(1, metrics={"spl": 0.5}), episode(2, metrics={"spl": math.nan}), episode(3, metrics={})]
    aggregation = aggregated(results)
    assert (aggregation.metrics["spl"].mean, aggregation.metrics["spl"].count) == (0.5, 1)
    assert aggregation.invalid == {"spl": ["ep_2", "ep_3"]}


@given(st.randoms())
@settings(max_examples=15)
def test_the_order_of_episodes_does_not_matter(random):
    results = [*played(20), crashed(21), episode(22, metrics={"extra": math.inf})]
    shuffled = random.sample(results, len(results))
    assert aggregated(shuffled) == aggregated(results)


def test_the_same_result_twice_is_one():
    aggregator = MetricsAggregator(bootstrap=quick)
    first = episode(1, metrics={"success": math.nan, "spl": 0.25})
    again = episode(1, metrics={"success": math.nan, "spl": 0.25}, timing={"wall": 3.0})  # played again: other clock
    for result in (first, first, again):
        aggregator.add_episode_result(result)
    assert aggregator.get_aggregated_metrics()["spl"].count == 1
    assert aggregator.realtime.current()["spl"].count == 1


@pytest.mark.parametrize("change", [{"metrics": {"success": 0.0}}, {"num_steps": 46}, {"scene_id": "other"}])
def test_two_results_for_one_episode_are_refused(change):
    aggregator = MetricsAggregator()
    aggregator.add_episode_result(episode(1))
    with pytest.raises(DuplicateEpisode, match="'ep_1' has two different results"):
        aggregator.add_episode_result(episode(1, **change))
    assert aggregator.realtime.current()["success"].count == 1


values = st.one_of(st.floats(0, 1), st.sampled_from([None, math.nan]))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["completed", "failed", "timeout", "infrastructure"]),
            st.dictionaries(st.sampled_from(["spl", "ne"]), values),
        ),
        max_size=30,
    )
)
@settings(max_examples=40)
def test_live_numbers_end_where_the_final_ones_are(rows):
    live = RealtimeAggregator()
    results = [
        episode(
            i,
            status=EpisodeStatus("failed" if kind == "infrastructure" else kind),
            cause=kind if kind == "infrastructure" else None,
            metrics=metrics,
        )
        for i, (kind, metrics) in enumerate(rows)
    ]
    for result in results:
        live.add(result)
    final = aggregated(results, groupings={}).metrics
    running = live.current()
    for name, item in final.items():
        if item.count and name in running:
            assert running[name].count == item.count
            assert running[name].mean == pytest.approx(item.mean, abs=1e-12)
            assert running[name].std == (None if item.std is None else pytest.approx(item.std, abs=1e-9))
    assert sum(live.statuses.values()) == len(rows)


def test_groups_partition_the_scored_episodes():
    groups = aggregated(played(40)).groups
    assert list(groups) == ["scene", "subtasks", "instruction", "path"]
    assert list(groups["subtasks"]) == ["2", "3", "4"]
    assert list(groups["path"]) == ["5–10 m", "10–15 m", "15–20 m"]
    for table in groups.values():
        assert sum(statistics["success"].count for statistics in table.values()) == 40


def test_group_means_are_those_of_their_members():
    results = played(40)
    groups = aggregated(results).groups["scene"]
    for scene, statistics in groups.items():
        mine = [r.metrics["spl"] for r in results if r.scene_id == scene]
        assert statistics["spl"].mean == pytest.approx(sum(mine) / len(mine))


def test_episodes_without_a_label_are_in_no_group():
    assert aggregated([episode(1, scene_id=None), episode(2)]).groups["subtasks"] == {}
    assert list(aggregated([episode(1, scene_id=None), episode(2)]).groups["scene"]) == ["scene_2"]


@pytest.mark.parametrize(
    ("changes", "grouping", "label"),
    [
        ({"instruction": "go to the red door"}, group_by_instruction, "0–9 words"),
        ({"instruction": "走到红色的门前面然后停下"}, group_by_instruction, "10–19 words"),
        ({"instruction": "x", "instruction_length": 25}, group_by_instruction, "20–29 words"),
        ({}, group_by_instruction, None),
        ({"shortest_path_length": 5.0}, group_by_path, "5–10 m"),
        ({"shortest_path_length": math.inf}, group_by_path, None),
        ({}, group_by_path, None),
        ({}, group_by_subtasks, None),
    ],
)
def test_labels(changes, grouping, label):
    assert grouping(episode(**changes)) == label


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("turn left, then stop.", 4), ("don't - go", 2), ("向左转", 3), ("去 kitchen 吧", 3)],
)
def test_words(text, count):
    assert count_words(text) == count


def test_runs_may_bring_their_own_groups():
    results = [episode(1, groups={"style": "formal", "floor": 2.0}), episode(2, groups={"style": "casual"})]
    assert [get_grouping("style", results)(r) for r in results] == ["formal", "casual"]
    assert [get_grouping("floor", results)(r) for r in results] == ["2", None]
    with pytest.raises(UnknownName, match=r"'weather'.*scene, subtasks, instruction, path, floor, style"):
        get_grouping("weather", results)


def test_failures_are_counted_by_cause():
    results = [
        crashed(1),
        crashed(2),
        crashed(3, status=EpisodeStatus.TIMEOUT, cause=None),
        crashed(4, cause="infrastructure", detail="The host went away."),
        episode(5),
    ]
    aggregation = aggregated(results)
    assert aggregation.failures == {"agent_crash": 2, "timeout": 1, "infrastructure": 1}
    assert [(f.episode_id, f.reason, f.scored) for f in aggregation.failed][2:] == [
        ("ep_3", "timeout", True),
        ("ep_4", "infrastructure", False),
    ]
    counts = aggregation.counts
    assert (counts.episodes, counts.scored, counts.completed, counts.scenes) == (5, 4, 1, 3)


def test_nothing_yet():
    aggregation = aggregated([])
    assert (aggregation.metrics, aggregation.counts.episodes) == ({}, 0)
