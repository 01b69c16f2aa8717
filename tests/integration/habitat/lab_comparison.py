"""The real habitat-lab plays generated episodes; our own task scores the same actions.

python lab_comparison.py LAB_PYTHON [COUNT]  →  per task and kind of start: both scores, their difference

`placed` starts are on the ground of the body that the lab plays with. `lifted` ones are 5 cm above it: data sets have
such starts, and Habitat leaves an agent where it was set.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lab_files import write_lab_file
from own_player import make_placer, replay_episodes

from nav_eval_worlds.cli import generate_episodes, generate_houses

SOURCES = {
    "pointnav": "pointnav",
    "imagenav": "imagenav",
    "objectnav": "objectnav",
    "instance_imagenav": "imagenav",
    "vln": "vln",
}
STARTS = ("placed", "lifted")
EQUAL = 1e-6


@dataclass(frozen=True, kw_only=True)
class TaskComparison:
    """Episodes of one task, in the lab's numbers and in ours."""

    task: str
    starts: str
    lab: list[dict[str, float]]
    own: list[dict[str, float]]

    def compute_mean(self, metric: str, *, own: bool = False) -> float:
        return sum(float(scores[metric]) for scores in (self.own if own else self.lab)) / len(self.lab)

    @property
    def largest_difference(self) -> float:
        pairs = list(zip(self.lab, self.own, strict=True))
        return max(abs(float(lab[name]) - float(own[name])) for lab, own in pairs for name in ("success", "spl"))


def compare_tasks(lab: Path, folder: Path, count: int) -> list[TaskComparison]:
    """All tasks with both kinds of starts, in one process of the lab's Python."""
    houses, cache = folder / "houses", Path(os.environ["NAV_EVAL_CACHE"])
    generate_houses(out=houses, count=1, seed=100, template="flat_2", generator=1)
    for source in dict.fromkeys(SOURCES.values()):
        out = folder / f"{source}.json"
        generate_episodes(task=source, scenes=houses, out=out, count=count, split="seen", generator=1)
    files: dict[tuple[str, str], Path] = {}
    for task, source in SOURCES.items():
        placers = {"placed": make_placer(task, houses, cache), "lifted": make_placer(task, houses, cache, lift=0.05)}
        for starts in STARTS:
            out = folder / starts / f"{task}.json.gz"
            files[task, starts] = write_lab_file(folder / f"{source}.json", task, out, placers[starts])
    runs = play_in_lab(lab, houses, count, [(task, file) for (task, _), file in files.items()])
    return [
        TaskComparison(
            task=task,
            starts=starts,
            lab=[run["metrics"] for run in played],
            own=[metrics for metrics, _ in replay_episodes(task, files[task, starts], houses, cache, played)],
        )
        for (task, starts), played in zip(files, runs, strict=True)
    ]


def play_in_lab(lab: Path, scenes: Path, count: int, jobs: list[tuple[str, Path]]) -> list[list[dict]]:
    player = Path(__file__).parent / "lab_player.py"
    job = [[task, str(file)] for task, file in jobs]
    command = [str(lab.absolute()), str(player), str(scenes), str(count), json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == count * len(jobs)
    return [lines[k * count : (k + 1) * count] for k in range(len(jobs))]


def main() -> None:
    lab, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with tempfile.TemporaryDirectory() as made:
        os.environ["NAV_EVAL_CACHE"] = str(Path(made) / "cache")
        found = compare_tasks(lab, Path(made), count)
    print(
        "| task | starts | episodes | success, lab / ours | SPL, lab / ours | difference |\n|---|---|---|---|---|---|"
    )
    for row in found:
        means = [(row.compute_mean(name), row.compute_mean(name, own=True)) for name in ("success", "spl")]
        scores = " | ".join(f"{theirs:.4f} / {ours:.4f}" for theirs, ours in means)
        print(f"| {row.task} | {row.starts} | {len(row.lab)} | {scores} | {row.largest_difference:.1e} |")
    raise SystemExit(any(row.largest_difference > EQUAL for row in found))


if __name__ == "__main__":
    main()
