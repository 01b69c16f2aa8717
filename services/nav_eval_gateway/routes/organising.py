"""The organiser's verbs. Each says why, and each is a line of the audit log."""

from collections.abc import Callable
from typing import Annotated, Protocol
from uuid import UUID

from fastapi import APIRouter, Body

from nav_eval_gateway import access
from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.dependencies import Organiser, Store, Workers
from nav_eval_gateway.notify import Messenger
from nav_eval_gateway.problems import problems
from nav_eval_gateway.routes.submissions import and_tell, shown
from nav_eval_gateway.schemas.competitions import PhaseAnswer
from nav_eval_gateway.schemas.organising import Grant, NewPriority, Started, Why
from nav_eval_gateway.schemas.people import QuotaAnswer, TeamAnswer
from nav_eval_gateway.schemas.submissions import SubmissionAnswer
from nav_eval_store import audit, organising, quota, recovery, submissions, teams
from nav_eval_store.actors import Actor
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import Phase, Submission, Team

router = APIRouter(tags=["organising"], responses=problems(401, 403, 404))
PHASE = "/competitions/{competition}/phases/{phase}"
SUBMISSION = "/submissions/{submission_id}"
TEAM = "/teams/{team_id}"


class PhaseVerb(Protocol):
    """Something that an organiser does to a phase."""

    def __call__(self, session: Session, phase: Phase, /, *, actor: Actor, reason: str) -> object: ...


def organised_phase(session: Session, caller: SignedIn, competition: str, name: str) -> Phase:
    """A phase for the organiser of its competition."""
    found = access.phase(session, competition, name)
    access.require_organiser(session, caller, found.competition)
    return found


def organised_submission(session: Session, caller: SignedIn, submission_id: UUID) -> Submission:
    """A submission for its organiser; for those who may not see it there is none."""
    found = access.submission(session, caller, submission_id).submission
    access.require_organiser(session, caller, found.phase.competition)
    return found


def organised_team(session: Session, caller: SignedIn, team_id: UUID) -> Team:
    """A team for its organiser; for strangers there is none."""
    found = access.team(session, caller, team_id).team
    access.require_organiser(session, caller, found.competition)
    return found


def _change_phase(
    store: Database, caller: SignedIn, competition: str, name: str, verb: PhaseVerb, why: Why
) -> PhaseAnswer:
    def change(session: Session) -> PhaseAnswer:
        phase = organised_phase(session, caller, competition, name)
        verb(session, phase, actor=caller.actor, reason=why.reason)
        return PhaseAnswer.of(phase, session.now())

    return store.run(change)


@router.post(f"{PHASE}/pause", summary="Pause a phase")
def pause_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Take no submissions and start no jobs; what runs ends. The reason is shown to everybody."""
    return _change_phase(store, caller, competition, phase, organising.pause_phase, why)


@router.post(f"{PHASE}/resume", summary="Resume a phase")
def resume_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Go on after a pause; workers hear of what waits within a minute."""
    return _change_phase(store, caller, competition, phase, organising.resume_phase, why)


@router.post(f"{PHASE}/close", summary="Close a phase")
def close_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Take no submissions from now on; what was submitted is evaluated to its end."""
    return _change_phase(store, caller, competition, phase, organising.close_phase, why)


@router.post(f"{PHASE}/reopen", summary="Reopen a phase")
def reopen_phase(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Undo a closing: the phase closes when its configuration says."""
    return _change_phase(store, caller, competition, phase, organising.reopen_phase, why)


@router.post(f"{PHASE}/publish", summary="Publish a board")
def publish_board(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """Show a board to everybody that was for organisers or teams only."""
    return _change_phase(store, caller, competition, phase, organising.publish_board, why)


@router.post(f"{PHASE}/withdraw", summary="Withdraw a board")
def withdraw_board(competition: str, phase: str, why: Why, caller: Organiser, store: Store) -> PhaseAnswer:
    """The board is again for those that the configuration names."""
    return _change_phase(store, caller, competition, phase, organising.withdraw_board, why)


@router.post(f"{PHASE}/reevaluate", status_code=202, responses=problems(409), summary="Evaluate all again")
def reevaluate_all(
    competition: str, phase: str, why: Why, caller: Organiser, store: Store, workers: Workers
) -> Started:
    """Run every completed submission again; each takes the place of what it repeats when it is done. Costs no quota."""

    def start(session: Session) -> list[Submission]:
        row = organised_phase(session, caller, competition, phase)
        return organising.reevaluate_all(session, row, actor=caller.actor, reason=why.reason)

    return _started(store, workers, start)


@router.post(f"{PHASE}/baselines", status_code=202, responses=problems(409), summary="Run the baselines")
def run_baselines(competition: str, phase: str, why: Why, caller: Organiser, store: Store, workers: Workers) -> Started:
    """Evaluate those of the phase's baselines that have no result and are not under way."""

    def start(session: Session) -> list[Submission]:
        row = organised_phase(session, caller, competition, phase)
        started = organising.run_baselines(session, row, actor=caller.actor)
        about = audit.about(row)
        audit.record(session, caller.actor, "phase.baselines", about, reason=why.reason, submissions=len(started))
        return started

    return _started(store, workers, start)


def _started(store: Database, workers: Messenger, start: Callable[[Session], list[Submission]]) -> Started:
    def act(session: Session) -> tuple[list[UUID], list[recovery.Message]]:
        ids = [submission.id for submission in start(session)]
        return ids, [message for key in ids for message in recovery.untold(session, key)]

    ids, messages = store.run(act)
    workers.tell(messages)
    return Started(submissions=ids)


@router.post(f"{PHASE}/grants", status_code=201, summary="Grant quota")
def grant_quota(competition: str, phase: str, wanted: Grant, caller: Organiser, store: Store) -> QuotaAnswer:
    """More submissions for a team: on top of its total, and of the next 24 hours."""

    def grant(session: Session) -> QuotaAnswer:
        row = organised_phase(session, caller, competition, phase)
        team = session.get(Team, wanted.team_id)
        if team is None or team.competition_id != row.competition_id:
            raise NotFound("There is no such team in this competition.")
        organising.grant_quota(session, row, team, wanted.amount, actor=caller.actor, reason=wanted.reason)
        session.flush()
        return QuotaAnswer.of(row.name, quota.allowance(session, row, team))

    return store.run(grant)


class SubmissionVerb(Protocol):
    """Something that an organiser does to a submission on the board."""

    def __call__(self, session: Session, submission_id: UUID, /, *, actor: Actor, reason: str) -> object: ...


def _change_submission(
    store: Database, caller: SignedIn, submission_id: UUID, verb: SubmissionVerb, why: Why
) -> SubmissionAnswer:
    def change(session: Session) -> SubmissionAnswer:
        organised_submission(session, caller, submission_id)
        verb(session, submission_id, actor=caller.actor, reason=why.reason)
        session.flush()
        return shown(session, caller, submission_id)

    return store.run(change)


@router.post(f"{SUBMISSION}/hide", responses=problems(409), summary="Hide a submission")
def hide_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Take a completed submission off the board, for now."""
    return _change_submission(store, caller, submission_id, organising.hide, why)


@router.post(f"{SUBMISSION}/disqualify", responses=problems(409), summary="Disqualify a submission")
def disqualify_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Take a completed submission off the board for good; its team sees why."""
    return _change_submission(store, caller, submission_id, organising.disqualify, why)


@router.post(f"{SUBMISSION}/show", responses=problems(409), summary="Show a submission again")
def show_submission_again(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Put a submission back on the board."""
    return _change_submission(store, caller, submission_id, organising.show, why)


@router.post(f"{SUBMISSION}/stop", summary="Cancel any submission")
def stop_submission(submission_id: UUID, why: Why, caller: Organiser, store: Store) -> SubmissionAnswer:
    """End anybody's submission now, and tell its team why. One that has ended is left as it is."""
    return _change_submission(store, caller, submission_id, submissions.cancel, why)


@router.post(f"{SUBMISSION}/reevaluate", status_code=202, responses=problems(409), summary="Evaluate one again")
def reevaluate_submission(
    submission_id: UUID, why: Why, caller: Organiser, store: Store, workers: Workers
) -> SubmissionAnswer:
    """The same agent again; it takes the place of this one on the board when it completes. Costs no quota."""

    def again(session: Session) -> UUID:
        original = organised_submission(session, caller, submission_id)
        audit.record(session, caller.actor, "submission.reevaluate", audit.about(original), reason=why.reason)
        return submissions.rerun(session, original.id, actor=caller.actor, by_organiser=True).id

    return and_tell(store, workers, caller, again)


@router.put(f"{SUBMISSION}/priority", summary="Set a priority")
def set_priority(submission_id: UUID, wanted: NewPriority, caller: Organiser, store: Store) -> SubmissionAnswer:
    """Let a submission go before (or after) all others, whoever they are from."""

    def change(session: Session) -> SubmissionAnswer:
        organised_submission(session, caller, submission_id)
        actor = caller.actor
        organising.set_priority(session, submission_id, wanted.priority, actor=actor, reason=wanted.reason)
        return shown(session, caller, submission_id)

    return store.run(change)


class TeamVerb(Protocol):
    """Something that an organiser does to a team."""

    def __call__(self, session: Session, team: Team, /, *, actor: Actor, reason: str) -> object: ...


def _change_team(store: Database, caller: SignedIn, team_id: UUID, verb: TeamVerb, why: Why) -> TeamAnswer:
    def change(session: Session) -> TeamAnswer:
        team = organised_team(session, caller, team_id)
        verb(session, team, actor=caller.actor, reason=why.reason)
        session.flush()
        return TeamAnswer.of(team, teams.members(session, team))

    return store.run(change)


@router.post(f"{TEAM}/disqualify", summary="Disqualify a team")
def disqualify_team(team_id: UUID, why: Why, caller: Organiser, store: Store) -> TeamAnswer:
    """Off every board of the competition; what it has under way is cancelled, and it may not submit."""
    return _change_team(store, caller, team_id, organising.disqualify_team, why)


@router.post(f"{TEAM}/reinstate", summary="Reinstate a team")
def reinstate_team(team_id: UUID, why: Why, caller: Organiser, store: Store) -> TeamAnswer:
    """Undo a disqualification."""
    return _change_team(store, caller, team_id, organising.reinstate_team, why)


@router.post(f"{TEAM}/approve", summary="Let a team in")
def approve_team(
    team_id: UUID,
    caller: Organiser,
    store: Store,
    why: Annotated[Why | None, Body()] = None,
) -> TeamAnswer:
    """Let a team in that waits for the organiser's nod."""

    def approve(session: Session, team: Team, /, *, actor: Actor, reason: str) -> None:
        teams.approve_team(session, team, actor=actor)

    return _change_team(store, caller, team_id, approve, why or Why(reason="approved"))
