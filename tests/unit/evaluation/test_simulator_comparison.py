"""Two simulators side by side."""

import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.evaluation.simulator_comparison import (
    PlayedActions,
    choose_actions,
    compare_plays,
    measure_difference,
)
from nav_eval.records.geometry import Pose


def make_episode(*actions: str) -> Episode:
    return Episode(
        public=PublicEpisode(episode_id="one"),
        private=PrivateEpisode(scene_id="room", start=Pose((0.0, 0.0, 0.0)), expert_actions=actions),
    )


def make_play(*places: float, value: int = 0) -> PlayedActions:
    picture = {"rgb": np.full((2, 2, 3), value, np.uint8), "gps": np.zeros(2, np.float32)}
    positions = tuple((x, 0.0, 0.0) for x in places)
    return PlayedActions(geodesic=5.0 - value, positions=positions, collisions=value, pictures=(picture, picture))


def test_what_differs_is_measured():
    found = compare_plays(make_episode(), make_play(0.0, 1.0, 2.0), make_play(0.0, 1.5, 2.1, value=3))
    assert (found.actions, found.geodesics, found.collisions) == (2, (5.0, 2.0), (0, 3))
    assert (found.farthest, found.apart_at_end) == (pytest.approx(0.5), pytest.approx(0.1))
    assert found.pictures == {"rgb": 3.0}


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        (np.zeros((2, 2), np.float32), np.full((2, 2), 0.5, np.float32), 0.5),
        (np.array([[1, 2], [3, 4]], np.int32), np.array([[1, 2], [3, 9]], np.int32), 0.25),  # a share, not a distance
        (np.full((1, 1), 250, np.uint8), np.full((1, 1), 5, np.uint8), 245.0),  # bytes do not wrap around
    ],
)
def test_differences_of_pictures(first, second, difference):
    assert measure_difference(first, second) == pytest.approx(difference)
    assert math.isnan(measure_difference(first, np.zeros((9, 9), first.dtype)))


def test_the_experts_actions_are_played_without_its_stop():
    known = ("move_forward", "turn_left", "stop")
    assert choose_actions(make_episode("turn_left", "move_forward", "stop"), known) == ("turn_left", "move_forward")
    wandering = choose_actions(make_episode(), known)
    assert set(wandering) == {"move_forward", "turn_left"}


def test_a_simulator_equals_itself(room_benchmark, room_data, tmp_path, monkeypatch):
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path))
    overrides = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
    arguments = ["compare-simulators", "demo_vln", *overrides, "--second", "moderngl", "--episodes", "1"]
    told = CliRunner().invoke(app, [*arguments, "--json"])
    assert told.exit_code == 0, told.output
    (row,) = json.loads(told.stdout)["episodes"]
    assert row["farthest"] == 0.0
    assert row["geodesics"][0] == row["geodesics"][1]
    assert set(row["pictures"].values()) == {0.0}
    shown = CliRunner().invoke(app, arguments)
    assert "geodesic to the goal" in shown.stdout
