import json

import pytest
from analytic_scenes import cluttered_rooms
from typer.testing import CliRunner

from nav_eval.cli.bench import bench_app
from nav_eval.errors import ConfigError
from nav_eval.scene.formats import write_glb
from nav_eval.simulator.rendering.result_card import read_card
from support.paths import TESTS


def test_a_first_walk_and_a_repeated_one_are_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    write_glb(cluttered_rooms(1), tmp_path / "rooms.glb")
    command = ["render", str(tmp_path / "rooms.glb"), "--size", "64x48", "--steps", "5", "--json"]
    figures = json.loads(CliRunner().invoke(bench_app, command, catch_exceptions=False).stdout)
    assert figures["cpu_ms_per_frame"] == figures["first_walk_cpu_ms_per_frame"] > 0
    assert figures["repeated_walk_cpu_ms_per_frame"] > 0
    assert len(figures["poses"]) == 5
    assert sorted(file.suffix for file in (tmp_path / "cache/rendering").iterdir() if file.suffix) == [
        ".outlooks",
        ".texels",
    ]


def test_a_card_says_what_was_measured_where_and_notices_changes(tmp_path, monkeypatch):
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    write_glb(cluttered_rooms(1), tmp_path / "rooms.glb")
    file = tmp_path / "card.json"
    command = ["card", str(tmp_path / "rooms.glb"), "--size", "64x48", "--steps", "3", "--out", str(file)]
    CliRunner().invoke(bench_app, command, catch_exceptions=False)
    card = json.loads(file.read_text())
    assert card["machine"]["cores"] >= 1
    assert card["driver"]["renderer"]
    assert card["frames"] == 3
    shown = CliRunner().invoke(bench_app, ["card", str(file)], catch_exceptions=False).stdout
    assert "rooms.glb" in shown
    card["figures"]["first_walk_cpu_ms_per_frame"] /= 2
    file.write_text(json.dumps(card))
    with pytest.raises(ConfigError, match="changed after it was measured"):
        CliRunner().invoke(bench_app, ["card", str(file)], catch_exceptions=False)


def test_collected_cards_are_whole():
    cards = sorted((TESTS.parent / "docs/cards").glob("*.json"))
    assert cards
    assert all(read_card(card)["figures"] for card in cards)
