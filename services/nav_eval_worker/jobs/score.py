"""From the episodes to the board: scores by the rule of the benchmark, a replay that proves them, and files to see.

Means over episodes nearly everywhere, which is the store's own rule. LH-VLN's `reference` pools sub-tasks over
the whole dataset: its numbers come from the raw quantities and have no value per episode, so boards rank
them bare. Files are for those whom the phase shows them: instruction, scene and distances of an episode belong to
the test set and stay out. Scenes keep a number each, in their own order, so that intervals (which resample scenes)
come out the same.
"""

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.loader import TaskDataset
from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.aliases import draw_sample
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.offline_scoring import compute_long_horizon_scores
from nav_eval.evaluation.report import ReportHeader
from nav_eval.evaluation.run_folder import (
    EPISODES_FILE,
    MANIFEST_FILE,
    REPORT_FILE,
    RunFolder,
    make_header,
    make_manifest,
)
from nav_eval.evaluation.shard_protocol import Checked
from nav_eval.metrics.statistics import Statistics
from nav_eval.records.results import EpisodeOutcome, encode_result, read_results
from nav_eval.records.scoring import is_scored
from nav_eval_store import blob_keys
from nav_eval_store.audit import make_worker_actor
from nav_eval_store.boards import scores
from nav_eval_store.boards.scores import ScoreSheet
from nav_eval_store.competitions import export, moderation
from nav_eval_store.database import Session
from nav_eval_store.models import Submission
from nav_eval_store.submissions import queries
from nav_eval_store.submissions.queries import TEAM_EPISODE_FIELDS
from nav_eval_worker.context import WorkerContext, make_run_folder
from nav_eval_worker.jobs import replay
from nav_eval_worker.jobs.shard import USAGE
from nav_eval_worker.jobs.submission import SubmissionDetails, load_details, open_benchmark
from nav_eval_worker.lease_keeper import LeaseKeeper

SAMPLE = 5
"""Episodes that are replayed where a phase asks for a sample."""

log = logging.getLogger(__name__)


def score_submission(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """The submission is complete afterwards."""
    details = load_details(context, keeper.lease.submission_id)
    benchmark = open_benchmark(context, details)
    episodes = load_episodes(benchmark)
    with make_run_folder(context, keeper.lease.id) as folder:
        run = _write_run(context, details, benchmark, episodes, folder)
        found = _verify(context, keeper, details, episodes, folder)
        checked = None if found is None else {"episodes": found.episodes, "steps": found.steps, "equal": found.equal}
        facts = {**run, "verification": checked, "usage": _sum_usage(context, details)}
        if found is not None and not found.equal:
            facts[scores.DIFFERENCES] = list(found.differences)
        _keep_artifacts(context, details, benchmark, folder)
        context.transact(
            lambda session: _publish(session, keeper, benchmark, facts, verified=_is_whole(details, checked))
        )
        keeper.stop_renewing()
        replay.make_films(context, keeper, folder)  # nobody waits for these


def _write_run(
    context: WorkerContext, details: SubmissionDetails, benchmark: BenchmarkConfig, episodes: TaskDataset, folder: Path
) -> dict[str, Any]:
    """The run as `nav-eval evaluate` would have left it; returns what identifies it."""
    manifest = make_manifest(
        benchmark,
        episodes,
        agent=details.canary.get("agent", {}),
        run_seed=details.run_seed(benchmark),
        episode_seed=details.episode_seed,
    )
    (folder / MANIFEST_FILE).write_bytes(msgspec.json.encode(manifest))
    with context.database.read() as session, (folder / EPISODES_FILE).open("wb") as file:
        file.writelines(export.export_episode_lines(session, details.submission_id, context.blobs))
    return {"digests": manifest.digests, "engine_version": nav_eval.__version__, "run_seed": manifest.run_seed}


def _verify(
    context: WorkerContext, keeper: LeaseKeeper, details: SubmissionDetails, episodes: TaskDataset, folder: Path
) -> Checked | None:
    """Play it again without the agent, as far as the phase asks for it."""
    if details.phase.verify == "none":
        return None
    sample = _choose_sample(details, episodes)
    count = None if sample is None else SAMPLE
    found = replay.check_run(context, keeper, folder, episodes=count, episode_ids=sample)
    if not found.equal:
        log.error("Submission %s does not replay: %s", details.submission_id, "\n".join(found.differences))
    return found


def _choose_sample(details: SubmissionDetails, episodes: TaskDataset) -> tuple[str, ...] | None:
    """Drawn from a seed that was fixed after the upload, so that nobody can prepare for it; None is all."""
    if details.phase.verify == "all":
        return None
    if details.episode_seed is None:  # validated by an older version
        return tuple(episodes.episode_ids[:SAMPLE])
    return draw_sample(episodes.episode_ids, details.episode_seed, SAMPLE)


def _is_whole(details: SubmissionDetails, checked: dict[str, Any] | None) -> bool:
    """Only what was replayed to the last episode is called verified."""
    return details.phase.verify == "all" and checked is not None and bool(checked["equal"])


def _sum_usage(context: WorkerContext, details: SubmissionDetails) -> dict[str, Any]:
    """What all of its shards used together; the peak is the largest of theirs."""
    blobs = context.blobs.list(blob_keys.make_artifact_key(details.submission_id, USAGE))
    parts: Sequence[dict[str, Any]] = [msgspec.json.decode(context.blobs.get(blob.key)) for blob in blobs]
    return {
        "seconds": sum(part["seconds"] for part in parts),
        "cpu_seconds": sum(part["cpu_seconds"] or 0.0 for part in parts),
        "memory_bytes": max((part["memory_bytes"] or 0 for part in parts), default=0),
    }


def _keep_artifacts(
    context: WorkerContext, details: SubmissionDetails, benchmark: BenchmarkConfig, folder: Path
) -> None:
    """A page that cannot be drawn costs no score."""
    try:
        made = make_artifacts(folder, benchmark)
    except Exception:
        log.exception("No artifacts of submission %s", details.submission_id)
        return
    for name, data in made.items():
        context.blobs.put(blob_keys.make_artifact_key(details.submission_id, name), data)


def _publish(
    session: Session, keeper: LeaseKeeper, benchmark: BenchmarkConfig, facts: dict[str, Any], *, verified: bool
) -> None:
    submission = queries.get_submission(session, keeper.lease.submission_id)
    sheet = compute_score_sheet(session, submission, benchmark)
    scores.publish_scores(session, keeper.lease, sheet, provenance=facts)
    if verified:
        moderation.mark_verified(session, submission.id, actor=make_worker_actor(keeper.lease.worker))


NOTE = "pooled over all sub-tasks, as the rule `reference` has it"


def compute_score_sheet(session: Session, submission: Submission, benchmark: BenchmarkConfig) -> ScoreSheet:
    sheet = scores.compute_scores(session, submission)
    if benchmark.task.type != "lh_vln" or benchmark.task.scoring.rule != "reference":
        return sheet
    row = _compute_reference_row(session, submission, benchmark)
    return _make_pooled_sheet(sheet, row, submission.phase.ranking["weights"])


def _compute_reference_row(
    session: Session, submission: Submission, benchmark: BenchmarkConfig
) -> dict[str, float | None]:
    lines = queries.read_result_lines(session, submission.id)
    outcomes = [msgspec.json.decode(line, type=EpisodeOutcome) for line in lines]
    return compute_long_horizon_scores(benchmark.model_dump(mode="json"), filter(is_scored, outcomes))


def _make_pooled_sheet(sheet: ScoreSheet, row: dict[str, float | None], weights: dict[str, float]) -> ScoreSheet:
    metrics = {
        name: _make_bare(statistics, row[name]) if name in row else statistics
        for name, statistics in sheet.metrics.items()
    }
    parts = [(weight, metrics[name].mean if name in metrics else row.get(name)) for name, weight in weights.items()]
    known = [weight * value for weight, value in parts if value is not None]
    total = math.fsum(known) if len(known) == len(parts) else None
    return ScoreSheet(metrics=metrics, ranking=_make_bare(sheet.ranking, total), values=dict.fromkeys(sheet.values))


def _make_bare(statistics: Statistics, value: float | None) -> Statistics:
    """A number without a spread: there are no values per episode to take it from."""
    return replace(statistics, mean=value, std=None, ci_low=None, ci_high=None, note=NOTE)


def make_artifacts(run: Path, benchmark: BenchmarkConfig) -> dict[str, bytes]:
    """By name; RUN is a folder as `nav-eval evaluate` leaves it."""
    outcomes = redact_outcomes(list(read_results(run / EPISODES_FILE, EpisodeOutcome)))
    from nav_eval.evaluation.html_report import render_html

    whole = make_header(RunFolder(run).manifest())
    header = ReportHeader(
        benchmark=benchmark.name, digests=whole.digests, higher_is_better=whole.higher_is_better
    )  # the configuration says where the data is
    report = build_report(outcomes, header=header)
    return {
        EPISODES_FILE: b"".join(encode_result(outcome) + b"\n" for outcome in outcomes),
        REPORT_FILE: msgspec.json.format(msgspec.json.encode(report)),
        "report.html": render_html(report).encode(),
    }


def redact_outcomes(outcomes: Sequence[EpisodeOutcome]) -> list[EpisodeOutcome]:
    """Results without what belongs to the test set."""
    scenes = sorted({outcome.scene_id for outcome in outcomes if outcome.scene_id is not None})
    names = {scene: f"scene_{number:05}" for number, scene in enumerate(scenes, start=1)}
    return [_redact(outcome, scene=names.get(outcome.scene_id or "")) for outcome in outcomes]


def _redact(outcome: EpisodeOutcome, *, scene: str | None) -> EpisodeOutcome:
    kept = {key: value for key, value in msgspec.structs.asdict(outcome).items() if key in TEAM_EPISODE_FIELDS}
    return msgspec.convert({**kept, "scene_id": scene}, EpisodeOutcome)
