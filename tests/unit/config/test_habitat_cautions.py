"""What a Habitat configuration leaves open is told, and refused by --strict."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config.habitat import migrate_habitat
from nav_eval.errors import ConfigError

ACTIONS = "    actions:\n      stop:\n        type: StopAction\n      move_forward:\n        type: MoveForwardAction\n"
SILENT = """
habitat:
  task:
    type: ObjectNav-v1
{actions}    measurements:
      success:
        type: Success
        success_distance: 0.1
  dataset:
    type: ObjectNav-v1
    split: val
    data_path: data/val.json.gz
"""


def migrate(text: str, tmp_path: Path, *options: str) -> tuple[int, str]:
    file = tmp_path / "habitat.yaml"
    file.write_text(text)
    result = CliRunner().invoke(app, ["config", "migrate-habitat", str(file), *options], catch_exceptions=False)
    return result.exit_code, result.stderr + result.stdout


def test_a_file_that_says_everything_is_taken_without_a_word(tmp_path: Path) -> None:
    code, said = migrate(SILENT.format(actions=ACTIONS), tmp_path, "--strict")
    assert code == 0, said
    assert "warning:" not in said


CASES = {
    "waypoints": (
        SILENT.format(
            actions="    actions:\n      stop:\n        type: StopAction\n      go_to_waypoint:\n        type: W\n"
        ),
        "only stop is left: go_to_waypoint",
    ),
    "an overlay": (
        SILENT.format(actions=ACTIONS).replace("    type: ObjectNav-v1\n{}", "", 1),
        "does not say which task",
    ),
    "features": (
        SILENT.format(
            actions=ACTIONS + "    lab_sensors:\n      rxr_instruction:\n        type: RxRInstructionSensor\n"
        ),
        "the text itself",
    ),
    "a PointNav distance": (
        SILENT.format(actions=ACTIONS)
        .replace("ObjectNav-v1", "VLN-v0", 1)
        .replace("ObjectNav-v1", "R2RVLN-v1")
        .replace("0.1", "0.2"),
        "success distance is 0.2 m",
    ),
    "an action of its own": (
        SILENT.format(actions=ACTIONS + "      turn_right_2:\n        type: TurnRightAction\n"),
        "The actions turn_right_2 have no counterpart here",
    ),
    "no limit of steps": (
        SILENT.format(actions=ACTIONS) + "  environment:\n    max_episode_steps: 0\n",
        "sets no limit of steps; 1000 were taken",
    ),
    "a file that is not here": (
        "defaults:\n  - objectnav_of_ours\n  - _self_\n" + SILENT.format(actions=ACTIONS),
        "defaults: objectnav_of_ours is not here, and what it says is missing",
    ),
    "a value to be looked up": (
        SILENT.format(actions=ACTIONS) + "  environment:\n    max_episode_steps: ${steps}\n",
        "habitat.environment.max_episode_steps: interpolations are not resolved",
    ),
    "sensors of its own": (
        SILENT.format(actions=ACTIONS + "    lab_sensors:\n      joint_sensor:\n        type: JointSensor\n"),
        "The sensors joint_sensor have no counterpart here",
    ),
    "a camera of its own": (
        SILENT.format(actions=ACTIONS) + "  simulator: {agents: {main_agent: {sim_sensors: {lidar: {type: Lidar}}}}}\n",
        "The sensors lidar have no counterpart here",
    ),
    "noise of a camera": (
        SILENT.format(actions=ACTIONS)
        + "  simulator: {agents: {main_agent: {sim_sensors: {rgb_sensor: {noise_model: PoissonNoiseModel}}}}}\n",
        "there is no such noise here. In this the benchmark is not the one that the file describes",
    ),
    "noise of a body": (
        SILENT.format(actions=ACTIONS) + "  simulator: {action_space_config: pyrobotnoisy}\n",
        "actions here have no noise. In this",
    ),
    "a panorama": (
        SILENT.format(actions=ACTIONS)
        + "  simulator: {agents: {main_agent: {sim_sensors: {rgb_sensor: {sensor_subtype: EQUIRECTANGULAR}}}}}\n",
        "cameras here are pinhole cameras. In this",
    ),
    "a measure of its own": (
        SILENT.format(actions=ACTIONS).replace("      success:\n", "      ppl: {}\n      success:\n"),
        "The measures ppl have no counterpart here",
    ),
    "radians": (
        SILENT.format(actions=ACTIONS)
        + "  simulator: {agents: {main_agent: {sim_sensors: {rgb_sensor: {hfov: 1.57}}}}}\n",
        "Angles look like radians (hfov of rgb is 1.57)",
    ),
    "a second agent": (
        SILENT.format(actions=ACTIONS) + "  simulator: {agents: {main_agent: {height: 1.5}, human: {height: 1.8}}}\n",
        "One agent is evaluated, main_agent; human",
    ),
    "the training split": (SILENT.format(actions=ACTIONS).replace("split: val", "split: train"), "split is `train`"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_may_not_be_meant_is_told(name: str, tmp_path: Path) -> None:
    text, words = CASES[name]
    if name == "an overlay":
        text = text.replace("    type: ObjectNav-v1\n    actions", "    actions", 1)
    code, said = migrate(text, tmp_path)
    assert code == 0, said
    assert words in said
    assert f"# Warning: {said.split('warning: ')[1].splitlines()[0]}" in said, "the file says it as well"
    assert migrate(text, tmp_path, "--strict")[0] == 3


def read(text: str, tmp_path: Path) -> dict[str, Any]:
    """The benchmark that a file becomes."""
    file = tmp_path / "habitat.yaml"
    file.write_text(text)
    return migrate_habitat(file).tree


def test_the_agent_is_the_one_that_habitat_starts_with(tmp_path: Path) -> None:
    agents = "agents_order: [tall, small], default_agent_id: 1, agents: {tall: {height: 1.8}, small: {height: 0.5}}"
    tree = read(SILENT.format(actions=ACTIONS) + f"  simulator: {{{agents}}}\n", tmp_path)
    assert [(robot["name"], robot["height"]) for robot in tree["scenario_config"]["robots"]] == [("small", 0.5)]


def test_velocities_alone_come_with_a_stop(tmp_path: Path) -> None:
    """Habitat stops where both velocities are near none."""
    tree = read(SILENT.format(actions="    actions: {velocity_control: {min_abs_lin_speed: 0.025}}\n"), tmp_path)
    assert [action["name"] for action in tree["task"]["actions"]] == ["stop", "velocity_control"]


def test_the_languages_of_an_evaluation_are_those_that_count(tmp_path: Path) -> None:
    text = """
EVAL: {LANGUAGES: [hi-IN], SPLIT: val_unseen}
TASK_CONFIG:
  TASK: {TYPE: VLN-v0}
  DATASET: {TYPE: RxR-VLN-CE-v1, LANGUAGES: [en-US], SPLIT: train, DATA_PATH: "data/{split}_{role}.json.gz"}
"""
    assert read(text, tmp_path)["dataset"]["languages"] == ["hi-IN"]


def test_what_cannot_be_used_names_the_file_that_is_missing(tmp_path: Path) -> None:
    text = "defaults:\n  - objectnav_of_ours\n  - _self_\n" + SILENT.format(actions=ACTIONS)
    with pytest.raises(ConfigError, match=r"step_size = 25.*defaults: objectnav_of_ours is not here"):
        read(text.replace("  dataset:", "  simulator: {forward_step_size: 25}\n  dataset:"), tmp_path)
