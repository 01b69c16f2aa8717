"""A submission from its first byte to its score: creating it, watching it live, cancelling and repeating it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import access
from nav_eval_gateway.access import Sight
from nav_eval_gateway.live import Watcher
from nav_eval_gateway.pages.visiting import Form, Visit, Visiting, checked
from nav_eval_gateway.paging import Paging
from nav_eval_gateway.routes import evidence
from nav_eval_gateway.routes import submissions as submissions_api
from nav_eval_gateway.schemas.competitions import PhaseAnswer, PhaseState
from nav_eval_gateway.schemas.submissions import CancelReason, NewSubmission
from nav_eval_gateway.streaming import News, Told, event_stream
from nav_eval_store import boards, competitions, episodes, places, quota, teams
from nav_eval_store.blobs import BlobStore
from nav_eval_store.errors import NotFound
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Entry, EpisodeRow
from nav_eval_store.paging import LARGEST_PAGE
from nav_eval_store.tokens import Scope
from nav_eval_store.viewing import Audience

router = APIRouter(include_in_schema=False)
TAIL = 6000
"""Bytes of a log that the page shows; all of it is one click away."""
PATH = (State.CREATED, State.UPLOADING, State.VALIDATING, State.QUEUED, State.RUNNING, State.SCORING, State.COMPLETED)
MOVING = (State.VALIDATING, State.QUEUED, State.RUNNING)
"""Places in the queue and what an agent uses change without an event."""
_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


@router.get("/competitions/{name}/submit")
def show_submit(name: str, visit: Visiting) -> Response:
    """Choose a phase; the upload follows on the submission's own page."""
    user = visit.signed_in(Scope.SUBMIT).user
    with visit.services.database.read() as session:
        competition = competitions.competition_named(session, name)
        member = teams.team_of(session, user.id, competition)
        if member is None:
            return visit.go(f"/competitions/{competition.name}/team", visit.t("submit.team_first"), kind="bad")
        now = session.now()
        shown = [PhaseAnswer.of(phase, now) for phase in competition.phases]
        return visit.page(
            "submit.html.j2",
            competition=competition,
            team=member.team,
            phases=[phase for phase in shown if phase.state is PhaseState.OPEN],
            allowances={phase.name: quota.allowance(session, phase, member.team) for phase in competition.phases},
        )


@router.post("/competitions/{name}/submit")
def create_submission(name: str, visit: Visiting, form: Form) -> Response:
    caller = visit.signed_in(Scope.SUBMIT)
    wanted = checked(
        NewSubmission,
        visit.t,
        competition=name,
        phase=form.text("phase"),
        name=form.line("title", required=False),
        note=form.paragraph("note", required=False),
    )
    created = submissions_api.create_submission(wanted, caller, visit.services.database)
    return visit.go(f"/submissions/{created.id}")


@router.get("/submissions/{submission_id}")
def show_submission(submission_id: UUID, visit: Visiting) -> Response:
    """Everything about a submission that the reader may see."""
    return visit.page("submission.html.j2", **_context(visit, submission_id))


@router.get("/submissions/{submission_id}/live")
async def follow_submission(submission_id: UUID, visit: Visiting) -> Response:
    """The living part of the page, anew whenever something happened."""
    await run_in_threadpool(_refuse_strangers, visit, submission_id)
    reader = LivePart(visit, submission_id)
    return event_stream(visit.services, Watcher(submission_id=submission_id), reader, last=None)


def _refuse_strangers(visit: Visit, submission_id: UUID) -> None:
    with visit.services.database.read() as session:
        access.own_submission(session, visit.signed_in(), submission_id)


@dataclass(slots=True)
class LivePart:
    """Renders the living part; tells it only when it looks different."""

    visit: Visit
    submission_id: UUID
    _told: str = ""

    def __call__(self, last: int | None) -> News:
        context = _context(self.visit, self.submission_id)
        html = self.visit.html("submission_live.html.j2", **context)
        told = [] if html == self._told else [Told("part", {"html": html})]
        self._told = html
        state = context["answer"].status
        return News(told, last or 0, over=state.is_final, restless=state in MOVING)


def _context(visit: Visit, submission_id: UUID) -> dict[str, Any]:
    services, caller = visit.services, visit.caller
    with services.database.read() as session:
        answer = submissions_api.shown(session, caller, submission_id)
        sight = access.submission(session, caller, submission_id)
        phase = sight.submission.phase
        cells = boards.scores_of(session, sight.submission, sight.audience) if answer.scores else None
        rows = episodes.listing(session, sight.submission, limit=LARGEST_PAGE) if sight.shows("episodes") else None
        organises = access.is_organiser(session, caller, phase.competition)
        entry = session.get(Entry, submission_id) if answer.scores else None
        found = list(rows.items) if rows else []
        owner = sight.audience is not Audience.PUBLIC
        return {
            "answer": answer,
            "phase": phase,
            "competition": phase.competition,
            "path": PATH,
            "own": owner,
            "is_organiser": organises,
            "verified_at": entry.verified_at if entry is not None else None,
            "scores": cells or {},
            "directions": {metric["name"]: metric["higher_is_better"] for metric in phase.metrics},
            "episodes": found,
            "more_episodes": bool(rows and rows.next),
            "shows_replays": sight.shows("replays"),
            "shows_episodes": sight.shows("episodes"),
            "shows_logs": sight.shows("logs"),
            "log": _log(services.blobs, sight, found) if sight.shows("logs") else None,
            "artifacts": _artifacts(visit, submission_id) if answer.status.is_final else [],
            "usage": ((sight.submission.provenance or {}).get("usage") or answer.usage) if owner else None,
            "advice": _advice(visit, answer.cause, answer.advice),
            "limits": phase.config.limits,
        }


def _advice(visit: Visit, cause: str | None, advice: str | None) -> str | None:
    return None if cause is None else visit.t.get(f"advice.{cause}", advice or "")


def _artifacts(visit: Visit, submission_id: UUID) -> list[Any]:
    services = visit.services
    page = evidence.list_artifacts(submission_id, visit.caller, services.database, services.blobs, Paging(limit=100))
    return [item for item in page.items if not item.name.startswith("usage/")]


@dataclass(frozen=True, kw_only=True, slots=True)
class LogTail:
    """The end of what an agent printed."""

    text: str
    cut: bool  #: there is more before it
    episode: str | None  #: in which it was printed; None is between episodes


def _log(blobs: BlobStore, sight: Sight, rows: list[EpisodeRow]) -> LogTail | None:
    """Of the episode that ended last, else of the agent itself."""
    submission_id = sight.submission.id
    ended = [row for row in rows if row.recorded_at is not None]
    newest = max(ended, key=lambda row: (row.recorded_at, row.position), default=None)
    places_ = [(newest.episode_id, places.episode_log(submission_id, newest.episode_id))] if newest else []
    for episode, key in (*places_, (None, places.agent_log(submission_id))):
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
    form.confirm()
    caller = visit.signed_in(Scope.SUBMIT)
    submissions_api.cancel_submission(submission_id, caller, visit.services.database, CancelReason())
    return visit.go(f"/submissions/{submission_id}", visit.t("submission.cancelled"))


@router.post("/submissions/{submission_id}/rerun")
def rerun_submission(submission_id: UUID, visit: Visiting, form: Form) -> Response:
    """The same agent again; the new submission is shown."""
    form.confirm()
    caller, services = visit.signed_in(Scope.SUBMIT), visit.services
    again = submissions_api.rerun_submission(submission_id, caller, services.database, services.messenger)
    return visit.go(f"/submissions/{again.id}", visit.t("submission.again"))
