"""What a submission left behind beside its episodes: logs and files; as much of it as somebody may see."""

from collections.abc import Callable, Iterator
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Header, Query
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from nav_eval.evaluation.aliases import EpisodeAliases
from nav_eval_gateway import permissions, responses
from nav_eval_gateway.dependencies import Blobs, Store, Visitor
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_gateway.schemas.base import PageAnswer, Paged
from nav_eval_gateway.schemas.submissions import ArtifactAnswer
from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, decode_cursor, encode_cursor
from nav_eval_store.database import Page as StoredPage
from nav_eval_store.errors import BadKey, NotAllowed, NotFound
from nav_eval_store.models import Submission
from nav_eval_store.submissions import queries
from nav_eval_store.work.jobs import EPISODE_SEED

router = APIRouter(tags=["evidence"])

_CONTROL = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""Characters that would play tricks on the terminal of whoever reads a log."""


@router.get(
    "/submissions/{submission_id}/logs", response_class=PlainTextResponse, responses=describe_problems(401, 403, 404)
)
def read_logs(
    submission_id: UUID,
    caller: Visitor,
    store: Store,
    blobs: Blobs,
    episode: Annotated[str | None, Query(max_length=500, description="Only what it printed in this episode.")] = None,
) -> Response:
    """What the agent printed, as far as the phase keeps it: `limits.log_kb` per episode."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "logs")
        submission, budget = access.submission, access.submission.phase.config.limits.log_kb << 10
        if episode is not None:
            if not access.shows("episodes"):
                raise NotAllowed("In this phase logs are shown as a whole; leave out `episode`.")
            queries.get_episode(session, submission, episode)
    if episode is not None:
        text = _read_log(blobs, blob_keys.make_episode_log_key(submission.id, episode), budget)
        return PlainTextResponse(text)
    lines = _stream_logs(store, blobs, submission, budget, name_episode=_choose_names(access))
    return StreamingResponse(lines, media_type="text/plain; charset=utf-8")


def _choose_names(access: SubmissionAccess) -> Callable[[str], str]:
    """Episodes by their ids, or as the agent knew them for those who may not see which is which."""
    seed = access.submission.provenance.get(EPISODE_SEED)
    return str if access.shows("episodes") or seed is None else EpisodeAliases(seed).get_alias


def _stream_logs(
    store: Database, blobs: BlobStore, submission: Submission, budget: int, *, name_episode: Callable[[str], str]
) -> Iterator[bytes]:
    yield _read_log(blobs, blob_keys.make_agent_log_key(submission.id), budget).encode()
    after = None
    while True:
        with store.read() as session:
            page = queries.list_episodes(session, submission, after=after, limit=200, ended=True)
        for row in page.items:
            if text := _read_log(blobs, blob_keys.make_episode_log_key(submission.id, row.episode_id), budget):
                yield f"=== episode {name_episode(row.episode_id)}\n{text}".encode()
        if (after := page.next) is None:
            return


def _read_log(blobs: BlobStore, key: str, budget: int) -> str:
    """A log as text that ends with a line; empty where nothing was printed."""
    try:
        data = b"".join(blobs.stream(key, stop=budget))
    except NotFound:
        return ""
    text = data.decode(errors="replace").replace("\r\n", "\n").translate(_CONTROL)
    return text if text.endswith("\n") or not text else f"{text}\n"


@router.get("/submissions/{submission_id}/artifacts", responses=describe_problems(401, 403, 404))
def list_artifacts(
    submission_id: UUID, caller: Visitor, store: Store, blobs: Blobs, paged: Paged
) -> PageAnswer[ArtifactAnswer]:
    """Files of a submission that you may have, by name."""
    with store.read() as session:
        access = permissions.get_submission(session, caller, submission_id)
    prefix = blob_keys.make_artifacts_prefix(submission_id)
    above = decode_cursor(paged.cursor, tuple[str]) or ("",)
    named = ((blob.key.removeprefix(f"{prefix}/"), blob.size) for blob in blobs.list(prefix))
    wanted = sorted((name, size) for name, size in named if name > above[0] and _may_have(access, name))
    found = wanted[: paged.limit]
    more = encode_cursor((found[-1][0],)) if len(wanted) > len(found) else None
    return PageAnswer[ArtifactAnswer].of(StoredPage(found, more), lambda item: _make_artifact(submission_id, *item))


def _may_have(access: SubmissionAccess, name: str) -> bool:
    return all(access.shows(part) for part in responses.get_needed_parts(name))


def _make_artifact(submission_id: UUID, name: str, size: int) -> ArtifactAnswer:
    url = f"/api/v1/submissions/{submission_id}/artifacts/{quote(name)}"
    return ArtifactAnswer(name=name, size=size, content_type=responses.get_content_type(name), url=url)


@router.get(
    "/submissions/{submission_id}/artifacts/{name:path}",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}},
        206: {"description": "The part of it that Range asked for."},
        **describe_problems(401, 403, 404, 416),
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
        access = permissions.get_submission(session, caller, submission_id)
    if not _may_have(access, name):
        raise NotAllowed("This file is not available to you in this phase.")
    key = _make_artifact_key(submission_id, name)
    wanted = None if if_range is not None else range_  # we have no validators to compare with
    return responses.make_file_response(blobs, key, name, wanted=wanted)


def _make_artifact_key(submission_id: UUID, name: str) -> str:
    try:
        return blob_keys.check_key(f"{blob_keys.make_artifacts_prefix(submission_id)}/{name}")
    except BadKey:
        raise NotFound("There is no such file.") from None
