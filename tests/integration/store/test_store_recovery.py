"""Nothing stays where it is because somebody died."""

from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import select

from nav_eval.records.results import Cause
from nav_eval_store.competitions import moderation
from nav_eval_store.models import LedgerEntry, LedgerKind, OutboxEvent, Upload
from nav_eval_store.submissions import creation, queries
from nav_eval_store.submissions.lifecycle import JobKind, RecoveryAction, SubmissionState
from nav_eval_store.uploads import records
from nav_eval_store.work import dispatch, jobs, leases, recovery, workers
from support.challenge import GENEROUS, TEST, Challenge, competition_config, jobs_of, result

pytestmark = pytest.mark.integration


def actions(done: recovery.RecoveryReport) -> list[RecoveryAction]:
    return [duty.action for _, duty in done.done]


def uploading(cup: Challenge, team: UUID) -> UUID:
    submission = cup.start(team)
    cup.do(lambda session: records.create_upload(session, submission, actor=TEST, length=10))
    return submission


def running(cup: Challenge, team: UUID) -> UUID:
    submission = cup.queue(team)
    lease = cup.claim_of(submission)
    cup.do(lambda session: leases.release_lease(session, lease))  # and nobody ever comes again
    return submission


def scoring(cup: Challenge, team: UUID) -> UUID:
    submission = cup.queue(team)
    lease = cup.claim_of(submission)
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    return submission


def test_nothing_is_overdue_when_all_are_at_work(cup: Challenge) -> None:
    team = cup.team("Red")
    cup.start(team)
    submission = cup.queue(team)
    recovery.recover(cup.database)  # tells the workers
    cup.claim_of(submission)
    assert recovery.recover(cup.database) == recovery.RecoveryReport()


@pytest.mark.parametrize(
    ("reach", "days", "state", "cause"),
    [
        (lambda cup, team: cup.start(team), 1, SubmissionState.CANCELLED, Cause.CANCELLED),
        (uploading, 1, SubmissionState.CANCELLED, Cause.CANCELLED),
        (lambda cup, team: cup.submit(team), 0.5, SubmissionState.FAILED, Cause.INFRASTRUCTURE),
        (lambda cup, team: cup.queue(team), 14, SubmissionState.FAILED, Cause.INFRASTRUCTURE),
        (running, 14, SubmissionState.FAILED, Cause.INFRASTRUCTURE),
        (scoring, 0.5, SubmissionState.FAILED, Cause.INFRASTRUCTURE),
    ],
    ids=["created", "uploading", "validating", "queued", "running", "scoring"],
)
def test_every_open_state_ends_at_its_deadline_and_costs_nothing(
    database, clock, reach: Callable[[Challenge, UUID], UUID], days: float, state: SubmissionState, cause: Cause
) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "limits": {"submission_hours": 10_000.0}}))
    submission = reach(cup, cup.team("Red"))
    clock.advance(days=days, seconds=-1)
    before = recovery.recover(database)
    assert not {RecoveryAction.EXPIRE, RecoveryAction.ABANDON} & set(actions(before))
    clock.advance(seconds=1)
    recovery.recover(database)
    ended = cup.get(submission)
    assert (ended.state, ended.cause) == (state, cause)
    assert ended.detail
    with database.read() as session:
        kinds = set(session.scalars(select(LedgerEntry.kind).where(LedgerEntry.submission_id == submission)))
    assert LedgerKind.REFUND in kinds
    assert recovery.recover(database) == recovery.RecoveryReport(), "done once"


def test_bytes_that_come_keep_an_upload_alive(cup: Challenge, clock) -> None:
    submission = uploading(cup, cup.team("Red"))
    with cup.database.read() as session:
        upload = session.scalars(select(Upload.id)).one()
    for _ in range(3):
        clock.advance(hours=20)
        cup.do(lambda session: records.record_progress(session, upload, 3))
        recovery.recover(cup.database)
        assert cup.get(submission).state is SubmissionState.UPLOADING
    clock.advance(days=5)
    recovery.recover(cup.database)
    assert cup.get(submission).state is SubmissionState.CANCELLED


def test_a_lost_worker_loses_no_finished_episode(cup: Challenge, clock) -> None:
    submission = cup.queue(cup.team("Red"))
    lost = cup.claim_of(submission, "w1")
    for episode in ("a", "b"):
        cup.do(lambda session: jobs.record_episode(session, lost, result(episode, {"tar": 1.0})))  # noqa: B023
    clock.advance(seconds=31)
    assert actions(recovery.recover(cup.database)) == [RecoveryAction.REAP]
    clock.advance(seconds=10)
    told = recovery.recover(cup.database)
    assert [(message.job_id, message.kind) for message in told.messages] == [(lost.job_id, JobKind.SHARD)]
    heir = cup.claim_of(submission, "w2")
    with cup.database.read() as session:
        assert jobs.list_unfinished_episodes(session, heir.job_id) == ["c", "d"]
    cup.play(heir, {"tar": 1.0})
    cup.do(lambda session: jobs.finish_shard(session, heir))
    assert cup.get(submission).state is SubmissionState.SCORING


def test_lost_messages_are_sent_again(cup: Challenge, clock) -> None:
    """Redis lost all its data: within a minute every message that a worker has room for is sent anew."""
    submission = cup.queue(cup.team("Red"), shards=[["a"], ["b"], ["c"]])
    cup.do(lambda session: workers.register_worker(session, "w1", host="h", version="1", slots=3))
    assert len(cup.do(dispatch.dispatch_jobs)) == 3
    assert cup.do(dispatch.dispatch_jobs) == []
    assert recovery.recover(cup.database).messages == []
    clock.advance(seconds=60)
    cup.do(lambda session: workers.record_heartbeat(session, "w1"))
    again = recovery.recover(cup.database).messages
    assert {message.submission_id for message in again} == {submission}
    assert len(again) == 3
    assert recovery.recover(cup.database).messages == []


def test_used_up_working_time_closes_and_scores_what_is_there(database, clock) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "limits": {"submission_hours": 1.0}}))
    submission = cup.queue(cup.team("Red"), shards=[["a", "b"], ["c", "d"]])
    clock.advance(hours=30)  # the queue was long, which costs nothing
    recovery.recover(database)
    lease = cup.claim_of(submission)
    cup.do(lambda session: jobs.record_episode(session, lease, result("a", {"tar": 1.0})))

    def work_for(minutes: int) -> None:
        for _ in range(2 * minutes):
            clock.advance(seconds=30)
            cup.do(lambda session: leases.renew_lease(session, lease))

    work_for(minutes=59)
    clock.advance(days=2)  # a clock that jumps has worked for nobody
    cup.do(lambda session: leases.renew_lease(session, lease))
    recovery.recover(database)
    assert cup.get(submission).state is SubmissionState.RUNNING
    work_for(minutes=1)
    assert actions(recovery.recover(database)) == [RecoveryAction.CLOSE]
    assert cup.get(submission).state is SubmissionState.SCORING
    with database.read() as session:
        rows = {row.episode_id: (row.status, row.cause) for row in submission_episodes(session, submission)}
    assert rows["a"] == ("completed", None)
    assert rows["b"] == rows["c"] == rows["d"] == ("timeout", Cause.AGENT_TIMEOUT)
    cup.score(submission)
    assert cup.get(submission).state is SubmissionState.COMPLETED


def submission_episodes(session, submission: UUID):

    return queries.list_episodes(session, queries.get_submission(session, submission)).items


def test_a_paused_phase_waits_with_its_queue(cup: Challenge, clock) -> None:
    submission = cup.queue(cup.team("Red"))
    with cup.database.begin() as session:
        moderation.pause_phase(session, cup.phase(session), actor=TEST, reason="the scenes are wrong")
    clock.advance(days=60)
    assert recovery.recover(cup.database) == recovery.RecoveryReport()
    with cup.database.begin() as session:
        moderation.resume_phase(session, cup.phase(session), actor=TEST)
    clock.advance(days=13)
    resumed = recovery.recover(cup.database)
    assert (actions(resumed), len(resumed.messages)) == ([], 1)
    clock.advance(days=1)
    assert actions(recovery.recover(cup.database)) == [RecoveryAction.ABANDON]
    assert cup.get(submission).state is SubmissionState.FAILED


def test_two_recoverers_at_once_do_each_thing_once(cup: Challenge, clock) -> None:
    from concurrent.futures import ThreadPoolExecutor

    team = cup.team("Red")
    made = [cup.queue(team) for _ in range(6)]
    for submission in made:
        cup.claim_of(submission)
    clock.advance(seconds=31)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: recovery.recover(cup.database), range(4)))
    reaped = [duty.job for result in results for _, duty in result.done if duty.action is RecoveryAction.REAP]
    assert len(reaped) == len(set(reaped)) == 6
    with cup.database.read() as session:
        assert {job.failures for submission in made for job in jobs_of(session, submission)} == {0, 1}


def test_what_is_overdue_can_be_asked(cup: Challenge, clock) -> None:
    submission = cup.start(cup.team("Red"))
    clock.advance(days=2)
    with cup.database.read() as session:
        ((found, duty),) = recovery.list_overdue(session)
    assert (found, duty.action) == (submission, RecoveryAction.EXPIRE)


def test_tidying_frees_what_nobody_will_ask_for(cup: Challenge, clock, tmp_path) -> None:
    from nav_eval_store.blobs import BlobStore

    blobs = BlobStore(tmp_path / "blobs")
    submission = uploading(cup, cup.team("Red"))
    with cup.database.read() as session:
        upload = session.scalars(select(Upload)).one()
    with blobs.append(upload.key, 0) as out:
        out.write(b"12345")
    assert recovery.remove_expired(cup.database, blobs) == 0
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="no"))
    assert recovery.remove_expired(cup.database, blobs) == 5
    assert blobs.offset(upload.key) == 0
    clock.advance(days=15)
    recovery.remove_expired(cup.database, blobs)
    with cup.database.read() as session:
        assert session.scalars(select(OutboxEvent)).all() == []
