"""Where a submission stands, in one small answer: a handful of rows, however many episodes there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import select

from nav_eval.records.scoring import ScoreTally
from nav_eval_store.boards.scores import get_metric_directions
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import Session
from nav_eval_store.models import Job, Submission
from nav_eval_store.submissions import lifecycle
from nav_eval_store.submissions.lifecycle import OWNERS, Deadlines, JobKind, JobState, Owner, SubmissionState
from nav_eval_store.work import fairness, recovery, usage
from nav_eval_store.work.usage import AgentUsage


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmissionStatus:
    """What a team sees while it waits."""

    id: UUID
    state: SubmissionState
    since: datetime
    owner: Owner | None  #: who must act next; None when it has ended
    deadline: datetime | None  #: when that must have happened
    cause: str | None
    detail: str | None
    advice: str | None  #: what the team can do next
    canary: Mapping[str, Any] | None  #: the first verdict
    episodes_done: int
    episodes_total: int
    episodes_failed: int  #: of those done, by the agent's fault
    means: Mapping[str, float | None]  #: of each metric, so far
    queue_position: int | None  #: submissions that start before this one
    starts_at: datetime | None  #: expected
    ends_at: datetime | None  #: expected
    worked: timedelta  #: workers' time spent on its episodes
    used: AgentUsage  #: by the agent so far, in all of its shards


def read_status(
    session: Session,
    submission: Submission,
    *,
    audience: Audience = Audience.ORGANISER,
    deadlines: Deadlines | None = None,
) -> SubmissionStatus:
    """The status of a submission. Whether its means may be shown is the phase's business."""
    is_organiser = audience is Audience.ORGANISER
    final = submission.state.is_final
    shards = _list_shards(session, submission)
    total = ScoreTally.from_parts(shard.tally for shard in shards)
    wait = fairness.locate_in_queue(session, submission) if not final else None
    now, directions = session.now(), get_metric_directions(submission.phase)
    return SubmissionStatus(
        id=submission.id,
        state=submission.state,
        since=submission.since,
        owner=OWNERS.get(submission.state),
        deadline=None
        if final
        else lifecycle.compute_deadline(
            recovery.load_submission_snapshot(session, submission), deadlines or Deadlines()
        ),
        cause=submission.cause,
        detail=submission.detail if is_organiser else lifecycle.redact_detail(submission.cause, submission.detail),
        advice=submission.cause.advice if submission.cause else None,
        canary=submission.canary,
        episodes_done=sum(shard.episodes_done for shard in shards),
        episodes_total=submission.episodes_total,
        episodes_failed=total.failures,
        means=_sort_means(total.means(directions), directions),
        queue_position=wait.position if wait and submission.state is SubmissionState.QUEUED else None,
        starts_at=_add_wait(now, wait.starts_in) if wait and submission.state is SubmissionState.QUEUED else None,
        ends_at=_add_wait(now, wait.ends_in if wait else _estimate_running_time(session, submission, shards)),
        worked=timedelta(seconds=sum(shard.busy_seconds for shard in shards)),
        used=usage.sum_usage(usage.sum_job_usage(shard.used) for shard in shards),
    )


def _sort_means(means: Mapping[str, float | None], columns: Iterable[str]) -> dict[str, float | None]:
    """In the order of the board: a database that keeps JSON has an order of its own."""
    known = [name for name in columns if name in means]
    return {name: means[name] for name in (*known, *sorted(set(means) - set(known)))}


def _add_wait(now: datetime, wait: timedelta | None) -> datetime | None:
    return None if wait is None else now + wait


def _list_shards(session: Session, submission: Submission) -> list[Job]:
    query = select(Job).where(Job.submission_id == submission.id, Job.kind == JobKind.SHARD)
    return list(session.scalars(query.order_by(Job.position)))


def _estimate_running_time(session: Session, submission: Submission, shards: list[Job]) -> timedelta | None:
    """Until the slowest shard at work ends, by the usual pace of the phase or its own."""
    left = [shard.episodes_total - shard.episodes_done for shard in shards if shard.state is JobState.HELD]
    pace = fairness.measure_seconds_per_episode(session, submission.phase_id)
    return timedelta(seconds=max(left) * pace) if left and pace is not None else None
