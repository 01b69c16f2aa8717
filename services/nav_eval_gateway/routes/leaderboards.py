"""Leaderboards: the standing, how it came to be, and where a submission's means come from."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute

from nav_eval.evaluation.aggregation import FinalAggregator, is_scored
from nav_eval.evaluation.grouping import GROUPINGS
from nav_eval.evaluation.results import EpisodeOutcome
from nav_eval_gateway import access
from nav_eval_gateway.access import ANYBODY, Caller, Sight
from nav_eval_gateway.board_cache import Edition, Rendered
from nav_eval_gateway.dependencies import Parts, Visitor
from nav_eval_gateway.negotiation import accepts_gzip, has_already, prefers_csv
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.boards import BoardAnswer, BreakdownAnswer, Group, HistoryAnswer, HistoryLine
from nav_eval_gateway.services import Services
from nav_eval_store import board_history, boards, episodes
from nav_eval_store.boards import Board
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import Conflict
from nav_eval_store.models import Competition, Phase, Submission
from nav_eval_store.scores import metric_directions
from nav_eval_store.tables import board_csv
from nav_eval_store.viewing import Audience, Viewer

_WHO = ("authorization", "cookie")
"""Headers by which somebody may be known."""


class PublicFirst(APIRoute):
    """Strangers who ask for a board as it is are most of all callers: for them nothing is to be resolved or checked.

    Anything more (a token, a parameter) goes the usual way through the same functions.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        usual = super().get_route_handler()

        async def handle(request: Request) -> Response:
            if request.scope["query_string"] or any(name in request.headers for name in _WHO):
                return await usual(request)
            return await _board(request, **request.path_params, caller=ANYBODY, parts=request.app.state.services)

        return handle


router = APIRouter(tags=["leaderboards"])
public_router = APIRouter(tags=["leaderboards"], route_class=PublicFirst)
BOARD = "/competitions/{competition}/phases/{phase}/leaderboard"
Format = Literal["json", "csv"]
By = Literal["subtasks", "scene", "path", "instruction"]

_TAG = {"ETag": {"description": "Changes with everything that the board shows.", "schema": {"type": "string"}}}
_CSV = {"text/csv": {"schema": {"type": "string"}, "example": "rank,team,kind,submission\n1,Wanderers,team,7c9e6679\n"}}
_UNCHANGED: dict[int | str, dict[str, Any]] = {
    304: {"description": "What you have (If-None-Match) is still what the board shows.", "headers": _TAG}
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": BoardAnswer, "description": "The board.", "headers": _TAG, "content": _CSV},
    **_UNCHANGED,
    **problems(401, 404),
}


@public_router.get(BOARD, response_model=None, responses=ANSWERS, summary="Leaderboard of a phase")
async def show_leaderboard(
    request: Request,
    competition: str,
    phase: str,
    caller: Visitor,
    parts: Parts,
    form: Annotated[Format | None, Query(alias="format", description="Instead of the header Accept.")] = None,
) -> Response:
    """The standing as the caller may see it, as JSON or as CSV.

    Ranks are shared where the episodes cannot tell teams apart. Send the ETag back as If-None-Match: while
    nothing has changed the answer is 304.
    """
    return await _board(request, competition, phase, caller=caller, parts=parts, form=form)


@router.get(
    f"{BOARD}.csv",
    response_class=Response,
    responses={**ANSWERS, 200: {"description": "The board.", "headers": _TAG, "content": _CSV}},
    summary="Leaderboard of a phase as CSV",
)
async def download_leaderboard(
    request: Request, competition: str, phase: str, caller: Visitor, parts: Parts
) -> Response:
    """The standing for a spreadsheet; cells that look like formulas are made harmless."""
    return await _board(request, competition, phase, caller=caller, parts=parts, form="csv")


async def _board(
    request: Request, competition: str, phase: str, *, caller: Caller, parts: Services, form: Format | None = None
) -> Response:
    form = form or ("csv" if prefers_csv(request.headers) else "json")
    now = await parts.boards.edition(competition, phase)
    viewer = await _viewer(parts.database, caller, now)
    kind = viewer_kind(viewer, now)

    def render() -> Rendered:
        return _rendered(parts.database, now, viewer, kind, _CONTENT[form])

    rendered = await parts.boards.get(now, kind, form, render)
    headers = {"Content-Disposition": f'inline; filename="{competition}-{phase}.csv"'} if form == "csv" else {}
    return await _answer(request, rendered, _MEDIA_TYPES[form], headers)


_MEDIA_TYPES: dict[Format, str] = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
_CONTENT: dict[Format, Callable[[Board, Phase], bytes]] = {
    "json": lambda board, phase: BoardAnswer.of(board, phase, phase.competition.name).model_dump_json().encode(),
    "csv": lambda board, _: board_csv(board).encode(),
}


async def _viewer(database: Database, caller: Caller, now: Edition) -> Viewer:
    return Viewer() if caller.user is None else await to_thread.run_sync(_known_viewer, database, caller, now)


def _known_viewer(database: Database, caller: Caller, now: Edition) -> Viewer:
    with database.read() as session:
        return access.viewer(session, caller, session.get_one(Competition, now.competition_id))


def viewer_kind(viewer: Viewer, now: Edition) -> str:
    """Viewers of one kind get the same bytes."""
    if viewer.is_organiser:
        return "organiser"
    return str(viewer.team_id) if now.audience == "team" and viewer.team_id is not None else "public"


def _rendered(
    database: Database, now: Edition, viewer: Viewer, kind: str, content: Callable[[Board, Phase], bytes]
) -> Rendered:
    with database.snapshot() as session:  # rows and version of one moment
        phase = session.get_one(Phase, now.phase_id)
        board = boards.leaderboard(session, phase, viewer)
        return Rendered(board.version, kind, content(board, phase))


async def _answer(request: Request, rendered: Rendered, media_type: str, headers: dict[str, str]) -> Response:
    """The bytes, compressed for those who like it, or nothing for those who have them."""
    etag, zipped = rendered.etag, accepts_gzip(request.headers)
    headers |= {
        "ETag": etag.removesuffix('"') + '-gzip"' if zipped else etag,
        "Cache-Control": f"{'public' if rendered.kind == 'public' else 'private'}, no-cache",
        "Vary": "Accept, Accept-Encoding, Authorization, Cookie",
    }
    if has_already(request.headers, etag):
        return Response(status_code=304, headers=headers)
    if not zipped:
        return Response(rendered.body, headers=headers, media_type=media_type)
    body = await to_thread.run_sync(lambda: rendered.compressed)
    return Response(body, headers={**headers, "Content-Encoding": "gzip"}, media_type=media_type)


@router.get(
    f"{BOARD}/history",
    response_model=None,
    responses={200: {"model": HistoryAnswer, "headers": _TAG}, **_UNCHANGED, **problems(401, 404)},
    summary="Scores and ranks over time",
)
async def show_leaderboard_history(
    request: Request,
    competition: str,
    phase: str,
    caller: Visitor,
    parts: Parts,
    top: Annotated[int, Query(ge=1, le=50, description="How many teams, from the best on.")] = 10,
    team: Annotated[UUID | None, Query(description="Only this team.")] = None,
) -> Response:
    """Every completed submission of the teams that lead now, and each change of their ranks (by bare scores)."""
    now = await parts.boards.edition(competition, phase)
    viewer = await _viewer(parts.database, caller, now)
    kind = viewer_kind(viewer, now)

    def render() -> Rendered:
        with parts.database.snapshot() as session:
            row = session.get_one(Phase, now.phase_id)
            lines = board_history.history(session, row, viewer, top=top, team_id=team)
            answer = HistoryAnswer(
                version=row.board_version,
                higher_is_better=row.ranking["higher_is_better"],
                teams=[HistoryLine.of(line) for line in lines],
            )
            return Rendered(row.board_version, kind, answer.model_dump_json().encode())

    rendered = await parts.boards.get(now, kind, f"history {top} {team}", render)
    return await _answer(request, rendered, "application/json", {})


@router.get("/submissions/{submission_id}/breakdown", responses=problems(401, 403, 404, 409), summary="Means by group")
async def show_breakdown(
    submission_id: UUID,
    caller: Visitor,
    parts: Parts,
    by: Annotated[
        By, Query(description="What divides the episodes; `path` and `instruction` are ranges.")
    ] = "subtasks",
) -> BreakdownAnswer:
    """A submission's means by number of sub-tasks, scene, length of the path or of the instruction.

    For those who may see its episodes. Scenes have neutral names for all but organisers.
    """

    sight = await to_thread.run_sync(_sight, parts.database, caller, submission_id)
    neutral = by == "scene" and sight.audience is not Audience.ORGANISER

    def compute() -> BreakdownAnswer:
        with parts.database.read() as session:
            return breakdown(session, submission_id, by, neutral=neutral)

    if sight.submission.state.is_final:
        return await parts.computing.once(("breakdown", submission_id, by, neutral), compute)
    return await parts.computing.run(compute)


def _sight(database: Database, caller: Caller, submission_id: UUID) -> Sight:
    with database.read() as session:
        return access.part_of(session, caller, submission_id, "episodes")


def breakdown(session: Session, submission_id: UUID, by: By, *, neutral: bool) -> BreakdownAnswer:
    """Statistics by group; `neutral` keeps the labels to ourselves."""
    phase = session.get_one(Submission, submission_id).phase
    outcomes = [_outcome(line) for line in episodes.lines(session, submission_id)]
    directions = metric_directions(phase)
    groups = FinalAggregator(directions=directions).by_group(
        [outcome for outcome in outcomes if is_scored(outcome)], list(directions), GROUPINGS[by]
    )
    labels = [f"scene {number}" for number in range(1, len(groups) + 1)] if neutral else list(groups)
    return BreakdownAnswer(
        submission_id=submission_id,
        by=by,
        groups=[Group.of(label, metrics) for label, metrics in zip(labels, groups.values(), strict=True)],
    )


_OUTCOMES = msgspec.json.Decoder(EpisodeOutcome)


def _outcome(line: str) -> EpisodeOutcome:
    try:
        return _OUTCOMES.decode(line)
    except msgspec.MsgspecError as error:  # the store checks what it needs itself, no more
        raise Conflict("A result of this submission has another form than this version knows.") from error
