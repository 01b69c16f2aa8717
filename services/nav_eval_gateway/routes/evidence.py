"""What a submission left behind: episodes, logs, replays, files; as much of it as somebody may see."""

from collections.abc import Iterator
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

import msgspec
from fastapi import APIRouter, Header, Query
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from nav_eval_gateway import access, downloads
from nav_eval_gateway.access import Sight
from nav_eval_gateway.dependencies import Blobs, Store, Submitter, Visitor, Workers
from nav_eval_gateway.paging import Page, Paged
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.submissions import ArtifactAnswer, EpisodeAnswer, Film, FilmAnswer
from nav_eval_store import episodes, films, keys, places, recovery
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import BadKey, NotAllowed, NotFound
from nav_eval_store.films import FilmState
from nav_eval_store.models import EpisodeRow, Submission
from nav_eval_store.paging import Page as StoredPage
from nav_eval_store.paging import cursor, position
from nav_eval_store.viewing import Audience

router = APIRouter(tags=["evidence"])
REPLAYED = (*episodes.SHOWN, "trajectory", "actions", "action_digest")
"""What a team sees of the whole line of an episode: what its agent did, not what the test set knows."""
_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Characters that would play tricks on the terminal of whoever reads a log."""


@router.get("/submissions/{submission_id}/episodes", responses=problems(401, 403, 404))
def list_episodes(
    submission_id: UUID,
    caller: Visitor,
    store: Store,
    paged: Paged,
    ended: Annotated[bool | None, Query(description="Only those that have a result, or have none.")] = None,
) -> Page[EpisodeAnswer]:
    """The episodes of a submission, in the order of the plan."""
    with store.read() as session:
        sight = access.part_of(session, caller, submission_id, "episodes")
        found = episodes.listing(session, sight.submission, after=paged.cursor, limit=paged.limit, ended=ended)
        return Page[EpisodeAnswer].of(found, lambda row: _shown(row, sight))


def _shown(row: EpisodeRow, sight: Sight) -> EpisodeAnswer:
    has_replay = row.replay_key is not None and sight.shows("replays")
    return EpisodeAnswer(**episodes.view(row, sight.audience), has_replay=has_replay)


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}/replay", responses=problems(401, 403, 404))
def show_replay(submission_id: UUID, episode_id: str, caller: Visitor, store: Store, blobs: Blobs) -> dict[str, Any]:
    """Every step of an episode: trajectory and actions. Organisers get the whole line of episodes.jsonl."""
    with store.read() as session:
        sight = access.part_of(session, caller, submission_id, "replays")
        key = episodes.get(session, sight.submission, episode_id).replay_key
    if key is None:
        raise NotFound("This episode has no replay.")
    line = msgspec.json.decode(blobs.get(key), type=dict[str, msgspec.Raw])
    allowed = line if sight.audience is Audience.ORGANISER else _allowed(line, sight)
    return Response(msgspec.json.encode(allowed), media_type="application/json")  # type: ignore[return-value]


def _allowed(line: dict[str, msgspec.Raw], sight: Sight) -> dict[str, msgspec.Raw]:
    hidden = {"metrics"} if not sight.shows("episodes") else set()
    if _is_answered(line):
        hidden.add("trajectory")  # an agent that says where it is does not walk: this is where it truly was
    return {key: line[key] for key in REPLAYED if key in line and key not in hidden}


def _is_answered(line: dict[str, msgspec.Raw]) -> bool:
    actions = msgspec.json.decode(line["actions"]) if "actions" in line else None
    return any(isinstance(entry, dict) and entry.get("action") == "answer" for entry in actions or ())


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}/film", responses=problems(401, 403, 404))
def show_film(submission_id: UUID, episode_id: str, caller: Visitor, store: Store, blobs: Blobs) -> FilmAnswer:
    """Whether there is a film of an episode, for those who may see its replay. Pages play it."""
    with store.read() as session:
        sight = access.part_of(session, caller, submission_id, "replays")
        asked = films.state(session, sight.submission, episode_id)
    return FilmAnswer(episode_id=episode_id, state=_film_state(blobs, submission_id, episode_id, asked))


def _film_state(blobs: BlobStore, submission_id: UUID, episode_id: str, asked: FilmState) -> Film:
    if blobs.exists(places.film(submission_id, episode_id)):
        return Film.READY
    return Film.FAILED if asked is FilmState.ENDED else Film(asked.value)


@router.post(
    "/submissions/{submission_id}/episodes/{episode_id:path}/film",
    status_code=202,
    responses=problems(401, 403, 404, 409),
)
def ask_for_film(
    submission_id: UUID, episode_id: str, caller: Submitter, store: Store, blobs: Blobs, workers: Workers
) -> FilmAnswer:
    """Have the film of an episode made, if you may see its replay. Twice is once; few wait at a time."""
    answer = show_film(submission_id, episode_id, caller, store, blobs)
    if answer.state not in (Film.UNASKED, Film.FAILED):
        return answer

    def ask(session: Session) -> tuple[FilmState, list[recovery.Message]]:
        found = access.part_of(session, caller, submission_id, "replays").submission
        asked = films.ask(session, found, episode_id, actor=caller.actor)
        return asked, recovery.untold(session, submission_id)

    asked, messages = store.run(ask)
    workers.tell(messages)
    return FilmAnswer(episode_id=episode_id, state=_film_state(blobs, submission_id, episode_id, asked))


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}", responses=problems(401, 403, 404))
def show_episode(submission_id: UUID, episode_id: str, caller: Visitor, store: Store) -> EpisodeAnswer:
    """One episode."""
    with store.read() as session:
        sight = access.part_of(session, caller, submission_id, "episodes")
        return _shown(episodes.get(session, sight.submission, episode_id), sight)


@router.get("/submissions/{submission_id}/logs", response_class=PlainTextResponse, responses=problems(401, 403, 404))
def read_logs(
    submission_id: UUID,
    caller: Visitor,
    store: Store,
    blobs: Blobs,
    episode: Annotated[str | None, Query(max_length=500, description="Only what it printed in this episode.")] = None,
) -> Response:
    """What the agent printed, as far as the phase keeps it: `limits.log_kb` per episode."""
    with store.read() as session:
        sight = access.part_of(session, caller, submission_id, "logs")
        submission, budget = sight.submission, sight.submission.phase.config.limits.log_kb << 10
        if episode is not None:
            episodes.get(session, submission, episode)
    if episode is not None:
        text = _log(blobs, places.episode_log(submission.id, episode), budget)
        return PlainTextResponse(text)
    return StreamingResponse(_all_logs(store, blobs, submission, budget), media_type="text/plain; charset=utf-8")


def _all_logs(store: Database, blobs: BlobStore, submission: Submission, budget: int) -> Iterator[bytes]:
    yield _log(blobs, places.agent_log(submission.id), budget).encode()
    after = None
    while True:
        with store.read() as session:
            page = episodes.listing(session, submission, after=after, limit=200, ended=True)
        for row in page.items:
            if text := _log(blobs, places.episode_log(submission.id, row.episode_id), budget):
                yield f"=== episode {row.episode_id}\n{text}".encode()
        if (after := page.next) is None:
            return


def _log(blobs: BlobStore, key: str, budget: int) -> str:
    """A log as text that ends with a line; empty where nothing was printed."""
    try:
        data = b"".join(blobs.stream(key, stop=budget))
    except NotFound:
        return ""
    text = data.decode(errors="replace").replace("\r\n", "\n").translate(_CONTROL)
    return text if text.endswith("\n") or not text else f"{text}\n"


@router.get("/submissions/{submission_id}/artifacts", responses=problems(401, 403, 404))
def list_artifacts(
    submission_id: UUID, caller: Visitor, store: Store, blobs: Blobs, paged: Paged
) -> Page[ArtifactAnswer]:
    """Files of a submission that you may have, by name."""
    with store.read() as session:
        sight = access.submission(session, caller, submission_id)
    prefix = places.artifacts(submission_id)
    above = position(paged.cursor, tuple[str]) or ("",)
    named = ((blob.key.removeprefix(f"{prefix}/"), blob.size) for blob in blobs.list(prefix))
    wanted = sorted((name, size) for name, size in named if name > above[0] and _may_have(sight, name))
    found = wanted[: paged.limit]
    more = cursor((found[-1][0],)) if len(wanted) > len(found) else None
    return Page[ArtifactAnswer].of(StoredPage(found, more), lambda item: _artifact(submission_id, *item))


def _may_have(sight: Sight, name: str) -> bool:
    return all(sight.shows(part) for part in downloads.needed_parts(name))


def _artifact(submission_id: UUID, name: str, size: int) -> ArtifactAnswer:
    url = f"/api/v1/submissions/{submission_id}/artifacts/{quote(name)}"
    return ArtifactAnswer(name=name, size=size, content_type=downloads.content_type(name), url=url)


@router.get(
    "/submissions/{submission_id}/artifacts/{name:path}",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}},
        206: {"description": "The part of it that Range asked for."},
        **problems(401, 403, 404, 416),
    },
)
def download_artifact(
    submission_id: UUID,
    name: str,
    caller: Visitor,
    store: Store,
    blobs: Blobs,
    range_: Annotated[str | None, Header(alias="Range", max_length=200)] = None,
    if_range: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """A file, to keep; one range of it at a time."""
    with store.read() as session:
        sight = access.submission(session, caller, submission_id)
    if not _may_have(sight, name):
        raise NotAllowed("In this phase this file is not for you.")
    key = _artifact_key(submission_id, name)
    wanted = None if if_range is not None else range_  # we have no validators to compare with
    return downloads.file_response(blobs, key, name, wanted=wanted)


def _artifact_key(submission_id: UUID, name: str) -> str:
    try:
        return keys.checked(f"{places.artifacts(submission_id)}/{name}")
    except BadKey:
        raise NotFound("There is no such file.") from None
