"""From the episodes of a submission to its scores and onto the board; and two submissions side by side.

Scores are a pure function of the episodes' lines: `compute_scores` reads, `publish_scores` writes. A worker that
scores by another rule (LH-VLN's `reference`) makes its own `ScoreSheet`.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import delete, select, update

from nav_eval.metrics.comparison import Comparison, RunScores, RunsDiffer, compare
from nav_eval.metrics.statistics import Bootstrap, Statistics, summarize
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus
from nav_eval.records.scoring import compute_ranking_value, get_scored_value, is_higher_better, is_scored, is_valid
from nav_eval_store import audit
from nav_eval_store.audit import Actor, make_worker_actor
from nav_eval_store.boards.leaderboard import mark_board_changed
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict
from nav_eval_store.models import BoardEntry, EntryVisibility, EpisodeRow, LeaseEnd, Phase, Score, Submission
from nav_eval_store.submissions import queries, transitions
from nav_eval_store.submissions.lifecycle import JobState, SubmissionState
from nav_eval_store.work import leases
from nav_eval_store.work.leases import Lease


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreSheet:
    """What a submission is worth."""

    metrics: Mapping[str, Statistics]  #: columns of the board
    ranking: Statistics  #: what decides the order
    values: Mapping[str, float | None]  #: its value in each episode, for paired tests


def compute_scores(session: Session, submission: Submission, *, bootstrap: Bootstrap | None = None) -> ScoreSheet:
    """Means with confidence intervals over all episodes; scenes are resampled."""
    phase = submission.phase
    known = [outcome for outcome in queries.read_outcomes(session, submission.id) if is_scored(outcome)]
    scenes = [outcome.scene_id for outcome in known]
    directions = get_metric_directions(phase)
    names = list(directions) or list(dict.fromkeys(name for outcome in known for name in outcome.metrics))
    ranking = [compute_ranking_value(outcome, phase.ranking["weights"], directions) for outcome in known]
    return ScoreSheet(
        metrics={
            name: summarize(_collect_values(known, name, directions), scenes=scenes, bootstrap=bootstrap)
            for name in names
        },
        ranking=_refuse_gaps(known, ranking, summarize(ranking, scenes=scenes, bootstrap=bootstrap)),
        values={outcome.episode_id: value for outcome, value in zip(known, ranking, strict=True)},
    )


INCOMPLETE = "not ranked: a failed episode has no value where less is better"


def _refuse_gaps(known: Sequence[EpisodeOutcome], values: Sequence[float | None], statistics: Statistics) -> Statistics:
    """No rank for a run that failed where there is no worst value to count: who gives up must not gain by it."""
    pairs = zip(known, values, strict=True)
    if any(value is None and outcome.status is not EpisodeStatus.COMPLETED for outcome, value in pairs):
        return replace(statistics, mean=None, ci_low=None, ci_high=None, note=INCOMPLETE)
    return statistics


def get_metric_directions(phase: Phase) -> dict[str, bool]:
    """The columns of a phase's board, and whether high values are good there."""
    return {metric["name"]: bool(metric["higher_is_better"]) for metric in phase.metrics}


def _collect_values(known: Sequence[EpisodeOutcome], metric: str, directions: Mapping[str, bool]) -> list[float | None]:
    higher = is_higher_better(metric, directions)
    return [get_scored_value(outcome, metric, higher_is_better=higher) for outcome in known]


def publish_scores(
    session: Session, lease: Lease, sheet: ScoreSheet, *, provenance: Mapping[str, Any] | None = None
) -> None:
    """The submission is complete: its scores stand, and it competes for the board."""
    submission, job, row = leases.lock_held_job_with_submission(session, lease)
    transitions.end_lease(session, row, job, LeaseEnd.DONE)
    job.state, job.finished_at = JobState.DONE, session.now()
    submission.provenance = {**submission.provenance, **(provenance or {})}
    write_scores(session, submission, sheet)
    actor = make_worker_actor(lease.worker)
    transitions.move_to_state(session, submission, SubmissionState.COMPLETED, actor=actor)
    if submission.is_reevaluation and submission.rerun_of is not None:
        _replace_original(session, submission)
    if differences := list_differences(submission):
        _mark_held(session, submission, differences, actor=actor)
    mark_board_changed(session, Phase.id == submission.phase_id)


DIFFERENCES = "differences"
"""Of a submission's provenance: what its replay without the agent gave otherwise."""
HELD_REASON = "Played again without the agent, it gave other numbers; the organiser looks at it."


def list_differences(submission: Submission) -> Sequence[str]:
    """What its replay gave otherwise, in words; for organisers, because it may name places of the test set."""
    found: Sequence[str] = submission.provenance.get(DIFFERENCES) or ()
    return found


def _mark_held(session: Session, submission: Submission, differences: Sequence[str], *, actor: Actor) -> None:
    """Numbers that cannot be repeated reach no board before an organiser has said so."""
    entry = session.get_one(BoardEntry, submission.id)
    if entry.visibility is EntryVisibility.DISQUALIFIED:
        return
    entry.visibility, entry.reason = EntryVisibility.HELD, HELD_REASON
    subject = audit.make_subject(submission)
    audit.record(session, actor, "submission.held", subject, difference=differences[0], differences=len(differences))


def write_scores(session: Session, submission: Submission, sheet: ScoreSheet) -> None:
    """Keep the scores of a submission instead of those it has."""
    session.execute(delete(Score).where(Score.submission_id == submission.id))
    directions = get_metric_directions(submission.phase)
    session.add_all(
        Score(
            submission_id=submission.id,
            metric=name,
            position=position,
            mean=statistics.mean,
            std=statistics.std,
            ci_low=statistics.ci_low,
            ci_high=statistics.ci_high,
            count=statistics.count,
            invalid=statistics.invalid,
            higher_is_better=is_higher_better(name, directions),
            note=statistics.note,
        )
        for position, (name, statistics) in enumerate(sheet.metrics.items())
    )
    entry = session.get(BoardEntry, submission.id) or _make_entry(session, submission)
    entry.score, entry.ci_low, entry.ci_high = sheet.ranking.mean, sheet.ranking.ci_low, sheet.ranking.ci_high
    entry.values, entry.episodes_digest = pack_values(sheet.values), compute_ids_digest(sheet.values)
    session.add(entry)
    session.flush()
    _write_episode_scores(session, submission.id, sheet.values)


def _write_episode_scores(session: Session, submission_id: UUID, values: Mapping[str, float | None]) -> None:
    """What each episode adds, so that episodes can be put in its order."""
    rows = [{"submission_id": submission_id, "episode_id": key, "score": value} for key, value in values.items()]
    if rows:
        session.execute(update(EpisodeRow), rows)


def _make_entry(session: Session, submission: Submission) -> BoardEntry:
    return BoardEntry(
        submission_id=submission.id,
        phase_id=submission.phase_id,
        team_id=submission.team_id,
        submitted_at=_find_first_submitted(session, submission),
        completed_at=session.now(),
        visibility=EntryVisibility.SHOWN,
    )


def _find_first_submitted(session: Session, submission: Submission) -> Any:  # noqa: ANN401
    """A re-evaluation keeps the place in time of what it repeats."""
    original = session.get(Submission, submission.rerun_of) if submission.is_reevaluation else None
    if original is not None:
        return _find_first_submitted(session, original)
    return submission.submitted_at or submission.created_at


def _replace_original(session: Session, submission: Submission) -> None:
    """What was re-evaluated leaves the board; its being hidden or disqualified stays with its successor."""
    original = session.get_one(Submission, submission.rerun_of)
    original.superseded_by = submission.id
    before, after = session.get(BoardEntry, original.id), session.get_one(BoardEntry, submission.id)
    if before is not None:
        after.visibility, after.reason = before.visibility, before.reason


def pack_values(values: Mapping[str, float | None]) -> bytes:
    """Values in the order of the sorted episode ids; eight bytes each, NaN where there is none."""
    ordered = [values[episode] for episode in sorted(values)]
    return np.array([math.nan if value is None else value for value in ordered], dtype="<f8").tobytes()


def unpack_values(data: bytes, episode_ids: Sequence[str]) -> dict[str, float | None]:
    """The other way round; `episode_ids` sorted."""
    numbers = np.frombuffer(data, dtype="<f8").tolist()
    return {episode: None if math.isnan(value) else value for episode, value in zip(episode_ids, numbers, strict=True)}


def compute_ids_digest(episode_ids: Mapping[str, object]) -> str:
    """Equal for submissions that were evaluated on the same episodes."""
    return hashlib.sha256("\n".join(sorted(episode_ids)).encode("utf-8", "surrogatepass")).hexdigest()


def read_scenes(session: Session, submission_id: UUID) -> dict[str, str | None]:
    """The scene of each episode."""
    query = select(EpisodeRow.episode_id, EpisodeRow.scene_id).where(EpisodeRow.submission_id == submission_id)
    return dict(session.execute(query).all())


def refuse_incomparable(first: Submission, second: Submission) -> None:
    """Unless their episodes can be paired."""
    for submission in (first, second):
        if submission.state is not SubmissionState.COMPLETED:
            raise Conflict(
                "Only completed submissions can be compared; one of them is {state}.", state=submission.state
            )
    if first.phase_id != second.phase_id:
        raise Conflict("The two submissions belong to different phases; their episodes cannot be paired.")


def read_comparison_inputs(
    session: Session, first: Submission, second: Submission, *, metrics: Sequence[str] = ()
) -> dict[str, tuple[RunScores, RunScores]]:
    """The values of both by metric, as `nav_eval.metrics.comparison.compare` takes them."""
    refuse_incomparable(first, second)
    directions = get_metric_directions(first.phase)
    outcomes = [[o for o in queries.read_outcomes(session, s.id) if is_scored(o)] for s in (first, second)]
    return {
        name: (
            _make_run_scores(first.id, outcomes[0], name, higher=is_higher_better(name, directions)),
            _make_run_scores(second.id, outcomes[1], name, higher=is_higher_better(name, directions)),
        )
        for name in metrics or directions
    }


def _make_run_scores(
    submission_id: UUID, outcomes: Sequence[EpisodeOutcome], metric: str, *, higher: bool
) -> RunScores:
    return RunScores(
        name=str(submission_id),
        values={o.episode_id: get_scored_value(o, metric, higher_is_better=higher) for o in outcomes},
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
    inputs = read_comparison_inputs(session, first, second, metrics=metrics)
    try:
        return {
            name: compare(one, other, bootstrap=bootstrap) if _has_shared_value(one, other) else None
            for name, (one, other) in inputs.items()
        }
    except RunsDiffer as error:  # whose message names episodes, which are not for everybody
        raise Conflict(
            "The two submissions were evaluated on different episodes; evaluate the older one again first."
        ) from error


def _has_shared_value(one: RunScores, other: RunScores) -> bool:
    return any(is_valid(value) and is_valid(other.values.get(episode)) for episode, value in one.values.items())
