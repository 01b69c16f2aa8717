import json

from analytic_scenes import cluttered_rooms
from typer.testing import CliRunner

from nav_eval.cli.bench import bench_app
from nav_eval.scene.formats import write_glb


def test_a_first_walk_and_a_repeated_one_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    write_glb(cluttered_rooms(1), tmp_path / "rooms.glb")
    command = ["render", str(tmp_path / "rooms.glb"), "--size", "64x48", "--steps", "5", "--json"]
    figures = json.loads(CliRunner().invoke(bench_app, command, catch_exceptions=False).stdout)
    assert figures["cpu_ms_per_frame"] == figures["first_walk_cpu_ms_per_frame"] > 0
    assert figures["repeated_walk_cpu_ms_per_frame"] > 0
    assert len(figures["poses"]) == 5
    assert [file.suffix for file in (tmp_path / "cache/rendering").iterdir() if file.suffix] == [".outlooks"]
