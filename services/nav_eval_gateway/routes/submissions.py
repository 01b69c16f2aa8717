"""Submissions: creating one, following it, cancelling and repeating it."""

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Query
from sqlalchemy import select

from nav_eval_gateway import access
from nav_eval_gateway.access import Caller, SignedIn
from nav_eval_gateway.dependencies import Reader, Store, Submitter, Visitor, Workers
from nav_eval_gateway.notify import Messenger
from nav_eval_gateway.paging import Page, Paged
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.submissions import CancelReason, NewSubmission, SubmissionAnswer, SubmissionSummary
from nav_eval_store import competitions, recovery, submissions, teams, uploads
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import StoreError
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Entry, Member, Score, Submission
from nav_eval_store.status import status
from nav_eval_store.submissions import Archive
from nav_eval_store.viewing import Audience

router = APIRouter(tags=["submissions"])


@router.post("/submissions", status_code=201, responses=problems(401, 403, 404, 409))
def create_submission(wanted: NewSubmission, caller: Submitter, store: Store) -> SubmissionAnswer:
    """Reserve a slot of the quota. One that still waits for the same archive is given back instead of a second one."""

    def create(session: Session) -> SubmissionAnswer:
        phase = access.phase(session, wanted.competition, wanted.phase)
        team = access.team_in(session, caller, phase.competition)
        uploads.refuse_length(phase, wanted.size)
        created = submissions.start(
            session,
            phase,
            team,
            user=caller.user,
            actor=caller.actor,
            title=wanted.name,
            note=wanted.note,
            archive=Archive(wanted.sha256, wanted.size),
        )
        return shown(session, caller, created.id)

    return store.run(create)


@router.get("/submissions", responses=problems(401, 403, 404))
def list_submissions(
    caller: Reader,
    store: Store,
    paged: Paged,
    competition: Annotated[str | None, Query(max_length=63)] = None,
    phase: Annotated[str | None, Query(max_length=63, description="Only with `competition`.")] = None,
    team: UUID | None = None,
    status: Annotated[list[State] | None, Query(max_length=9)] = None,
) -> Page[SubmissionSummary]:
    """Your teams' submissions, newest first; an organiser's are those of all teams."""
    if phase is not None and competition is None:
        raise StoreError("`phase` needs `competition`: phases of different competitions may have the same name.")
    with store.read() as session:
        entered = None if competition is None else competitions.competition_named(session, competition)
        chosen = None if entered is None or phase is None else competitions.phase_named(session, entered, phase)
        page = submissions.listing(
            session,
            competition=entered,
            phase=chosen,
            team=None if team is None else access.team(session, caller, team).team,
            team_ids=None if access.is_organiser(session, caller, entered) else _teams(session, caller),
            states=status or (),
            after=paged.cursor,
            limit=paged.limit,
        )
        return Page[SubmissionSummary].of(page, SubmissionSummary.of)


def _teams(session: Session, caller: SignedIn) -> list[UUID]:
    return list(session.scalars(select(Member.team_id).where(Member.user_id == caller.user.id)))


@router.get("/submissions/{submission_id}", responses=problems(401, 404))
def show_submission(submission_id: UUID, caller: Visitor, store: Store) -> SubmissionAnswer:
    """Where a submission stands: state and reason, place in the queue, progress, scores."""
    with store.read() as session:
        return shown(session, caller, submission_id)


def shown(session: Session, caller: Caller, submission_id: UUID) -> SubmissionAnswer:
    """A submission as the caller may see it."""
    sight = access.submission(session, caller, submission_id)
    submission = sight.submission
    entry = session.get(Entry, submission.id)
    if sight.audience is Audience.PUBLIC:
        return SubmissionAnswer.public(submission, entry, _scores(session, submission))
    return SubmissionAnswer.full(
        submission,
        status(session, submission),
        uploads=uploads.uploads_of(session, submission),
        entry=entry,
        scores=_scores(session, submission) if sight.shows("scores") else None,
    )


def _scores(session: Session, submission: Submission) -> list[Score]:
    query = select(Score).where(Score.submission_id == submission.id).order_by(Score.position)
    return list(session.scalars(query))


@router.post("/submissions/{submission_id}/submit", responses=problems(401, 403, 404, 409))
def submit(submission_id: UUID, caller: Submitter, store: Store, workers: Workers) -> SubmissionAnswer:
    """Everything is uploaded: check and evaluate it. Happens by itself when the image is complete. Twice is once."""

    def hand_in(session: Session) -> UUID:
        own = access.own_submission(session, caller, submission_id)
        return uploads.submit(session, own.id, actor=caller.actor).id

    return and_tell(store, workers, caller, hand_in)


@router.post("/submissions/{submission_id}/cancel", responses=problems(401, 403, 404))
def cancel_submission(
    submission_id: UUID,
    caller: Submitter,
    store: Store,
    why: Annotated[CancelReason, Body()] = CancelReason(),  # noqa: B008  immutable
) -> SubmissionAnswer:
    """End a submission now: its containers stop within seconds. One that has ended is left as it is."""

    def cancel(session: Session) -> SubmissionAnswer:
        own = access.own_submission(session, caller, submission_id)
        submissions.cancel(session, own.id, actor=caller.actor, reason=why.reason)
        return shown(session, caller, submission_id)

    return store.run(cancel)


@router.post("/submissions/{submission_id}/rerun", status_code=201, responses=problems(401, 403, 404, 409))
def rerun_submission(submission_id: UUID, caller: Submitter, store: Store, workers: Workers) -> SubmissionAnswer:
    """The same agent again, as a submission of its own. Costs a slot, unless an organiser of another team asks."""

    def rerun(session: Session) -> UUID:
        own = access.own_submission(session, caller, submission_id)
        is_member = teams.membership(session, caller.user.id, own.team_id) is not None
        again = submissions.rerun(session, own.id, actor=caller.actor, user=caller.user, by_organiser=not is_member)
        return again.id

    return and_tell(store, workers, caller, rerun)


def and_tell(store: Database, workers: Messenger, caller: Caller, deed: Callable[[Session], UUID]) -> SubmissionAnswer:
    """Do it; once it is done, tell the workers about the jobs that wait."""

    def act(session: Session) -> tuple[SubmissionAnswer, list[recovery.Message]]:
        submission_id = deed(session)
        messages = recovery.untold(session, submission_id)
        return shown(session, caller, submission_id), messages

    answer, messages = store.run(act)
    workers.tell(messages)
    return answer
