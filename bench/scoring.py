"""Re-scoring: how much of it is more than reading JSON, and exact DTW against the usual approximation."""

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from fastdtw import fastdtw

from nav_eval.evaluation import offline_scoring
from nav_eval.metrics.dtw import compute_dtw
from nav_eval.metrics.lh_vln import ScoringOptions
from nav_eval.records import results

LINES = 100_000
POINTS = 500


def run() -> dict[str, object]:
    return _scoring() | _dtw()


def _scoring() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tasks.jsonl"
        _write_tasks(file)
        offline_scoring.score_long_horizon(file, ScoringOptions())  # warm the file cache
        parse = _median(lambda: results.read_lines(file, offline_scoring.TaskLine))
        bare = _median(lambda: msgspec.json.Decoder().decode_lines(file.read_bytes()))
        total = _median(lambda: offline_scoring.score_long_horizon(file, ScoringOptions()))
    return {
        "score_100k_lines_seconds": total,
        "typed_parse_seconds": parse,
        "bare_parse_seconds": bare,
        "json_share_ratio": parse / total,
    }


def _dtw() -> dict[str, object]:
    rng = np.random.default_rng(7)
    walk = np.cumsum(rng.normal(size=(POINTS, 3)), axis=0)
    reference = walk + rng.normal(scale=0.5, size=walk.shape)
    exact = compute_dtw(walk, reference)
    approximate, _ = fastdtw(walk, reference, dist=_euclid)
    ours = _median(lambda: compute_dtw(walk, reference), repeats=20)
    theirs = _median(lambda: fastdtw(walk, reference, dist=_euclid), repeats=3)
    return {
        "dtw_milliseconds": ours * 1e3,
        "fastdtw_milliseconds": theirs * 1e3,
        "dtw_over_fastdtw_ratio": theirs / ours,
        "fastdtw_excess_ratio": approximate / exact,
    }


def _euclid(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.linalg.norm(first - second))


def _write_tasks(file: Path) -> None:
    rng = random.Random(7)
    with file.open("w") as lines:
        for index in range(LINES):
            subtasks = [_subtask(rng) for _ in range(rng.randint(2, 4))]
            lines.write(json.dumps({"episode_id": f"episode_{index:06}", "subtasks": subtasks}) + "\n")


def _subtask(rng: random.Random) -> dict[str, object]:
    attempted = rng.random() < 0.9
    return {
        "success": rng.random() < 0.4,
        "oracle_success": rng.random() < 0.6,
        "navigation_error": rng.uniform(0, 15) if attempted else None,
        "ground_truth_distance": rng.uniform(3, 20) if attempted else None,
        "ground_truth_steps": rng.randint(1, 100),
        "steps": rng.randint(1, 300) if attempted else None,
    }


def _median(call: Callable[[], object], *, repeats: int = 5) -> float:
    """CPU seconds, which the machine's other work does not change much."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return statistics.median(times)
