"""LeRobot itself reads what we export.

It pins libraries that we have in other versions and brings gigabytes, so it lives in an environment of its own:

    python3.11 -m venv lerobot && lerobot/bin/pip install lerobot==0.4.4
    NAV_EVAL_LEROBOT_PYTHON=lerobot/bin/python pytest tests/unit/evaluation/export/test_real_lerobot.py
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nav_eval.evaluation.export import export_run
from nav_eval.evaluation.trajectories import RunTrajectories

PYTHON = os.environ.get("NAV_EVAL_LEROBOT_PYTHON")
READER = Path(__file__).with_name("read_with_lerobot.py")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="set NAV_EVAL_LEROBOT_PYTHON to a Python that has lerobot 0.4"),
]


@pytest.mark.parametrize("form", ["lerobot-v3", "lerobot-v2.1"])
def test_lerobot_reads_it(form: str, mixed_run: Path, tmp_path: Path) -> None:
    export_run(mixed_run, form=form, out=tmp_path / "set", cache=tmp_path / "cache", sensors=["rgb_left"], fps=5)
    subprocess.run([str(PYTHON), str(READER), str(tmp_path / "set"), str(tmp_path / "read.npz")], check=True)
    read = np.load(tmp_path / "read.npz")
    run = RunTrajectories(mixed_run, sensors=["rgb_left"], cache=tmp_path / "cache")
    walked = list(run.dataset)
    assert (read["episodes"], read["fps"]) == (len(walked), 5)
    assert read["only_second"] == walked[1].length
    np.testing.assert_array_equal(read["episode"], np.repeat(range(len(walked)), [one.length for one in walked]))
    assert read["task"].tolist() == [one.instruction for one in walked for _ in range(one.length)]
    assert read["action"].shape == (run.dataset.steps, 3)
    np.testing.assert_array_equal(read["next_actions"], read["action"][:2])
    np.testing.assert_array_equal(read["state"][0], np.zeros(4))
    assert read["batch"].tolist() == [3, 3, 36, 48]
    drawn = [frame["rgb_left"] for index in range(len(walked)) for frame in list(run.dataset.frames(index))[:-1]]
    run.close()
    seen = read["pictures"].transpose(0, 2, 3, 1)[:, :35] * 255
    error = np.mean((seen - np.stack(drawn)) ** 2, axis=(1, 2, 3))
    assert 10 * np.log10(255**2 / error.max()) > 25  # decibels: every picture, at its own place
