"""Running means: the engine's own numbers, whatever the order and the split into shards."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.evaluation.aggregation import FinalAggregator, RealtimeAggregator
from nav_eval.evaluation.results import EpisodeOutcome
from nav_eval.evaluation.results import EpisodeStatus as EngineStatus
from nav_eval_store.errors import BadRecord
from nav_eval_store.models import EpisodeStatus
from nav_eval_store.tally import Outcome, Tally, is_scored, merged, parse, scored_value, without_replay

values = st.none() | st.booleans() | st.floats(-1e6, 1e6)
outcomes = st.builds(
    Outcome,
    episode_id=st.uuids().map(str),
    status=st.sampled_from([EpisodeStatus.COMPLETED, EpisodeStatus.FAILED, EpisodeStatus.TIMEOUT]),
    metrics=st.dictionaries(st.sampled_from(["tar", "success", "ne", "navigation_error"]), values),
    num_steps=st.integers(0, 500),
    timing=st.just({"total": 2.0}),
)


def engine(outcome: Outcome) -> EpisodeOutcome:
    return EpisodeOutcome(
        episode_id=outcome.episode_id,
        status=EngineStatus(outcome.status),
        metrics=dict(outcome.metrics),
        num_steps=outcome.num_steps,
    )


@settings(deadline=None)
@given(st.lists(outcomes, max_size=30), st.integers(1, 5))
def test_shards_together_give_the_engines_means(all_outcomes: list[Outcome], shards: int) -> None:
    tallies = [Tally() for _ in range(shards)]
    expected = RealtimeAggregator()
    for index, outcome in enumerate(all_outcomes):
        tallies[index % shards].add(outcome)
        expected.add(engine(outcome))
    total = merged(json.loads(json.dumps(tally.to_json())) for tally in tallies)
    current = expected.current()
    assert {name: mean for name, mean in total.means().items() if mean is not None} == pytest.approx(
        {name: running.mean for name, running in current.items() if running.count}
    )
    assert total.episodes == len(all_outcomes)
    assert total.seconds == 2.0 * len(all_outcomes)


@settings(deadline=None)
@given(outcomes, st.sampled_from(["tar", "navigation_error"]))
def test_a_scored_value_is_the_engines(outcome: Outcome, metric: str) -> None:
    ours = scored_value(outcome, metric, higher_is_better=metric == "tar")
    theirs = FinalAggregator().aggregate([engine(outcome)]).metrics.get(metric)
    if theirs is not None:
        assert ours == theirs.mean


@pytest.mark.parametrize(
    ("status", "cause", "scored"),
    [
        ("completed", None, True),
        ("failed", "agent_crash", True),
        ("timeout", "agent_timeout", True),
        ("failed", "infrastructure", False),
        ("failed", "image_invalid", False),
        ("cancelled", "cancelled", False),
    ],
)
def test_which_episodes_count(status: str, cause: str | None, scored: bool) -> None:
    line = json.dumps({"episode_id": "a", "status": status, "cause": cause, "metrics": {}, "num_steps": 0})
    assert is_scored(parse(line)) is scored


def test_statuses_are_the_engines() -> None:
    assert list(EpisodeStatus) == list(EngineStatus)


def test_only_what_replay_needs_is_taken_out() -> None:
    line = b'{"episode_id":"a","x":1.50,"actions":["stop"],"trajectory":[[0,0,0]],"nested":{"actions":1}}'
    assert without_replay(line) == b'{"episode_id":"a","x":1.50,"nested":{"actions":1}}'


@pytest.mark.parametrize("line", [b"", b"[1]", b"null", b"{", b"\xff\xfe"])
def test_lines_that_are_none(line: bytes) -> None:
    with pytest.raises(BadRecord):
        without_replay(line)
