"""The models themselves: what they fill in, what they refuse, what they compute."""

from typing import Any

import pytest
from pydantic import ValidationError

from nav_eval import config_model
from nav_eval.config.schema import (
    ActionConfig,
    AgentServiceConfig,
    BenchmarkConfig,
    CompetitionConfig,
    DatasetConfig,
    DRConfig,
    EvaluationConfig,
    LightConfig,
    PrimitiveSphereCfg,
    RankingConfig,
    RobotConfig,
    ScenarioConfig,
    TaskConfig,
)
from nav_eval.config.schema.task import find_sensor_kind
from nav_eval.config_model import KnownNames


def task(**extra: Any) -> TaskConfig:
    return TaskConfig.model_validate(
        {"type": "vln", "actions": ["stop", "move_forward"], "metrics": ["success"]} | extra
    )


def test_models_are_frozen_and_refuse_strangers() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        EvaluationConfig(success_distance=1.0).max_steps = 5  # type: ignore[misc]
    with pytest.raises(ValidationError, match="unknown key"):
        EvaluationConfig.model_validate({"success_distance": 1.0, "maxsteps": 5})


BOUNDED = ActionConfig(name="move_forward", bounds={"step_size": (0.1, 0.5)})


@pytest.mark.parametrize(
    ("allowed", "name", "args", "answer"),
    [
        (True, "move_forward", {}, {"step_size": 0.25}),
        (True, "move_forward", {"step_size": 0.5}, {"step_size": 0.5}),
        (True, "move_forward", {"step_size": 0.6}, "outside [0.1, 0.5]"),
        (True, "move_forward", {"step_size": float("nan")}, "outside"),
        (True, "move_forward", {"speed": 1.0}, "does not take the argument 'speed'"),
        (True, "stop", {"step_size": 0.2}, "it takes: none"),
        (True, "jump", {}, "There is no action 'jump'"),
        (False, "move_forward", {}, {"step_size": 0.25}),
        (False, "move_forward", {"step_size": 0.25}, "does not allow"),
    ],
)
def test_action_args(allowed: bool, name: str, args: dict[str, float], answer: dict[str, float] | str) -> None:
    walking = task(actions=["stop", BOUNDED], allow_action_args=allowed)
    if isinstance(answer, dict):
        assert walking.action_params(name, args) == answer
    else:
        with pytest.raises(ValueError, match=answer.replace("[", r"\[").replace("]", r"\]")):
            walking.action_params(name, args)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "move_forward", "params": {"turn_angle": 5}}, "It takes step_size"),
        ({"name": "stop", "params": {"x": 1}}, "It takes no parameters"),
        ({"name": "turn_left", "params": {"turn_angle": 0}}, "greater than 0"),
        ({"name": "move_forward", "bounds": {"step_size": [0.3, 0.5]}}, "but its value is 0.25"),
        ({"name": "fly", "bounds": {"height": [0, 1]}}, "no parameter of 'fly'"),
    ],
)
def test_actions_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ActionConfig.model_validate(settings)


def test_actions_of_plug_ins_have_parameters_of_their_own() -> None:
    assert ActionConfig(name="jump", params={"height": 0.4}).params == {"height": 0.4}
    assert ActionConfig(name="velocity_control").type == "continuous"


@pytest.mark.parametrize(
    ("name", "settings", "kind"),
    [
        ("rgb", {}, "rgb"),
        ("depth_left", {}, "depth"),
        ("eyes", {"kind": "semantic"}, "semantic"),
        ("wrist_camera", {"width": 4, "height": 4}, "rgb"),
    ],
)
def test_the_kind_of_a_sensor(name: str, settings: dict[str, Any], kind: str) -> None:
    assert find_sensor_kind(name, settings) == kind


def test_sensors_as_a_list_of_names() -> None:
    assert sorted(task(sensors=["rgb", "gps"]).sensors) == ["gps", "rgb"]


def benchmark(sensors: dict[str, Any], **scenario: Any) -> BenchmarkConfig:
    return BenchmarkConfig(
        name="x",
        task=task(sensors=sensors),
        scenario_config=ScenarioConfig.model_validate(scenario),
        dataset=DatasetConfig.model_validate({"type": "vln"}),
        evaluation=EvaluationConfig(success_distance=1.0),
    )


def test_robots_refine_the_tasks_sensors_and_cameras_refine_both() -> None:
    suite = benchmark(
        {"rgb": {"width": 100, "hfov": 70, "yaw": 10}, "gps": {}},
        robots=[{"name": "a", "camera_height": 0.6, "sensors": {"rgb": {"hfov": 80}, "compass": {}}}],
        cameras=[{"name": "rgb", "pitch": -20}, {"name": "depth", "width": 5, "position": [0, 2, 0]}],
    ).sensors()
    rgb, depth = suite["rgb"], suite["depth"]
    assert (rgb.width, rgb.hfov, rgb.yaw, rgb.pitch, rgb.position) == (100, 80, 10, -20, (0, 0.6, 0))
    assert (depth.kind, depth.width, depth.position) == ("depth", 5, (0, 2, 0))
    assert sorted(suite) == ["compass", "depth", "gps", "rgb"]


def test_each_robot_has_its_own_rig_and_an_unknown_one_the_first() -> None:
    both = benchmark(
        {"rgb": {}},
        robots=[{"name": "a", "camera_height": 0.5}, {"name": "b", "camera_height": 1.0}],
        cameras=[{"name": "rgb_tail", "robot": "b", "yaw": 180}],
    )
    assert both.sensors("a")["rgb"].position == (0, 0.5, 0)
    assert both.sensors("b")["rgb"].position == (0, 1.0, 0)
    assert both.sensors("never heard of") == both.sensors() == both.sensors("a")
    assert "rgb_tail" in both.sensors("b")
    assert "rgb_tail" not in both.sensors("a")


@pytest.mark.parametrize(
    ("look_at", "yaw", "pitch"),
    [
        ([0, 1, -5], 0, 0),  # ahead
        ([-5, 1, 0], 90, 0),  # left
        ([5, 1, 0], -90, 0),  # right
        ([0, 0, -1], 0, -45),  # down
        ([0, 2, -1], 0, 45),  # up
    ],
)
def test_cameras_that_look_at_a_point(look_at: list[float], yaw: float, pitch: float) -> None:
    camera = benchmark({}, cameras=[{"name": "rgb", "position": [0, 1, 0], "look_at": look_at}]).sensors()["rgb"]
    assert (camera.yaw, camera.pitch) == (pytest.approx(yaw), pytest.approx(pitch))


@pytest.mark.parametrize(
    ("settings", "scene", "textures", "lighting", "camera", "varies"),
    [
        ({}, False, False, False, False, False),
        ({"level": 3, "random_camera": False}, True, True, True, False, True),
        ({"level": 0, "random_lighting": True}, False, False, True, False, True),
        ({"clutter_scene": True}, False, False, False, False, True),
    ],
)
def test_switches_override_levels(
    settings: dict[str, Any], scene: bool, textures: bool, lighting: bool, camera: bool, varies: bool
) -> None:
    drawn = DRConfig.model_validate(settings)
    assert (drawn.varies_scene, drawn.varies_textures, drawn.varies_lighting, drawn.varies_camera) == (
        scene, textures, lighting, camera,
    )  # fmt: skip
    assert drawn.varies is varies


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"data_path": "a/val_seen.json.gz"}, ("r2r", "val_seen", ("a/val_seen.json.gz",))),
        ({"data_path": "a/{split}/{split}.json.gz", "split": "test"}, ("r2r", "test", ("a/test/test.json.gz",))),
        (
            {"format": "rxr", "data_path": "{split}_{role}.gz", "split": "t"},
            ("rxr", "t", ("t_guide.gz", "t_follower.gz")),
        ),
        (
            {"format": "rxr", "data_path": "{split}_{role}.gz", "split": "t", "roles": ["guide"]},
            ("rxr", "t", ("t_guide.gz",)),
        ),
        ({}, ("r2r", None, ())),
    ],
)
def test_datasets_fill_in_what_follows(settings: dict[str, Any], expected: tuple[Any, ...]) -> None:
    dataset = DatasetConfig.model_validate({"type": "vln"} | settings)
    assert (dataset.format, dataset.split, dataset.data_paths) == expected


def test_filters_of_datasets() -> None:
    dataset = DatasetConfig.model_validate(
        {"type": "vln", "episode_ids": [1, "a"], "languages": "*", "content_scenes": ["x"]}
    )
    assert (dataset.episode_ids, dataset.languages, dataset.scenes) == (("1", "a"), None, ("x",))


def competition(**changes: Any) -> dict[str, Any]:
    return {"name": "c", "title": "C", "phases": [{"name": "a", "benchmark": "b"}]} | changes


REFUSED = [
    (DatasetConfig, {"type": "vln", "scenes": []}, "no episode is left"),
    (DatasetConfig, {"type": "vln", "data_path": "{split}.gz"}, "no split"),
    (DatasetConfig, {"type": "vln", "languages": ["english please"]}, "pattern"),
    (DatasetConfig, {"type": "vln", "data_path": "a\nb"}, "line breaks"),
    (AgentServiceConfig, {"endpoint": "localhost"}, "cannot reach"),
    (AgentServiceConfig, {"endpoint": "localhost:99999"}, "cannot reach"),
    (AgentServiceConfig, {"type": "local", "protocol": "grpc"}, "goes with 'local' only"),
    (AgentServiceConfig, {"heartbeat_interval": 60}, "not shorter"),
    (ScenarioConfig, {"robots": []}, "at least 1"),
    (ScenarioConfig, {"robots": [{"name": "a"}, {"name": "a"}]}, "robot 'a' twice"),
    (ScenarioConfig, {"cameras": [{"name": "c", "robot": "nobody"}]}, "does not exist"),
    (ScenarioConfig, {"cameras": [{"name": "c", "look_at": [0, 0, -1], "yaw": 5}]}, "give one of them"),
    (RobotConfig, {"name": "a", "joint_limits": {"j": [1, -1]}}, "lower limit first"),
    (RobotConfig, {"name": "a", "default_rotation": [1, 1, 1, 1]}, "unit quaternion"),
    (LightConfig, {"name": "sun", "direction": [0, 0, 0]}, "length 0"),
    (PrimitiveSphereCfg, {"name": "s", "radius": -1}, "greater than 0"),
    (TaskConfig, {"type": "vln", "actions": ["stop"], "metrics": []}, "at least 1"),
    (TaskConfig, {"type": "vln", "metrics": ["success"]}, "has no actions"),
    (
        TaskConfig,
        {"type": "vln", "actions": ["stop"], "metrics": ["spl"], "scoring": {"ranking": {"success": 1.0}}},
        "not among",
    ),
    (CompetitionConfig, competition(phases=[]), "at least 1"),
    (CompetitionConfig, competition(name="Not a slug"), "pattern"),
    (
        CompetitionConfig,
        competition(phases=[{"name": "a", "benchmark": "b", "requires": "z"}]),
        "requires 'z', which is no phase before it",
    ),
    (CompetitionConfig, competition(phases=[{"name": "a", "benchmark": "b"}] * 2), "phase 'a' twice"),
    (RankingConfig, {"metric": "spl", "weights": {"spl": 1.0}}, "give one of them"),
    (RankingConfig, {"weights": {"spl": 0.5}}, "add up to 0.5"),
]


@pytest.mark.parametrize(("model", "settings", "message"), REFUSED, ids=[message for *_, message in REFUSED])
def test_refusals(model: type, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        model.model_validate(settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"endpoint": "localhost:8085"},
        {"endpoint": "unix:/run/agent.sock"},
        {"protocol": "rest", "endpoint": "https://agent.example/api"},
        {"protocol": "websocket", "endpoint": "ws://localhost:9000/ws"},
        {"protocol": "openpi", "endpoint": "openpi://localhost:8000?mapping=map.yaml"},
        {"type": "local", "endpoint": "baseline:random"},
        {"type": "local", "endpoint": "my_package.agent:MyAgent"},
        {"type": "local", "endpoint": "python agent.py --fast"},
    ],
)
def test_endpoints(settings: dict[str, Any]) -> None:
    assert AgentServiceConfig.model_validate(settings).endpoint == settings["endpoint"]


def test_lh_vln_ranks_by_the_challenges_weights_unless_told() -> None:
    told = {"type": "lh_vln", "actions": ["stop"], "metrics": ["isr", "tar", "csr", "cgt"]}
    assert TaskConfig.model_validate(told).scoring.ranking == {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}
    own = TaskConfig.model_validate(told | {"scoring": {"rule": "reference", "ranking": {"tar": 1.0}}})
    assert (own.scoring.rule, own.scoring.ranking) == ("reference", {"tar": 1.0})


def test_our_lists_of_names_are_those_of_the_registries() -> None:
    from nav_eval.dataset.loader import DATASETS
    from nav_eval.metrics.registry import METRICS
    from nav_eval.simulator.base import SIMULATORS
    from nav_eval.tasks.base import TASKS

    known = KnownNames()
    assert set(TASKS.names()) == known.tasks
    assert set(METRICS.names()) <= known.metrics
    assert set(METRICS.names()) == config_model.NAVIGATION_METRICS
    assert set(DATASETS.names()) | {"speaker_change"} == known.formats
    assert set(SIMULATORS.names()) - {"habitat"} == known.backends  # nav-eval-habitat, where it is installed, adds one
