"""Habitat's files of both styles become benchmarks of ours, and nothing is dropped in silence."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from config_cases import DATA
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.config.habitat import HabitatMigration, migrate_habitat
from nav_eval.errors import ConfigError

HABITAT = DATA / "habitat"
FILES = sorted(
    [*HABITAT.glob("hydra/*.yaml"), *HABITAT.glob("yacs/*.yaml"), HABITAT / "hydra/checkout/benchmark/nav/ours.yaml"]
)


def migrated(path: str | Path, tmp_path: Path) -> tuple[BenchmarkConfig, dict[str, str]]:
    """The benchmark as our loader reads it, and what was not carried over, by name."""
    migration = migrate_habitat(HABITAT / path)
    out = tmp_path / "migrated.yaml"
    out.write_text(migration.to_yaml(), encoding="utf-8")
    return load_benchmark(out, environ={}), {entry.name: entry.reason for entry in migration.not_carried}


def conditions(benchmark: BenchmarkConfig) -> tuple[Any, ...]:
    rgb, robot = benchmark.sensors()["rgb"], benchmark.robot()
    params = {action.name: list(action.params.values()) for action in benchmark.task.actions}
    return (
        (rgb.width, rgb.height, rgb.hfov, rgb.position[1]),
        (robot.height, robot.radius),
        (*params["move_forward"], *params["turn_left"]),
        benchmark.simulator.physics.allow_sliding,
        (benchmark.evaluation.max_steps, benchmark.evaluation.success_distance),
    )


CONDITIONS = {
    "hydra/vln_r2r.yaml": ((256, 256, 90, 1.25), (1.5, 0.1), (0.25, 15), True, (500, 3.0)),
    "hydra/whole.yaml": ((640, 360, 70, 0.88), (0.88, 0.18), (0.25, 30), True, (500, 0.36)),
    "hydra/instance_imagenav.yaml": ((640, 480, 90, 1.25), (1.5, 0.1), (0.25, 30), True, (1000, 0.1)),
    "hydra/checkout/benchmark/nav/ours.yaml": ((640, 480, 90, 1.25), (1.5, 0.1), (0.25, 30), True, (250, 1.5)),
    "yacs/r2r.yaml": ((224, 224, 90, 1.25), (1.5, 0.1), (0.25, 15), True, (500, 3.0)),
    "yacs/experiment.yaml": ((640, 480, 79, 0.88), (0.88, 0.18), (0.25, 30), False, (500, 2.0)),
    "yacs/pointnav.yaml": ((640, 360, 70, 0.88), (0.88, 0.18), (0.25, 30), False, (500, 0.36)),
}


@pytest.mark.parametrize("path", CONDITIONS)
def test_the_conditions_are_the_same(path: str, tmp_path: Path) -> None:
    assert conditions(migrated(path, tmp_path)[0]) == CONDITIONS[path]


TASKS = {
    "hydra/vln_r2r.yaml": ("vln", "r2r", "data/datasets/vln/mp3d/r2r/v1/val_seen/val_seen.json.gz"),
    "hydra/objectnav_stretch.yaml": ("objectnav", "objectnav", "data/datasets/objectnav/hm3d/v2/val/val.json.gz"),
    "hydra/instance_imagenav.yaml": ("imagenav", "imagenav", "data/datasets/instance_imagenav/hm3d/v3/val/val.json.gz"),
    "hydra/whole.yaml": ("pointnav", "pointnav", "data/datasets/pointnav/gibson/v2/val_mini/val_mini.json.gz"),
    "hydra/checkout/benchmark/nav/ours.yaml": ("vln", "r2r", "data/ours/val_unseen.json.gz"),
    "yacs/r2r.yaml": ("vln", "r2r", "data/datasets/R2R_VLNCE_v1-3_preprocessed/val_unseen/val_unseen.json.gz"),
    "yacs/experiment.yaml": ("vln", "rxr", "data/datasets/RxR_VLNCE_v0/val_unseen/val_unseen_{role}.json.gz"),
}


@pytest.mark.parametrize("path", TASKS)
def test_task_and_dataset(path: str, tmp_path: Path) -> None:
    benchmark, _ = migrated(path, tmp_path)
    assert (benchmark.task.type, benchmark.dataset.format, benchmark.dataset.data_path) == TASKS[path]


def test_hydra_vln(tmp_path: Path) -> None:
    benchmark, lost = migrated("hydra/vln_r2r.yaml", tmp_path)
    assert benchmark.task.metric_names == ("navigation_error", "success", "spl")
    assert sorted(benchmark.task.sensors) == ["depth", "instruction", "rgb"]
    assert (benchmark.evaluation.seed, benchmark.evaluation.order) == (100, "dataset")
    assert benchmark.task.sensors["depth"].normalize is False
    assert list(lost) == ["habitat.environment.iterator_options.max_scene_repeat_steps"]


def test_hydra_continuous_stretch(tmp_path: Path) -> None:
    benchmark, lost = migrated("hydra/objectnav_stretch.yaml", tmp_path)
    assert [action.name for action in benchmark.task.actions] == ["stop", "velocity_control"]
    assert benchmark.task.action("velocity_control").params == {
        "max_linear_speed": 0.25,
        "max_angular_speed": 10.0,
        "time_step": 0.1,
    }
    assert (benchmark.robot().action_space, benchmark.robot().max_climb) == ("continuous", 0.1)
    assert (benchmark.evaluation.timeout, benchmark.evaluation.distance_to) == (500.0, "view_points")
    assert (benchmark.simulator.rendering.gpu, benchmark.simulator.navmesh.cell_height) == ("cpu", 0.05)
    assert (benchmark.sensors()["rgb"].pitch, benchmark.sensors()["depth"].normalize) == (-20.0, True)
    assert (benchmark.dataset.split, benchmark.dataset.episodes, benchmark.output.save_video) == ("val", 20, True)
    assert sorted(lost) == [
        "defaults: habitat_baselines/rl/policy/obs_transforms: center_cropper_base",
        "habitat.simulator.habitat_sim_v0.enable_physics",
        "habitat.simulator.scene_dataset",
        "habitat.task.actions.velocity_control.lin_vel_range",
        "habitat.task.actions.velocity_control.min_abs_lin_speed",
        "habitat.task.success_reward",
        "habitat_baselines.rl.ppo.lr",
        "habitat_baselines.trainer_name",
    ]


def test_hydra_filters_noise_and_interpolation(tmp_path: Path) -> None:
    benchmark, lost = migrated("hydra/instance_imagenav.yaml", tmp_path)
    assert (benchmark.dataset.scenes, benchmark.dataset.episodes) == (("TEEsavR23oF",), 50)
    noise = benchmark.task.sensors["rgb"].noise
    assert (noise.model, noise.intensity) == ("gaussian", 0.1)
    assert lost == {
        "habitat.simulator.agents.main_agent.sim_sensors.rgb_sensor.width": "an interpolation; write its value"
    }


def test_hydra_groups_are_read_from_a_checkout(tmp_path: Path) -> None:
    benchmark, lost = migrated("hydra/checkout/benchmark/nav/ours.yaml", tmp_path)
    assert benchmark.robot().name == "robot"
    assert lost == {}


def test_yacs_r2r(tmp_path: Path) -> None:
    benchmark, lost = migrated("yacs/r2r.yaml", tmp_path)
    assert benchmark.task.metric_names == (
        "navigation_error", "success", "spl", "ndtw", "path_length", "oracle_success", "steps",
    )  # fmt: skip
    assert benchmark.task.metrics[3].params == {"success_distance": 3.0}
    assert benchmark.dataset.gt_path.endswith("val_unseen/val_unseen_gt.json.gz")
    assert lost == {
        "TASK.SUCCESS_DISTANCE": "Habitat itself never reads it; TASK.SUCCESS.SUCCESS_DISTANCE counts",
        "TASK.SENSORS: SHORTEST_PATH_SENSOR": "privileged: agents never get it",
        "TASK.SENSORS: VLN_ORACLE_PROGRESS_SENSOR": "privileged: agents never get it",
        "TASK.INSTRUCTION_SENSOR_UUID": "observations are named after their sensor",
        "TASK.NDTW.FDTW": "DTW is exact here",
        "TASK.SDTW.SUCCESS_DISTANCE": "set up but not used: it is in no list of the file",
    }


def test_yacs_experiment_on_its_base(tmp_path: Path) -> None:
    benchmark, lost = migrated("yacs/experiment.yaml", tmp_path)
    assert (benchmark.dataset.roles, benchmark.dataset.languages) == (("guide",), ("en-US", "en-IN"))
    assert (benchmark.dataset.split, benchmark.dataset.episodes) == ("val_unseen", 100)
    assert {"TRAINER_NAME", "IL.epochs", "EVAL.USE_CKPT_CONFIG"} <= set(lost)
    assert "BASE_TASK_CONFIG_PATH" not in lost


def test_yacs_noise_and_unused_sensors(tmp_path: Path) -> None:
    benchmark, lost = migrated("yacs/pointnav.yaml", tmp_path)
    assert sorted(benchmark.task.sensors) == ["depth", "pointgoal", "rgb"]
    assert [benchmark.task.sensors[name].noise.model for name in ("rgb", "depth")] == ["gaussian", "redwood"]
    assert benchmark.task.sensors["pointgoal"].updates is False
    assert lost["SIMULATOR.ACTION_SPACE_CONFIG"] == "actions here have no noise"
    assert lost["SIMULATOR.SEMANTIC_SENSOR.WIDTH"].startswith("set up but not used")


def test_a_base_that_is_not_here_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "alone.yaml"
    path.write_text("BASE_TASK_CONFIG_PATH: nowhere/task.yaml\nTRAINER_NAME: dagger\n")
    names = [entry.name for entry in migrate_habitat(path).not_carried]
    assert names == ["BASE_TASK_CONFIG_PATH", "TRAINER_NAME"]


def with_extra_key(tree: Any, path: tuple[Any, ...], key: str) -> Any:
    changed = copy.deepcopy(tree)
    node = changed
    for part in path:
        node = node[part]
    node[key] = 7
    return changed


def mappings(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(tree, dict):
        yield path
        for key, value in tree.items():
            yield from mappings(value, (*path, key))


@pytest.mark.parametrize(("name", "key"), [("hydra/whole.yaml", "zz_new"), ("yacs/r2r.yaml", "ZZ_NEW")])
def test_a_key_that_nobody_knows_is_reported_wherever_it_stands(name: str, key: str, tmp_path: Path) -> None:
    tree = yaml.safe_load((HABITAT / name).read_text())
    places = list(mappings(tree))
    assert len(places) > 10
    for place in places:
        path = tmp_path / "changed.yaml"
        path.write_text(yaml.safe_dump(with_extra_key(tree, place, key)))
        lost = [entry.name for entry in migrate_habitat(path).not_carried]
        assert any(name.endswith(key) for name in lost), place


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_command(path: Path, nav_eval: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = nav_eval("config", "migrate-habitat", path)
    written = nav_eval("config", "migrate-habitat", path, "--out", "ours.yaml")
    assert (printed.code, written.code) == (0, 0)
    text = Path("ours.yaml").read_text(encoding="utf-8")
    assert text == printed.out
    assert nav_eval("config", "validate", "--no-paths", "ours.yaml").code == 0
    for entry in migrate_habitat(path).not_carried:  # told on the screen, and in the file
        assert f"not carried over: {entry}" in printed.err
        assert f"#   {entry}" in text


TURN = "{stop: {}, turn_left: {}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("habitat: {task: {type: RearrangeEmptyTask-v0}}", "'RearrangeEmptyTask-v0' has no counterpart here"),
        ("habitat: {environment: {max_episode_steps: many}}", 'max_episode_steps = "many" must be a whole number'),
        ("SIMULATOR: {TURN_ANGLE: [1]}", "SIMULATOR.TURN_ANGLE = [1] must be a number"),
        ("SIMULATOR: {RGB_SENSOR: {POSITION: [0, 1]}}", "must be a list of 3 numbers"),
        ("benchmark: {name: ours}", "does not look like a Habitat configuration"),
        ("defaults: 5", "`defaults` must be a list"),
        (f"habitat: {{task: {{actions: {TURN}}}, simulator: {{turn_angle: 400}}}}", "once migrated: task.actions"),
        ("a: [", "not valid YAML"),
        ("", "is empty"),
    ],
)
def test_refusals(text: str, message: str, nav_eval: Callable, tmp_path: Path) -> None:
    path = tmp_path / "habitat.yaml"
    path.write_text(text)
    ran = nav_eval("config", "migrate-habitat", path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab*", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "type", "width"]), inner, max_size=2)
    ),
    max_leaves=3,
)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_nonsense_is_migrated_or_refused_but_never_crashes(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = data.draw(st.sampled_from(["hydra/whole.yaml", "yacs/r2r.yaml"]))
    tree = yaml.safe_load((HABITAT / name).read_text())
    place = data.draw(st.sampled_from([place for place in mappings(tree) if place]))
    node = tree
    for part in place[:-1]:
        node = node[part]
    target = data.draw(st.sampled_from(sorted(node[place[-1]]))) if node[place[-1]] else None
    if target is None:
        return
    node[place[-1]][target] = data.draw(JUNK)
    path = tmp_path_factory.mktemp("junk") / "habitat.yaml"
    path.write_text(yaml.safe_dump(tree))
    try:
        migration = migrate_habitat(path)
    except ConfigError:
        return
    assert isinstance(migration, HabitatMigration)
