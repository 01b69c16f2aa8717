"""`python -m bench [NAME …]`: run the benches, print a table, write bench/results.json.

A bench is a module of this package with `run() -> dict[str, object]`. Keys that end in `_ratio` are
the figures that the documentation quotes; `TARGETS` says what each must reach.
"""

import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path

from bench.targets import TARGETS, Target

RESULTS = Path(__file__).parent / "results.json"
BENCHES = (
    "startup",
    "scoring",
    "datasets",
    "scene_files",
    "navigation",
    "rendering",
    "randomisation",
    "transport",
    "batching",
    "evaluation",
    "threads",
    "throughput",
    "memory",
    "envs",
    "habitat",
    "store",
    "gateway",
    "abuse",
)


def main(names: list[str]) -> int:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    failed = 0
    for name in names or BENCHES:
        started = time.perf_counter()
        figures = importlib.import_module(f"bench.{name}").run()
        known[name] = {"machine": _machine(), "seconds": round(time.perf_counter() - started, 1), "figures": figures}
        failed += _print(name, figures)
        RESULTS.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")
    return 1 if failed else 0


def _print(name: str, figures: dict[str, object]) -> int:
    """A line per figure; returns how many miss their target."""
    missed = 0
    print(f"\n{name}")
    for key, value in figures.items():
        target: Target | None = TARGETS.get(f"{name}.{key}")
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        verdict = ""
        if target and isinstance(value, int | float):
            reached = target.reached(float(value))
            missed += not reached
            verdict = f"  {target}  {'ok' if reached else 'MISSED'}"
        print(f"  {key:<44} {shown:>12}{verdict}")
    return missed


def _machine() -> dict[str, object]:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "load": round(os.getloadavg()[0], 1)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
