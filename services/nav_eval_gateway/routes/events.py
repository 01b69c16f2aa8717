"""Live events, as server-sent events."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Parts, Reader, Services, Visitor
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.event_readers import CompetitionReader, SubmissionReader
from nav_eval_gateway.permissions import Caller
from nav_eval_gateway.server_sent_events import Subscription, parse_last_event_id
from nav_eval_store.competitions import configuration

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
    responses={**STREAM, **describe_problems(401, 403, 404)},
)
async def follow_submission(
    request: Request, submission_id: UUID, caller: Reader, parts: Parts, last_seen: LastEventId = None
) -> StreamingResponse:
    """`status`, `canary`, `progress`, and `done` at the end. Comments keep the connection alive."""
    await run_in_threadpool(_refuse_strangers, parts, caller, submission_id)
    reader = SubmissionReader(parts.database, caller, submission_id)
    release = parts.limits.count_stream(request.scope)
    return parts.events.stream(
        Subscription(submission_id=submission_id), reader, last=parse_last_event_id(last_seen), release=release
    )


def _refuse_strangers(parts: Services, caller: Caller, submission_id: UUID) -> None:
    with parts.database.read() as session:
        permissions.get_own_submission(session, caller, submission_id)


@router.get(
    "/competitions/{competition}/events",
    response_class=StreamingResponse,
    responses={**STREAM, **describe_problems(401, 404)},
)
async def follow_competition(
    request: Request, competition: str, caller: Visitor, parts: Parts, last_seen: LastEventId = None
) -> StreamingResponse:
    """What happens from now on: `board.changed`, `phase.changed`, and what concerns your own submissions."""
    competition_id = await run_in_threadpool(_find_competition_id, parts, competition)
    reader = CompetitionReader(parts.database, caller, competition_id)
    subscription = Subscription(competition_id=competition_id, is_stranger=caller.user is None)
    release = parts.limits.count_stream(request.scope)
    return parts.events.stream(subscription, reader, last=parse_last_event_id(last_seen), release=release)


def _find_competition_id(parts: Services, name: str) -> UUID:
    with parts.database.read() as session:
        return configuration.get_competition(session, name).id
