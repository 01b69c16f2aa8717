"""Looking through the episodes of a submission: sorted, filtered, searched, a page at a time.

Every order has an index, so that a page of 5,000 episodes costs what a page of 50 costs. What somebody may not see
they cannot sort or search by either: who calls says what that is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import JSON, ColumnElement, cast, false, func, select, true
from sqlalchemy.orm import InstrumentedAttribute, aliased

from nav_eval.records.results import EpisodeStatus
from nav_eval_store.database import Session
from nav_eval_store.models import EpisodeRow, Submission


class EpisodeOrder(StrEnum):
    """What episodes are sorted by; the lowest first."""

    PLAN = "plan"  #: the order in which they were planned
    SCORE = "score"  #: what each adds to the ranking: the worst first
    SUCCESS = "success"
    STEPS = "steps"
    SCENE = "scene"


class EpisodeChoice(StrEnum):
    """Which episodes."""

    ALL = "all"
    SOLVED = "solved"
    UNSOLVED = "unsolved"
    FAULT = "fault"  #: those that did not come to their end


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeSearch:
    """What somebody wants to see."""

    order: EpisodeOrder = EpisodeOrder.PLAN
    descending: bool = False
    choice: EpisodeChoice = EpisodeChoice.ALL
    scene: str = ""
    text: str = ""  #: in the id, and in the instruction for those who may read it
    reads_instructions: bool = False
    page: int = 1
    size: int = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundEpisodes:
    """A page of them."""

    rows: Sequence[EpisodeRow]
    total: int  #: on all pages


_COLUMNS: dict[EpisodeOrder, tuple[InstrumentedAttribute[Any], ...]] = {
    EpisodeOrder.PLAN: (),
    EpisodeOrder.SCORE: (EpisodeRow.score,),
    EpisodeOrder.SUCCESS: (EpisodeRow.success, EpisodeRow.score),
    EpisodeOrder.STEPS: (EpisodeRow.num_steps,),
    EpisodeOrder.SCENE: (EpisodeRow.scene_id,),
}
"""Each with an index that begins with the submission and ends with the position."""


def find_episodes(session: Session, submission: Submission, search: EpisodeSearch) -> FoundEpisodes:
    """A page of what was asked for; those that are not played yet come in the order of the plan alone."""
    conditions = [EpisodeRow.submission_id == submission.id, *_list_conditions(session, search)]
    total = session.scalar(select(func.count()).select_from(EpisodeRow).where(*conditions)) or 0
    query = select(EpisodeRow).where(*conditions).order_by(*_list_keys(search))
    query = query.limit(search.size).offset((search.page - 1) * search.size)
    return FoundEpisodes(rows=session.scalars(query).all(), total=total)


def list_scenes(session: Session, submission: Submission, *, limit: int = 200) -> Sequence[str]:
    """The scenes of a submission, by name."""
    query = select(EpisodeRow.scene_id).where(
        EpisodeRow.submission_id == submission.id, EpisodeRow.scene_id.is_not(None)
    )
    found = session.scalars(query.distinct().order_by(EpisodeRow.scene_id).limit(limit))
    return [scene for scene in found if scene is not None]


def count_solved(session: Session, submission_ids: Sequence[UUID], episode_ids: Sequence[str]) -> Mapping[str, int]:
    """How many of these submissions solved each of these episodes."""
    query = select(EpisodeRow.episode_id, func.count()).where(
        EpisodeRow.submission_id.in_(submission_ids),
        EpisodeRow.episode_id.in_(episode_ids),
        EpisodeRow.success.is_(True),
    )
    return dict(session.execute(query.group_by(EpisodeRow.episode_id)).all())


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedEpisodes:
    """What became of the episodes that two submissions share."""

    both: int = 0  #: solved
    first: int = 0  #: solved by the first alone
    second: int = 0
    neither: int = 0


def count_pairs(session: Session, first: UUID, second: UUID) -> PairedEpisodes:
    """How many episodes both, one, or neither solved; those that nothing is known of are left out."""
    one, other = aliased(EpisodeRow), aliased(EpisodeRow)
    query = (
        select(one.success, other.success, func.count())
        .join(other, other.episode_id == one.episode_id)
        .where(one.submission_id == first, other.submission_id == second)
        .where(one.success.is_not(None), other.success.is_not(None))
        .group_by(one.success, other.success)
    )
    names = {(True, True): "both", (True, False): "first", (False, True): "second", (False, False): "neither"}
    return PairedEpisodes(**{names[bool(a), bool(b)]: count for a, b, count in session.execute(query)})


def list_solved_by_one(session: Session, first: UUID, second: UUID, *, limit: int) -> Sequence[str]:
    """Episodes that the first solved and the second did not, in the order of the plan."""
    one, other = aliased(EpisodeRow), aliased(EpisodeRow)
    query = (
        select(one.episode_id)
        .join(other, other.episode_id == one.episode_id)
        .where(one.submission_id == first, other.submission_id == second)
        .where(one.success == true(), other.success == false())
        .order_by(one.position)
        .limit(limit)
    )
    return session.scalars(query).all()


def _list_keys(search: EpisodeSearch) -> list[ColumnElement[Any]]:
    columns = _COLUMNS[search.order]
    if search.descending:
        return [*(column.desc().nulls_last() for column in columns), EpisodeRow.position.desc()]
    return [*(column.asc().nulls_first() for column in columns), EpisodeRow.position.asc()]


def _list_conditions(session: Session, search: EpisodeSearch) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if search.choice is EpisodeChoice.ALL and search.order is not EpisodeOrder.PLAN:
        found.append(EpisodeRow.num_steps.is_not(None))  # played: the status has no index
    elif search.choice is EpisodeChoice.SOLVED:
        found.append(EpisodeRow.success == true())
    elif search.choice is EpisodeChoice.UNSOLVED:
        found.append(EpisodeRow.success == false())
    elif search.choice is EpisodeChoice.FAULT:
        found.append(EpisodeRow.status != EpisodeStatus.COMPLETED)
    if search.scene:
        found.append(EpisodeRow.scene_id == search.scene)
    if search.text:
        found.append(_match_text(session, search))
    return found


def _match_text(session: Session, search: EpisodeSearch) -> ColumnElement[bool]:
    in_id = EpisodeRow.episode_id.icontains(search.text, autoescape=True)
    if not search.reads_instructions:
        return in_id
    return in_id | func.coalesce(_get_instruction(session).icontains(search.text, autoescape=True), False)


def _get_instruction(session: Session) -> ColumnElement[str]:
    sqlite: ColumnElement[str] = func.json_extract(EpisodeRow.outcome, "$.instruction")
    postgres: ColumnElement[str] = cast(EpisodeRow.outcome, JSON)["instruction"].as_string()
    return sqlite if session.get_bind().dialect.name == "sqlite" else postgres
