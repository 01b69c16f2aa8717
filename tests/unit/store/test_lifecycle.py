"""The life of a submission: no state that lasts, no step that is not allowed."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.causes import Cause as EngineCause
from nav_eval_store.causes import Cause
from nav_eval_store.errors import IllegalTransition
from nav_eval_store.lifecycle import (
    FINAL,
    OPEN,
    OWNERS,
    TRANSITIONS,
    Action,
    Fate,
    JobKind,
    JobState,
    JobView,
    Patience,
    State,
    View,
    check_transition,
    deadline,
    duties,
    fate,
    next_attempt,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = Patience()

moments = st.integers(-100_000, 10_000_000).map(lambda seconds: START + timedelta(seconds=seconds))
jobs = st.builds(
    JobView,
    id=st.just(uuid4()),
    state=st.sampled_from([JobState.WAITING, JobState.HELD]),
    ready_at=moments,
    told_at=st.none() | moments,
    lease_ends=st.none() | moments,
)
views = st.builds(
    View,
    state=st.sampled_from(OPEN),
    since=moments,
    active_at=st.none() | moments,
    jobs=st.lists(jobs, max_size=4).map(tuple),
    busy=st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    allowed=st.none() | st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    paused_at=st.none() | moments,
    resumed_at=st.none() | moments,
)


def reachable(start: State) -> set[State]:
    found, todo = {start}, [start]
    while todo:
        for state in TRANSITIONS[todo.pop()] - found:
            found.add(state)
            todo.append(state)
    return found


def test_every_state_is_reached_and_every_open_one_can_end() -> None:
    assert reachable(State.CREATED) == set(State)
    for state in OPEN:
        assert reachable(state) >= {State.FAILED, State.CANCELLED, State.COMPLETED}
        assert {State.FAILED, State.CANCELLED} <= TRANSITIONS[state], "whatever happens, it can end at once"


def test_final_states_are_left_never_and_no_state_is_entered_twice() -> None:
    assert all(not TRANSITIONS[state] for state in FINAL)
    for state in State:
        assert all(state not in reachable(after) for after in TRANSITIONS[state])


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_only_listed_transitions_pass(before: State, after: State) -> None:
    if after in TRANSITIONS[before]:
        check_transition(before, after)
    else:
        with pytest.raises(IllegalTransition, match=str(before)):
            check_transition(before, after)


def test_every_open_state_has_an_owner() -> None:
    assert set(OWNERS) == set(OPEN)


@settings(deadline=None)
@given(views)
def test_after_its_deadline_no_submission_is_left_alone(view: View) -> None:
    end = deadline(view, PATIENCE)
    (duty,) = duties(view, end, PATIENCE)
    assert duty.action in (Action.EXPIRE, Action.ABANDON)
    assert duty.reason


@settings(deadline=None)
@given(views, moments)
def test_work_that_nobody_does_is_a_duty(view: View, now: datetime) -> None:
    """Before the deadline: every job is held by a living worker, told about lately, not yet ready, or paused."""
    found = duties(view, now, PATIENCE)
    if any(duty.action in (Action.EXPIRE, Action.ABANDON, Action.CLOSE) for duty in found):
        assert len(found) == 1
        return
    for job in view.jobs:
        alive = job.state is JobState.HELD and job.lease_ends is not None and job.lease_ends > now
        told = job.told_at is not None and job.told_at + PATIENCE.dispatch > now
        excused = job.state is JobState.WAITING and (told or job.ready_at > now or view.is_paused)
        assert alive or excused or any(duty.job == job.id for duty in found)


@settings(deadline=None)
@given(views)
def test_a_drip_of_bytes_does_not_keep_an_upload_alive_for_ever(view: View) -> None:
    assert deadline(view, PATIENCE) <= max(view.since, view.paused_at or START, view.resumed_at or START) + timedelta(
        days=90
    )


def test_working_time_and_not_waiting_time_closes_a_run() -> None:
    view = View(state=State.RUNNING, since=START, busy=timedelta(hours=1), allowed=timedelta(hours=2))
    assert duties(view, START + timedelta(days=3), PATIENCE) == ()
    used_up = View(state=State.RUNNING, since=START, busy=timedelta(hours=2), allowed=timedelta(hours=2))
    (duty,) = duties(used_up, START + timedelta(hours=2), PATIENCE)
    assert duty.action is Action.CLOSE
    assert "2 hours" in duty.reason


@pytest.mark.parametrize(
    ("failures", "pause"),
    [(1, timedelta(seconds=10)), (2, timedelta(seconds=20)), (3, None), (7, None)],
)
def test_attempts_are_spaced_and_end(failures: int, pause: timedelta | None) -> None:
    assert next_attempt(failures, PATIENCE) == pause


@pytest.mark.parametrize(
    ("kind", "cause", "expected"),
    [
        (JobKind.VALIDATE, Cause.IMAGE_INVALID, Fate.FAIL),
        (JobKind.CANARY, Cause.AGENT_START_TIMEOUT, Fate.FAIL),
        (JobKind.SHARD, Cause.AGENT_CRASH, Fate.SCORE_AS_IT_STANDS),  # a crash costs episodes, not the submission
        (JobKind.SCORE, Cause.AGENT_CRASH, Fate.RETRY),  # no agent takes part in scoring
        *((kind, Cause.INFRASTRUCTURE, Fate.RETRY) for kind in JobKind),
    ],
)
def test_whose_fault_decides(kind: JobKind, cause: Cause, expected: Fate) -> None:
    assert fate(kind, cause) is expected


def test_causes_are_the_engines() -> None:
    assert [(c.name, c.value, c.advice, c.is_ours) for c in Cause] == [
        (c.name, c.value, c.advice, c.is_ours) for c in EngineCause
    ]
