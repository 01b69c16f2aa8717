"""The episodes of a submission to look through: a table or a gallery, sorted, filtered, searched, worst first.

What a reader sees of an episode is decided by `permissions`: its result where the phase shows episodes, its scene and
instruction where it shows replays to everybody. What is not shown is neither sorted nor searched by.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.pages import leaderboard
from nav_eval_gateway.pages.context import Visit, Visiting, make_path
from nav_eval_gateway.permissions import SubmissionAccess
from nav_eval_store import blob_keys
from nav_eval_store.database import Session
from nav_eval_store.errors import NotAllowed, NotFound
from nav_eval_store.models import EpisodeRow, Phase
from nav_eval_store.submissions import episodes
from nav_eval_store.submissions.episodes import EpisodeChoice, EpisodeOrder, EpisodeSearch

router = APIRouter(include_in_schema=False)
ROWS = 50
MOST_PAGES = 10_000
COMPARED = 10
"""Entries of a board, from the best on, that are asked for what a phase shows of itself."""
USUAL = {"sort": "plan", "only": "all", "view": "table", "page": 1}
"""What an address need not say."""
SCORED_ORDERS = (EpisodeOrder.SCORE, EpisodeOrder.SUCCESS, EpisodeOrder.STEPS)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownEpisode:
    """An episode as the reader may see it."""

    row: EpisodeRow
    metrics: Mapping[str, float | bool | None]
    instruction: str | None
    scene: str | None
    solved: int | None  #: sub-tasks
    subtasks: int
    detail: str | None
    has_replay: bool


@dataclass(kw_only=True)
class Wish:
    """What an address asks for."""

    sort: EpisodeOrder = EpisodeOrder.PLAN
    order: Annotated[str, Query(pattern="^(asc|desc)?$")] = ""
    only: EpisodeChoice = EpisodeChoice.ALL
    scene: Annotated[str, Query(max_length=300)] = ""
    q: Annotated[str, Query(max_length=200)] = ""
    view: Annotated[str, Query(pattern="^(table|gallery)$")] = "table"
    page: Annotated[int, Query(ge=1, le=MOST_PAGES)] = 1

    def search(self) -> EpisodeSearch:
        return EpisodeSearch(
            order=self.sort,
            descending=self.order == "desc",
            choice=self.only,
            scene=self.scene,
            text=self.q,
            page=self.page,
            size=ROWS,
        )


Wished = Annotated[Wish, Depends()]


@router.get("/submissions/{submission_id}/episodes")
def show_episodes(submission_id: UUID, visit: Visiting, wish: Wished) -> Response:
    """The episodes of a submission."""
    with visit.store.read() as session:
        access = permissions.get_submission(session, visit.caller, submission_id)
        if not _has_something(access):
            raise NotAllowed("The {part} of this submission are visible to the organiser only.", part="episodes")
        return _render(visit, session, access, wish, base=f"/submissions/{submission_id}/episodes")


@router.get("/competitions/{competition}/{phase}/episodes")
async def show_phase_episodes(competition: str, phase: str, visit: Visiting, wish: Wished) -> Response:
    """The episodes of a phase as its best entry played them, and how many of the best entries solved each."""
    board = await leaderboard.read_board(visit, competition, phase)
    ids = [row.submission_id for row in board.rows[:COMPARED]]
    base = f"/competitions/{competition}/{phase}/episodes"
    return await run_in_threadpool(_render_phase, visit, ids, wish, base)


def _render_phase(visit: Visit, ids: Sequence[UUID], wish: Wish, base: str) -> Response:
    with visit.store.read() as session:
        seen = [access for access in _list_seen(session, visit, ids) if _has_something(access)]
        if not seen:
            raise NotFound("You may not see the episodes of any entry in this phase.")
        return _render(visit, session, seen[0], wish, base=base, others=[a for a in seen if a.shows("episodes")])


@router.get("/competitions/{competition}/{phase}/best")
async def show_best(competition: str, phase: str, visit: Visiting) -> Response:
    """The replay of the best entry that shows one: an episode that it solved, with a film if there is one."""
    board = await leaderboard.read_board(visit, competition, phase)
    ids = [row.submission_id for row in board.rows[:COMPARED]]
    return visit.go(await run_in_threadpool(_find_best, visit, ids))


def _find_best(visit: Visit, ids: Sequence[UUID]) -> str:
    with visit.store.read() as session:
        for access in _list_seen(session, visit, ids):
            if not access.shows("replays"):
                continue
            # Where results are not shown, the first one: to choose a solved one would tell that it is.
            order = EpisodeOrder.SUCCESS if access.shows("episodes") else EpisodeOrder.PLAN
            search = EpisodeSearch(order=order, descending=order is EpisodeOrder.SUCCESS, size=ROWS)
            rows = [row for row in episodes.find_episodes(session, access.submission, search).rows if row.replay_key]
            if rows:
                chosen = next((row for row in rows if _has_film(visit, row)), rows[0])
                return make_path(f"/submissions/{chosen.submission_id}/replay", {"episode": chosen.episode_id})
    raise NotFound("You may not see the replays of any entry in this phase.")


def _has_film(visit: Visit, row: EpisodeRow) -> bool:
    return visit.services.blobs.exists(blob_keys.make_film_key(row.submission_id, row.episode_id))


def _list_seen(session: Session, visit: Visit, ids: Sequence[UUID]) -> Iterator[SubmissionAccess]:
    for submission_id in ids:
        try:
            yield permissions.get_submission(session, visit.caller, submission_id)
        except NotFound:
            continue


def _has_something(access: SubmissionAccess) -> bool:
    return access.shows("episodes") or access.shows("replays")


def _render(
    visit: Visit,
    session: Session,
    access: SubmissionAccess,
    wish: Wish,
    *,
    base: str,
    others: Sequence[SubmissionAccess] = (),
) -> Response:
    """`others`: entries that are asked which of the episodes they solved."""
    submission, phase = access.submission, access.submission.phase
    search = limit_search(wish.search(), access)
    found = episodes.find_episodes(session, submission, search)
    asked = {"sort": search.order, "order": "desc" if search.descending else "", "only": search.choice}
    asked |= {"scene": search.scene, "q": search.text, "view": wish.view}

    def link(**changes: object) -> str:
        wanted = {**asked, **changes}
        return make_path(base, {key: value for key, value in wanted.items() if value != USUAL.get(key)})

    names = [row.episode_id for row in found.rows]
    return visit.page(
        "explorer.html.j2",
        submission=submission,
        phase=phase,
        competition=phase.competition,
        link=link,
        base=base,
        search=search,
        view=wish.view,
        total=found.total,
        pages=max(1, -(-found.total // ROWS)),
        shown=[show_episode(row, access) for row in found.rows],
        metrics=_list_metrics(phase) if access.shows("episodes") else [],
        scenes=episodes.list_scenes(session, submission) if access.shows_instructions() else [],
        others=len(others),
        solved_by=episodes.count_solved(session, [other.submission.id for other in others], names) if others else {},
        shows_episodes=access.shows("episodes"),
        shows_replays=access.shows("replays"),
        shows_instructions=access.shows_instructions(),
    )


def limit_search(asked: EpisodeSearch, access: SubmissionAccess) -> EpisodeSearch:
    """The search without what the reader may not see: an order tells as much as a column."""
    order, choice, scene = asked.order, asked.choice, asked.scene
    if not access.shows("episodes"):
        order, choice = (EpisodeOrder.PLAN if order in SCORED_ORDERS else order), EpisodeChoice.ALL
    if not access.shows_instructions():
        order, scene = (EpisodeOrder.PLAN if order is EpisodeOrder.SCENE else order), ""
    return EpisodeSearch(
        order=order,
        descending=asked.descending,
        choice=choice,
        scene=scene,
        text=asked.text,
        reads_instructions=access.shows_instructions(),
        page=asked.page,
        size=asked.size,
    )


def show_episode(row: EpisodeRow, access: SubmissionAccess) -> ShownEpisode:
    fields: Mapping[str, Any] = {} if row.outcome is None else msgspec.json.decode(row.outcome)
    scored, told = access.shows("episodes"), access.shows_instructions()
    subtasks: Sequence[Mapping[str, Any]] = fields.get("subtasks") or () if told else ()
    return ShownEpisode(
        row=row,
        metrics=fields.get("metrics") or {} if scored else {},
        instruction=fields.get("instruction") if told else None,
        scene=row.scene_id if told else None,
        solved=sum(bool(subtask.get("success")) for subtask in subtasks) if scored else None,
        subtasks=len(subtasks),
        detail=fields.get("detail") if scored else None,
        has_replay=access.shows("replays") and row.status is not None and row.replay_key is not None,
    )


def _list_metrics(phase: Phase) -> list[str]:
    """All but the score, which has a column of its own."""
    return [metric["name"] for metric in phase.metrics if metric["name"] != "score"]
