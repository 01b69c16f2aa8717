"""Two submissions side by side, episode by episode."""

from collections.abc import Sequence
from uuid import UUID

from nav_eval.metrics.bootstrap import Bootstrap
from nav_eval.metrics.comparison import Comparison, RunScores, RunsDiffer, compare
from nav_eval.metrics.statistics import is_higher_better, is_valid
from nav_eval_store import episodes
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Submission
from nav_eval_store.scores import metric_directions
from nav_eval_store.tally import Outcome, is_scored, scored_value


def refuse_incomparable(first: Submission, second: Submission) -> None:
    """Unless their episodes can be paired."""
    for submission in (first, second):
        if submission.state is not State.COMPLETED:
            raise Conflict(
                "Only completed submissions can be compared; one of them is {state}.", state=submission.state
            )
    if first.phase_id != second.phase_id:
        raise Conflict("The two submissions are of different phases; their episodes cannot be paired.")


def comparison_inputs(
    session: Session, first: Submission, second: Submission, *, metrics: Sequence[str] = ()
) -> dict[str, tuple[RunScores, RunScores]]:
    """The values of both by metric, as `nav_eval.metrics.comparison.compare` takes them."""
    refuse_incomparable(first, second)
    directions = metric_directions(first.phase)
    outcomes = [[o for o in episodes.outcomes(session, s.id) if is_scored(o)] for s in (first, second)]
    return {
        name: (
            _run(first.id, outcomes[0], name, higher=is_higher_better(name, directions)),
            _run(second.id, outcomes[1], name, higher=is_higher_better(name, directions)),
        )
        for name in metrics or directions
    }


def _run(submission_id: UUID, outcomes: Sequence[Outcome], metric: str, *, higher: bool) -> RunScores:
    return RunScores(
        name=str(submission_id),
        values={o.episode_id: scored_value(o, metric, higher_is_better=higher) for o in outcomes},
        scenes={o.episode_id: o.scene_id for o in outcomes if o.scene_id is not None},
    )


def compare_submissions(
    session: Session,
    first: Submission,
    second: Submission,
    *,
    metrics: Sequence[str] = (),
    bootstrap: Bootstrap | None = None,
) -> dict[str, Comparison | None]:
    """The paired comparison in each metric; None where the two share no episode with a value."""
    inputs = comparison_inputs(session, first, second, metrics=metrics)
    try:
        return {
            name: compare(one, other, bootstrap=bootstrap) if _share_a_value(one, other) else None
            for name, (one, other) in inputs.items()
        }
    except RunsDiffer as error:  # whose message names episodes, which are not for everybody
        raise Conflict(
            "The two submissions were evaluated on different episodes; evaluate the older one again first."
        ) from error


def _share_a_value(one: RunScores, other: RunScores) -> bool:
    return any(is_valid(value) and is_valid(other.values.get(episode)) for episode, value in one.values.items())
