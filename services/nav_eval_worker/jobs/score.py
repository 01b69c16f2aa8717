"""From the episodes to the board: scores, a replay that proves them, and files for those who may see them."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import nav_eval
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.dataset import TaskDataset
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import MANIFEST_FILE, manifest_of
from nav_eval.evaluation.runs import EPISODES_FILE
from nav_eval_store import export, organising, places, scores, submissions
from nav_eval_store.actors import worker_actor
from nav_eval_store.database import Session
from nav_eval_worker.holding import Hold
from nav_eval_worker.jobs import artifacts, films, replaying, rules
from nav_eval_worker.jobs.briefing import Brief, benchmark_of, brief_for
from nav_eval_worker.jobs.shard import USAGE
from nav_eval_worker.workshop import Workshop, run_folder

SAMPLE = 5
"""Episodes that are replayed where a phase asks for a sample."""

log = logging.getLogger(__name__)


def score(shop: Workshop, hold: Hold) -> None:
    """The submission is complete afterwards."""
    brief = brief_for(shop, hold.lease.submission_id)
    benchmark = benchmark_of(shop, brief)
    episodes = load_episodes(benchmark)
    with run_folder(shop, hold.lease.id) as folder:
        run = _write_run(shop, brief, benchmark, episodes, folder)
        checked = _verified(shop, hold, brief, folder)
        facts = {**run, "verification": checked, "usage": _usage(shop, brief)}
        _keep_artifacts(shop, brief, benchmark, folder)
        shop.insist(lambda session: _publish(session, hold, benchmark, facts, verified=_is_whole(brief, checked)))
        hold.let_go()
        films.make(shop, hold, folder)  # nobody waits for these


def _write_run(
    shop: Workshop, brief: Brief, benchmark: BenchmarkConfig, episodes: TaskDataset, folder: Path
) -> dict[str, Any]:
    """The run as `nav-eval evaluate` would have left it; returns what identifies it."""
    manifest = manifest_of(benchmark, episodes, agent=brief.canary.get("agent", {}), run_seed=brief.run_seed(benchmark))
    (folder / MANIFEST_FILE).write_bytes(msgspec.json.encode(manifest))
    with shop.database.read() as session, (folder / EPISODES_FILE).open("wb") as file:
        file.writelines(export.episode_lines(session, brief.submission_id, shop.blobs))
    return {"digests": manifest.digests, "engine_version": nav_eval.__version__, "run_seed": manifest.run_seed}


def _verified(shop: Workshop, hold: Hold, brief: Brief, folder: Path) -> dict[str, Any] | None:
    """Play it again without the agent, as far as the phase asks for it."""
    if brief.phase.verify == "none":
        return None
    found = replaying.checked(shop, hold, folder, episodes=SAMPLE if brief.phase.verify == "sample" else None)
    if not found.equal:
        log.error("Submission %s does not replay: %s", brief.submission_id, "\n".join(found.differences))
    return {"episodes": found.episodes, "steps": found.steps, "equal": found.equal}


def _is_whole(brief: Brief, checked: dict[str, Any] | None) -> bool:
    """Only what was replayed to the last episode is called verified."""
    return brief.phase.verify == "all" and checked is not None and bool(checked["equal"])


def _usage(shop: Workshop, brief: Brief) -> dict[str, Any]:
    """What all of its shards used together; the peak is the largest of theirs."""
    blobs = shop.blobs.list(places.artifact(brief.submission_id, USAGE))
    parts: Sequence[dict[str, Any]] = [msgspec.json.decode(shop.blobs.get(blob.key)) for blob in blobs]
    return {
        "seconds": sum(part["seconds"] for part in parts),
        "cpu_seconds": sum(part["cpu_seconds"] or 0.0 for part in parts),
        "memory_bytes": max((part["memory_bytes"] or 0 for part in parts), default=0),
    }


def _keep_artifacts(shop: Workshop, brief: Brief, benchmark: BenchmarkConfig, folder: Path) -> None:
    """A page that cannot be drawn costs no score."""
    try:
        made = artifacts.made_from(folder, benchmark)
    except Exception:
        log.exception("No artifacts of submission %s", brief.submission_id)
        return
    for name, data in made.items():
        shop.blobs.put(places.artifact(brief.submission_id, name), data)


def _publish(
    session: Session, hold: Hold, benchmark: BenchmarkConfig, facts: dict[str, Any], *, verified: bool
) -> None:
    submission = submissions.get(session, hold.lease.submission_id)
    sheet = rules.score_sheet(session, submission, benchmark)
    scores.publish(session, hold.lease, sheet, provenance=facts)
    if verified:
        organising.mark_verified(session, submission.id, actor=worker_actor(hold.lease.worker))
