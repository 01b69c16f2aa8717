"""The life of a submission: no state that lasts, no step that is not allowed."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval_store.errors import IllegalTransition
from nav_eval_store.submissions.lifecycle import (
    FINAL,
    OPEN,
    OWNERS,
    TRANSITIONS,
    Deadlines,
    JobSnapshot,
    JobState,
    RecoveryAction,
    SubmissionSnapshot,
    SubmissionState,
    check_transition,
    compute_deadline,
    list_recovery_steps,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = Deadlines()

moments = st.integers(-100_000, 10_000_000).map(lambda seconds: START + timedelta(seconds=seconds))
jobs = st.builds(
    JobSnapshot,
    id=st.just(uuid4()),
    state=st.sampled_from([JobState.WAITING, JobState.HELD]),
    lease_ends=st.none() | moments,
)
views = st.builds(
    SubmissionSnapshot,
    state=st.sampled_from(OPEN),
    since=moments,
    active_at=st.none() | moments,
    jobs=st.lists(jobs, max_size=4).map(tuple),
    busy=st.integers(0, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    allowed=st.none() | st.integers(1, 10**6).map(lambda seconds: timedelta(seconds=seconds)),
    paused_at=st.none() | moments,
    resumed_at=st.none() | moments,
)


def reachable(start: SubmissionState) -> set[SubmissionState]:
    found, todo = {start}, [start]
    while todo:
        for state in TRANSITIONS[todo.pop()] - found:
            found.add(state)
            todo.append(state)
    return found


def test_every_state_is_reached_and_every_open_one_can_end() -> None:
    assert reachable(SubmissionState.CREATED) == set(SubmissionState)
    for state in OPEN:
        assert reachable(state) >= {SubmissionState.FAILED, SubmissionState.CANCELLED, SubmissionState.COMPLETED}
        assert {SubmissionState.FAILED, SubmissionState.CANCELLED} <= TRANSITIONS[state], (
            "whatever happens, it can end at once"
        )


def test_final_states_are_left_never_and_no_state_is_entered_twice() -> None:
    assert all(not TRANSITIONS[state] for state in FINAL)
    for state in SubmissionState:
        assert all(state not in reachable(after) for after in TRANSITIONS[state])


@pytest.mark.parametrize("before", SubmissionState)
@pytest.mark.parametrize("after", SubmissionState)
def test_only_listed_transitions_pass(before: SubmissionState, after: SubmissionState) -> None:
    if after in TRANSITIONS[before]:
        check_transition(before, after)
    else:
        with pytest.raises(IllegalTransition, match=str(before)):
            check_transition(before, after)


def test_every_open_state_has_an_owner() -> None:
    assert set(OWNERS) == set(OPEN)


@settings(deadline=None)
@given(views)
def test_after_its_deadline_no_submission_is_left_alone(view: SubmissionSnapshot) -> None:
    end = compute_deadline(view, PATIENCE)
    (duty,) = list_recovery_steps(view, end, PATIENCE)
    assert duty.action in (RecoveryAction.EXPIRE, RecoveryAction.ABANDON)
    assert duty.reason


@settings(deadline=None)
@given(views, moments)
def test_a_job_whose_worker_is_lost_is_a_duty(view: SubmissionSnapshot, now: datetime) -> None:
    """Before the deadline: every job is held by a living worker, or waits for its turn (`dispatch`)."""
    found = list_recovery_steps(view, now, PATIENCE)
    if any(duty.action in (RecoveryAction.EXPIRE, RecoveryAction.ABANDON, RecoveryAction.CLOSE) for duty in found):
        assert len(found) == 1
        return
    for job in view.jobs:
        alive = job.state is JobState.HELD and job.lease_ends is not None and job.lease_ends > now
        waits = job.state is JobState.WAITING
        assert alive or waits or any(duty.job == job.id for duty in found)


@settings(deadline=None)
@given(views)
def test_a_drip_of_bytes_does_not_keep_an_upload_alive_for_ever(view: SubmissionSnapshot) -> None:
    assert compute_deadline(view, PATIENCE) <= max(
        view.since, view.paused_at or START, view.resumed_at or START
    ) + timedelta(days=90)


def test_working_time_and_not_waiting_time_closes_a_run() -> None:
    view = SubmissionSnapshot(
        state=SubmissionState.RUNNING, since=START, busy=timedelta(hours=1), allowed=timedelta(hours=2)
    )
    assert list_recovery_steps(view, START + timedelta(days=3), PATIENCE) == ()
    used_up = SubmissionSnapshot(
        state=SubmissionState.RUNNING, since=START, busy=timedelta(hours=2), allowed=timedelta(hours=2)
    )
    (duty,) = list_recovery_steps(used_up, START + timedelta(hours=2), PATIENCE)
    assert duty.action is RecoveryAction.CLOSE
    assert "2 hours" in duty.reason
