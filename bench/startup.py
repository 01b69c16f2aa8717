"""What it costs to start: CPU seconds of whole commands, as multiples of a bare `python -c pass`.

The least of several runs: whatever else the machine does only adds to a run. Bytecode may be kept, as it is where
nav-eval is installed from a wheel; the first of the runs writes it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from nav_eval.child_process import make_nav_eval_command

RUNS = 5
FORMER = Path(__file__).parents[1] / "tests" / "data" / "run_0_1_0"
LINE = {
    "episode_id": "a",
    "trajectory": [[0, 0, 0], [1, 0, 0], [2, 0, 0]],
    "stopped": True,
    "success_distance": 3.0,
    "goal": [2.5, 0, 0],
    "reference_path": [[0, 0, 0], [2.5, 0, 0]],
}


def run() -> dict[str, object]:
    bare = measure_cpu(sys.executable, "-c", "pass")
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "tiny.jsonl"
        file.write_text(json.dumps(LINE) + "\n")
        cache = {"NAV_EVAL_CACHE": str(Path(scratch) / "cache")}
        seconds = {
            "help": measure_cpu(*make_nav_eval_command("--help")),
            "version": measure_cpu(*make_nav_eval_command("--version")),
            "score": measure_cpu(*make_nav_eval_command("score", str(file), "--task", "vln")),
            "verify": measure_cpu(*make_nav_eval_command("verify", "vln"), folder=FORMER, environment=cache),
        }
    figures: dict[str, object] = {"bare_python_seconds": bare}
    for name, value in seconds.items():
        figures[f"{name}_seconds"], figures[f"{name}_over_bare_ratio"] = value, value / bare
    return figures


def measure_cpu(*command: str, folder: Path | None = None, environment: dict[str, str] | None = None) -> float:
    """The least CPU seconds of a command, its children's included."""
    return min(_measure_once(command, folder, environment or {}) for _ in range(RUNS))


def _measure_once(command: tuple[str, ...], folder: Path | None, environment: dict[str, str]) -> float:
    allowed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, cwd=folder, env=allowed | environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
