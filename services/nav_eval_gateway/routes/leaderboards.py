"""Leaderboards: the standing, how it came to be, and where a submission's means come from."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from fastapi.routing import APIRoute

from nav_eval.evaluation.aggregation import FinalAggregator
from nav_eval.evaluation.report import GROUPINGS
from nav_eval.records.results import EpisodeOutcome
from nav_eval.records.scoring import is_scored
from nav_eval_gateway import permissions
from nav_eval_gateway.board_cache import BoardVersion, RenderedAnswer
from nav_eval_gateway.dependencies import Parts, Services, Visitor
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import ANYBODY, Caller, SubmissionAccess
from nav_eval_gateway.responses import has_already, is_csv_preferred, is_gzip_accepted
from nav_eval_gateway.schemas.leaderboards import (
    BoardAnswer,
    BreakdownAnswer,
    BreakdownGroup,
    ComparedSubmission,
    ComparisonAnswer,
    HistoryAnswer,
    HistoryLine,
    MetricComparison,
)
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.boards.leaderboard import Board, format_board_csv
from nav_eval_store.boards.scores import compare_submissions, get_metric_directions, refuse_incomparable
from nav_eval_store.competitions.visibility import Audience, Viewer
from nav_eval_store.database import Database, Session
from nav_eval_store.errors import Conflict
from nav_eval_store.models import Competition, Phase, Submission, Team
from nav_eval_store.submissions import queries

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
            return await _answer_board(request, **request.path_params, caller=ANYBODY, parts=request.app.state.services)

        return handle


router = APIRouter(tags=["leaderboards"])
comparison_router = APIRouter(tags=["leaderboards"])
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
    **describe_problems(401, 404),
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
    return await _answer_board(request, competition, phase, caller=caller, parts=parts, form=form)


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
    return await _answer_board(request, competition, phase, caller=caller, parts=parts, form="csv")


async def _answer_board(
    request: Request, competition: str, phase: str, *, caller: Caller, parts: Services, form: Format | None = None
) -> Response:
    form = form or ("csv" if is_csv_preferred(request.headers) else "json")
    now = await parts.boards.find_version(competition, phase)
    viewer = await _find_viewer(parts.database, caller, now)
    kind = classify_viewer(viewer, now)

    def render() -> RenderedAnswer:
        return _render(parts.database, now, viewer, kind, _CONTENT[form])

    rendered = await parts.boards.get(now, kind, form, render)
    headers = {"Content-Disposition": f'inline; filename="{competition}-{phase}.csv"'} if form == "csv" else {}
    return await _answer(request, rendered, _MEDIA_TYPES[form], headers)


_MEDIA_TYPES: dict[Format, str] = {"json": "application/json", "csv": "text/csv; charset=utf-8"}
_CONTENT: dict[Format, Callable[[Board, Phase], bytes]] = {
    "json": lambda board, phase: BoardAnswer.of(board, phase, phase.competition.name).model_dump_json().encode(),
    "csv": lambda board, _: format_board_csv(board).encode(),
}


async def _find_viewer(database: Database, caller: Caller, now: BoardVersion) -> Viewer:
    return Viewer() if caller.user is None else await to_thread.run_sync(read_viewer, database, caller, now)


def read_viewer(database: Database, caller: Caller, now: BoardVersion) -> Viewer:
    with database.read() as session:
        return permissions.get_viewer(session, caller, session.get_one(Competition, now.competition_id))


def classify_viewer(viewer: Viewer, now: BoardVersion) -> str:
    """Viewers of one kind get the same bytes."""
    if viewer.is_organiser:
        return "organiser"
    return str(viewer.team_id) if now.audience == "team" and viewer.team_id is not None else "public"


def _render(
    database: Database, now: BoardVersion, viewer: Viewer, kind: str, content: Callable[[Board, Phase], bytes]
) -> RenderedAnswer:
    with database.snapshot() as session:  # rows and version of one moment
        phase = session.get_one(Phase, now.phase_id)
        board = leaderboard.build_board(session, phase, viewer)
        return RenderedAnswer(board.version, kind, content(board, phase))


async def _answer(request: Request, rendered: RenderedAnswer, media_type: str, headers: dict[str, str]) -> Response:
    """The bytes, compressed for those who like it, or nothing for those who have them."""
    etag, zipped = rendered.etag, is_gzip_accepted(request.headers)
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
    responses={200: {"model": HistoryAnswer, "headers": _TAG}, **_UNCHANGED, **describe_problems(401, 404)},
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
    now = await parts.boards.find_version(competition, phase)
    viewer = await _find_viewer(parts.database, caller, now)
    kind = classify_viewer(viewer, now)
    if team is not None:  # any number may be asked for; only those of teams have an answer that is worth keeping
        team, top = await to_thread.run_sync(_find_team_id, parts.database, now, team), 1

    def render() -> RenderedAnswer:
        with parts.database.snapshot() as session:
            row = session.get_one(Phase, now.phase_id)
            lines = ranking.build_team_histories(session, row, viewer, top=top, team_id=team)
            answer = HistoryAnswer(
                version=row.board_version,
                higher_is_better=row.ranking["higher_is_better"],
                teams=[HistoryLine.from_row(line) for line in lines],
            )
            return RenderedAnswer(row.board_version, kind, answer.model_dump_json().encode())

    rendered = await parts.boards.get(now, kind, f"history {top} {team}", render)
    return await _answer(request, rendered, "application/json", {})


NOBODY = UUID(int=0)


def _find_team_id(database: Database, now: BoardVersion, team_id: UUID) -> UUID:
    with database.read() as session:
        team = session.get(Team, team_id)
        return NOBODY if team is None or team.competition_id != now.competition_id else team_id


@router.get(
    "/submissions/{submission_id}/breakdown", responses=describe_problems(401, 403, 404, 409), summary="Means by group"
)
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

    access = await to_thread.run_sync(_get_access, parts.database, caller, submission_id)
    neutral = by == "scene" and access.audience is not Audience.ORGANISER

    def compute() -> BreakdownAnswer:
        with parts.database.read() as session:
            return compute_breakdown(session, submission_id, by, neutral=neutral)

    if access.submission.state.is_final:
        return await parts.computing.once(("breakdown", submission_id, by, neutral), compute)
    return await parts.computing.run(compute)


def _get_access(database: Database, caller: Caller, submission_id: UUID) -> SubmissionAccess:
    with database.read() as session:
        return permissions.get_submission_showing(session, caller, submission_id, "episodes")


def compute_breakdown(session: Session, submission_id: UUID, by: By, *, neutral: bool) -> BreakdownAnswer:
    """Statistics by group; `neutral` keeps the labels to ourselves."""
    phase = session.get_one(Submission, submission_id).phase
    outcomes = [_decode_outcome(line) for line in queries.read_result_lines(session, submission_id)]
    directions = get_metric_directions(phase)
    groups = FinalAggregator(directions=directions).by_group(
        [outcome for outcome in outcomes if is_scored(outcome)], list(directions), GROUPINGS[by]
    )
    labels = [f"scene {number}" for number in range(1, len(groups) + 1)] if neutral else list(groups)
    return BreakdownAnswer(
        submission_id=submission_id,
        by=by,
        groups=[BreakdownGroup.of(label, metrics) for label, metrics in zip(labels, groups.values(), strict=True)],
    )


_OUTCOMES = msgspec.json.Decoder(EpisodeOutcome)


def _decode_outcome(line: str) -> EpisodeOutcome:
    try:
        return _OUTCOMES.decode(line)
    except msgspec.MsgspecError as error:  # the store checks what it needs itself, no more
        raise Conflict("A result of this submission has a format that this version does not know.") from error


@comparison_router.get(
    "/comparison", responses=describe_problems(401, 403, 404, 409), summary="Compare two submissions"
)
async def compare(
    caller: Visitor,
    parts: Parts,
    first: Annotated[UUID, Query(description="A completed submission.")],
    second: Annotated[UUID, Query(description="Another one of the same phase.")],
) -> ComparisonAnswer:
    """Is one better than the other, or did it only have more luck? For two submissions whose scores you may see.

    Episodes are paired, so that what makes one hard cancels out; scenes are resampled. Yes-or-no metrics come
    with McNemar's test.
    """
    heads = await to_thread.run_sync(_read_heads, parts.database, caller, first, second)

    def compute() -> dict[str, MetricComparison | None]:
        with parts.database.read() as session:
            return compare_metrics(
                session, queries.get_submission(session, first), queries.get_submission(session, second)
            )

    return ComparisonAnswer(**heads, metrics=await parts.computing.once(("comparison", first, second), compute))


def _read_heads(database: Database, caller: Caller, first: UUID, second: UUID) -> dict[str, Any]:
    """What they are called now; refused unless the caller may see both, and they can be compared."""
    with database.read() as session:
        one, other = (
            permissions.get_submission_showing(session, caller, key, "scores").submission for key in (first, second)
        )
        refuse_incomparable(one, other)
        phase = one.phase
        return {
            "competition": phase.competition.name,
            "phase": phase.name,
            "first": _describe_side(one),
            "second": _describe_side(other),
        }


def compare_metrics(session: Session, first: Submission, second: Submission) -> dict[str, MetricComparison | None]:
    """The paired comparison in each metric."""
    directions = get_metric_directions(first.phase)
    return {
        name: None if result is None else MetricComparison.of(result, higher_is_better=directions[name])
        for name, result in compare_submissions(session, first, second).items()
    }


def _describe_side(submission: Submission) -> ComparedSubmission:
    return ComparedSubmission(
        submission_id=submission.id,
        team=submission.team.name,
        team_id=submission.team_id,
        title=submission.title,
        number=submission.number,
    )
