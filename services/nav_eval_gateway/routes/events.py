"""Live events, as server-sent events."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from nav_eval_gateway import access
from nav_eval_gateway.access import Caller
from nav_eval_gateway.dependencies import Parts, Reader, Visitor
from nav_eval_gateway.live import Watcher
from nav_eval_gateway.problems import problems
from nav_eval_gateway.services import Services
from nav_eval_gateway.streaming import CompetitionReader, SubmissionReader, event_stream, last_event_id
from nav_eval_store import competitions

router = APIRouter(tags=["events"])
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", max_length=50, description="The id of the last event that you have.")
]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "A stream without an end.", "content": {"text/event-stream": {"schema": {}}}}
}


@router.get(
    "/submissions/{submission_id}/events",
    response_class=StreamingResponse,
    responses={**STREAM, **problems(401, 403, 404)},
)
async def follow_submission(
    submission_id: UUID, caller: Reader, parts: Parts, last_seen: LastEventId = None
) -> StreamingResponse:
    """`status`, `canary`, `progress`, and `done` at the end. Comments keep the connection alive."""
    await run_in_threadpool(_refuse_strangers, parts, caller, submission_id)
    reader = SubmissionReader(parts.database, caller, submission_id)
    return event_stream(parts, Watcher(submission_id=submission_id), reader, last=last_event_id(last_seen))


def _refuse_strangers(parts: Services, caller: Caller, submission_id: UUID) -> None:
    with parts.database.read() as session:
        access.own_submission(session, caller, submission_id)


@router.get(
    "/competitions/{competition}/events",
    response_class=StreamingResponse,
    responses={**STREAM, **problems(401, 404)},
)
async def follow_competition(
    competition: str, caller: Visitor, parts: Parts, last_seen: LastEventId = None
) -> StreamingResponse:
    """What happens from now on: `board.changed`, `phase.changed`, and what concerns your own submissions."""
    competition_id = await run_in_threadpool(_competition_id, parts, competition)
    reader = CompetitionReader(parts.database, caller, competition_id)
    return event_stream(parts, Watcher(competition_id=competition_id), reader, last=last_event_id(last_seen))


def _competition_id(parts: Services, name: str) -> UUID:
    with parts.database.read() as session:
        return competitions.competition_named(session, name).id
