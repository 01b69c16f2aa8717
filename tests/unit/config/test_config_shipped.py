"""The configurations that come with nav-eval: they load, and say what the field says."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from config_cases import DATA, REPO, SHIPPED

from nav_eval.config import load_benchmark, load_competition, load_scenario, load_task, resolve, yaml_writer
from nav_eval.config.file_kinds import KINDS, find_kind
from nav_eval.config.json_schema import make_file_schema
from nav_eval.config.layers import ConfigLayer
from nav_eval.config.resolver import ConfigSearchPath, find_shipped_configs

EVERY_NAME = {
    "task": "vln lh_vln objectnav imagenav pointnav localization sqa3d_qa eqa",
    "benchmark": "vln_base vln_val_seen vln_val_unseen vln_test rxr_base rxr_val_seen rxr_val_unseen rxr_test "
    "objectnav_base objectnav_hm3d_val imagenav_base imagenav_hm3d_val pointnav_base pointnav_gibson_val "
    "lh_vln_base lh_vln_val lh_vln_test sqa3d_localization_base sqa3d_localization_val sqa3d_localization_test "
    "demo_vln demo_lh_vln demo_objectnav demo_imagenav demo_localization "
    "demo_vln_rigs demo_lh_vln_rigs demo_objectnav_rigs vln_val_seen_rigs vln_val_unseen_rigs rxr_val_unseen_rigs "
    "objectnav_hm3d_val_rigs demo_vln_goals demo_vln_ask sqa3d_qa_base sqa3d_qa_val sqa3d_qa_test eqa_base demo_eqa "
    "demo_vln_2 demo_vln_zh",
    "rig": "vlnce streamvln internvla navila navid etpnav lh_vln",
    "scenario": "default stretch spot locobot lh_vln dr_level_0 dr_level_1 dr_level_2 dr_level_3",
    "simulator": "default",
    "competition": "demo",
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # what ships must be found without a checkout around


@pytest.mark.parametrize("kind", EVERY_NAME)
def test_every_name_is_there(kind: str) -> None:
    assert ConfigSearchPath.default().names(KINDS[kind]) == sorted(EVERY_NAME[kind].split())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPO / "configs")))
def test_it_loads_and_survives_being_shown(path: Path, tmp_path: Path) -> None:
    resolved = resolve(path, environ={})
    assert resolved.notes == ()
    shown = tmp_path / "shown.yaml"
    shown.write_text(yaml_writer.as_yaml(resolved), encoding="utf-8")
    again = resolve(shown, environ={})
    assert again.digest == resolved.digest
    assert again.kind is resolved.kind


@cache
def schema_of(kind: str) -> Any:
    import jsonschema  # loads a grammar for a second, which every process that looks for tests would

    return jsonschema.Draft202012Validator(make_file_schema(KINDS[kind]))


@pytest.mark.parametrize("path", [*SHIPPED, *sorted((DATA / "seeds").rglob("*.yaml"))], ids=lambda path: path.stem)
def test_it_satisfies_the_json_schema(path: Path) -> None:
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    schema_of(find_kind(ConfigLayer(tree, {}), source="").name).validate(tree)


@pytest.mark.parametrize("kind", KINDS)
def test_the_json_schema_refuses_what_we_refuse(kind: str) -> None:
    assert not schema_of(kind).is_valid({KINDS[kind].keys[0]: {"nonsense": 1}})


def test_the_json_schema_is_one() -> None:
    validator = schema_of("benchmark")
    validator.check_schema(validator.schema)


@pytest.mark.parametrize("name", [name for name in EVERY_NAME["benchmark"].split() if not name.endswith("_base")])
def test_benchmarks_can_be_used(name: str) -> None:
    benchmark = load_benchmark(name, environ={})
    assert benchmark.dataset.split
    assert benchmark.dataset.data_path.startswith("data/")
    assert "{" not in benchmark.dataset.data_path.replace("{role}", "")
    assert (
        (benchmark.dataset.format == "nav_eval") == name.startswith("demo_") == (benchmark.dataset.generate is not None)
    )


@pytest.mark.parametrize("name", [name for name in EVERY_NAME["benchmark"].split() if name.endswith("_base")])
def test_bases_are_templates(name: str) -> None:
    assert resolve(name, kind="benchmark", environ={}).config.is_template


# width, height, hfov, camera height | robot height, radius | step, turn | sliding | steps, success
PRESETS = {
    "vln_val_unseen": ((224, 224, 90, 1.25), (1.5, 0.1), (0.25, 15), True, (500, 3.0)),
    "rxr_val_unseen": ((640, 480, 79, 0.88), (0.88, 0.18), (0.25, 30), False, (500, 3.0)),
    "pointnav_gibson_val": ((256, 256, 90, 1.25), (1.5, 0.1), (0.25, 10), True, (500, 0.2)),
    "objectnav_hm3d_val": ((640, 480, 79, 0.88), (0.88, 0.18), (0.25, 30), False, (500, 0.1)),
    "imagenav_hm3d_val": ((480, 640, 42, 1.31), (1.41, 0.17), (0.25, 30), False, (1000, 0.1)),
}


@pytest.mark.parametrize("name", PRESETS)
def test_the_fields_conditions(name: str) -> None:
    benchmark = load_benchmark(name, environ={})
    rgb, robot = benchmark.sensors()["rgb"], benchmark.robot()
    action = {action.name: action.params for action in benchmark.task.actions}
    assert PRESETS[name] == (
        (rgb.width, rgb.height, rgb.hfov, rgb.position[1]),
        (robot.height, robot.radius),
        (action["move_forward"]["step_size"], action["turn_left"]["turn_angle"]),
        benchmark.simulator.physics.allow_sliding,
        (benchmark.evaluation.max_steps, benchmark.evaluation.success_distance),
    )
    assert action["turn_left"] == action["turn_right"]


def test_depth_ranges() -> None:
    ranges = {name: load_benchmark(name, environ={}).sensors()["depth"] for name in PRESETS}
    assert {name: (depth.min_depth, depth.max_depth) for name, depth in ranges.items()} == {
        "vln_val_unseen": (0, 10),
        "rxr_val_unseen": (0.5, 5),
        "pointnav_gibson_val": (0, 10),
        "objectnav_hm3d_val": (0.5, 5),
        "imagenav_hm3d_val": (0.5, 5),
    }


def test_the_lh_vln_rig() -> None:
    benchmark = load_benchmark("lh_vln_val", environ={})
    for robot, height in (("spot", 0.5), ("stretch", 1.0)):
        sensors = benchmark.sensors(robot)
        for side, yaw in (("left", 60), ("front", 0), ("right", -60)):
            camera = sensors[f"rgb_{side}"]
            assert (camera.width, camera.height, camera.hfov, camera.yaw) == (366, 366, 90, yaw)
            assert camera.position == (0, height, 0)
    assert [action.name for action in benchmark.task.actions] == ["stop", "turn_left", "move_forward", "turn_right"]
    assert benchmark.task.action("turn_left").params == {"turn_angle": 30}
    assert (benchmark.evaluation.max_steps, benchmark.evaluation.success_distance) == (500, 1.0)
    scoring = benchmark.task.scoring
    assert (scoring.rule, scoring.cgt_weight) == ("documented", "steps")
    assert scoring.ranking == {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}


def test_objectnav_measures_to_view_points() -> None:
    assert load_benchmark("objectnav_hm3d_val", environ={}).evaluation.distance_to == "view_points"


def test_localization_takes_three_answers() -> None:
    task = load_task("localization", environ={})
    assert (task.actions, task.scoring.max_predictions) == ((), 3)
    assert task.metric_names == ("acc@0.5m", "acc@1.0m", "acc@15deg", "acc@30deg")


@pytest.mark.parametrize(
    ("level", "scene", "textures", "lighting", "camera"),
    [
        (0, False, False, False, False),
        (1, True, True, False, False),
        (2, True, True, True, False),
        (3, True, True, True, True),
    ],
)
def test_levels_of_randomisation(level: int, scene: bool, textures: bool, lighting: bool, camera: bool) -> None:
    drawn = load_scenario(f"dr_level_{level}", environ={}).domain_randomization
    assert (drawn.varies_scene, drawn.varies_textures, drawn.varies_lighting, drawn.varies_camera) == (
        scene,
        textures,
        lighting,
        camera,
    )
    assert drawn.seed is not None


def test_the_demo_competition() -> None:
    phase = load_competition("demo", environ={}).phases[0]
    assert phase.ranking.weights == {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}
    assert [baseline.name for baseline in phase.baselines if baseline.privileged] == ["Oracle"]


def test_a_wheel_brings_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "nav_eval"
    (package / "_configs").mkdir(parents=True)
    monkeypatch.setattr("nav_eval.config.resolver.nav_eval", SimpleNamespace(__file__=str(package / "__init__.py")))
    assert find_shipped_configs() == package / "_configs"


def test_show_json(nav_eval: Callable) -> None:
    ran = nav_eval("config", "show", "vln_val_seen", "evaluation.max_steps=7", "--json")
    report = json.loads(ran.out)
    assert (ran.code, report["kind"], report["template"]) == (0, "benchmark", False)
    assert report["config"]["evaluation"]["max_steps"] == 7
    assert report["origins"]["evaluation.max_steps"] == "override 'evaluation.max_steps=7'"
    assert report["digest"] == resolve("vln_val_seen", environ={}, overrides=["evaluation.max_steps=7"]).digest
