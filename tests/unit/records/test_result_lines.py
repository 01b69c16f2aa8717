"""A line of episodes.jsonl on its way to the store: decoded once, kept as it came."""

import pytest

from nav_eval.errors import RecordError
from nav_eval.records.results import Cause, EpisodeStatus, ResultLine, decode_outcome

LINE = (
    b'{"episode_id":"a","status":"failed","cause":"agent_crash","metrics":{"tar":0.50},"num_steps":2,'
    b'"new":{"actions":1},"actions":["stop"],"trajectory":[[0,0,0]],"action_digest":"ab"}'
)


def test_it_stays_as_it_came() -> None:
    line = ResultLine.from_bytes(LINE)
    assert line.to_bytes() == LINE
    assert line.outcome.status is EpisodeStatus.FAILED
    assert line.cause is Cause.AGENT_CRASH


def test_only_what_replay_needs_is_taken_out() -> None:
    summary = ResultLine.from_bytes(LINE).to_summary()
    assert summary == (
        b'{"episode_id":"a","status":"failed","cause":"agent_crash","metrics":{"tar":0.50},"num_steps":2,'
        b'"new":{"actions":1}}'
    )
    assert decode_outcome(summary) == ResultLine.from_bytes(LINE).outcome


def test_the_one_who_knows_better_states_the_cause() -> None:
    line = ResultLine.from_bytes(LINE).with_cause(Cause.AGENT_OOM, "It asked for 9 GB.")
    again = ResultLine.from_bytes(line.to_bytes())
    assert (line.cause, line.outcome) == (again.cause, again.outcome)
    assert again.outcome.cause == "agent_oom"
    assert again.outcome.detail == "It asked for 9 GB."
    assert b'"trajectory":[[0,0,0]]' in line.to_bytes()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[1]",
        b"null",
        b"{",
        b"\xff\xfe",
        b"{}",
        LINE.replace(b"agent_crash", b"bad_luck"),
        LINE.replace(b'"ab"}', b'"' + b"a" * 10 + b'","detail":"' + b"x" * (1 << 20) + b'"}'),
    ],
)
def test_lines_that_are_none(line: bytes) -> None:
    with pytest.raises(RecordError):
        ResultLine.from_bytes(line)
