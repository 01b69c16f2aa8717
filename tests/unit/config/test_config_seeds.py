"""The examples of the specification, word for word.

Two of its blocks are no configurations: `actions: [...]` in 003 §11.1 is a gap to fill in, and the
bare `metrics:` in 003 §11.3 is a part of a task. Where 003 and 004 disagree with each other or with the
field, docs/configuration.md says what we took.
"""

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from config_cases import DATA, REPO

from nav_eval.config import load_benchmark, load_scenario, load_task, resolve

SEEDS = DATA / "seeds"
DOCUMENTS = REPO / ".." / "shared" / "seeds"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_copies_are_verbatim() -> None:
    if not DOCUMENTS.is_dir():
        pytest.skip("the seed documents are not here")
    blocks = [
        textwrap.dedent(block)
        for document in DOCUMENTS.glob("00[34]_*.txt")
        for block in re.findall(r"^ *```yaml\n(.*?)^ *```", document.read_text(encoding="utf-8"), re.S | re.M)
    ]
    copies = [path.read_text(encoding="utf-8") for path in SEEDS.rglob("*.yaml")]
    assert len(copies) == 12
    assert all(copy in blocks for copy in copies)
    assert len(blocks) - len(copies) == 2


@pytest.mark.parametrize("path", sorted(SEEDS.rglob("*.yaml")), ids=lambda path: str(path.relative_to(SEEDS)))
def test_it_validates(path: Path, nav_eval: Callable) -> None:
    assert nav_eval("config", "validate", path).code == 0


def test_003_task() -> None:
    task = load_task(SEEDS / "tasks/vln.yaml", environ={})
    assert [(action.name, action.params) for action in task.actions] == [
        ("stop", {}),
        ("move_forward", {"step_size": 0.25}),
        ("turn_left", {"turn_angle": 15}),
        ("turn_right", {"turn_angle": 15}),
        ("look_up", {"tilt_angle": 15}),
        ("look_down", {"tilt_angle": 15}),
    ]
    assert list(task.sensors) == ["rgb", "depth", "instruction", "gps", "compass"]
    assert (task.sensors["depth"].max_depth, task.sensors["instruction"].include_tokens) == (10, True)
    assert task.metric_names == ("success", "spl", "soft_spl", "navigation_error", "dtw")


def test_003_inheritance() -> None:
    child = load_benchmark(SEEDS / "benchmarks/vln_val_seen.yaml", environ={})
    assert (child.evaluation.max_steps, child.evaluation.success_distance, child.evaluation.timeout) == (500, 0.2, 30)
    assert (child.dataset.split, child.output.log_dir) == ("val_seen", "logs/evaluations/vln_val_seen")
    complete = load_benchmark(SEEDS / "benchmarks/vln_val_seen_complete.yaml", environ={})
    assert complete == child  # §12.1 spells out what §4.3 inherits


def test_003_subset() -> None:
    quick = load_benchmark(SEEDS / "benchmarks/vln_quick_test.yaml", environ={})
    assert (quick.dataset.episodes, quick.evaluation.max_steps, quick.dataset.split) == (100, 100, "val_seen")


def test_003_objectnav_builds_on_what_we_ship() -> None:
    gibson = load_benchmark(SEEDS / "benchmarks/objectnav_gibson.yaml", environ={})
    assert (gibson.task.type, gibson.dataset.data_path) == ("objectnav", "data/datasets/objectnav/gibson/val.json.gz")


def test_004_flat_benchmark() -> None:
    resolved = resolve(SEEDS / "benchmarks/vln_challenge_2024.yaml", environ={})
    config = resolved.config
    assert [action.name for action in config.task.actions] == ["stop", "move_forward", "turn_left", "turn_right"]
    assert config.simulator.physics.gravity == (0, -9.81, 0)  # written Z-up
    assert config.simulator.backend == "moderngl"  # written custom
    assert config.dataset.scene_path == "data/scene_datasets/hm3d_v0.2"  # written scene_dataset_path
    assert config.output.save_video is True  # written save_videos
    assert (config.agent_service.protocol, config.agent_service.endpoint) == ("grpc", "localhost:8085")
    assert (config.robot().height, config.robot().radius) == (0.25, 0.1)
    sensors = config.sensors()
    assert sorted(sensors) == ["compass", "depth", "gps", "rgb"]
    rgb = sensors["rgb"]  # the camera of that name says fov 60 and where it is
    assert (rgb.hfov, rgb.position, rgb.yaw, rgb.pitch) == (60, (0, 1.2, 0), 0, 0)
    drawn = config.scenario_config.domain_randomization
    assert (drawn.level, drawn.varies_textures, drawn.varies_lighting, drawn.varies_camera) == (2, True, True, False)
    notes = " ".join(resolved.notes)
    assert all(part in notes for part in ("Z-up", "straight below", "without a seed"))


def test_004_scenarios() -> None:
    level_2 = load_scenario(SEEDS / "scenarios/level_2.yaml", environ={})
    assert [(camera.name, camera.kind) for camera in level_2.cameras] == [("rgb", "rgb"), ("depth", "depth")]
    franka = load_scenario(SEEDS / "scenarios/franka.yaml", environ={})
    assert (franka.robots[0].type, franka.robots[0].gripper) == ("manipulation", "panda_gripper")
    assert franka.robots[0].sensors["wrist_camera"].kind == "rgb"
    assert franka.objects[0].mesh_path == "objects/cube.obj"
    assert franka.domain_randomization.clutter_scene is True


def test_004_robot_and_objects() -> None:
    robot = resolve(SEEDS / "scenarios/robots/franka_panda.yaml", environ={}).config
    assert robot.joint_limits["franka_joint1"] == (-2.89, 2.89)
    assert (robot.gripper_open_q, robot.ee_body_name) == ((0.04, 0.04), "franka_hand")
    cube, table = resolve(SEEDS / "scenarios/objects/cube_and_table.yaml", environ={}).config.objects
    assert (cube.type, cube.friction, table.type, table.fixed) == ("MeshObjCfg", 0.5, "PrimitiveCubeCfg", True)
