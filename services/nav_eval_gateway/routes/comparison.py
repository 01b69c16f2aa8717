"""Two submissions side by side."""

from typing import Annotated, Any
from uuid import UUID

from anyio import to_thread
from fastapi import APIRouter, Query

from nav_eval_gateway import access
from nav_eval_gateway.access import Caller
from nav_eval_gateway.dependencies import Parts, Visitor
from nav_eval_gateway.problems import problems
from nav_eval_gateway.schemas.boards import ComparedSubmission, ComparisonAnswer, MetricComparison
from nav_eval_store import submissions
from nav_eval_store.comparing import compare_submissions, refuse_incomparable
from nav_eval_store.database import Database, Session
from nav_eval_store.models import Submission
from nav_eval_store.scores import metric_directions

router = APIRouter(tags=["leaderboards"])


@router.get("/comparison", responses=problems(401, 403, 404, 409), summary="Compare two submissions")
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
    heads = await to_thread.run_sync(_heads, parts.database, caller, first, second)

    def compute() -> dict[str, MetricComparison | None]:
        with parts.database.read() as session:
            return compared(session, submissions.get(session, first), submissions.get(session, second))

    return ComparisonAnswer(**heads, metrics=await parts.computing.once(("comparison", first, second), compute))


def _heads(database: Database, caller: Caller, first: UUID, second: UUID) -> dict[str, Any]:
    """What they are called now; refused unless the caller may see both, and they can be compared."""
    with database.read() as session:
        one, other = (access.part_of(session, caller, key, "scores").submission for key in (first, second))
        refuse_incomparable(one, other)
        phase = one.phase
        return {
            "competition": phase.competition.name,
            "phase": phase.name,
            "first": _side(one),
            "second": _side(other),
        }


def compared(session: Session, first: Submission, second: Submission) -> dict[str, MetricComparison | None]:
    """The paired comparison in each metric."""
    directions = metric_directions(first.phase)
    return {
        name: None if result is None else MetricComparison.of(result, higher_is_better=directions[name])
        for name, result in compare_submissions(session, first, second).items()
    }


def _side(submission: Submission) -> ComparedSubmission:
    return ComparedSubmission(
        submission_id=submission.id,
        team=submission.team.name,
        team_id=submission.team_id,
        title=submission.title,
        number=submission.number,
    )
