"""What a competition shows to the world: its best entry at work, a feed, a board for other sites, badges, citations.

All of it is what a stranger may see, whoever asks: it is read as nobody, from the public board, so that nothing which
a phase keeps can leave through a feed, a badge or a frame.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.board_cache import BoardVersion
from nav_eval_gateway.pages.context import Visit, Visiting, make_anonymous_visit
from nav_eval_gateway.pages.leaderboard import find_facts
from nav_eval_gateway.pages.replay import Episode, RecentFilms
from nav_eval_gateway.permissions import ANYBODY
from nav_eval_gateway.security_headers import EMBED_POLICY
from nav_eval_store import blob_keys
from nav_eval_store.boards import citations
from nav_eval_store.boards.leaderboard import Board, Row
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience, Viewer, may_see_submission
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound
from nav_eval_store.models import EpisodeRow, Phase, Submission, TeamKind

router = APIRouter(include_in_schema=False)
Stranger = Annotated[Visit, Depends(make_anonymous_visit)]
FEED_ENTRIES = 50
EMBEDDED_ROWS = 10
SAMPLES = 4
LOOKED_AT = 5
"""Entries, from the best on, among which a film is looked for."""
ELSEWHERE = {"Cross-Origin-Resource-Policy": "cross-origin", "Cache-Control": "no-cache"}
"""Of pictures and frames that stand on other sites."""


async def find_public_board(visit: Visit, competition: str, phase: str) -> tuple[BoardVersion, Board]:
    """The board as a stranger sees it, from memory as a rule."""
    now = await visit.services.boards.find_version(competition, phase)
    return now, (await find_facts(visit, now, Viewer(), "public")).board


@router.get("/competitions/{name}/feed.atom")
async def show_feed(name: str, visit: Stranger) -> Response:
    """New results on the public boards, as an Atom feed."""
    phases = await run_in_threadpool(_list_phases, visit, name)
    found = [(title, row) for phase, title in phases for row in (await find_public_board(visit, name, phase))[1].rows]
    newest = sorted(found, key=lambda pair: pair[1].submitted_at, reverse=True)[:FEED_ENTRIES]
    body = await run_in_threadpool(_render_feed, visit, name, newest)
    return Response(body, media_type="application/atom+xml", headers={"Cache-Control": "no-cache"})


def _render_feed(visit: Visit, name: str, entries: list[tuple[str, Row]]) -> str:
    with visit.store.read() as session:
        competition = configuration.get_competition(session, name)
        return visit.html("feed.xml.j2", competition=competition, entries=entries)


def _list_phases(visit: Visit, name: str) -> list[tuple[str, str]]:
    with visit.store.read() as session:
        phases = configuration.get_competition(session, name).phases
        return [(phase.name, phase.config.title or phase.name) for phase in phases if phase.archived_at is None]


@router.get("/competitions/{competition}/{phase}/embed")
async def show_embedded_board(
    competition: str,
    phase: str,
    visit: Stranger,
    rows: Annotated[int, Query(ge=1, le=100)] = EMBEDDED_ROWS,
) -> Response:
    """The public board for a frame on another site: no script, no form, no cookie."""
    now, board = await find_public_board(visit, competition, phase)
    body = await run_in_threadpool(_render_embedded_board, visit, now, board.rows[:rows])
    headers = {**ELSEWHERE, "Content-Security-Policy": EMBED_POLICY, "X-Frame-Options": "ALLOWALL"}
    return Response(body, media_type="text/html", headers=headers)


def _render_embedded_board(visit: Visit, now: BoardVersion, rows: Sequence[Row]) -> str:
    with visit.store.read() as session:
        phase = session.get_one(Phase, now.phase_id)
        return visit.html("embed.html.j2", phase=phase, competition=phase.competition, rows=rows)


class PublicRow(NamedTuple):
    """A submission where it stands on a public board."""

    phase: Phase
    row: Row


async def _find_public_row(visit: Visit, submission_id: UUID) -> PublicRow:
    def find_phase() -> Phase:
        with visit.store.read() as session:
            phase = permissions.get_submission(session, ANYBODY, submission_id).submission.phase
            assert phase.competition is not None  # both are read while the session is there
            return phase

    phase = await run_in_threadpool(find_phase)
    _, board = await find_public_board(visit, phase.competition.name, phase.name)
    row = next((row for row in board.rows if row.submission_id == submission_id), None)
    if row is None:
        raise NotFound("This submission is on no public leaderboard.")
    return PublicRow(phase, row)


@router.get("/submissions/{submission_id}/badge.svg")
async def show_badge(submission_id: UUID, visit: Stranger) -> Response:
    """Rank and score, to put on a page of the team's."""
    phase, row = await _find_public_row(visit, submission_id)
    body = visit.html("badge.svg.j2", title=phase.competition.title[:40], row=row)
    return Response(body, media_type="image/svg+xml", headers=ELSEWHERE)


@router.get("/submissions/{submission_id}/cite.bib")
async def show_citation(submission_id: UUID, visit: Stranger) -> Response:
    """The row as BibTeX, with its digest."""
    phase, row = await _find_public_row(visit, submission_id)
    text = citations.format_bibtex(phase, row, url=f"{visit.site}/submissions/{submission_id}")
    return Response(text, media_type="application/x-bibtex; charset=utf-8", headers={"Cache-Control": "no-cache"})


@router.get("/submissions/{submission_id}/replay/clip.webp")
def show_clip(submission_id: UUID, episode: Episode, visit: Visiting, *, still: bool = False) -> Response:
    """What the agent's camera saw, in a few seconds; `still` is its first picture, for those who want no motion."""
    with visit.store.read() as session:
        permissions.get_submission_showing(session, visit.caller, submission_id, "replays")
    films: RecentFilms = visit.request.app.state.recent_films
    film = films.film(visit, blob_keys.make_film_key(submission_id, episode))
    if film is None or not film.views or not film.views[0].frames:
        raise NotFound("This replay has no pictures.")
    from nav_eval.replay.clip import make_clip  # Pillow is loaded when the first one is asked for

    body = films.clip(film, still=still, make=make_clip)
    return Response(body, media_type="image/webp", headers={"Cache-Control": "private, max-age=3600"})


class Showcase(NamedTuple):
    """An entry at work, as everybody may see it."""

    submission_id: UUID
    team: str
    episode: str | None
    """Of the clip; None where there is no film."""
    instruction: str | None
    samples: list[str]
    """Episodes whose replays can be looked at."""


def find_showcase(visit: Visit, board: Board) -> Showcase | None:
    """The best entry of a public board whose replays are for everybody; rather one with a film."""
    found = [shown for row in _list_candidates(board) if (shown := _look_at(visit, row)) is not None]
    return next((shown for shown in found if shown.episode is not None), found[0] if found else None)


def _list_candidates(board: Board) -> list[Row]:
    return [row for row in board.rows if row.kind is not TeamKind.UPPER_BOUND][:LOOKED_AT]


def _look_at(visit: Visit, row: Row) -> Showcase | None:
    with visit.store.read() as session:
        submission = session.get_one(Submission, row.submission_id)
        if not may_see_submission(submission, "replays", Audience.PUBLIC):
            return None
        samples = _list_samples(session, submission)
    filmed = next((name for name in samples if _has_film(visit, row.submission_id, name)), None)
    if not samples:
        return None
    films: RecentFilms = visit.request.app.state.recent_films
    film = None if filmed is None else films.film(visit, blob_keys.make_film_key(row.submission_id, filmed))
    return Showcase(row.submission_id, row.team, filmed, film.instruction if film else None, samples)


def _list_samples(session: Session, submission: Submission) -> list[str]:
    query = (
        select(EpisodeRow.episode_id)
        .where(EpisodeRow.submission_id == submission.id, EpisodeRow.replay_key.is_not(None))
        .order_by(EpisodeRow.position)
    )
    return list(session.scalars(query.limit(SAMPLES)))


def _has_film(visit: Visit, submission_id: UUID, episode: str) -> bool:
    return visit.services.blobs.exists(blob_keys.make_film_key(submission_id, episode))
