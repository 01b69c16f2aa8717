"""A submission from its first byte to its score: creating it, watching it live, cancelling and repeating it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.pages import evidence
from nav_eval_gateway.pages.context import Form, Visit, Visiting, require_confirmation, validate_fields
from nav_eval_gateway.pages.showcase import find_public_board
from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_gateway.routes import artifacts
from nav_eval_gateway.routes import submissions as submissions_api
from nav_eval_gateway.schemas.base import Paging
from nav_eval_gateway.schemas.competitions import PhaseAnswer, PhaseState
from nav_eval_gateway.schemas.submissions import CancelReason, NewSubmission
from nav_eval_gateway.server_sent_events import EventBatch, ServerSentEvent, Subscription
from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.boards import leaderboard
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import LARGEST_PAGE, Session
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import BoardEntry, EpisodeRow, TeamMember
from nav_eval_store.people import addresses, teams
from nav_eval_store.people.accounts import Scope
from nav_eval_store.submissions import queries, quota
from nav_eval_store.submissions.lifecycle import SubmissionState

router = APIRouter(include_in_schema=False)
TAIL = 6000
"""Bytes of a log that the page shows; all of it is one click away."""
PATH = (
    SubmissionState.CREATED,
    SubmissionState.UPLOADING,
    SubmissionState.VALIDATING,
    SubmissionState.QUEUED,
    SubmissionState.RUNNING,
    SubmissionState.SCORING,
    SubmissionState.COMPLETED,
)
MOVING = (SubmissionState.VALIDATING, SubmissionState.QUEUED, SubmissionState.RUNNING)
"""Places in the queue and what an agent uses change without an event."""
_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


@router.get("/competitions/{name}/submit")
def show_submit(name: str, visit: Visiting) -> Response:
    """Choose a phase; the upload follows on the submission's own page."""
    user = visit.require_user(Scope.SUBMIT).user
    with visit.store.read() as session:
        competition = configuration.get_competition(session, name)
        member = teams.find_member_of_competition(session, user.id, competition)
        if member is None:
            return visit.go(f"/competitions/{competition.name}/team", visit.t("submit.team_first"), kind="bad")
        now = session.now()
        shown = [PhaseAnswer.of(phase, now) for phase in competition.phases]
        return visit.page(
            "submit.html.j2",
            competition=competition,
            doubt=_find_doubt(visit, session, member),
            team=member.team,
            phases=[phase for phase in shown if phase.state is PhaseState.OPEN],
            allowances={
                phase.name: quota.compute_allowance(session, phase, member.team) for phase in competition.phases
            },
        )


def _find_doubt(visit: Visit, session: Session, member: TeamMember) -> str | None:
    """Why they could not submit, whatever the phase."""
    try:
        addresses.refuse_ineligible_team(session, member.team, user=member.user)
    except NotAllowed as doubt:
        return visit.t.refusal(doubt.pattern, doubt.values)
    return None


@router.post("/competitions/{name}/submit")
def create_submission(name: str, visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.SUBMIT)
    wanted = validate_fields(
        NewSubmission,
        visit.t,
        competition=name,
        phase=form.text("phase"),
        name=form.line("title", required=False),
        note=form.paragraph("note", required=False),
    )
    created = submissions_api.create_submission(wanted, caller, visit.store)
    return visit.go(f"/submissions/{created.id}")


@router.get("/submissions/{submission_id}")
async def show_submission(submission_id: UUID, visit: Visiting) -> Response:
    """Everything about a submission that the reader may see."""
    context = await run_in_threadpool(_make_context, visit, submission_id)
    _, board = await find_public_board(visit, context["competition"].name, context["phase"].name)
    cited = any(row.submission_id == submission_id for row in board.rows)
    return await run_in_threadpool(visit.page, "submission.html.j2", cited=cited, **context)


@router.get("/submissions/{submission_id}/live")
async def follow_submission(submission_id: UUID, visit: Visiting) -> Response:
    """The living part of the page, anew whenever something happened."""
    await run_in_threadpool(_refuse_strangers, visit, submission_id)
    reader = LivePart(visit, submission_id)
    release = visit.services.limits.count_stream(visit.request.scope)
    return visit.services.events.stream(Subscription(submission_id=submission_id), reader, last=None, release=release)


def _refuse_strangers(visit: Visit, submission_id: UUID) -> None:
    with visit.store.read() as session:
        permissions.get_own_submission(session, visit.require_user(), submission_id)


@dataclass(slots=True)
class LivePart:
    """Renders the living part; tells it only when it looks different."""

    visit: Visit
    submission_id: UUID
    _told: str = ""

    def __call__(self, last: int | None) -> EventBatch:
        with self.visit.services.database.read() as session:
            permissions.refuse_ended(session, self.visit.caller)
        context = _make_context(self.visit, self.submission_id)
        html = self.visit.html("submission_live.html.j2", **context)
        told = [] if html == self._told else [ServerSentEvent("part", {"html": html})]
        self._told = html
        state = context["answer"].status
        return EventBatch(told, last or 0, is_last=state.is_final, poll_again=state in MOVING)


def _make_context(visit: Visit, submission_id: UUID) -> dict[str, Any]:
    services, caller = visit.services, visit.caller
    with services.database.read() as session:
        answer = submissions_api.describe_submission(session, caller, submission_id)
        access = permissions.get_submission(session, caller, submission_id)
        phase = access.submission.phase
        cells = leaderboard.read_scores(session, access.submission, access.audience) if answer.scores else None
        is_listed = access.shows("episodes") or access.shows("replays")
        rows = queries.list_episodes(session, access.submission, limit=LARGEST_PAGE) if is_listed else None
        organises = permissions.is_organiser(session, caller, phase.competition)
        entry = session.get(BoardEntry, submission_id) if answer.scores else None
        found = list(rows.items) if rows else []
        owner = access.audience is not Audience.PUBLIC
        return {
            "answer": answer,
            "phase": phase,
            "competition": phase.competition,
            "path": PATH,
            "own": owner,
            "team_id": access.submission.team_id,
            "profiled": permissions.is_shown_team(access.submission.team),
            "is_organiser": organises,
            "verified_at": entry.verified_at if entry is not None else None,
            "scores": cells or {},
            "evidence": evidence.gather_evidence(access, entry),
            "directions": {metric["name"]: metric["higher_is_better"] for metric in phase.metrics},
            "episodes": found,
            "more_episodes": bool(rows and rows.next),
            "shows_replays": access.shows("replays"),
            "shows_episodes": access.shows("episodes"),
            "shows_logs": access.shows("logs"),
            "log": _read_log_tail(services.blobs, access, found) if access.shows("logs") else None,
            "artifacts": _list_artifacts(visit, submission_id) if answer.status.is_final else [],
            "usage": ((access.submission.provenance or {}).get("usage") or answer.usage) if owner else None,
            "advice": answer.cause and visit.t.get(f"advice.{answer.cause}", answer.advice or ""),
            "limits": phase.config.limits,
        }


def _list_artifacts(visit: Visit, submission_id: UUID) -> list[Any]:
    services = visit.services
    page = artifacts.list_artifacts(submission_id, visit.caller, services.database, services.blobs, Paging(limit=100))
    return [item for item in page.items if not item.name.startswith("usage/")]


@dataclass(frozen=True, kw_only=True, slots=True)
class LogTail:
    """The end of what an agent printed."""

    text: str
    cut: bool  #: there is more before it
    episode: str | None  #: in which it was printed; None is between episodes


def _read_log_tail(blobs: BlobStore, access: SubmissionAccess, rows: list[EpisodeRow]) -> LogTail | None:
    """Of the episode that ended last, else of the agent itself."""
    submission_id = access.submission.id
    ended = [row for row in rows if row.recorded_at is not None]
    newest = max(ended, key=lambda row: (row.recorded_at, row.position), default=None)
    places_ = [(newest.episode_id, blob_keys.make_episode_log_key(submission_id, newest.episode_id))] if newest else []
    for episode, key in (*places_, (None, blob_keys.make_agent_log_key(submission_id))):
        try:
            size = blobs.size(key)
        except NotFound:
            continue
        if size:
            data = b"".join(blobs.stream(key, start=max(0, size - TAIL)))
            text = data.decode(errors="replace").replace("\r\n", "\n").translate(_CONTROL)
            return LogTail(text=text, cut=size > TAIL, episode=episode)
    return None


@router.post("/submissions/{submission_id}/cancel")
def cancel_submission(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.SUBMIT)
    submissions_api.cancel_submission(submission_id, caller, visit.store, CancelReason())
    return visit.go(f"/submissions/{submission_id}", visit.t("submission.cancelled"))


@router.post("/submissions/{submission_id}/rerun")
def rerun_submission(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    """The same agent again; the new submission is shown."""
    caller, services = require_confirmation(visit, form, Scope.SUBMIT), visit.services
    again = submissions_api.rerun_submission(submission_id, caller, services.database, services.publisher)
    return visit.go(f"/submissions/{again.id}", visit.t("submission.again"))
