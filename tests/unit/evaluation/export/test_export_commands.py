"""`nav-eval collect` and `nav-eval export` on the command line."""

import json
from pathlib import Path

import pytest
from trajectory_support import SMALL
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.dataset.trajectory import TrajectoryDataset

pytestmark = pytest.mark.slow


def test_from_a_benchmark_to_a_dataset(room_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}", *SMALL]
    run, out = tmp_path / "run", tmp_path / "demos.jsonl"
    collect = ["collect", "demo_lh_vln", "--out", str(run), "--episodes", "3", *place]
    first = CliRunner().invoke(app, collect)
    assert first.exit_code == 0, first.output
    lines = (run / "episodes.jsonl").read_text()
    assert len(lines.splitlines()) == 3
    assert json.loads(lines.splitlines()[0])["metrics"]["sr"] == 1.0
    (run / "episodes.jsonl").write_text("".join(lines.splitlines(keepends=True)[:2]))  # as if it had been cut off
    again = CliRunner().invoke(app, collect)
    assert again.exit_code == 0, again.output
    assert (run / "episodes.jsonl").read_text().splitlines()[:2] == lines.splitlines()[:2]
    made = CliRunner().invoke(
        app, ["export", str(run), "--out", str(out), "--where", "success and spl>=0.5", "--episodes", "2"]
    )
    assert made.exit_code == 0, made.output
    assert "2 episodes" in made.output
    assert len(TrajectoryDataset.open(out)) == 2


def test_sensors_by_name_or_none(oracle_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    for sensors, names in (("rgb_front, depth_left", {"rgb_front", "depth_left"}), ("none", set())):
        out = tmp_path / f"{len(names)}.hdf5"
        arguments = ["export", str(oracle_run), "--format", "hdf5", "--sensors", sensors, "--out", str(out)]
        made = CliRunner().invoke(app, [*arguments, "--episodes", "1"])
        assert made.exit_code == 0, made.output
        frame = next(TrajectoryDataset.open(out).frames(0), {})
        assert set(frame) == names
