"""What workers report: a job done, an episode ended, a fault; and what that means for the submission.

Every function takes the worker's lease. A worker that has lost it gets `LeaseLost` and nothing is
written; a report that comes twice changes nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import Select, func, insert, select, update

from nav_eval.records.results import UNSCORED, Cause, EpisodeOutcome, EpisodeStatus, ResultLine, get_status
from nav_eval.records.scoring import ScoreTally, find_success, is_scored
from nav_eval_store import audit
from nav_eval_store.audit import Actor, make_system_actor, make_worker_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadRecord, Conflict
from nav_eval_store.models import EpisodeRow, Job, LeaseEnd, LeaseRow, Submission
from nav_eval_store.notifications import events
from nav_eval_store.submissions import transitions
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind, JobState, SubmissionState
from nav_eval_store.work.leases import (
    Lease,
    find_active_lease,
    lock_held_job,
    lock_held_job_with_submission,
    retry_after_our_fault,
)
from nav_eval_store.work.retries import FaultConsequence, decide_consequence

EPISODE_SEED = "episode_seed"
"""Of a submission's provenance: what its episodes' aliases, their order and the sample to verify are drawn from."""
PROGRESS_SECONDS = 1.0
"""Live progress of a shard is told at most this often."""


def finish_validation(session: Session, lease: Lease, *, image_id: str | None = None, **facts: Any) -> None:  # noqa: ANN401
    """The image can be run: the canary is next."""
    submission, job, row = lock_held_job_with_submission(session, lease)
    submission.image_id = image_id or submission.image_id
    submission.provenance = {**submission.provenance, **facts}
    _finish_job(session, job, row)
    transitions.add_job(session, submission, JobKind.CANARY)
    session.flush()


def finish_canary(
    session: Session,
    lease: Lease,
    shards: Sequence[Sequence[str]],
    *,
    scenes: Mapping[str, str | None] | None = None,
    verdict: Mapping[str, Any] | None = None,
) -> None:
    """The agent answers: its episodes, by shard, wait for workers from now on. `scenes` is by episode."""
    submission, job, row = lock_held_job_with_submission(session, lease)
    episodes = [episode for shard in shards for episode in shard]
    if not episodes or len(set(episodes)) != len(episodes):
        raise BadRecord("A plan has at least one episode, and each of them once.")
    submission.canary = {"passed": True, **(verdict or {})}
    submission.episodes_total = len(episodes)
    _finish_job(session, job, row)
    _plan(session, submission, [shard for shard in shards if shard], scenes or {})
    transitions.move_to_state(session, submission, SubmissionState.QUEUED, actor=make_worker_actor(lease.worker))
    events.emit(session, events.VERDICT, audit.make_subject(submission), **submission.canary)


def _plan(
    session: Session, submission: Submission, shards: Sequence[Sequence[str]], scenes: Mapping[str, str | None]
) -> None:
    jobs = [
        transitions.add_job(session, submission, JobKind.SHARD, position=number, episodes_total=len(shard))
        for number, shard in enumerate(shards)
    ]
    session.flush()
    rows: list[dict[str, Any]] = []
    for job, shard in zip(jobs, shards, strict=True):
        for episode in shard:
            identity = {"submission_id": submission.id, "episode_id": episode, "job_id": job.id}
            rows.append({**identity, "position": len(rows), "scene_id": scenes.get(episode)})
    session.execute(insert(EpisodeRow), rows)


class RecordedEpisode(NamedTuple):
    """What became of a reported episode."""

    new: bool
    """False when it had been reported before: nothing was changed."""
    done: int
    """Episodes of the shard that have ended."""
    total: int


def record_episode(
    session: Session, lease: Lease, line: ResultLine, *, replay_key: str | None = None
) -> RecordedEpisode:
    """Keep the result of an episode: its line of episodes.jsonl, the long parts of which are in a blob."""
    job, _ = lock_held_job(session, lease)
    outcome = line.outcome
    if not is_scored(outcome):
        raise BadRecord(
            f"Episode {outcome.episode_id!r} ended by {outcome.cause or outcome.status}, which is no result: "
            "report the fault of the job instead, and the episode is played again."
        )
    new = _fill_in(session, job, line, replay_key=replay_key)
    if new:
        _count(session, job, [outcome])
    return RecordedEpisode(new, job.episodes_done, job.episodes_total)


def _fill_in(session: Session, job: Job, line: ResultLine, *, replay_key: str | None) -> bool:
    """True if the episode was still open."""
    outcome = line.outcome
    filled = session.execute(
        update(EpisodeRow)
        .where(
            EpisodeRow.submission_id == job.submission_id,
            EpisodeRow.episode_id == outcome.episode_id,
            EpisodeRow.job_id == job.id,
            EpisodeRow.status.is_(None),
        )
        .values(
            status=outcome.status,
            cause=line.cause,
            scene_id=func.coalesce(EpisodeRow.scene_id, outcome.scene_id),
            success=find_success(outcome),
            num_steps=outcome.num_steps,
            outcome=line.to_summary().decode(),
            replay_key=replay_key,
            fence=job.fence,
            recorded_at=session.now(),
        )
        .returning(EpisodeRow.position)
        .execution_options(synchronize_session=False)
    ).first()
    if filled is None:
        _refuse_stranger(session, job, outcome.episode_id)
    return filled is not None


def _refuse_stranger(session: Session, job: Job, episode_id: str) -> None:
    row = session.get(EpisodeRow, (job.submission_id, episode_id))
    if row is None or row.job_id != job.id:
        raise BadRecord(f"Episode {episode_id!r} is not in this shard.")


def _count(session: Session, job: Job, outcomes: Sequence[EpisodeOutcome]) -> None:
    """Take finished episodes into the shard's means, and tell watchers now and then."""
    tally = ScoreTally.from_json(job.tally)
    for outcome in outcomes:
        tally.add(outcome)
    job.tally = tally.to_json()
    job.episodes_done += len(outcomes)
    job.failures = 0
    now = session.now()
    rested = job.progress_at is None or (now - job.progress_at).total_seconds() >= PROGRESS_SECONDS
    if rested or job.episodes_done == job.episodes_total:
        job.progress_at = now
        subject = audit.make_subject(job.submission)
        events.emit(
            session,
            events.PROGRESS,
            subject,
            shard=job.position,
            done=job.episodes_done,
            total=job.episodes_total,
        )


def list_unfinished_episodes(session: Session, job_id: UUID) -> list[str]:
    """The shard's episodes that are still to be played, in their order."""
    return [episode for episode, _ in _query_unfinished(session, job_id)]


def list_finished_episodes(session: Session, job_id: UUID) -> list[str]:
    """The shard's episodes that have a result, in their order."""
    query = _select_episodes(session, job_id).where(EpisodeRow.status.is_not(None))
    return [episode for episode, _ in session.execute(query)]


def _query_unfinished(session: Session, job_id: UUID) -> list[tuple[str, str | None]]:
    """Ids and scenes."""
    return list(session.execute(_select_episodes(session, job_id).where(EpisodeRow.status.is_(None))))


def _select_episodes(session: Session, job_id: UUID) -> Select[str, str | None]:
    job = session.get_one(Job, job_id)
    return (
        select(EpisodeRow.episode_id, EpisodeRow.scene_id)
        .where(EpisodeRow.submission_id == job.submission_id, EpisodeRow.job_id == job_id)
        .order_by(EpisodeRow.position)
    )


def finish_shard(session: Session, lease: Lease) -> None:
    """All episodes of the shard have a result. The last shard brings the submission to scoring."""
    submission, job, row = lock_held_job_with_submission(session, lease)
    left = list_unfinished_episodes(session, job.id)
    if left:
        raise Conflict(
            "The shard has {count} episodes without a result, {first!r} first.", count=len(left), first=left[0]
        )
    _finish_job(session, job, row)
    _score_when_complete(session, submission, actor=make_worker_actor(lease.worker))


def _score_when_complete(session: Session, submission: Submission, *, actor: Actor) -> None:
    session.flush()
    if not transitions.lock_open_jobs(session, submission):
        transitions.move_to_state(session, submission, SubmissionState.SCORING, actor=actor)
        transitions.add_job(session, submission, JobKind.SCORE)
        session.flush()


def fail_job(session: Session, lease: Lease, cause: Cause, detail: str, *, deadlines: Deadlines | None = None) -> None:
    """The job cannot go on, by this cause; whose fault it is decides what follows."""
    what = decide_consequence(lease.kind, cause)
    if what is FaultConsequence.RETRY:
        retry_after_our_fault(session, lease, detail, deadlines=deadlines)
        return
    submission, job, row = lock_held_job_with_submission(session, lease)
    actor = make_worker_actor(lease.worker)
    if what is FaultConsequence.SCORE_AS_IT_STANDS and cause not in UNSCORED:
        _give_up(session, job, cause, detail)
        _finish_job(session, job, row)
        _score_when_complete(session, submission, actor=actor)
        return
    if lease.kind is JobKind.CANARY:
        submission.canary = {"passed": False, "cause": cause, "detail": detail}
        events.emit(session, events.VERDICT, audit.make_subject(submission), **submission.canary)
    transitions.fail_submission(session, submission, cause, detail, actor=actor)


def close_submission(session: Session, submission: Submission, reason: str, *, actor: Actor | None = None) -> None:
    """The time is used up: what is finished is scored, what is not counts as an agent's time-out."""
    for job in transitions.lock_open_jobs(session, submission):
        lease = find_active_lease(session, job.id)
        if lease is not None:
            transitions.end_lease(session, lease, job, LeaseEnd.REVOKED, reason)
        _give_up(session, job, Cause.AGENT_TIMEOUT, reason)
        job.state, job.finished_at = JobState.DONE, session.now()
    _score_when_complete(session, submission, actor=actor or make_system_actor("recover"))


def _give_up(session: Session, job: Job, cause: Cause, detail: str) -> None:
    """The rest of the shard counts as failed by the agent."""
    lines = [
        _make_failed_line(episode, scene, get_status(cause), cause, detail)
        for episode, scene in _query_unfinished(session, job.id)
    ]
    for line in lines:
        _fill_in(session, job, line, replay_key=None)
    if lines:
        _count(session, job, [line.outcome for line in lines])


def _make_failed_line(episode: str, scene: str | None, status: EpisodeStatus, cause: Cause, detail: str) -> ResultLine:
    """What a simulator would have reported, had the agent let it."""
    fields = {"episode_id": episode, "status": status, "metrics": {}, "num_steps": 0, "scene_id": scene}
    return ResultLine.from_bytes(msgspec.json.encode({**fields, "cause": cause, "detail": detail, "timing": {}}))


def _finish_job(session: Session, job: Job, row: LeaseRow) -> None:
    transitions.end_lease(session, row, job, LeaseEnd.DONE)
    job.state, job.finished_at = JobState.DONE, session.now()
    session.flush()
