"""`nav-eval config …` as people use it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from config_cases import MINIMAL

from nav_eval.config import load_benchmark, resolve


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_show_says_what_and_from_where(nav_eval: Callable, write: Callable) -> None:
    path = write("mine.yaml", MINIMAL)
    ran = nav_eval("config", "show", path, "evaluation.max_steps=9")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[1] == f"# digest: {resolve(path, environ={}, overrides=['evaluation.max_steps=9']).digest}"
    assert any(line.endswith("# override 'evaluation.max_steps=9'") and "max_steps: 9" in line for line in lines)
    assert any(line.endswith("# mine.yaml, line 6") and "success_distance: 3.0" in line for line in lines)


def test_show_any_kind_and_choose_between_equal_names(nav_eval: Callable) -> None:
    assert "\ntask:\n" in nav_eval("config", "show", "objectnav").out
    assert "\ntask:\n" in nav_eval("config", "show", "lh_vln").out
    assert "\nscenario_config:\n" in nav_eval("config", "show", "lh_vln", "--kind", "scenario").out
    assert "\ncompetition:\n" in nav_eval("config", "show", "demo").out
    assert "\nrobot_config:\n" in nav_eval("config", "show", "stretch", "--kind", "robot").out
    assert "\nobject_config:\n" in nav_eval("config", "show", "table_with_cube").out


def test_show_a_template(nav_eval: Callable) -> None:
    ran = nav_eval("config", "show", "vln_base")
    assert ran.code == 0
    assert "template: dataset.data_path must be set by a child" in ran.out


def test_validate_tells_what_is_missing_from_what_is_wrong(nav_eval: Callable, write: Callable) -> None:
    path = write("mine.yaml", MINIMAL)
    ran = nav_eval("config", "validate", path, "demo_vln")
    assert ran.code == 0
    assert "data/datasets/vln/R2R/val_seen.json.gz is not there yet; it comes with R2R_VLNCE" in ran.err
    assert "data/demo/vln/val_unseen.json.gz does not exist yet; it is generated" in ran.err
    assert [line.split("  ")[0] for line in ran.out.splitlines()] == ["ok", "ok"]
    Path("data/datasets/vln/R2R").mkdir(parents=True)
    Path("data/datasets/vln/R2R/val_sen.json.gz").touch()
    ran = nav_eval("config", "validate", path)
    assert ran.code == 2
    assert "val_seen.json.gz does not exist. Did you mean 'val_sen.json.gz'?" in ran.err
    assert nav_eval("config", "validate", "--no-paths", path).code == 0


def test_validate_is_silent_about_files_that_are_there(nav_eval: Callable, write: Callable) -> None:
    write("data/datasets/vln/R2R/val_seen.json.gz", "")
    Path("data/scene_datasets").mkdir()
    ran = nav_eval("config", "validate", write("mine.yaml", MINIMAL))
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("task", ["vln", "lh_vln", "objectnav", "imagenav", "pointnav", "localization"])
def test_new_for_a_task(task: str, nav_eval: Callable) -> None:
    ran = nav_eval("config", "new", "mine", "--task", task)
    assert (ran.code, ran.out) == (0, "wrote configs/benchmarks/mine.yaml\n")
    assert nav_eval("config", "validate", "configs/benchmarks/mine.yaml").code == 0
    filled = load_benchmark("mine", environ={}, overrides=["dataset.data_path=x.json"])
    assert filled.task.type == task


@pytest.mark.parametrize("parent", ["vln_base", "vln_val_seen", "demo_lh_vln"])
def test_new_from_a_parent(parent: str, nav_eval: Callable) -> None:
    assert nav_eval("config", "new", "mine", "--extends", parent, "--out", "mine.yaml").code == 0
    child, base = (resolve(name, kind="benchmark", environ={}).config for name in ("mine.yaml", parent))
    assert (child.task, child.evaluation, child.name) == (base.task, base.evaluation, "mine")
    assert child.is_template == base.is_template


def test_every_comment_of_a_new_file_is_a_key_that_works(nav_eval: Callable) -> None:
    """Whoever takes the # away gets what the comment says."""
    text = nav_eval("config", "new", "mine", "--task", "vln", "--out", "-").out
    lines = [
        line.replace("    # ", "    ").replace("  # agent_service:", "  agent_service:") for line in text.splitlines()
    ]
    Path("mine.yaml").write_text("\n".join(lines).replace("data_path: null", "data_path: x.json"))
    assert load_benchmark("mine.yaml", environ={}).agent_service.protocol == "grpc"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["mine"], "Give either --extends BENCHMARK or --task TASK."),
        (["mine", "--task", "vln", "--extends", "vln_base"], "Give either"),
        (["mine", "--extends", "vln_bas"], "Did you mean 'vln_base'?"),
        (["mine", "--task", "vnl"], "Did you mean 'vln'?"),
        (["../mine", "--task", "vln"], "cannot be the name of a benchmark"),
        (["mine", "--task", "vln", "--out", "there.yaml"], "there.yaml exists already"),
        (["mine", "--task", "vln", "--out", "there.yaml/x.yaml"], "cannot be written"),
    ],
)
def test_new_refuses(args: list[str], message: str, nav_eval: Callable) -> None:
    Path("there.yaml").write_text("precious")
    ran = nav_eval("config", "new", *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert Path("there.yaml").read_text() == "precious"


def test_schema(nav_eval: Callable) -> None:
    benchmark, competition = (json.loads(nav_eval("config", "schema", *args).out) for args in ([], ["competition"]))
    assert "success_distance" in benchmark["$defs"]["EvaluationConfig"]["properties"]
    assert "strictly closer" in benchmark["$defs"]["EvaluationConfig"]["properties"]["success_distance"]["description"]
    assert competition["title"] == "nav-eval competition"
    assert nav_eval("config", "schema", "nonsense").code == 2
