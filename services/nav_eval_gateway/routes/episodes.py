"""The episodes of a submission: results, replays and films; as much of them as somebody may see."""

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Blobs, Store, Submitter, Visitor, Workers
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_gateway.schemas.base import PageAnswer, Paged
from nav_eval_gateway.schemas.submissions import EpisodeAnswer, FilmAnswer, FilmAvailability
from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import EpisodeRow
from nav_eval_store.submissions import films, queries
from nav_eval_store.submissions.films import FilmState
from nav_eval_store.work import dispatch
from nav_eval_store.work.queues import JobMessage

router = APIRouter(tags=["evidence"])
NDJSON = "application/x-ndjson"
TEAM_REPLAY_FIELDS = (*queries.TEAM_EPISODE_FIELDS, "trajectory", "actions", "action_digest")
"""What a team sees of the whole line of an episode: what its agent did, not what the test set knows."""


@router.get("/submissions/{submission_id}/episodes", responses=describe_problems(401, 403, 404))
def list_episodes(
    submission_id: UUID,
    caller: Visitor,
    store: Store,
    paged: Paged,
    ended: Annotated[bool | None, Query(description="Only those that have a result, or have none.")] = None,
) -> PageAnswer[EpisodeAnswer]:
    """The episodes of a submission, in the order of the plan."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "episodes")
        found = queries.list_episodes(session, access.submission, after=paged.cursor, limit=paged.limit, ended=ended)
        return PageAnswer[EpisodeAnswer].of(found, lambda row: _make_answer(row, access))


def _make_answer(row: EpisodeRow, access: SubmissionAccess) -> EpisodeAnswer:
    has_replay = row.replay_key is not None and access.shows("replays")
    return EpisodeAnswer(**queries.view_episode(row, access.audience), has_replay=has_replay)


@router.get(
    "/submissions/{submission_id}/episodes/{episode_id:path}/replay", responses=describe_problems(401, 403, 404)
)
def show_replay(submission_id: UUID, episode_id: str, caller: Visitor, store: Store, blobs: Blobs) -> dict[str, Any]:
    """Every step of an episode: trajectory and actions. Organisers get the whole line of episodes.jsonl."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "replays")
        key = queries.get_episode(session, access.submission, episode_id).replay_key
    if key is None:
        raise NotFound("This episode has no replay.")
    return Response(_encode_line(blobs.get(key), access), media_type="application/json")  # type: ignore[return-value]


def _filter_allowed(line: dict[str, msgspec.Raw], access: SubmissionAccess) -> dict[str, msgspec.Raw]:
    hidden = {"metrics"} if not access.shows("episodes") else set()
    if _is_answered(line) or not _has_moved(line):
        hidden.add("trajectory")  # an agent that says where it is does not walk: this is where it truly was
    return {key: line[key] for key in TEAM_REPLAY_FIELDS if key in line and key not in hidden}


def _is_answered(line: dict[str, msgspec.Raw]) -> bool:
    actions = msgspec.json.decode(line["actions"]) if "actions" in line else None
    return any(isinstance(entry, dict) and entry.get("action") == "answer" for entry in actions or ())


def _has_moved(line: dict[str, msgspec.Raw]) -> bool:
    """Whether it is a way at all: of an agent that failed before it did anything, only the start is known."""
    return len(msgspec.json.decode(line.get("trajectory", msgspec.Raw(b"null"))) or ()) > 1


@router.get(
    "/submissions/{submission_id}/action-log",
    response_class=StreamingResponse,
    responses={
        200: {"description": "A line per episode.", "content": {NDJSON: {"schema": {"type": "string"}}}},
        **describe_problems(401, 403, 404),
    },
)
def download_action_log(submission_id: UUID, caller: Visitor, store: Store, blobs: Blobs) -> Response:
    """What the agent did in every episode: actions with the digest that chains them, one JSON object per line.

    The same as the replays of its episodes, for those who may see these; organisers get the whole lines of
    episodes.jsonl, which `nav-eval verify` plays again.
    """
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "replays")
    headers = {"Content-Disposition": 'attachment; filename="action_log.jsonl"'}
    return StreamingResponse(_stream_lines(store, blobs, access), headers=headers, media_type=NDJSON)


def _stream_lines(store: Database, blobs: BlobStore, access: SubmissionAccess) -> Iterator[bytes]:
    after = None
    while True:
        with store.read() as session:
            page = queries.list_episodes(session, access.submission, after=after, limit=200, ended=True)
        for row in page.items:
            if row.replay_key is not None and blobs.exists(row.replay_key):
                yield _encode_line(blobs.get(row.replay_key), access) + b"\n"
        if (after := page.next) is None:
            return


def _encode_line(data: bytes, access: SubmissionAccess) -> bytes:
    line = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    return msgspec.json.encode(line if access.audience is Audience.ORGANISER else _filter_allowed(line, access))


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}/film", responses=describe_problems(401, 403, 404))
def show_film(submission_id: UUID, episode_id: str, caller: Visitor, store: Store, blobs: Blobs) -> FilmAnswer:
    """Whether there is a film of an episode, for those who may see its replay. Pages play it."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "replays")
        asked = films.get_film_state(session, access.submission, episode_id)
    return FilmAnswer(episode_id=episode_id, state=_find_film_state(blobs, submission_id, episode_id, asked))


def _find_film_state(blobs: BlobStore, submission_id: UUID, episode_id: str, asked: FilmState) -> FilmAvailability:
    if blobs.exists(blob_keys.make_film_key(submission_id, episode_id)):
        return FilmAvailability.READY
    return FilmAvailability.FAILED if asked is FilmState.ENDED else FilmAvailability(asked.value)


@router.post(
    "/submissions/{submission_id}/episodes/{episode_id:path}/film",
    status_code=202,
    responses=describe_problems(401, 403, 404, 409),
)
def ask_for_film(
    submission_id: UUID, episode_id: str, caller: Submitter, store: Store, blobs: Blobs, workers: Workers
) -> FilmAnswer:
    """Have the film of an episode made, if you may see its replay. Twice is once; few wait at a time."""
    answer = show_film(submission_id, episode_id, caller, store, blobs)
    if answer.state not in (FilmAvailability.UNASKED, FilmAvailability.FAILED):
        return answer

    def ask(session: Session) -> tuple[FilmState, list[JobMessage]]:
        found = permissions.get_submission_showing(session, caller, submission_id, "replays").submission
        asked = films.request_film(session, found, episode_id, actor=caller.actor)
        return asked, dispatch.dispatch_jobs(session)

    asked, messages = store.run(ask)
    workers.publish(messages)
    return FilmAnswer(episode_id=episode_id, state=_find_film_state(blobs, submission_id, episode_id, asked))


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}", responses=describe_problems(401, 403, 404))
def show_episode(submission_id: UUID, episode_id: str, caller: Visitor, store: Store) -> EpisodeAnswer:
    """One episode."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "episodes")
        return _make_answer(queries.get_episode(session, access.submission, episode_id), access)
