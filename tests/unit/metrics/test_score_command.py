"""The command line against outputs of the reference implementations (tests/data/oracle)."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.errors import RecordError
from support.paths import TESTS

ORACLE = TESTS / "data" / "oracle"
LH_VLN = json.loads((ORACLE / "oracle_lhvln.json").read_text())
HABITAT = json.loads((ORACLE / "oracle_habitat.json").read_text())
SQA3D = json.loads((ORACLE / "oracle_sqa3d.json").read_text())


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["score", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def score_json(path: Path, *arguments: str) -> dict[str, float]:
    return json.loads(run(str(path), "--json", *arguments))


def lh_vln_line(case: dict, episode_id: str) -> str:
    def at(name: str, index: int) -> float | None:
        return float(case[name][index]) if index < len(case[name]) else None

    subtasks = [
        {
            "success": success,
            "oracle_success": case["oracle_successes"][index],
            "navigation_error": at("navigation_errors", index),
            "ground_truth_distance": at("gt_path", index),
            "ground_truth_steps": case["gt_step"][index],
            "steps": None if (steps := at("navigation_steps", index)) is None else int(steps),
        }
        for index, success in enumerate(case["successes"])
    ]
    return json.dumps({"episode_id": episode_id, "subtasks": subtasks})


def assert_lh_vln(scores: dict[str, float], expected: dict[str, float]) -> None:
    assert scores == pytest.approx({name.lower(): value for name, value in expected.items()}, abs=1e-9)


def test_lh_vln_single_tasks(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n".join(lh_vln_line(case["input"], case["id"]) for case in LH_VLN["per_task"]))
    rows = run(str(file), "--task", "lh_vln", "--rule", "reference", "--per-episode").splitlines()
    assert len(rows) == len(LH_VLN["per_task"]) > 100
    for row, case in zip(rows, LH_VLN["per_task"], strict=True):
        scores = json.loads(row)
        assert scores.pop("episode_id") == case["id"]
        assert_lh_vln(scores, case["output"])


@pytest.mark.parametrize("dataset", LH_VLN["datasets"], ids=lambda dataset: dataset["id"])
def test_lh_vln_datasets(dataset: dict, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(lh_vln_line(case, f"e{i}") + "\n" for i, case in enumerate(dataset["inputs"])))
    assert_lh_vln(score_json(file, "--task", "lh_vln", "--rule", "reference"), dataset["output"])


@pytest.mark.parametrize("dataset", LH_VLN["datasets"], ids=lambda dataset: dataset["id"])
def test_lh_vln_printed_formulas(dataset: dict, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(lh_vln_line(case, f"e{i}") + "\n" for i, case in enumerate(dataset["inputs"])))
    scores = score_json(file, "--task", "lh_vln")
    literal = dataset["not_from_their_code_literal_formulas"]
    assert scores["isr"] == pytest.approx(literal["ISR_macro_1_over_M_N"], abs=1e-9)
    assert scores["csr"] == pytest.approx(literal["CSR_with_s_minus1_eq_1"], abs=1e-9)


def test_lh_vln_reference_of_nothing_is_zero(tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text("\n")
    assert_lh_vln(score_json(file, "--task", "lh_vln", "--rule", "reference"), LH_VLN["empty_dataset_output"])


def test_lh_vln_reference_ignores_an_error_without_truth_in_tar(tmp_path: Path) -> None:
    case = next(case for case in LH_VLN["raises"] if case["kind"] == "more_NE_than_GT")
    file = tmp_path / "tasks.jsonl"
    file.write_text(lh_vln_line(case["input"], "e"))
    assert_lh_vln(score_json(file, "--task", "lh_vln", "--rule", "reference"), case["output"])


LH_VLN_REFUSED = [*LH_VLN["nonfinite"], next(c for c in LH_VLN["raises"] if c["kind"] == "gt_step_sum_zero")]


@pytest.mark.parametrize("case", LH_VLN_REFUSED, ids=lambda case: case["kind"])
def test_lh_vln_where_the_reference_gives_nan_or_dies_we_name_the_line(case: dict, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    good = lh_vln_line(LH_VLN["per_task"][0]["input"], "good")
    file.write_text(f"{good}\n\n{lh_vln_line(case['input'], 'bad')}\n")
    with pytest.raises(RecordError, match=r"tasks\.jsonl line 3\b"):
        run(str(file), "--task", "lh_vln", "--rule", "reference", "--json")


def habitat_line(case: dict, reference: str) -> str:
    distances = [None if value == "Infinity" else value for value in case["geodesic_to_goal"]]
    return json.dumps(
        {
            "episode_id": case["id"],
            "trajectory": case["positions"],
            "stopped": case["actions"][-1] == "stop",
            "goal": case["goals"][0]["position"],
            "success_distance": case["success_distance"],
            "shortest_path_length": distances[0],
            "distances_to_goal": distances,
            "reference_path": case[reference],
        }
    )


#: where we differ on purpose (docs/metrics.md): no stale distance cache, no division by zero
HABITAT_POLICY = {
    "edge-micro_moves": {"success": 1.0, "navigation_error": 2.99995, "oracle_success": 1.0},
    "edge-start_equals_goal_moves": {"spl": 0.0, "soft_spl": 0.0},
    "edge-unreachable_first_only": {"spl": None, "soft_spl": None},
}


@pytest.mark.parametrize("case", HABITAT["vectors"], ids=lambda case: case["id"])
def test_vln_episodes(case: dict, tmp_path: Path) -> None:
    file = tmp_path / "episode.jsonl"
    file.write_text(habitat_line(case, "gt_locations"))
    scores = json.loads(run(str(file), "--task", "vln", "--per-episode"))
    expected = {
        "navigation_error": case["outputs"]["distance_to_goal"],
        "ndtw": case["outputs"]["ndtw_exact"],
        "sdtw": case["outputs"]["success"] * case["outputs"]["ndtw_exact"],
    }
    same_name = ("success", "spl", "soft_spl", "path_length", "oracle_success", "oracle_navigation_error")
    expected |= {name: case["outputs"][name] for name in same_name}
    if case["id"] in HABITAT_POLICY:
        ours = HABITAT_POLICY[case["id"]]
        assert {name: scores[name] for name in ours} == pytest.approx(ours)
        if case["id"] == "edge-micro_moves":
            return
        expected |= ours
    for name, value in expected.items():
        wanted = None if value == "Infinity" else value
        assert scores[name] == (None if wanted is None else pytest.approx(wanted, abs=1e-9)), name


@pytest.mark.parametrize("case", HABITAT["vectors"][:20], ids=lambda case: case["id"])
def test_vln_against_the_sparse_reference(case: dict, tmp_path: Path) -> None:
    file = tmp_path / "episode.jsonl"
    file.write_text(habitat_line(case, "reference_path"))
    scores = score_json(file, "--task", "vln")
    assert scores["ndtw"] == pytest.approx(case["outputs"]["ndtw_reference_path_exact"], abs=1e-9)
    assert math.exp(-scores["dtw"] / (len(case["reference_path"]) * case["success_distance"])) == pytest.approx(
        scores["ndtw"], abs=1e-12
    )


def test_vln_mean_leaves_out_and_says_so(tmp_path: Path) -> None:
    cases = {case["id"]: case for case in HABITAT["vectors"]}
    chosen = [cases["edge-unreachable_at_end"], cases["edge-exact_threshold"]]
    file = tmp_path / "episodes.jsonl"
    file.write_text("\n".join(habitat_line(case, "gt_locations") for case in chosen))
    result = CliRunner().invoke(app, ["score", str(file), "--task", "vln", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["navigation_error"] == 3.0
    assert "1 episodes have no navigation_error" in result.stderr


def sqa3d_files(inputs: list[dict], folder: Path, *, given: int | None = None) -> tuple[Path, Path]:
    annotations = [
        {
            "scene_id": "scene0000_00",
            "position": dict(zip("xyz", case["gt_position"], strict=True)),
            "rotation": {f"_{key}": case["gt_rotation_xyzw"]["xyzw".index(key)] for key in "wxyz"},
        }
        for case in inputs
    ]
    predictions = [{"positions": c["pred_positions"], "rotations": c["pred_rotations_xyzw"]} for c in inputs]
    truth, answers = folder / "gt.json", folder / "pred.json"
    truth.write_text(json.dumps({"annotations": annotations}))
    answers.write_text(json.dumps({"predictions": predictions[:given]}))
    return answers, truth


def sqa3d_keys(output: dict[str, float]) -> dict[str, float]:
    return {name.replace("°", "deg"): value for name, value in output.items()}


def test_localization_cases(tmp_path: Path) -> None:
    answers, truth = sqa3d_files(SQA3D["cases"], tmp_path)
    rows = run(str(answers), "--task", "localization", "--ground-truth", str(truth), "--per-episode").splitlines()
    for row, case in zip(rows, SQA3D["cases"], strict=True):
        scores = json.loads(row)
        scores.pop("id")
        assert scores == sqa3d_keys(case["output"]), case["id"]


@pytest.mark.parametrize("dataset", SQA3D["sets"], ids=lambda dataset: dataset["id"])
def test_localization_sets(dataset: dict, tmp_path: Path) -> None:
    answers, truth = sqa3d_files(dataset["inputs"], tmp_path, given=dataset.get("n_predictions_given"))
    scores = score_json(answers, "--task", "localization", "--ground-truth", str(truth))
    assert scores == pytest.approx(sqa3d_keys(dataset["output"]), abs=1e-12)
