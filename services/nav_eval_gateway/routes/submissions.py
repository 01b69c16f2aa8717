"""Submissions: creating one, following it, cancelling and repeating it."""

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body, Query
from sqlalchemy import select

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Reader, Store, Submitter, Visitor, Workers
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import Caller, SignedIn
from nav_eval_gateway.schemas.base import PageAnswer, Paged
from nav_eval_gateway.schemas.submissions import CancelReason, NewSubmission, SubmissionAnswer, SubmissionSummary
from nav_eval_gateway.task_publisher import TaskPublisher
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import StoreError
from nav_eval_store.models import BoardEntry, Score, Submission, TeamMember
from nav_eval_store.people import teams
from nav_eval_store.submissions import creation, queries
from nav_eval_store.submissions.creation import Archive
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.submissions.status import read_status
from nav_eval_store.uploads import records
from nav_eval_store.work import dispatch
from nav_eval_store.work.queues import JobMessage

router = APIRouter(tags=["submissions"])


@router.post("/submissions", status_code=201, responses=describe_problems(401, 403, 404, 409))
def create_submission(wanted: NewSubmission, caller: Submitter, store: Store) -> SubmissionAnswer:
    """Reserve a slot of the quota. One that still waits for the same archive is given back instead of a second one."""

    def create(session: Session) -> SubmissionAnswer:
        phase = permissions.get_phase(session, wanted.competition, wanted.phase)
        team = permissions.get_own_team(session, caller, phase.competition)
        records.refuse_length(phase, wanted.size)
        created = creation.start_submission(
            session,
            phase,
            team,
            user=caller.user,
            actor=caller.actor,
            title=wanted.name,
            note=wanted.note,
            archive=Archive(wanted.sha256, wanted.size),
        )
        return describe_submission(session, caller, created.id)

    return store.run(create)


@router.get("/submissions", responses=describe_problems(401, 403, 404))
def list_submissions(
    caller: Reader,
    store: Store,
    paged: Paged,
    competition: Annotated[str | None, Query(max_length=63)] = None,
    phase: Annotated[str | None, Query(max_length=63, description="Only with `competition`.")] = None,
    team: UUID | None = None,
    status: Annotated[list[SubmissionState] | None, Query(max_length=9)] = None,
    q: Annotated[
        str | None, Query(max_length=200, description="A part of a team's or submission's name, or `#12`.")
    ] = None,
) -> PageAnswer[SubmissionSummary]:
    """Your teams' submissions, newest first; an organiser's are those of all teams."""
    if phase is not None and competition is None:
        raise StoreError("`phase` needs `competition`: phases of different competitions may have the same name.")
    with store.read() as session:
        entered = None if competition is None else configuration.get_competition(session, competition)
        chosen = None if entered is None or phase is None else configuration.get_phase(session, entered, phase)
        page = queries.list_submissions(
            session,
            competition=entered,
            phase=chosen,
            team=None if team is None else permissions.get_team(session, caller, team).team,
            team_ids=None if permissions.is_organiser(session, caller, entered) else _list_team_ids(session, caller),
            states=status or (),
            search=None if q is None else q.strip(),
            after=paged.cursor,
            limit=paged.limit,
        )
        return PageAnswer[SubmissionSummary].of(page, SubmissionSummary.of)


def _list_team_ids(session: Session, caller: SignedIn) -> list[UUID]:
    return list(session.scalars(select(TeamMember.team_id).where(TeamMember.user_id == caller.user.id)))


@router.get("/submissions/{submission_id}", responses=describe_problems(401, 404))
def show_submission(submission_id: UUID, caller: Visitor, store: Store) -> SubmissionAnswer:
    """Where a submission stands: state and reason, place in the queue, progress, scores."""
    with store.read() as session:
        return describe_submission(session, caller, submission_id)


def describe_submission(session: Session, caller: Caller, submission_id: UUID) -> SubmissionAnswer:
    """A submission as the caller may see it."""
    access = permissions.get_submission(session, caller, submission_id)
    submission = access.submission
    entry = session.get(BoardEntry, submission.id)
    if access.audience is Audience.PUBLIC:
        return SubmissionAnswer.public(submission, entry, _read_scores(session, submission))
    return SubmissionAnswer.full(
        submission,
        read_status(session, submission, audience=access.audience),
        uploads=records.list_uploads(session, submission),
        entry=entry,
        scores=_read_scores(session, submission) if access.shows("scores") else None,
        shows_means=access.shows_means(),
        shows_identities=access.shows("episodes"),
        is_organiser=access.audience is Audience.ORGANISER,
    )


def _read_scores(session: Session, submission: Submission) -> list[Score]:
    query = select(Score).where(Score.submission_id == submission.id).order_by(Score.position)
    return list(session.scalars(query))


@router.post("/submissions/{submission_id}/submit", responses=describe_problems(401, 403, 404, 409))
def submit(submission_id: UUID, caller: Submitter, store: Store, workers: Workers) -> SubmissionAnswer:
    """Everything is uploaded: check and evaluate it. Happens by itself when the image is complete. Twice is once."""

    def submit_own(session: Session) -> UUID:
        own = permissions.get_own_submission(session, caller, submission_id)
        return records.submit_uploaded(session, own.id, actor=caller.actor).id

    return run_and_notify(store, workers, caller, submit_own)


@router.post("/submissions/{submission_id}/cancel", responses=describe_problems(401, 403, 404))
def cancel_submission(
    submission_id: UUID,
    caller: Submitter,
    store: Store,
    why: Annotated[CancelReason, Body()] = CancelReason(),  # noqa: B008  immutable
) -> SubmissionAnswer:
    """End a submission now: its containers stop within seconds. One that has ended is left as it is."""

    def cancel(session: Session) -> SubmissionAnswer:
        own = permissions.get_own_submission(session, caller, submission_id)
        creation.cancel_open_submission(session, own.id, actor=caller.actor, reason=why.reason)
        return describe_submission(session, caller, submission_id)

    return store.run(cancel)


@router.post("/submissions/{submission_id}/rerun", status_code=201, responses=describe_problems(401, 403, 404, 409))
def rerun_submission(submission_id: UUID, caller: Submitter, store: Store, workers: Workers) -> SubmissionAnswer:
    """The same agent again, as a submission of its own. Costs a slot, unless an organiser of another team asks."""

    def rerun(session: Session) -> UUID:
        own = permissions.get_own_submission(session, caller, submission_id)
        is_member = teams.find_member_of_team(session, caller.user.id, own.team_id) is not None
        again = creation.rerun_submission(
            session, own.id, actor=caller.actor, user=caller.user, by_organiser=not is_member
        )
        return again.id

    return run_and_notify(store, workers, caller, rerun)


def run_and_notify(
    store: Database, workers: TaskPublisher, caller: Caller, deed: Callable[[Session], UUID]
) -> SubmissionAnswer:
    """Do it; once it is done, tell the workers about the jobs that wait."""

    def act(session: Session) -> tuple[SubmissionAnswer, list[JobMessage]]:
        submission_id = deed(session)
        messages = dispatch.dispatch_jobs(session)
        return describe_submission(session, caller, submission_id), messages

    answer, messages = store.run(act)
    workers.publish(messages)
    return answer
