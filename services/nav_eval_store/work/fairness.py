"""Whose turn it is, and how long the others have to wait.

The order: checks and scores before shards (they are short, and the team waits at the terminal), films that
visitors ask for last; then the organiser's priority, then fairness: the team with the fewest jobs running,
among those the one that was served longest ago, and only then who came first. So a team that submits a hundred
times cannot keep a newcomer waiting for more than the shard that is just running.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, case, func, or_, select, true

from nav_eval_store.database import Session
from nav_eval_store.models import Job, Phase, Submission, Team, TeamStatus, Worker
from nav_eval_store.submissions.lifecycle import ASKED_FOR, JobKind, JobState

ALIVE = timedelta(minutes=1)
"""A worker whose last sign of life is older has no slots."""
RECENT_SHARDS = 50
"""How many finished shards of a phase say how long an episode takes."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def choose_next_job(
    session: Session, *which: ColumnElement[bool], apart_from: UUID | None = None, lock: bool = False
) -> UUID | None:
    """The waiting job that goes first among those for which all of `which` is true; None when none may start now.

    A job whose message is on its way counts for its team as one that runs, but not `apart_from`. With `lock`, a row
    that somebody else has locked is passed over.
    """
    at_work = or_(Job.state == JobState.HELD, and_(Job.state == JobState.WAITING, Job.dispatched_at.is_not(None)))
    running = (
        select(Submission.team_id, func.count().label("jobs"))
        .join(Job, Job.submission_id == Submission.id)
        .where(at_work, Job.kind.not_in(ASKED_FOR), Job.id != apart_from if apart_from else true())
        .group_by(Submission.team_id)
        .subquery()
    )
    is_shard = Job.kind == JobKind.SHARD
    query = (
        select(Job.id)
        .join(Submission, Submission.id == Job.submission_id)
        .join(Team, Team.id == Submission.team_id)
        .join(Phase, Phase.id == Submission.phase_id)
        .outerjoin(running, running.c.team_id == Submission.team_id)
        .where(
            Job.state == JobState.WAITING,
            *which,
            Job.ready_at <= session.now(),
            Phase.paused_at.is_(None),
            Team.status != TeamStatus.DISQUALIFIED,
        )
        .order_by(
            case((is_shard, 1), (Job.kind.in_(ASKED_FOR), 2), else_=0),
            Submission.priority.desc(),
            func.coalesce(running.c.jobs, 0),
            func.coalesce(case((is_shard, Team.served_at), else_=Team.checked_at), _LONG_AGO),
            Submission.created_at,
            Submission.id,
            Job.position,
        )
        .limit(1)
    )
    if lock:
        query = query.with_for_update(key_share=True, skip_locked=True, of=Job)
    return session.scalar(query)


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """A submission whose shards wait, as the forecast sees it."""

    id: UUID
    team: UUID
    priority: int
    created_at: datetime
    shards: int  #: that wait
    seconds: float  #: of work left in them


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamLoad:
    """What a team has at work."""

    running: int = 0
    served_at: datetime = _LONG_AGO


class Forecast(NamedTuple):
    """When a submission's turn comes."""

    position: int
    """Submissions that start before it; 0 is next."""
    starts_in: timedelta | None
    """Until its first shard starts; None where nothing is known yet, or no worker is there."""
    ends_in: timedelta | None
    """Until its last shard ends."""


def estimate_start(
    wanted: UUID, waiting: Sequence[Waiting], loads: Mapping[UUID, TeamLoad], *, slots: int, busy_seconds: float = 0.0
) -> Forecast:
    """Play the rule of `choose_next_job` through until every shard of `wanted` has started.

    `slots` is how many shards run at a time, `busy_seconds` the work left in those that run now.
    """
    queue = _FairQueue(waiting, loads)
    started: dict[UUID, None] = {}
    first, work = None, busy_seconds
    for entry in queue.starts():
        started.setdefault(entry.id)
        if entry.id == wanted and first is None:
            first = work
        work += entry.seconds / entry.shards
        if entry.id == wanted and entry.shards == 1:
            break
    ahead = list(started).index(wanted) if wanted in started else 0
    if slots < 1 or first is None:
        return Forecast(ahead, None, None)
    return Forecast(ahead, timedelta(seconds=first / slots), timedelta(seconds=work / slots))


class _FairQueue:
    """The waiting shards in the order in which `choose_next_job` would take them, were none to end meanwhile."""

    def __init__(self, waiting: Sequence[Waiting], loads: Mapping[UUID, TeamLoad]) -> None:
        self._loads = dict(loads)
        self._now = max((load.served_at for load in loads.values()), default=_LONG_AGO)
        self._of_team: dict[UUID, deque[Waiting]] = {}
        for entry in sorted(waiting, key=lambda entry: (-entry.priority, entry.created_at, str(entry.id))):
            if entry.shards > 0:
                self._of_team.setdefault(entry.team, deque()).append(entry)

    def starts(self) -> Iterator[Waiting]:
        """Each start of a shard; `entry.shards` counts it among those that wait."""
        heap = [self._turn(team) for team in self._of_team]
        heapify(heap)
        while heap:
            team = heap[0][-1]
            mine = self._of_team[team]
            entry = mine.popleft()
            yield entry
            self._serve(team)
            if entry.shards > 1:
                left = entry.seconds * (entry.shards - 1) / entry.shards
                mine.appendleft(replace(entry, shards=entry.shards - 1, seconds=left))
            if mine:
                heapreplace(heap, self._turn(team))
            else:
                heappop(heap)

    def _turn(self, team: UUID) -> tuple[int, int, datetime, datetime, UUID]:
        load, entry = self._loads.get(team, TeamLoad()), self._of_team[team][0]
        return -entry.priority, load.running, load.served_at, entry.created_at, team

    def _serve(self, team: UUID) -> None:
        self._now += timedelta(microseconds=1)
        load = self._loads.get(team, TeamLoad())
        self._loads[team] = TeamLoad(running=load.running + 1, served_at=self._now)


def locate_in_queue(session: Session, submission: Submission) -> Forecast | None:
    """Where a submission stands; None when none of its shards waits."""
    shards = _query_open_shards(session)
    if not any(row.id == submission.id and row.waiting for row in shards):
        return None
    pace = {phase: measure_seconds_per_episode(session, phase) for phase in {row.phase_id for row in shards}}
    waiting = [
        Waiting(
            id=row.id,
            team=row.team_id,
            priority=row.priority,
            created_at=row.created_at,
            shards=row.waiting,
            seconds=row.waiting_episodes * (pace[row.phase_id] or 0.0),
        )
        for row in shards
    ]
    busy = sum(row.held_episodes * (pace[row.phase_id] or 0.0) for row in shards)
    slots = count_slots(session) if pace[submission.phase_id] is not None else 0
    return estimate_start(submission.id, waiting, _count_team_loads(shards), slots=slots, busy_seconds=busy)


def count_slots(session: Session) -> int:
    """Jobs that living workers can do at the same time."""
    query = select(func.sum(Worker.slots)).where(
        Worker.heartbeat_at > session.now() - ALIVE, Worker.stopped_at.is_(None), Worker.draining_at.is_(None)
    )
    return session.scalar(query) or 0


def measure_seconds_per_episode(session: Session, phase_id: UUID) -> float | None:
    """Working time per episode, from the phase's shards that ended last; None before the first one."""
    recent = (
        select(Job.busy_seconds, Job.episodes_done)
        .join(Submission, Submission.id == Job.submission_id)
        .where(
            Submission.phase_id == phase_id,
            Job.kind == JobKind.SHARD,
            Job.state == JobState.DONE,
            Job.episodes_done > 0,
        )
        .order_by(Job.finished_at.desc())
        .limit(RECENT_SHARDS)
    )
    rows = session.execute(recent).all()
    return sum(seconds for seconds, _ in rows) / sum(episodes for _, episodes in rows) if rows else None


class _OpenShards(NamedTuple):
    """A submission with shards that wait or run."""

    id: UUID
    team_id: UUID
    phase_id: UUID
    priority: int
    created_at: datetime
    served_at: datetime | None
    waiting: int
    held: int
    waiting_episodes: int
    held_episodes: int


def _query_open_shards(session: Session) -> list[_OpenShards]:
    waits, held = Job.state == JobState.WAITING, Job.state == JobState.HELD
    left = Job.episodes_total - Job.episodes_done
    query = (
        select(
            Submission.id,
            Submission.team_id,
            Submission.phase_id,
            Submission.priority,
            Submission.created_at,
            Team.served_at,
            *(func.sum(case((state, 1), else_=0)) for state in (waits, held)),
            *(func.sum(case((state, left), else_=0)) for state in (waits, held)),
        )
        .join(Job, Job.submission_id == Submission.id)
        .join(Team, Team.id == Submission.team_id)
        .where(Job.state.in_((JobState.WAITING, JobState.HELD)), Job.kind == JobKind.SHARD)
        .group_by(Submission.id, Team.served_at)
    )
    return [_OpenShards(*row) for row in session.execute(query)]


def _count_team_loads(shards: Sequence[_OpenShards]) -> dict[UUID, TeamLoad]:
    loads: dict[UUID, TeamLoad] = {}
    for row in shards:
        running = loads.get(row.team_id, TeamLoad()).running + row.held
        loads[row.team_id] = TeamLoad(running=running, served_at=row.served_at or _LONG_AGO)
    return loads
