"""Leases: one holder at a time, and a holder that was given up for dead cannot write."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from nav_eval.records.results import Cause
from nav_eval_store.competitions import moderation
from nav_eval_store.database import Session
from nav_eval_store.errors import LeaseLost
from nav_eval_store.models import Job, LeaseEnd, LeaseRow
from nav_eval_store.submissions import creation, transitions
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind, JobState, SubmissionState
from nav_eval_store.work import jobs, leases, workers
from nav_eval_store.work.leases import Lease
from support.challenge import TEST, Challenge, jobs_of, result

pytestmark = pytest.mark.integration


def waiting_job(cup: Challenge, submission: UUID) -> UUID:
    with cup.database.read() as session:
        return next(job.id for job in jobs_of(session, submission) if job.state is JobState.WAITING)


def list_expired_jobs(session: Session) -> list[UUID]:
    expired = select(LeaseRow.job_id).where(LeaseRow.released_at.is_(None), LeaseRow.expires_at <= session.now())
    return list(session.scalars(expired))


def lease_history(cup: Challenge, job_id: UUID) -> list[tuple[int, str, LeaseEnd | None]]:
    with cup.database.read() as session:
        rows = session.scalars(select(LeaseRow).where(LeaseRow.job_id == job_id).order_by(LeaseRow.fence))
        return [(row.fence, row.worker, row.end) for row in rows]


def test_the_first_claim_starts_the_run_and_the_second_gets_nothing(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    job = waiting_job(cup, submission)
    first = cup.do(lambda session: leases.claim_job(session, job, "w1"))
    second = cup.do(lambda session: leases.claim_job(session, job, "w2"))
    assert first is not None
    assert second is None
    assert cup.get(submission).state is SubmissionState.RUNNING


def test_twenty_workers_claim_one_job(cup: Challenge) -> None:
    job = waiting_job(cup, cup.queue(cup.team("Red")))
    together = Barrier(20, timeout=60)

    def claim(number: int) -> Lease | None:
        together.wait()
        return cup.do(lambda session: leases.claim_job(session, job, f"w{number}"))

    with ThreadPoolExecutor(20) as pool:
        claims = [lease for lease in pool.map(claim, range(20)) if lease is not None]
    assert len(claims) == 1
    assert len(lease_history(cup, job)) == 1


def test_workers_that_ask_at_once_get_different_jobs(cup: Challenge) -> None:
    cup.queue(cup.team("Red"), shards=[["a"], ["b"], ["c"], ["d"]])
    cup.queue(cup.team("Blue"), shards=[["a"], ["b"], ["c"], ["d"]])
    together = Barrier(12, timeout=60)

    def claim(number: int) -> Lease | None:
        together.wait()
        return cup.do(lambda session: leases.claim_next_job(session, f"w{number}"))

    with ThreadPoolExecutor(12) as pool:
        claims = [lease for lease in pool.map(claim, range(12)) if lease is not None]
    assert len({lease.job_id for lease in claims}) == len(claims) == 8


def test_the_database_itself_allows_one_active_lease(cup: Challenge, clock) -> None:
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    now = clock.now()
    row = LeaseRow(job_id=lease.job_id, fence=99, worker="w2", acquired_at=now, heartbeat_at=now, expires_at=now)
    with pytest.raises(IntegrityError), cup.database.begin() as session:
        session.add(row)


def test_a_heartbeat_keeps_the_lease(cup: Challenge, clock) -> None:
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    for _ in range(10):
        clock.advance(seconds=20)
        cup.do(lambda session: leases.renew_lease(session, lease))
        with cup.database.read() as session:
            assert list_expired_jobs(session) == []


def test_a_silent_worker_loses_its_job_to_another(cup: Challenge, clock) -> None:
    submission = cup.queue(cup.team("Red"))
    zombie = cup.claim_of(submission, "w1")
    clock.advance(seconds=29)
    assert not cup.do(lambda session: leases.expire_lease(session, zombie.job_id))
    clock.advance(seconds=1)
    with cup.database.read() as session:
        assert list_expired_jobs(session) == [zombie.job_id]
    assert cup.do(lambda session: leases.expire_lease(session, zombie.job_id))
    assert cup.do(lambda session: leases.claim_next_job(session, "w2")) is None, "after a pause only"
    clock.advance(seconds=10)
    heir = cup.claim_of(submission, "w2")
    assert heir.fence == zombie.fence + 1
    assert lease_history(cup, heir.job_id) == [(1, "w1", LeaseEnd.LOST), (2, "w2", None)]


def test_a_zombie_cannot_write(cup: Challenge, clock) -> None:
    """It was away (paused, swapped out, cut off), and comes back to a job that another worker does."""
    submission = cup.queue(cup.team("Red"))
    zombie = cup.claim_of(submission, "w1")
    clock.advance(seconds=31)
    cup.do(lambda session: leases.expire_lease(session, zombie.job_id))
    deeds = [
        lambda session: jobs.record_episode(session, zombie, result("a")),
        lambda session: leases.renew_lease(session, zombie),
        lambda session: leases.release_lease(session, zombie),
        lambda session: jobs.finish_shard(session, zombie),
        lambda session: jobs.fail_job(session, zombie, Cause.AGENT_CRASH, "x"),
        lambda session: jobs.fail_job(session, zombie, Cause.INFRASTRUCTURE, "x"),
    ]
    for taken_over in (False, True):
        if taken_over:
            clock.advance(seconds=10)
            heir = cup.claim_of(submission, "w2")
        for deed in deeds:
            with pytest.raises(LeaseLost, match="write nothing"):
                cup.do(deed)
    cup.do(lambda session: jobs.record_episode(session, heir, result("a")))
    with cup.database.read() as session:
        assert jobs.list_finished_episodes(session, heir.job_id) == ["a"]


def test_a_late_holder_that_nobody_replaced_may_go_on(cup: Challenge, clock) -> None:
    """The clock jumped, or the machine slept; as long as the job was not reaped nothing is lost."""
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    clock.advance(hours=5)
    cup.do(lambda session: jobs.record_episode(session, lease, result("a")))
    cup.do(lambda session: leases.renew_lease(session, lease))
    with cup.database.read() as session:
        assert list_expired_jobs(session) == []
    clock.advance(hours=-9)
    cup.do(lambda session: leases.renew_lease(session, lease))
    cup.do(lambda session: jobs.record_episode(session, lease, result("b")))


def test_a_forged_lease_is_refused(cup: Challenge) -> None:
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    forged = Lease(
        id=uuid4(),
        job_id=lease.job_id,
        submission_id=lease.submission_id,
        kind=lease.kind,
        worker="w2",
        fence=lease.fence,
        expires_at=lease.expires_at,
    )
    with pytest.raises(LeaseLost):
        cup.do(lambda session: leases.renew_lease(session, forged))


def test_a_worker_gives_a_job_back(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    lease = cup.claim_of(submission, "w1")
    cup.do(lambda session: leases.release_lease(session, lease, reason="the worker drains"))
    again = cup.claim_of(submission, "w2")
    assert again.job_id == lease.job_id
    with cup.database.read() as session:
        assert session.get_one(Job, lease.job_id).failures == 0


def test_three_failures_of_ours_in_a_row_end_it(cup: Challenge, clock) -> None:
    submission = cup.queue(cup.team("Red"))
    for pause in (10, 20):
        lease = cup.claim_of(submission)
        assert cup.do(lambda session: leases.retry_after_our_fault(session, lease, "the GPU fell off the bus"))  # noqa: B023
        clock.advance(seconds=pause - 1)
        assert cup.do(lambda session: leases.claim_next_job(session, "w1")) is None
        clock.advance(seconds=1)
    lease = cup.claim_of(submission)
    assert not cup.do(lambda session: leases.retry_after_our_fault(session, lease, "the GPU fell off the bus"))
    ended = cup.get(submission)
    assert (ended.state, ended.cause) == (SubmissionState.FAILED, Cause.INFRASTRUCTURE)
    assert "3 times in a row" in (ended.detail or "")
    assert "fell off the bus" in (ended.detail or "")


def test_a_finished_episode_starts_the_count_anew(cup: Challenge, clock) -> None:
    """A long shard on machines that come and go: it loses workers often and still gets on."""
    submission = cup.queue(cup.team("Red"))
    for episode in ("a", "b", "c", "d"):
        lease = cup.claim_of(submission)
        cup.do(lambda session: leases.retry_after_our_fault(session, lease, "spot instance taken away"))  # noqa: B023
        clock.advance(minutes=1)
        lease = cup.claim_of(submission)
        cup.do(lambda session: jobs.record_episode(session, lease, result(episode)))  # noqa: B023
        if episode != "d":
            clock.advance(minutes=1)
            cup.do(lambda session: leases.expire_lease(session, lease.job_id))  # noqa: B023
            clock.advance(minutes=1)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    assert cup.get(submission).state is SubmissionState.SCORING


def test_cancelling_takes_the_leases_away_at_once(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[["a"], ["b"]])
    first, second = cup.claim_of(submission, "w1"), cup.claim_of(submission, "w2")
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="stop"))
    for lease in (first, second):
        with pytest.raises(LeaseLost, match="revoked"):
            cup.do(lambda session: leases.renew_lease(session, lease))  # noqa: B023
    with cup.database.read() as session:
        assert workers.list_active_leases(session) == []
        assert {job.state for job in jobs_of(session, submission)} == {JobState.DONE, JobState.DROPPED}


def test_a_draining_worker_gets_nothing_new_and_may_finish(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[["a"], ["b"]])
    with cup.database.begin() as session:
        workers.register_worker(session, "w1", host="h", version="1")
        workers.register_worker(session, "w2", host="h", version="1")
    lease = cup.claim_of(submission, "w1")
    with cup.database.begin() as session:
        assert workers.drain_workers(session, ["w1"], actor=TEST, reason="new driver") == ["w1"]
        assert workers.record_heartbeat(session, "w1") is True
        assert workers.record_heartbeat(session, "w2") is False
        assert leases.claim_next_job(session, "w1") is None
        jobs.record_episode(session, lease, result("a"))
        jobs.finish_shard(session, lease)
        assert leases.claim_next_job(session, "w2") is not None


def test_all_workers_drain_and_take_up_work_again(cup: Challenge) -> None:
    with cup.database.begin() as session:
        for name in ("w1", "w2"):
            workers.register_worker(session, name, host="h", version="1")
        assert workers.drain_workers(session, actor=TEST, reason="upgrade") == ["w1", "w2"]
        assert workers.undrain_workers(session, actor=TEST) == ["w1", "w2"]
        assert not workers.record_heartbeat(session, "w1")


def test_a_paused_phase_hands_out_nothing(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    job = waiting_job(cup, submission)
    with cup.database.begin() as session:
        moderation.pause_phase(session, cup.phase(session), actor=TEST, reason="the scenes are wrong")
        assert leases.claim_next_job(session, "w1") is None
        assert leases.claim_job(session, job, "w1") is None
        moderation.resume_phase(session, cup.phase(session), actor=TEST)
        assert leases.claim_next_job(session, "w1") is not None


def test_the_patience_of_a_lease_is_a_setting(cup: Challenge, clock) -> None:
    from datetime import timedelta

    quick = Deadlines(lease=timedelta(seconds=2))
    submission = cup.queue(cup.team("Red"))
    job = waiting_job(cup, submission)
    lease = cup.do(lambda session: leases.claim_job(session, job, "w1", deadlines=quick))
    assert lease is not None
    clock.advance(seconds=1)
    cup.do(lambda session: leases.renew_lease(session, lease, deadlines=quick))
    clock.advance(seconds=2)
    assert cup.do(lambda session: leases.expire_lease(session, job, deadlines=quick))


def test_kinds_can_be_chosen(cup: Challenge) -> None:
    team = cup.team("Red")
    cup.queue(team)
    cup.submit(team)
    with cup.database.begin() as session:
        lease = leases.claim_next_job(session, "w1", kinds=[JobKind.SHARD])
        assert lease is not None
        assert lease.kind is JobKind.SHARD
        assert leases.claim_next_job(session, "w1", kinds=[JobKind.SHARD, JobKind.SCORE]) is None


def test_deadlock_free_cancel_against_claims_and_records(cup: Challenge) -> None:
    """Many threads pull at the same submission in every direction; each ends, and the books are right."""
    submission = cup.queue(cup.team("Red"), shards=[["a"], ["b"], ["c"], ["d"]])
    together = Barrier(9, timeout=60)

    def play(number: int) -> str:
        together.wait()
        try:
            lease = cup.do(lambda session: leases.claim_next_job(session, f"w{number}", kinds=[JobKind.SHARD]))
            if lease is None:
                return "nothing"
            left = cup.do(lambda session: jobs.list_unfinished_episodes(session, lease.job_id))
            for episode in left:
                cup.do(lambda session: jobs.record_episode(session, lease, result(episode)))  # noqa: B023
            cup.do(lambda session: jobs.finish_shard(session, lease))
        except LeaseLost:
            return "lost"
        return "done"

    def cancel() -> str:
        together.wait()
        cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="stop"))
        return "cancelled"

    with ThreadPoolExecutor(9) as pool:
        futures = [pool.submit(play, number) for number in range(8)] + [pool.submit(cancel)]
        results = [future.result(timeout=120) for future in futures]
    assert results[-1] == "cancelled"
    with cup.database.begin() as session:
        assert cup.get(submission).state is SubmissionState.CANCELLED
        assert workers.list_active_leases(session) == []
        assert transitions.lock_open_jobs(session, cup.get(submission)) == []
