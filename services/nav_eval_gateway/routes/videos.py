"""An episode as a video to keep: asked for, made by a worker, downloaded; for those who may see its replay."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Header
from fastapi.responses import Response, StreamingResponse

from nav_eval_gateway import permissions, responses
from nav_eval_gateway.dependencies import Blobs, Store, Submitter, Visitor, Workers
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.schemas.submissions import FilmAvailability, VideoAnswer
from nav_eval_store import blob_keys
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.submissions import films, queries
from nav_eval_store.submissions.films import FilmProgress, FilmState
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work import dispatch
from nav_eval_store.work.queues import JobMessage

router = APIRouter(tags=["evidence"])


@router.get("/submissions/{submission_id}/episodes/{episode_id:path}/video", responses=describe_problems(401, 403, 404))
def show_video(submission_id: UUID, episode_id: str, caller: Visitor, store: Store, blobs: Blobs) -> VideoAnswer:
    """Whether there is a video of an episode, and how far it is, for those who may see its replay."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "replays")
        progress = films.get_film_progress(session, access.submission, episode_id, kind=JobKind.VIDEO)
    return _make_answer(blobs, submission_id, episode_id, progress)


def _make_answer(blobs: BlobStore, submission_id: UUID, episode_id: str, progress: FilmProgress) -> VideoAnswer:
    key = blob_keys.make_video_key(submission_id, episode_id)
    if blobs.exists(key):
        return VideoAnswer(episode_id=episode_id, state=FilmAvailability.READY, size=blobs.size(key))
    is_over = progress.state is FilmState.ENDED
    return VideoAnswer(
        episode_id=episode_id,
        state=FilmAvailability.FAILED if is_over else FilmAvailability(progress.state.value),
        steps_drawn=progress.steps_drawn,
        steps_total=progress.steps_total,
    )


@router.post(
    "/submissions/{submission_id}/episodes/{episode_id:path}/video",
    status_code=202,
    responses=describe_problems(401, 403, 404, 409),
)
def ask_for_video(
    submission_id: UUID, episode_id: str, caller: Submitter, store: Store, blobs: Blobs, workers: Workers
) -> VideoAnswer:
    """Have a video of an episode made, if you may see its replay. Twice is once; few wait at a time."""
    answer = show_video(submission_id, episode_id, caller, store, blobs)
    if answer.state not in (FilmAvailability.UNASKED, FilmAvailability.FAILED):
        return answer

    def ask(session: Session) -> tuple[FilmState, list[JobMessage]]:
        found = permissions.get_submission_showing(session, caller, submission_id, "replays").submission
        asked = films.request_film(session, found, episode_id, actor=caller.actor, kind=JobKind.VIDEO)
        return asked, dispatch.dispatch_jobs(session)

    asked, messages = store.run(ask)
    workers.publish(messages)
    return _make_answer(blobs, submission_id, episode_id, FilmProgress(asked))


@router.get(
    "/submissions/{submission_id}/episodes/{episode_id:path}/video.mp4",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "The video.",
            "content": {"video/mp4": {"schema": {"type": "string", "format": "binary"}}},
        },
        206: {"description": "The part of it that Range asked for."},
        **describe_problems(401, 403, 404, 416),
    },
)
def download_video(
    submission_id: UUID,
    episode_id: str,
    caller: Visitor,
    store: Store,
    blobs: Blobs,
    range_: Annotated[str | None, Header(alias="Range", max_length=200)] = None,
    if_range: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """The video of an episode, to keep; one range of it at a time."""
    with store.read() as session:
        access = permissions.get_submission_showing(session, caller, submission_id, "replays")
        queries.get_episode(session, access.submission, episode_id)
    key = blob_keys.make_video_key(submission_id, episode_id)
    if not blobs.exists(key):
        raise NotFound("There is no video of this episode yet; ask for it first.")
    wanted = None if if_range is not None else range_  # we have no validators to compare with
    return responses.make_file_response(blobs, key, f"{episode_id}.mp4", wanted=wanted)
