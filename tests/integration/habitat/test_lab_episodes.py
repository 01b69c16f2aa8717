"""The real habitat-lab from PyPI plays generated episodes; our own task gives the same actions the same score.

The Python that has habitat-lab is `$NAV_EVAL_LAB_PYTHON` (`make habitat` has one per version); else they are skipped.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from lab_files import write_lab_file
from own_player import make_placer, replay_episodes

from nav_eval_worlds.cli import generate_episodes, generate_houses

LAB = os.environ.get("NAV_EVAL_LAB_PYTHON")
COUNT = int(os.environ.get("NAV_EVAL_LAB_EPISODES", "20"))
SOURCES = {
    "pointnav": "pointnav",
    "imagenav": "imagenav",
    "objectnav": "objectnav",
    "instance_imagenav": "imagenav",
    "vln": "vln",
}

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.skipif(not LAB, reason="needs a Python with habitat-lab: make habitat"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAV_EVAL_CACHE", str(folder / "cache"))
        generate_houses(out=folder / "houses", count=1, seed=100, template="flat_2")
        for task in dict.fromkeys(SOURCES.values()):
            generate_episodes(
                task=task, scenes=folder / "houses", out=folder / f"{task}.json", count=COUNT, split="seen"
            )
    return folder


@pytest.mark.parametrize("task", SOURCES)
def test_success_and_spl_are_those_of_our_own_task(folder: Path, task: str) -> None:
    place = make_placer(task, folder / "houses", folder / "cache")
    data = write_lab_file(folder / f"{SOURCES[task]}.json", task, folder / "lab" / f"{task}.json.gz", place)
    player = Path(__file__).parent / "lab_player.py"
    played = subprocess.run(
        [str(Path(LAB or "").absolute()), str(player), task, str(data), str(folder / "houses"), str(COUNT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NAV_EVAL_CACHE": str(folder / "cache")},
    )
    assert played.returncode == 0, played.stderr[-3000:]
    runs = [json.loads(line) for line in played.stdout.splitlines() if line.startswith("{")]
    assert len(runs) == COUNT
    assert sum(run["metrics"]["success"] for run in runs) > COUNT / 2
    for run, (metrics, _) in zip(
        runs, replay_episodes(task, data, folder / "houses", folder / "cache", runs), strict=True
    ):
        assert run["metrics"]["success"] == metrics["success"], run["episode"]
        assert run["metrics"]["spl"] == pytest.approx(metrics["spl"], abs=1e-6), run["episode"]
