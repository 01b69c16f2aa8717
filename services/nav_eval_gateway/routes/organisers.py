"""The organiser's verbs, each with a reason and a line of the audit log; workers, the queue, and that log."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Query
from pydantic import AwareDatetime
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Store, Workers
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.routes.submissions import describe_submission, run_and_notify
from nav_eval_gateway.schemas.base import PageAnswer, Paged, Paging
from nav_eval_gateway.schemas.competitions import PhaseAnswer
from nav_eval_gateway.schemas.organisers import (
    AuditLine,
    Drain,
    Drained,
    Grant,
    NewPriority,
    QueueAnswer,
    RefundLine,
    Started,
    Why,
    WorkerAnswer,
)
from nav_eval_gateway.schemas.people import QuotaAnswer, TeamAnswer
from nav_eval_gateway.schemas.submissions import SubmissionAnswer
from nav_eval_gateway.task_publisher import TaskPublisher
from nav_eval_store import audit
from nav_eval_store.audit import Actor, Subject
from nav_eval_store.competitions import moderation
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotFound
from nav_eval_store.gauges import read_gauges
from nav_eval_store.models import LeaseRow, Phase, Submission, Team, Worker
from nav_eval_store.people import teams
from nav_eval_store.submissions import creation, quota
from nav_eval_store.work import dispatch, workers
from nav_eval_store.work.queues import JobMessage

router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))
PHASE = "/competitions/{competition}/phases/{phase}"
SUBMISSION = "/submissions/{submission_id}"
TEAM = "/teams/{team_id}"
T_contra = TypeVar("T_contra", contravariant=True)


class Verb(Protocol[T_contra]):
    """Something that an organiser does to a phase, a team, or the submission of this id."""

    def __call__(self, session: Session, subject: T_contra, /, *, actor: Actor, reason: str) -> object: ...


def get_organised_phase(session: Session, caller: SignedIn, competition: str, name: str) -> Phase:
    """A phase for the organiser of its competition."""
    found = permissions.get_phase(session, competition, name)
    permissions.require_organiser(session, caller, found.competition)
    return found


def get_organised_submission(session: Session, caller: SignedIn, submission_id: UUID) -> Submission:
    """A submission for its organiser; for those who may not see it there is none."""
    found = permissions.get_submission(session, caller, submission_id).submission
    permissions.require_organiser(session, caller, found.phase.competition)
    return found


def get_organised_team(session: Session, caller: SignedIn, team_id: UUID) -> Team:
    """A team for its organiser; for strangers there is none."""
    found = permissions.get_team(session, caller, team_id).team
    permissions.require_organiser(session, caller, found.competition)
    return found


def _change_phase(
    store: Database, caller: SignedIn, competition: str, name: str, verb: Verb[Phase], why: Why
) -> PhaseAnswer:
    def change(session: Session) -> PhaseAnswer:
        phase = get_organised_phase(session, caller, competition, name)
        verb(session, phase, actor=caller.actor, reason=why.reason)
        return PhaseAnswer.of(phase, session.now())

    return store.run(change)


@router.post(f"{PHASE}/pause", summary="Pause a phase")
def pause_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Take no submissions and start no jobs; what runs ends. The reason is shown to everybody."""
    return _change_phase(store, caller, competition, phase, moderation.pause_phase, why)


@router.post(f"{PHASE}/resume", summary="Resume a phase")
def resume_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Go on after a pause; workers hear of what waits within a minute."""
    return _change_phase(store, caller, competition, phase, moderation.resume_phase, why)


@router.post(f"{PHASE}/close", summary="Close a phase")
def close_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Take no submissions from now on; what was submitted is evaluated to its end."""
    return _change_phase(store, caller, competition, phase, moderation.close_phase, why)


@router.post(f"{PHASE}/reopen", summary="Reopen a phase")
def reopen_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Undo a closing: the phase closes when its configuration says."""
    return _change_phase(store, caller, competition, phase, moderation.reopen_phase, why)


@router.post(f"{PHASE}/publish", summary="Publish a board")
def publish_board(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Show a board to everybody that was for organisers or teams only."""
    return _change_phase(store, caller, competition, phase, moderation.publish_board, why)


@router.post(f"{PHASE}/withdraw", summary="Withdraw a board")
def withdraw_board(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """The board is again for those that the configuration names."""
    return _change_phase(store, caller, competition, phase, moderation.withdraw_board, why)


@router.post(f"{PHASE}/reevaluate", status_code=202, responses=describe_problems(409), summary="Evaluate all again")
def reevaluate_all(
    competition: str, phase: str, why: Why, caller: Organiser, store: Store, workers: Workers
) -> Started:
    """Run every completed submission again; each takes the place of what it repeats when it is done. Costs no quota."""

    def start(session: Session) -> list[Submission]:
        row = get_organised_phase(session, caller, competition, phase)
        return moderation.reevaluate_all(session, row, actor=caller.actor, reason=why.reason)

    return _start(store, workers, start)


@router.post(f"{PHASE}/baselines", status_code=202, responses=describe_problems(409), summary="Run the baselines")
def run_baselines(competition: str, phase: str, why: Why, caller: Organiser, store: Store, workers: Workers) -> Started:
    """Evaluate those of the phase's baselines that have no result and are not under way."""

    def start(session: Session) -> list[Submission]:
        row = get_organised_phase(session, caller, competition, phase)
        started = moderation.run_baselines(session, row, actor=caller.actor)
        about = audit.make_subject(row)
        audit.record(session, caller.actor, "phase.baselines", about, reason=why.reason, submissions=len(started))
        return started

    return _start(store, workers, start)


def _start(store: Database, workers: TaskPublisher, start: Callable[[Session], list[Submission]]) -> Started:
    def act(session: Session) -> tuple[list[UUID], list[JobMessage]]:
        ids = [submission.id for submission in start(session)]
        return ids, dispatch.dispatch_jobs(session)

    ids, messages = store.run(act)
    workers.publish(messages)
    return Started(submissions=ids)


@router.get("/competitions/{competition}/refunds", summary="Who gets slots back")
def list_refunds(competition: str, caller: Organiser, store: Store) -> list[RefundLine]:
    """By team, phase and reason, the most of the last day first: who makes us fail again and again is worth a look."""
    with store.read() as session:
        found = permissions.get_organised_competition(session, caller, competition)
        return [RefundLine.from_row(line) for line in quota.list_refunds(session, found)]


@router.post(f"{PHASE}/grants", status_code=201, summary="Grant quota")
def grant_quota(competition: str, phase: str, wanted: Grant, caller: Organiser, store: Store) -> QuotaAnswer:
    """More submissions for a team: on top of its total, and of the next 24 hours."""

    def grant(session: Session) -> QuotaAnswer:
        row = get_organised_phase(session, caller, competition, phase)
        team = session.get(Team, wanted.team_id)
        if team is None or team.competition_id != row.competition_id:
            raise NotFound("There is no such team in this competition.")
        quota.grant_quota(session, row, team, wanted.amount, actor=caller.actor, reason=wanted.reason)
        session.flush()
        return QuotaAnswer.from_row(quota.compute_allowance(session, row, team), phase=row.name)

    return store.run(grant)


def _change_submission(
    store: Database, caller: SignedIn, submission_id: UUID, verb: Verb[UUID], why: Why
) -> SubmissionAnswer:
    def change(session: Session) -> SubmissionAnswer:
        get_organised_submission(session, caller, submission_id)
        verb(session, submission_id, actor=caller.actor, reason=why.reason)
        session.flush()
        return describe_submission(session, caller, submission_id)

    return store.run(change)


@router.post(f"{SUBMISSION}/hide", responses=describe_problems(409), summary="Hide a submission")
def hide_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Take a completed submission off the board, for now."""
    return _change_submission(store, caller, submission_id, moderation.hide_submission, why)


@router.post(f"{SUBMISSION}/disqualify", responses=describe_problems(409), summary="Disqualify a submission")
def disqualify_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Take a completed submission off the board for good; its team sees why."""
    return _change_submission(store, caller, submission_id, moderation.disqualify_submission, why)


@router.post(f"{SUBMISSION}/show", responses=describe_problems(409), summary="Show a submission again")
def show_submission_again(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Put a submission back on the board."""
    return _change_submission(store, caller, submission_id, moderation.show_submission, why)


@router.post(f"{SUBMISSION}/stop", summary="Cancel any submission")
def stop_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """End anybody's submission now, and tell its team why. One that has ended is left as it is."""
    return _change_submission(store, caller, submission_id, creation.cancel_open_submission, why)


@router.post(
    f"{SUBMISSION}/reevaluate", status_code=202, responses=describe_problems(409), summary="Evaluate one again"
)
def reevaluate_submission(
    submission_id: UUID, why: Why, caller: Organiser, store: Store, workers: Workers
) -> SubmissionAnswer:
    """The same agent again; it takes the place of this one on the board when it completes. Costs no quota."""

    def again(session: Session) -> UUID:
        original = get_organised_submission(session, caller, submission_id)
        audit.record(session, caller.actor, "submission.reevaluate", audit.make_subject(original), reason=why.reason)
        return creation.rerun_submission(session, original.id, actor=caller.actor, by_organiser=True).id

    return run_and_notify(store, workers, caller, again)


@router.put(f"{SUBMISSION}/priority", summary="Set a priority")
def set_priority(submission_id: UUID, wanted: NewPriority, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Let a submission go before (or after) all others, whoever they are from."""

    def change(session: Session) -> SubmissionAnswer:
        get_organised_submission(session, caller, submission_id)
        actor = caller.actor
        moderation.set_priority(session, submission_id, wanted.priority, actor=actor, reason=wanted.reason)
        return describe_submission(session, caller, submission_id)

    return store.run(change)


def _change_team(store: Database, caller: SignedIn, team_id: UUID, verb: Verb[Team], why: Why) -> TeamAnswer:
    def change(session: Session) -> TeamAnswer:
        team = get_organised_team(session, caller, team_id)
        verb(session, team, actor=caller.actor, reason=why.reason)
        session.flush()
        return TeamAnswer.of(team, teams.list_members(session, team))

    return store.run(change)


@router.post(f"{TEAM}/disqualify", summary="Disqualify a team")
def disqualify_team(team_id: UUID, why: Why, caller: Organiser, store: Store) -> TeamAnswer:
    """Off every board of the competition; what it has under way is cancelled, and it may not submit."""
    return _change_team(store, caller, team_id, moderation.disqualify_team, why)


@router.post(f"{TEAM}/reinstate", summary="Reinstate a team")
def reinstate_team(team_id: UUID, why: Why, caller: Organiser, store: Store) -> TeamAnswer:
    """Undo a disqualification."""
    return _change_team(store, caller, team_id, moderation.reinstate_team, why)


@router.post(f"{TEAM}/approve", summary="Let a team in")
def approve_team(
    team_id: UUID, caller: Organiser, store: Store, why: Annotated[Why | None, Body()] = None
) -> TeamAnswer:
    """Let a team in that waits for the organiser's nod."""

    def approve(session: Session, team: Team, /, *, actor: Actor, reason: str) -> None:
        teams.approve_team(session, team, actor=actor)

    return _change_team(store, caller, team_id, approve, why or Why(reason="approved"))


worker_router = APIRouter(tags=["organising"], responses=describe_problems(401, 403))


@worker_router.get("/workers", summary="List workers")
def list_workers(caller: Organiser, store: Store) -> list[WorkerAnswer]:
    """All workers that ever reported, and what each one is doing; for organisers of the installation."""
    with store.read() as session:
        permissions.require_organiser(session, caller)
        alive = {worker.name for worker in workers.list_alive_workers(session)}
        held = _list_held_leases(session)
        rows = session.scalars(select(Worker).order_by(Worker.name)).all()
        return [WorkerAnswer.of(row, alive=row.name in alive, holds=held[row.name]) for row in rows]


def _list_held_leases(session: Session) -> dict[str, list[LeaseRow]]:
    held: dict[str, list[LeaseRow]] = defaultdict(list)
    query = select(LeaseRow).where(LeaseRow.released_at.is_(None)).options(joinedload(LeaseRow.job))
    for lease in session.scalars(query.order_by(LeaseRow.acquired_at)):
        held[lease.worker].append(lease)
    return held


@worker_router.post("/workers/drain", responses=describe_problems(404), summary="Drain workers")
def drain_workers(wanted: Drain, caller: Organiser, store: Store) -> Drained:
    """Finish what you hold and take nothing new: these workers, or all that are alive."""
    return _change_workers(store, caller, workers.drain_workers, wanted)


@worker_router.post("/workers/undrain", responses=describe_problems(404), summary="Let workers go on")
def undrain_workers(wanted: Drain, caller: Organiser, store: Store) -> Drained:
    """Take work again."""
    return _change_workers(store, caller, workers.undrain_workers, wanted)


def _change_workers(store: Database, caller: SignedIn, verb: Callable[..., list[str]], wanted: Drain) -> Drained:
    def change(session: Session) -> Drained:
        permissions.require_organiser(session, caller)
        return Drained(workers=verb(session, wanted.workers, actor=caller.actor, reason=wanted.reason))

    return store.run(change)


@worker_router.get("/queue", summary="Overview of the queue")
def show_queue(caller: Organiser, store: Store) -> QueueAnswer:
    """What waits, what runs, and who does it; for organisers of the installation."""
    with store.read() as session:
        permissions.require_organiser(session, caller)
        return QueueAnswer.of(read_gauges(session))


Moment = Annotated[AwareDatetime | None, Query(description="With a time zone.", examples=["2026-09-01T00:00:00Z"])]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which lines of the log are wanted."""

    action: Annotated[
        list[Annotated[str, Query(max_length=100)]] | None,
        Query(max_length=20, description="Only these, e.g. `quota.grant`."),
    ] = None
    actor: Annotated[str | None, Query(max_length=200, description="Only by them, e.g. `user:olga`.")] = None
    since: Moment = None
    until: Moment = None


Chosen = Annotated[AuditFilter, Depends()]


@worker_router.get("/audit", summary="Audit log of the installation")
def list_audit(caller: Organiser, store: Store, paged: Paged, chosen: Chosen) -> PageAnswer[AuditLine]:
    """Everything that was done, newest first; for organisers of the installation."""
    with store.read() as session:
        permissions.require_organiser(session, caller)
        return _list_audit_lines(session, Subject(), chosen, paged)


@worker_router.get(
    "/competitions/{competition}/audit", responses=describe_problems(404), summary="Audit log of a competition"
)
def list_competition_audit(
    competition: str,
    caller: Organiser,
    store: Store,
    paged: Paged,
    chosen: Chosen,
    team: UUID | None = None,
    submission: UUID | None = None,
) -> PageAnswer[AuditLine]:
    """Everything that was done in a competition, newest first; all of it, or about a team or a submission."""
    with store.read() as session:
        organised = permissions.get_organised_competition(session, caller, competition)
        subject = Subject(competition_id=organised.id, team_id=team, submission_id=submission)
        return _list_audit_lines(session, subject, chosen, paged)


def _list_audit_lines(session: Session, subject: Subject, chosen: AuditFilter, paged: Paging) -> PageAnswer[AuditLine]:
    found = audit.list_audit_events(
        session,
        subject=subject,
        actions=chosen.action or (),
        actor=chosen.actor,
        since=chosen.since,
        until=chosen.until,
        after=paged.cursor,
        limit=paged.limit,
    )
    return PageAnswer[AuditLine].of(found, AuditLine.from_row)
