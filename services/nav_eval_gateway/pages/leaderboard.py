"""Leaderboards to look at, comparisons, and where a mean comes from.

A board is rendered once per version, language and wish, and answered from the same memory as the API's boards. For
somebody who is not logged in that is the whole page, compressed; for a user it is all but the frame around it.
"""

import gzip
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Annotated, NamedTuple
from uuid import UUID

from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from nav_eval.metrics.statistics import FEW_SCENES
from nav_eval_gateway import permissions
from nav_eval_gateway.board_cache import BoardVersion, RenderedAnswer
from nav_eval_gateway.errors import FormInvalid
from nav_eval_gateway.pages import comparison, plots
from nav_eval_gateway.pages.context import Visit, Visiting, add_security_headers
from nav_eval_gateway.pages.leaderboard_table import BoardQuery, Standing
from nav_eval_gateway.pages.translations import Translator
from nav_eval_gateway.rate_limit import get_address
from nav_eval_gateway.responses import has_already, is_gzip_accepted
from nav_eval_gateway.routes import leaderboards as boards_api
from nav_eval_gateway.routes.leaderboards import By, classify_viewer
from nav_eval_gateway.schemas.leaderboards import BreakdownAnswer, MetricComparison
from nav_eval_store.boards import leaderboard
from nav_eval_store.boards.leaderboard import Board
from nav_eval_store.competitions.visibility import Viewer, may_see
from nav_eval_store.database import Database
from nav_eval_store.errors import NotAllowed
from nav_eval_store.models import Phase, Team

router = APIRouter(include_in_schema=False)
BREAKDOWNS = 10
"""Entries of a board that a breakdown shows, from the best on."""
KEPT_BOARDS = 8


class BoardFacts:
    """A board and what its pages draw besides; however they sort and search, it is the same."""

    def __init__(self, board: Board, over_time: plots.Plot | None) -> None:
        self.board, self.over_time = board, over_time
        self._scatters: dict[tuple[str, str], plots.Plot | None] = {}

    def scatter(self, x: str, y: str) -> plots.Plot | None:
        """Two metrics against each other; both are columns of the board, so there are only so many."""
        if (x, y) not in self._scatters:
            self._scatters[x, y] = plots.plot_metrics(self.board.rows, x, y)
        return self._scatters[x, y]


class RecentBoards:
    """The boards that were read last, so that sorting and searching ask the database nothing."""

    def __init__(self, most: int = KEPT_BOARDS) -> None:
        self._kept: OrderedDict[tuple[UUID, str], BoardFacts] = OrderedDict()
        self._reading: dict[tuple[UUID, str], Lock] = {}
        self._most = most

    def facts(self, database: Database, now: BoardVersion, viewer: Viewer, kind: str) -> BoardFacts:
        """Read once for all who wait for them."""
        key = (now.phase_id, kind)
        with self._reading.setdefault(key, Lock()):
            kept = self._kept.get(key)
            if kept is None or kept.board.version < now.version:
                kept = self._kept[key] = _read_facts(database, now, viewer)
                self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            gone, _ = self._kept.popitem(last=False)
            self._reading.pop(gone, None)
        return kept

    def find(self, now: BoardVersion, kind: str) -> BoardFacts | None:
        """What is known of this version already."""
        kept = self._kept.get((now.phase_id, kind))
        return kept if kept is not None and kept.board.version >= now.version else None

    def board(self, database: Database, now: BoardVersion, viewer: Viewer, kind: str) -> Board:
        return self.facts(database, now, viewer, kind).board


def _read_facts(database: Database, now: BoardVersion, viewer: Viewer) -> BoardFacts:
    with database.snapshot() as session:
        phase = session.get_one(Phase, now.phase_id)
        board = leaderboard.build_board(session, phase, viewer)
        best = [session.get_one(Team, row.team_id) for row in board.rows[: plots.COLOURS]]
        lines = [leaderboard.list_score_points(session, phase, viewer, team=team) for team in best]
        return BoardFacts(board, plots.plot_over_time(lines, keep=phase.config.ranking.keep))


@router.get("/competitions/{competition}/{phase}/board")
async def show_board(competition: str, phase: str, visit: Visiting) -> Response:
    """The standing of a phase."""
    services, asked = visit.services, BoardQuery.of(competition, phase, visit.request.query_params)
    now = await services.boards.find_version(competition, phase)
    if visit.caller.user is None and visit.cookies.read_notice(visit.request) is None:
        return await _render_public_page(visit, now, asked)
    viewer = await to_thread.run_sync(boards_api.read_viewer, services.database, visit.caller, now)
    seen_as = classify_viewer(viewer, now)
    wish = asked.canonical((await find_facts(visit, now, viewer, seen_as)).board)
    form = f"part {visit.language} {viewer.team_id} {wish}"
    part = await _find_kept(visit, now, seen_as, form, wish, lambda: _render_part(visit, now, viewer, seen_as, wish))
    response = _render_page(visit, part.body, wish)
    return _compress(visit.request, response)


def _render_page(visit: Visit, part: bytes, wish: BoardQuery) -> HTMLResponse:
    board = Markup(part.decode())  # noqa: S704  escaped by its own template
    return visit.page("board.html.j2", part=board, phase=wish.phase, competition=wish.competition)


async def find_facts(visit: Visit, now: BoardVersion, viewer: Viewer, kind: str) -> BoardFacts:
    """From memory as a rule; nobody waits for a thread then."""
    recent: RecentBoards = visit.request.app.state.recent_boards
    if (kept := recent.find(now, kind)) is not None:
        return kept
    return await visit.services.computing.run(lambda: recent.facts(visit.store, now, viewer, kind))


async def _find_kept(
    visit: Visit, now: BoardVersion, kind: str, form: str, wish: BoardQuery, render: Callable[[], RenderedAnswer]
) -> RenderedAnswer:
    """From memory, or rendered; nobody searches so much that others wait."""
    boards, searches = visit.services.boards, visit.services.limits.searches
    if not wish.search and not wish.columns:  # of both there are too many to keep
        return await boards.get(now, kind, form, render)
    caller = get_address(visit.request.scope)
    if not searches.take(caller):
        raise searches.refuse()
    try:
        return await boards.get(now, kind, form, render, is_usual=False)
    finally:
        searches.give_back(caller)


async def _render_public_page(visit: Visit, now: BoardVersion, asked: BoardQuery) -> Response:
    """For strangers: the same bytes for all of them."""
    wish = asked.canonical((await find_facts(visit, now, Viewer(), "public")).board)
    visit = replace(visit, here=wish.address())

    def render() -> RenderedAnswer:
        part = _render_part(visit, now, Viewer(), "public", wish)
        page = _render_page(visit, part.body, wish)
        return RenderedAnswer(part.version, "public", bytes(page.body))

    form = f"page {visit.language} {visit.theme} {wish}"
    kept = await _find_kept(visit, now, "public", form, wish, render)
    response = add_security_headers(HTMLResponse(b""))
    response.headers["ETag"] = kept.etag
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = "Accept-Encoding, Accept-Language, Cookie"
    if has_already(visit.request.headers, kept.etag):
        response.status_code = 304
        return response
    if is_gzip_accepted(visit.request.headers):
        response.headers["Content-Encoding"] = "gzip"
        response.body = kept.compressed
    else:
        response.body = kept.body
    response.headers["Content-Length"] = str(len(response.body))
    return response


def _compress(request: Request, response: HTMLResponse) -> HTMLResponse:
    if is_gzip_accepted(request.headers):
        response.body = gzip.compress(response.body, compresslevel=1, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


def _render_part(visit: Visit, now: BoardVersion, viewer: Viewer, kind: str, wish: BoardQuery) -> RenderedAnswer:
    """All of a board's page that depends on the board."""
    recent: RecentBoards = visit.request.app.state.recent_boards
    facts = recent.facts(visit.store, now, viewer, kind)
    board = facts.board
    standing = Standing(board, wish, own_team=viewer.team_id)
    names = [column.name for column in standing.columns]
    x, y = (wish.x if wish.x in names else (*names, "")[0]), (wish.y if wish.y in names else "score")
    with visit.store.snapshot() as session:
        phase = session.get_one(Phase, now.phase_id)
        html = visit.html(
            "board_part.html.j2",
            competition=phase.competition,
            phase=phase,
            keep=phase.config.ranking.keep,
            title=phase.config.title or phase.name,
            standing=standing,
            board=board,
            wish=wish,
            names=names,
            x=x,
            y=y,
            over_time=facts.over_time,
            scatter=facts.scatter(x, y),
            is_organiser=viewer.is_organiser,
            **_find_openings(phase, board, viewer),
            sees_own=viewer.team_id is not None,
        )
    return RenderedAnswer(board.version, kind, html.encode())


def _find_openings(phase: Phase, board: Board, viewer: Viewer) -> dict[str, bool]:
    """What of the best entries the reader may look into; the pages behind it decide again."""
    audience = viewer.audience(board.rows[0].team_id) if board.rows else None
    shows = {part: audience is not None and may_see(phase, part, audience) for part in ("replays", "episodes")}
    results = {viewer.audience(row.team_id) for row in board.rows}
    return {
        "shows_replays": shows["replays"],
        "shows_episodes": any(shows.values()),
        "shows_results": any(may_see(phase, "episodes", audience) for audience in results),
    }


@router.get("/compare")
async def compare(visit: Visiting, entry: Annotated[list[UUID] | None, Query()] = None) -> Response:
    """Two submissions side by side, with the paired test."""
    chosen = list(dict.fromkeys(entry or ()))
    if len(chosen) != 2:
        raise FormInvalid(visit.t("compare.choose"))
    answer = await boards_api.compare(visit.caller, visit.services, first=chosen[0], second=chosen[1])
    paired = {name: metric for name, metric in answer.metrics.items() if metric is not None}
    weights = await to_thread.run_sync(_read_weights, visit.store, answer.competition, answer.phase)
    return visit.page(
        "compare.html.j2",
        answer=answer,
        paired=list(paired),
        unpaired=[name for name in answer.metrics if name not in paired],
        notes=list(dict.fromkeys(_explain_doubt(visit.t, metric) for metric in paired.values() if metric.note)),
        spans={name: max(abs(metric.ci_low), abs(metric.ci_high)) or 1.0 for name, metric in paired.items()},
        main=max(paired, key=lambda name: weights.get(name, 0.0), default=None),
        pairs=await to_thread.run_sync(comparison.read_pairs, visit.store, visit.caller, chosen[0], chosen[1]),
        breakdowns=[await _find_breakdown(visit, key, "subtasks") for key in chosen],
        titles=await to_thread.run_sync(_read_titles, visit.store, answer.competition, answer.phase),
    )


def _explain_doubt(t: Translator, metric: MetricComparison) -> str:
    """Why a verdict is to be taken with care, in the reader's language."""
    if metric.scenes < 2:
        return t("compare.one_scene")
    if metric.scenes < FEW_SCENES:
        return t("compare.few_scenes", count=metric.scenes)
    return t("compare.few_differ")


def _read_weights(database: Database, competition: str, phase: str) -> Mapping[str, float]:
    """How much each metric counts in the ranking."""
    with database.read() as session:
        weights: Mapping[str, float] = permissions.get_phase(session, competition, phase).ranking["weights"]
        return weights


class Titles(NamedTuple):
    """What people call a competition and a phase of it."""

    competition: str
    phase: str


def _read_titles(database: Database, competition: str, phase: str) -> Titles:
    with database.read() as session:
        found = permissions.get_phase(session, competition, phase)
        return Titles(found.competition.title, found.config.title or found.name)


async def _find_breakdown(visit: Visit, submission_id: UUID, by: By) -> BreakdownAnswer | None:
    """Where a mean comes from, for those who may see it."""
    try:
        return await boards_api.show_breakdown(submission_id, visit.caller, visit.services, by=by)
    except NotAllowed:
        return None


async def read_board(visit: Visit, competition: str, phase: str) -> Board:
    """A board as the reader may see it, from memory while it stands still."""
    services = visit.services
    now = await services.boards.find_version(competition, phase)
    viewer = await to_thread.run_sync(boards_api.read_viewer, services.database, visit.caller, now)
    recent: RecentBoards = visit.request.app.state.recent_boards
    return await to_thread.run_sync(recent.board, services.database, now, viewer, classify_viewer(viewer, now))


@router.get("/competitions/{competition}/{phase}/breakdown")
async def show_breakdown(
    competition: str,
    phase: str,
    visit: Visiting,
    by: By = "subtasks",
    metric: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """One metric of the best entries, by number of sub-tasks, scene, length of the path or of the instruction."""
    services = visit.services
    board = await read_board(visit, competition, phase)
    names = [column.name for column in board.columns]
    found = [(row, await _find_breakdown(visit, row.submission_id, by)) for row in board.rows[:BREAKDOWNS]]
    shown = [(row, {group.label: group for group in answer.groups}) for row, answer in found if answer is not None]
    return visit.page(
        "breakdown.html.j2",
        competition=competition,
        phase=phase,
        by=by,
        names=names,
        metric=metric if metric in names else names[0],
        labels=list(dict.fromkeys(label for _, groups in shown for label in groups)),
        shown=shown,
        kept_back=len(found) - len(shown),
        titles=await to_thread.run_sync(_read_titles, services.database, competition, phase),
    )


@router.get("/submissions/{submission_id}/breakdown")
async def show_submission_breakdown(submission_id: UUID, visit: Visiting, by: By = "subtasks") -> Response:
    """Where the means of one submission come from."""
    answer = await boards_api.show_breakdown(submission_id, visit.caller, visit.services, by=by)
    names = dict.fromkeys(name for group in answer.groups for name in group.metrics)
    return visit.page("submission_breakdown.html.j2", answer=answer, by=by, names=list(names))
