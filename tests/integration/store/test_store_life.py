"""Whatever happens, in whatever order: no illegal state, nothing counted twice, nothing stuck.

Hypothesis plays teams, workers, organisers, dying machines and the clock against the real store.
At the end everybody leaves but the beat that calls `recover`: every submission must come to an end.
"""

import shutil
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from sqlalchemy import func, select

from nav_eval.records.results import Cause
from nav_eval_store.boards import scores
from nav_eval_store.competitions import moderation
from nav_eval_store.database import Database, ManualClock, Session
from nav_eval_store.errors import LeaseLost, PhaseNotOpen
from nav_eval_store.migrations import runner
from nav_eval_store.models import (
    AuditEvent,
    BoardEntry,
    EpisodeRow,
    Job,
    LeaseRow,
    LedgerEntry,
    LedgerKind,
    Submission,
    Team,
)
from nav_eval_store.submissions import creation, queries
from nav_eval_store.submissions.lifecycle import FINAL, JOBS_OF, TRANSITIONS, JobKind, JobState, SubmissionState
from nav_eval_store.uploads import records
from nav_eval_store.work import jobs, leases, recovery
from nav_eval_store.work.leases import Lease
from support.challenge import TEST, Challenge, jobs_of, result

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLAN = (("a", "b"), ("c",))


@pytest.fixture(scope="module", autouse=True)
def _template():
    Life.folder = Path(tempfile.mkdtemp(prefix="nav-eval-life-"))
    database = Database(f"sqlite:///{Life.folder / 'template.db'}")
    runner.upgrade(database)
    cup = Challenge(database)
    cup.team("Red")
    cup.team("Blue")
    database.dispose()
    yield
    shutil.rmtree(Life.folder)


def do_all(session: Session, lease: Lease) -> None:
    """All that is left of a job."""
    match lease.kind:
        case JobKind.VALIDATE:
            jobs.finish_validation(session, lease)
        case JobKind.CANARY:
            jobs.finish_canary(session, lease, PLAN)
        case JobKind.SHARD:
            for episode in jobs.list_unfinished_episodes(session, lease.job_id):
                jobs.record_episode(session, lease, result(episode))
            jobs.finish_shard(session, lease)
        case JobKind.SCORE:
            row = queries.get_submission(session, lease.submission_id)
            scores.publish_scores(session, lease, scores.compute_scores(session, row))


class Life(RuleBasedStateMachine):
    folder: Path
    count = 0

    made = Bundle("made")
    held = Bundle("held")

    @initialize(target=made)
    def begin(self) -> Any:
        Life.count += 1
        file = self.folder / f"run_{Life.count}.db"
        shutil.copyfile(self.folder / "template.db", file)
        self.clock = ManualClock()
        self.clock.advance(days=1)
        self.database = Database(f"sqlite:///{file}", clock=self.clock)
        self.cup = Challenge.__new__(Challenge)
        self.cup.database = self.database
        self.paused = False
        with self.database.read() as session:
            self.teams = list(session.scalars(select(Team.id).order_by(Team.name)))
        red, blue = self.teams
        return multiple(
            self._make(lambda: self.cup.start(red)),
            self._make(lambda: self.cup.submit(blue)),
            self._make(lambda: self.cup.queue(red, PLAN)),
            self._make(lambda: self.cup.queue(blue, PLAN)),
        )

    def _make(self, make: Callable[[], UUID]) -> UUID:
        """No two at the same time: their ids, which are random, would decide whose turn it is."""
        self.clock.advance(milliseconds=1)
        return make()

    @rule(target=made, team=st.integers(0, 1), submitted=st.booleans())
    def create(self, team: int, submitted: bool) -> Any:
        if self.paused:
            with pytest.raises(PhaseNotOpen):
                self.cup.start(self.teams[team])
            return multiple()
        return self._make(lambda: (self.cup.submit if submitted else self.cup.start)(self.teams[team]))

    @rule(submission=made)
    def upload(self, submission: UUID) -> None:
        with self.database.begin() as session:
            row = queries.get_submission(session, submission)
            if row.state is SubmissionState.CREATED:
                records.create_upload(session, submission, actor=TEST, length=10)

    @rule(submission=made)
    def finish_upload(self, submission: UUID) -> None:
        with self.database.begin() as session:
            row = queries.get_submission(session, submission)
            if row.state is SubmissionState.UPLOADING:
                (upload,) = records.list_uploads(session, row)
                sha256 = "0" * 64
                records.record_finish(session, upload.id, blob_key="images/0", sha256=sha256, length=10, actor=TEST)
                records.submit_uploaded(session, submission, actor=TEST)

    @rule(target=held, worker=st.sampled_from(["w1", "w2", "w3"]))
    def claim(self, worker: str) -> Any:
        with self.database.begin() as session:
            lease = leases.claim_next_job(session, worker)
        return multiple() if lease is None else lease

    @rule(lease=held, data=st.data())
    def record(self, lease: Lease, data: st.DataObject) -> None:
        if lease.kind is JobKind.SHARD:
            episode = data.draw(st.sampled_from(["a", "b", "c"]))
            with self.database.begin() as session:
                planned = session.get_one(EpisodeRow, (lease.submission_id, episode)).job_id == lease.job_id
            if planned:
                self._may_be_lost(lambda session: jobs.record_episode(session, lease, result(episode)))

    @rule(lease=consumes(held))
    def finish(self, lease: Lease) -> None:
        """The worker does all that is left of its job."""
        self._may_be_lost(lambda session: do_all(session, lease))

    @rule(jobs=st.integers(1, 6))
    def industry(self, jobs: int) -> None:
        """A worker does several jobs in a row."""
        for _ in range(jobs):
            with self.database.begin() as session:
                lease = leases.claim_next_job(session, "w4")
            if lease is None:
                return
            self._may_be_lost(lambda session: do_all(session, lease))  # noqa: B023

    @rule(lease=consumes(held), cause=st.sampled_from([c for c in Cause if c is not Cause.CANCELLED]))
    def fail(self, lease: Lease, cause: Cause) -> None:
        self._may_be_lost(lambda session: jobs.fail_job(session, lease, cause, "it broke"))

    @rule(lease=held)
    def heartbeat(self, lease: Lease) -> None:
        self._may_be_lost(lambda session: leases.renew_lease(session, lease))

    @rule(lease=consumes(held))
    def give_back(self, lease: Lease) -> None:
        self._may_be_lost(lambda session: leases.release_lease(session, lease))

    @rule(lease=consumes(held))
    def die(self, lease: Lease) -> None:
        """The worker is gone; nobody says so."""

    @rule(submission=made, dice=st.integers(1, 4))
    def cancel(self, submission: UUID, dice: int) -> None:
        if dice > 1:
            return
        with self.database.begin() as session:
            creation.cancel_open_submission(session, submission, actor=TEST, reason="stop")

    @rule(submission=made, organiser=st.booleans(), target=made)
    def again(self, submission: UUID, organiser: bool) -> Any:
        self.clock.advance(milliseconds=1)
        with self.database.begin() as session:
            row = queries.get_submission(session, submission)
            if not row.state.is_final or row.image_key is None or row.phase.paused_at is not None:
                return multiple()
            return creation.rerun_submission(session, submission, actor=TEST, by_organiser=organiser).id

    @rule(dice=st.integers(1, 6))
    def organise(self, dice: int) -> None:
        with self.database.begin() as session:
            phase = self.cup.phase(session)
            self.paused = dice == 1
            if self.paused:
                moderation.pause_phase(session, phase, actor=TEST, reason="hm")
            else:
                moderation.resume_phase(session, phase, actor=TEST)

    @rule(seconds=st.sampled_from([0.1, 1, 10, 15, 20, 31, 40, 70, 3600, -20]), far=st.integers(1, 40))
    def time_passes(self, seconds: float, far: int) -> None:
        self.clock.advance(seconds=seconds)
        if far == 1:
            self.clock.advance(days=seconds / 3)

    @rule()
    def beat(self) -> None:
        recovery.recover(self.database)

    def _may_be_lost(self, act) -> None:
        try:
            self.database.run(act)
        except LeaseLost:
            return

    @invariant()
    def books_are_right(self) -> None:
        with self.database.read() as session:
            for submission in session.scalars(select(Submission)):
                self._check(session, submission)
            active = select(LeaseRow.job_id).where(LeaseRow.released_at.is_(None))
            held = set(session.scalars(select(Job.id).where(Job.state == JobState.HELD)))
            assert set(session.scalars(active)) == held

    def _check(self, session, submission: Submission) -> None:
        jobs = jobs_of(session, submission.id)
        unfinished = [job for job in jobs if job.state in (JobState.WAITING, JobState.HELD)]
        assert {job.kind for job in unfinished} <= set(JOBS_OF.get(submission.state, ()))
        assert bool(unfinished) is (submission.state in JOBS_OF), f"{submission.state} with {len(unfinished)} jobs"
        recorded = select(func.count()).where(EpisodeRow.submission_id == submission.id, EpisodeRow.status.is_not(None))
        assert session.scalar(recorded) == sum(job.episodes_done for job in jobs)
        assert (session.get(BoardEntry, submission.id) is not None) is (submission.state is SubmissionState.COMPLETED)
        ledger = select(LedgerEntry.kind).where(LedgerEntry.submission_id == submission.id)
        kinds = list(session.scalars(ledger))
        assert len(kinds) == len(set(kinds))
        if submission.cause is Cause.INFRASTRUCTURE and not submission.is_reevaluation:
            assert LedgerKind.REFUND in kinds or self._is_refunded_enough(session, submission)
        if submission.state is SubmissionState.COMPLETED and not submission.is_reevaluation:
            assert set(kinds) == {LedgerKind.RESERVE, LedgerKind.CHARGE}

    def _is_refunded_enough(self, session, submission: Submission) -> bool:
        """Whether the team was given back as many slots as a day has."""
        given = select(func.count()).where(
            LedgerEntry.team_id == submission.team_id, LedgerEntry.kind == LedgerKind.REFUND
        )
        return session.scalar(given) >= submission.phase.config.quota.refunds_per_day

    def teardown(self) -> None:
        if not hasattr(self, "database"):
            return
        self._everybody_leaves()
        self.books_are_right()
        self._steps_were_legal()
        self.database.dispose()

    def _everybody_leaves(self) -> None:
        """Only `recover` is left, and time."""
        for _ in range(12):
            recovery.recover(self.database)
            self.clock.advance(timedelta(days=15))
        with self.database.read() as session:
            states = set(session.scalars(select(Submission.state)))
        assert states <= FINAL

    def _steps_were_legal(self) -> None:
        with self.database.read() as session:
            steps = session.scalars(
                select(AuditEvent).where(AuditEvent.action == "submission.state").order_by(AuditEvent.id)
            )
            last: dict[UUID, SubmissionState] = {}
            for step in steps:
                before, after = SubmissionState(step.details["from"]), SubmissionState(step.details["to"])
                assert last.get(step.submission_id, SubmissionState.CREATED) is before
                assert after in TRANSITIONS[before]
                last[step.submission_id] = after


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
