"""Files of a completed submission for those whom the phase shows them: results, report, and the lines behind them.

Instruction, scene and distances of an episode belong to the test set and stay out. Scenes keep a number
each, in their own order, so that intervals (which resample scenes) come out the same.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.html_report import render_html
from nav_eval.evaluation.report import ReportHeader
from nav_eval.evaluation.results import EpisodeOutcome, encode, read_results
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.runs import EPISODES_FILE, REPORT_FILE
from nav_eval_store.episodes import SHOWN


def made_from(run: Path, benchmark: BenchmarkConfig) -> dict[str, bytes]:
    """By name; RUN is a folder as `nav-eval evaluate` leaves it."""
    outcomes = shown(list(read_results(run / EPISODES_FILE, EpisodeOutcome)))
    digests = RunFolder(run).manifest().digests
    report = build_report(outcomes, header=ReportHeader(benchmark=benchmark.name, digests=digests))
    return {
        EPISODES_FILE: b"".join(encode(outcome) + b"\n" for outcome in outcomes),
        REPORT_FILE: msgspec.json.format(msgspec.json.encode(report)),
        "report.html": render_html(report).encode(),
    }


def shown(outcomes: Sequence[EpisodeOutcome]) -> list[EpisodeOutcome]:
    """Results without what belongs to the test set."""
    scenes = sorted({outcome.scene_id for outcome in outcomes if outcome.scene_id is not None})
    names = {scene: f"scene_{number:05}" for number, scene in enumerate(scenes, start=1)}
    return [_without_secrets(outcome, scene=names.get(outcome.scene_id or "")) for outcome in outcomes]


def _without_secrets(outcome: EpisodeOutcome, *, scene: str | None) -> EpisodeOutcome:
    kept = {key: value for key, value in msgspec.structs.asdict(outcome).items() if key in SHOWN}
    return msgspec.convert({**kept, "scene_id": scene}, EpisodeOutcome)
