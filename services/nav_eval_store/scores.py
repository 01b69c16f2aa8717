"""From the episodes of a submission to its scores, and into the competition for the board.

Scores are a pure function of the episodes' lines: `compute` reads, `publish` writes. A worker that
scores by another rule (LH-VLN's `reference`) makes its own `ScoreSheet`.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import delete, select

from nav_eval.metrics.bootstrap import Bootstrap
from nav_eval.metrics.statistics import Statistics, is_higher_better, summarise
from nav_eval_store import episodes, leases, transitions
from nav_eval_store.actors import worker_actor
from nav_eval_store.board_versions import board_changed
from nav_eval_store.database import Session
from nav_eval_store.leases import Lease
from nav_eval_store.lifecycle import JobState, State
from nav_eval_store.models import Entry, EpisodeRow, LeaseEnd, Phase, Score, Submission, Visibility
from nav_eval_store.tally import Outcome, is_scored, scored_value


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreSheet:
    """What a submission is worth."""

    metrics: Mapping[str, Statistics]  #: columns of the board
    ranking: Statistics  #: what decides the order
    values: Mapping[str, float | None]  #: its value in each episode, for paired tests


def compute(session: Session, submission: Submission, *, bootstrap: Bootstrap | None = None) -> ScoreSheet:
    """Means with confidence intervals over all episodes; scenes are resampled."""
    phase = submission.phase
    known = [outcome for outcome in episodes.outcomes(session, submission.id) if is_scored(outcome)]
    scenes = [outcome.scene_id for outcome in known]
    directions = metric_directions(phase)
    names = list(directions) or list(dict.fromkeys(name for outcome in known for name in outcome.metrics))
    ranking = [ranking_value(outcome, phase.ranking["weights"], directions) for outcome in known]
    return ScoreSheet(
        metrics={
            name: summarise(_values(known, name, directions), scenes=scenes, bootstrap=bootstrap) for name in names
        },
        ranking=summarise(ranking, scenes=scenes, bootstrap=bootstrap),
        values={outcome.episode_id: value for outcome, value in zip(known, ranking, strict=True)},
    )


def metric_directions(phase: Phase) -> dict[str, bool]:
    """The columns of a phase's board, and whether high values are good there."""
    return {metric["name"]: bool(metric["higher_is_better"]) for metric in phase.metrics}


def _values(known: Sequence[Outcome], metric: str, directions: Mapping[str, bool]) -> list[float | None]:
    higher = is_higher_better(metric, directions)
    return [scored_value(outcome, metric, higher_is_better=higher) for outcome in known]


def ranking_value(outcome: Outcome, weights: Mapping[str, float], directions: Mapping[str, bool]) -> float | None:
    """The weighted sum that ranks; None where a part of it is no number."""
    parts = [
        (weight, scored_value(outcome, name, higher_is_better=is_higher_better(name, directions)))
        for name, weight in weights.items()
    ]
    known = [weight * value for weight, value in parts if value is not None]
    return math.fsum(known) if len(known) == len(parts) else None


def publish(session: Session, lease: Lease, sheet: ScoreSheet, *, provenance: Mapping[str, Any] | None = None) -> None:
    """The submission is complete: its scores stand, and it competes for the board."""
    submission, job, row = leases.held_with_submission(session, lease)
    transitions.end_lease(session, row, job, LeaseEnd.DONE)
    job.state, job.finished_at = JobState.DONE, session.now()
    submission.provenance = {**submission.provenance, **(provenance or {})}
    write(session, submission, sheet)
    transitions.move(session, submission, State.COMPLETED, actor=worker_actor(lease.worker))
    if submission.is_reevaluation and submission.rerun_of is not None:
        _replace(session, submission)
    board_changed(session, Phase.id == submission.phase_id)


def write(session: Session, submission: Submission, sheet: ScoreSheet) -> None:
    """Keep the scores of a submission instead of those it has."""
    session.execute(delete(Score).where(Score.submission_id == submission.id))
    directions = metric_directions(submission.phase)
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
    entry = session.get(Entry, submission.id) or _entry(session, submission)
    entry.score, entry.ci_low, entry.ci_high = sheet.ranking.mean, sheet.ranking.ci_low, sheet.ranking.ci_high
    entry.values, entry.episodes_digest = pack(sheet.values), digest_of(sheet.values)
    session.add(entry)
    session.flush()


def _entry(session: Session, submission: Submission) -> Entry:
    return Entry(
        submission_id=submission.id,
        phase_id=submission.phase_id,
        team_id=submission.team_id,
        submitted_at=_first_submitted(session, submission),
        completed_at=session.now(),
        visibility=Visibility.SHOWN,
    )


def _first_submitted(session: Session, submission: Submission) -> Any:  # noqa: ANN401
    """A re-evaluation keeps the place in time of what it repeats."""
    original = session.get(Submission, submission.rerun_of) if submission.is_reevaluation else None
    if original is not None:
        return _first_submitted(session, original)
    return submission.submitted_at or submission.created_at


def _replace(session: Session, submission: Submission) -> None:
    """What was re-evaluated leaves the board; its being hidden or disqualified stays with its successor."""
    original = session.get_one(Submission, submission.rerun_of)
    original.superseded_by = submission.id
    before, after = session.get(Entry, original.id), session.get_one(Entry, submission.id)
    if before is not None:
        after.visibility, after.reason = before.visibility, before.reason


def pack(values: Mapping[str, float | None]) -> bytes:
    """Values in the order of the sorted episode ids; eight bytes each, NaN where there is none."""
    ordered = [values[episode] for episode in sorted(values)]
    return np.array([math.nan if value is None else value for value in ordered], dtype="<f8").tobytes()


def unpack(data: bytes, episode_ids: Sequence[str]) -> dict[str, float | None]:
    """The other way round; `episode_ids` sorted."""
    numbers = np.frombuffer(data, dtype="<f8").tolist()
    return {episode: None if math.isnan(value) else value for episode, value in zip(episode_ids, numbers, strict=True)}


def digest_of(episode_ids: Mapping[str, object]) -> str:
    """Equal for submissions that were evaluated on the same episodes."""
    return hashlib.sha256("\n".join(sorted(episode_ids)).encode("utf-8", "surrogatepass")).hexdigest()


def scenes_of(session: Session, submission_id: UUID) -> dict[str, str | None]:
    """The scene of each episode."""
    query = select(EpisodeRow.episode_id, EpisodeRow.scene_id).where(EpisodeRow.submission_id == submission_id)
    return dict(session.execute(query).all())
