"""Two entries on the same episodes: which of them only one solved, and one episode side by side, in step."""

from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.errors import FormInvalid
from nav_eval_gateway.pages import replay
from nav_eval_gateway.pages.context import Visit, Visiting, make_path
from nav_eval_gateway.permissions import Caller, SubmissionAccess
from nav_eval_store.boards.scores import refuse_incomparable
from nav_eval_store.database import Database
from nav_eval_store.models import Submission
from nav_eval_store.submissions import episodes
from nav_eval_store.submissions.episodes import PairedEpisodes

router = APIRouter(include_in_schema=False)
LISTED = 60
"""Episodes of each kind that a comparison names."""


class EpisodePairs(NamedTuple):
    """Which episodes each of two solved, as far as the reader may know."""

    counts: PairedEpisodes
    only_first: list[str]
    only_second: list[str]
    has_replays: bool  #: both show them, so that they can be watched side by side


def read_pairs(database: Database, caller: Caller, first: UUID, second: UUID) -> EpisodePairs | None:
    """None where one of the two does not show its episodes."""
    with database.read() as session:
        one, other = (permissions.get_submission(session, caller, key) for key in (first, second))
        if not (one.shows("episodes") and other.shows("episodes")):
            return None
        return EpisodePairs(
            counts=episodes.count_pairs(session, first, second),
            only_first=list(episodes.list_solved_by_one(session, first, second, limit=LISTED)),
            only_second=list(episodes.list_solved_by_one(session, second, first, limit=LISTED)),
            has_replays=one.shows("replays") and other.shows("replays"),
        )


class Pane(NamedTuple):
    """One side."""

    submission: Submission
    data: str  #: address of what is drawn
    frames: str | None  #: address of its pictures


@router.get("/side-by-side")
def show_side_by_side(
    visit: Visiting, episode: replay.Episode, entry: Annotated[list[UUID] | None, Query()] = None
) -> Response:
    """Two agents on one episode."""
    chosen = list(dict.fromkeys(entry or ()))
    if len(chosen) != 2:
        raise FormInvalid(visit.t("compare.choose"))
    with visit.store.read() as session:
        found = [permissions.get_submission_showing(session, visit.caller, key, "replays") for key in chosen]
        refuse_incomparable(found[0].submission, found[1].submission)
        phase = found[0].submission.phase
        panes = [_make_pane(visit, access, episode) for access in found]
        return visit.page(
            "pair.html.j2",
            panes=panes,
            episode=episode,
            phase=phase,
            competition=phase.competition,
            words=make_path(f"/submissions/{chosen[0]}/replay/words", {"language": visit.language}),
            compare=f"/compare?entry={chosen[0]}&entry={chosen[1]}",
        )


def _make_pane(visit: Visit, access: SubmissionAccess, episode: str) -> Pane:
    shown = replay.load_replay(visit, access.submission.id, episode)
    base, asked = f"/submissions/{access.submission.id}/replay", {"episode": episode}
    frames = make_path(f"{base}/frames", asked) if shown.views else None
    return Pane(access.submission, make_path(f"{base}/data", asked), frames)
