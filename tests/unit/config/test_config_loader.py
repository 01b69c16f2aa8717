"""From names and files to models: inheritance, references, and the three layers of overrides."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from config_cases import MINIMAL

from nav_eval.config import (
    KnownNames,
    load_benchmark,
    load_competition,
    load_scenario,
    load_simulator,
    load_task,
    resolve,
)
from nav_eval.errors import ConfigError

Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_chain_of_four(write: Write) -> None:
    write("configs/benchmarks/a.yaml", MINIMAL + "  output: {log_dir: from_a, save_video: true}\n  tags: [one, two]\n")
    write("configs/benchmarks/b.yaml", "benchmark: {extends: a, name: B, evaluation: {max_steps: 20}}")
    write("configs/benchmarks/c.yaml", "benchmark: {extends: b, tags: [three], evaluation: {timeout: 9}}")
    write("configs/benchmarks/d.yaml", "benchmark: {extends: c, output: {log_dir: from_d}}")
    d = load_benchmark("d", environ={})
    assert (d.name, d.tags) == ("B", ("three",))  # a list is replaced, not joined
    assert (d.evaluation.max_steps, d.evaluation.timeout, d.evaluation.success_distance) == (20, 9.0, 3.0)
    assert (d.output.log_dir, d.output.save_video) == ("from_d", True)


def test_files_and_origins_are_remembered(write: Write) -> None:
    write("configs/benchmarks/a.yaml", MINIMAL)
    write("configs/benchmarks/b.yaml", "benchmark:\n  extends: a\n  evaluation:\n    max_steps: 20\n")
    resolved = resolve("b", environ={}, overrides=["evaluation.timeout=7"])
    assert resolved.files[-2:] == ("configs/benchmarks/a.yaml", "configs/benchmarks/b.yaml")
    where = {
        key: str(resolved.layer.origin(("evaluation", key))) for key in ("max_steps", "success_distance", "timeout")
    }
    assert where == {
        "max_steps": "configs/benchmarks/b.yaml, line 4",
        "success_distance": "configs/benchmarks/a.yaml, line 6",
        "timeout": "override 'evaluation.timeout=7'",
    }


def test_a_parent_by_path(write: Write) -> None:
    write("elsewhere/parent.yaml", MINIMAL)
    child = write("mine/child.yaml", "benchmark: {extends: ../elsewhere/parent.yaml, name: Child}")
    assert load_benchmark(child, environ={}).name == "Child"


def test_a_file_with_another_ending(write: Write) -> None:
    write("mine.txt", MINIMAL)
    assert resolve("mine.txt", environ={}).config.name == load_benchmark("mine.txt", environ={}).name == "Minimal"


def test_names_are_looked_up_around_the_file_then_here_then_in_the_package(write: Write) -> None:
    write("configs/tasks/vln.yaml", "task: {type: vln, actions: [stop], metrics: [success]}")
    write("configs/benchmarks/mine.yaml", MINIMAL)
    write("other/tasks/vln.yaml", "task: {type: vln, actions: [stop], metrics: [spl]}")
    other = write("other/benchmarks/mine.yaml", MINIMAL)
    assert load_benchmark("mine", environ={}).task.metric_names == ("success",)
    assert load_benchmark(other, environ={}).task.metric_names == ("spl",)
    assert "ndtw" in load_benchmark("vln_val_seen", environ={}).task.metric_names  # beside the shipped benchmark
    assert load_task("objectnav", environ={}).type == "objectnav"


def test_search_replaces_the_folder_here(write: Write) -> None:
    write("configs/benchmarks/x.yaml", MINIMAL)
    write("there/benchmarks/y.yaml", MINIMAL)
    assert load_benchmark("y", search=["there"], environ={}).name == "Minimal"
    with pytest.raises(ConfigError, match="there is no benchmark 'x'"):
        load_benchmark("x", search=["there"], environ={})


TASK_FORMS = {
    "by name": ("vln", ("rgb", 640)),
    "in full": ("{type: vln, actions: [stop], metrics: [success], sensors: {rgb: {width: 100}}}", ("rgb", 100)),
    "from a named one": ("{extends: vln, sensors: {rgb: {width: 200}}}", ("rgb", 200)),
}


@pytest.mark.parametrize("form", TASK_FORMS)
def test_a_task_by_name_or_inline(form: str, write: Write) -> None:
    text, (sensor, width) = TASK_FORMS[form]
    path = write("b.yaml", MINIMAL.replace("task: vln", f"task: {text}"))
    assert load_benchmark(path, environ={}).task.sensors[sensor].width == width


def test_an_inline_part_changes_the_parents_task_and_a_name_replaces_it(write: Write) -> None:
    write("configs/benchmarks/a.yaml", MINIMAL)
    write("configs/benchmarks/merged.yaml", "benchmark: {extends: a, task: {sensors: {depth: false, rgb: {hfov: 60}}}}")
    write("configs/benchmarks/other.yaml", "benchmark: {extends: a, task: objectnav, dataset: {type: objectnav}}")
    merged, other = (load_benchmark(name, environ={}) for name in ("merged", "other"))
    assert (merged.task.sensors["rgb"].hfov, merged.task.sensors["rgb"].width) == (60.0, 640)
    assert "depth" not in merged.task.sensors
    assert other.task == load_task("objectnav", environ={})


def test_robots_and_objects_by_name(write: Write) -> None:
    write(
        "configs/scenarios/mine.yaml",
        """
        scenario_config:
          robots: [stretch, {extends: locobot, name: short, height: 0.5}]
          objects: [table_with_cube, {name: pillar, type: PrimitiveCylinderCfg, radius: 0.2, height: 2}]
    """,
    )
    scenario = load_scenario("mine", environ={})
    assert [(robot.name, robot.height, robot.radius) for robot in scenario.robots] == [
        ("stretch", 1.41, 0.17),
        ("short", 0.5, 0.18),
    ]
    assert [thing.name for thing in scenario.objects] == ["table", "target_cube", "pillar"]


def test_flat_and_nested_forms_are_the_same(write: Write) -> None:
    nested = write("nested.yaml", MINIMAL)
    flat = write(
        "flat.yaml",
        """
        benchmark: {name: Minimal}
        task: vln
        dataset: {type: vln, data_path: data/datasets/vln/R2R/val_seen.json.gz}
        evaluation: {success_distance: 3.0}
    """,
    )
    assert resolve(nested, environ={}).digest == resolve(flat, environ={}).digest


PRECEDENCE = [
    ({}, [], 11),
    ({"NAV_EVAL__EVALUATION__MAX_STEPS": "22"}, [], 22),
    ({}, ["evaluation.max_steps=33"], 33),
    ({"NAV_EVAL__EVALUATION__MAX_STEPS": "22"}, ["evaluation.max_steps=33"], 33),
    ({"NAV_EVAL__EVALUATION__MAX_STEPS": "22"}, ["evaluation.max_steps=33", "evaluation.max_steps=44"], 44),
    ({"NAV_EVAL__BENCHMARK__EVALUATION__MAX_STEPS": "22"}, [], 22),
    ({}, ["benchmark.evaluation.max_steps=33"], 33),
    ({"NAV_EVAL_EVALUATION_MAX_STEPS": "22", "MAX_STEPS": "5"}, [], 11),  # not ours
    ({"NAV_EVAL__COMPETITION__TITLE": "x"}, [], 11),  # for another kind
]


@pytest.mark.parametrize(("environ", "overrides", "steps"), PRECEDENCE)
def test_file_then_environment_then_command_line(
    environ: dict[str, str], overrides: list[str], steps: int, write: Write
) -> None:
    path = write("b.yaml", MINIMAL.replace("3.0}", "3.0, max_steps: 11}"))
    assert load_benchmark(path, environ=environ, overrides=overrides).evaluation.max_steps == steps


OVERRIDES = [
    ("task.metrics=[success, spl]", lambda b: b.task.metric_names, ("success", "spl")),
    ("task=objectnav dataset.type=objectnav", lambda b: b.task.type, "objectnav"),
    ("scenario_config=stretch", lambda b: b.robot().name, "stretch"),
    ("scenario_config.robots.0.height=0.7", lambda b: (b.robot().height, b.robot().name), (0.7, "default_agent")),
    ("scenario_config.domain_randomization.level=2", lambda b: b.scenario_config.domain_randomization.level, 2),
    ("dataset.episodes=10", lambda b: b.dataset.episodes, 10),
    ("dataset.episodes=null", lambda b: b.dataset.episodes, None),
    ("dataset.split=", lambda b: b.dataset.split, "val_seen"),  # nothing is null: the file's name again
    ("output.save_videos=yes", lambda b: b.output.save_video, True),  # the other spelling
    ("dataset.scene_dataset_path=here", lambda b: b.dataset.scene_path, "here"),
    ("evaluation={timeout: 5}", lambda b: (b.evaluation.timeout, b.evaluation.success_distance), (5.0, 3.0)),
    ("name=a=b", lambda b: b.name, "a=b"),
    ("evaluation.timeout=1e2", lambda b: b.evaluation.timeout, 100.0),
]


@pytest.mark.parametrize(("text", "read", "value"), OVERRIDES, ids=[text for text, *_ in OVERRIDES])
def test_overrides(text: str, read: Callable, value: object, write: Write) -> None:
    path = write("b.yaml", MINIMAL + "  scenario_config: default\n")
    parts = text.split(" ") if text.startswith("task=") else [text]
    assert read(load_benchmark(path, environ={}, overrides=parts)) == value


def test_other_kinds_listen_to_their_own_key() -> None:
    environ = {
        "NAV_EVAL__SIMULATOR__PHYSICS__ALLOW_SLIDING": "false",
        "NAV_EVAL__TASK__METRICS": "[spl]",
        "NAV_EVAL__EVALUATION__MAX_STEPS": "5",
    }
    assert load_simulator(environ=environ).physics.allow_sliding is False
    assert load_task("vln", environ=environ).metric_names == ("spl",)
    assert load_benchmark("demo_vln", environ=environ).task.metric_names == ("spl",)
    assert load_scenario("default", environ=environ).robots[0].name == "default_agent"


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL__EVALUATION__MAX_STEPS", "77")
    assert load_benchmark("demo_vln").evaluation.max_steps == 77


def test_a_template_can_be_looked_at_but_not_used() -> None:
    assert resolve("vln_base", environ={}).config.is_template
    with pytest.raises(ConfigError, match=r"dataset\.data_path must be set by a child"):
        load_benchmark("vln_base", environ={})
    filled = load_benchmark(
        "vln_base", environ={}, overrides=["dataset.data_path=x/{split}.json.gz", "dataset.split=val"]
    )
    assert filled.dataset.data_path == "x/val.json.gz"


def test_names_of_plug_ins_are_accepted(write: Write) -> None:
    path = write("b.yaml", MINIMAL + "  simulator: {backend: unity}\n")
    with pytest.raises(ConfigError, match="is not one of the backends"):
        load_benchmark(path, environ={})
    names = KnownNames(backends=frozenset({"unity"}))
    assert load_benchmark(path, environ={}, names=names).simulator.backend == "unity"


def test_z_up_files_are_turned_and_reported(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    path = write(
        "b.yaml",
        MINIMAL
        + """
  simulator: {physics: {gravity: [0, 0, -9.81]}}
  scenario_config:
    robots: [{name: a, sensors: {rgb: {position: [0.1, 0.2, 1.2]}}}]
    objects: [{name: box, type: PrimitiveCubeCfg, size: [1, 2, 3], position: [1, 2, 3], rotation: [0, 0, 1, 0]}]
""",
    )
    with caplog.at_level(logging.WARNING, logger="nav_eval.config.loader"):
        benchmark = load_benchmark(path, environ={})
    box = benchmark.scenario_config.objects[0]
    assert benchmark.simulator.physics.gravity == (0.0, -9.81, 0.0)
    assert benchmark.sensors()["rgb"].position == (0.1, 1.2, -0.2)
    assert (box.position, box.size, box.rotation) == ((1, 3, -2), (1, 3, 2), (0, 1, 0, 0))
    assert "is written Z-up" in caplog.text


def test_a_camera_on_the_floor_behind_the_robot_is_meant_to_be_high(write: Write) -> None:
    path = write(
        "s.yaml", "scenario_config: {cameras: [{name: rgb, position: [0, 0, 1.2]}, {name: b, position: [0, 0.5, 1]}]}"
    )
    resolved = resolve(path, environ={})
    assert [camera.position for camera in resolved.config.cameras] == [(0, 1.2, 0), (0, 0.5, 1)]
    assert "cameras[0].position = [0, 0, 1.2] puts a camera on the floor" in resolved.notes[0]
    assert len(resolved.notes) == 1


def test_a_competition_and_its_phases() -> None:
    demo = load_competition("demo", environ={})
    assert demo.phase("dev").benchmark == "demo_lh_vln"
    assert demo.phase("dev").baselines[-1].privileged
    assert demo.phase("final") is None


def test_limits_that_nobody_reads_are_told_and_what_was_written_down_whole_still_loads(write: Write) -> None:
    """A run folder names every value: what it holds must load, though nobody asked for the service's own limits."""
    write("configs/benchmarks/a.yaml", MINIMAL + "  agent_service: {timeout: 2, retries: 0}\n")
    resolved = resolve("a", environ={})
    told = " ".join(resolved.notes)
    assert "agent_service.timeout = 2 is not read: evaluation.step_timeout = 30 counts" in told
    assert "agent_service.retries = 0 is not read: evaluation.retries = 3 counts" in told
    assert type(resolved.config).model_validate_json(resolved.config.model_dump_json()) == resolved.config
    assert not resolve("a", environ={}, overrides=["evaluation.step_timeout=2", "evaluation.retries=0"]).notes
