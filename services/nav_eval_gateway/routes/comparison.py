"""Two submissions side by side."""

from typing import Annotated
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
    await to_thread.run_sync(_refuse, parts.database, caller, first, second)

    def compute() -> ComparisonAnswer:
        with parts.database.read() as session:
            return comparison(session, submissions.get(session, first), submissions.get(session, second))

    return await parts.computing.once(("comparison", first, second), compute)


def _refuse(database: Database, caller: Caller, first: UUID, second: UUID) -> None:
    """Unless the caller may see both, and they can be compared."""
    with database.read() as session:
        sights = [access.part_of(session, caller, key, "scores") for key in (first, second)]
        refuse_incomparable(*(sight.submission for sight in sights))


def comparison(session: Session, first: Submission, second: Submission) -> ComparisonAnswer:
    directions = metric_directions(first.phase)
    results = compare_submissions(session, first, second)
    return ComparisonAnswer(
        competition=first.phase.competition.name,
        phase=first.phase.name,
        first=_side(first),
        second=_side(second),
        metrics={
            name: None if result is None else MetricComparison.of(result, higher_is_better=directions[name])
            for name, result in results.items()
        },
    )


def _side(submission: Submission) -> ComparedSubmission:
    return ComparedSubmission(
        submission_id=submission.id,
        team=submission.team.name,
        team_id=submission.team_id,
        title=submission.title,
        number=submission.number,
    )
