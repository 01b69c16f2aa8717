"""Bad input to `nav-eval score`: one sentence that names file and place, exit code 2, no traceback."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nav_eval.cli import main

SUBTASK = {
    "success": True,
    "oracle_success": True,
    "navigation_error": 0.4,
    "ground_truth_distance": 7.2,
    "ground_truth_steps": 41,
    "steps": 55,
}
EPISODE = {
    "episode_id": "a",
    "trajectory": [[0, 0, 0], [1, 0, 0]],
    "stopped": True,
    "goal": [1, 0, 0],
    "success_distance": 3.0,
    "shortest_path_length": 1.0,
    "reference_path": [[0, 0, 0], [1, 0, 0]],
}
PREDICTION = {"positions": [[0, 0, 0]], "rotations": [[0, 0, 0, 1]]}
ANNOTATION = {"position": {"x": 0, "y": 0, "z": 0}, "rotation": {"_x": 0, "_y": 0, "_z": 0, "_w": 1}}


def refusal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    monkeypatch.setattr(sys, "argv", ["nav-eval", "score", *map(str, arguments), "--json"])
    with pytest.raises(SystemExit) as exit_:
        main()
    output = capsys.readouterr()
    assert exit_.value.code == 2, output
    assert output.out == ""
    assert "Traceback" not in output.err
    return output.err


def task(**changes: Any) -> str:
    return json.dumps({"episode_id": "b", "subtasks": [SUBTASK | changes]})


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: not valid JSON"),
        ("[1]", "line 2: Expected `object`"),
        ('{"episode_id": "b"}', "missing required field `subtasks`"),
        ('{"episode_id": "b", "subtasks": []}', "line 2: Expected `array` of length >= 1 - at `$.subtasks`"),
        (task(success="yes"), "Expected `bool`, got `str` - at `$.subtasks[0].success`"),
        (task(navigation_error=float("nan")), "line 2: Expected `float` >= 0.0 - at `$.subtasks[0].navigation_error`"),
        (
            task(navigation_error=float("inf")),
            "line 2: Expected `float` <= 1000000000.0 - at `$.subtasks[0].navigation_error`",
        ),
        (task(navigation_error=-1.0), "line 2: Expected `float` >= 0.0 - at `$.subtasks[0].navigation_error`"),
        (task(ground_truth_distance=float("inf")), "at `$.subtasks[0].ground_truth_distance`"),
        (task(ground_truth_steps=-3), "at `$.subtasks[0].ground_truth_steps`"),
        (task(ground_truth_steps=None), "Expected `int`, got `null`"),
        (task(steps=1.5), "Expected `int | null`, got `float`"),
        (json.dumps({"episode_id": "a", "subtasks": [SUBTASK]}), "episode 'a' occurs more than once"),
        (b"\xff\xfe", "line 2"),
        ("[" * 100_000, "line 2"),
    ],
    ids=str,
)
def test_lh_vln(
    line: str | bytes,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "tasks.jsonl"
    good = json.dumps({"episode_id": "a", "subtasks": [SUBTASK]})
    file.write_bytes(good.encode() + b"\n" + (line.encode() if isinstance(line, str) else line) + b"\n")
    message = refusal(capsys, monkeypatch, file, "--task", "lh_vln")
    assert said in message
    assert "tasks.jsonl" in message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trajectory": []}, "episode 'a': trajectory is empty"),
        ({"trajectory": [[0, 0]]}, "Expected `array` of length 3"),
        ({"trajectory": [[0, 0, float("nan")]]}, "at `$.trajectory[0][2]`"),
        ({"goal": None}, "give a goal, or distances_to_goal"),
        ({"goal": [0, float("inf"), 0]}, "at `$.goal[1]`"),
        ({"success_distance": 0}, "Expected `float` > 0.0 - at `$.success_distance`"),
        ({"shortest_path_length": float("inf")}, "at `$.shortest_path_length`"),
        ({"shortest_path_length": -1}, "Expected `float` >= 0.0 - at `$.shortest_path_length`"),
        ({"distances_to_goal": [1.0]}, "1 numbers for 2 positions"),
        ({"distances_to_goal": [1.0, float("nan")]}, "at `$.distances_to_goal[1]`"),
        ({"reference_path": [[0, 0, float("inf")]]}, "at `$.reference_path[0][2]`"),
        ({"stopped": 1}, "Expected `bool`"),
        ({"episode_id": None}, "Expected `int | str`"),
    ],
    ids=str,
)
def test_vln(
    changes: dict[str, Any],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "episodes.jsonl"
    file.write_text(json.dumps(EPISODE | changes))
    message = refusal(capsys, monkeypatch, file, "--task", "vln")
    assert said in message
    assert "episodes.jsonl" in message


@pytest.mark.parametrize(
    ("predictions", "said"),
    [
        ([PREDICTION | {"positions": [[0, 0, 0]] * 4}], "annotation 0: 4 positions were given; give 1 to 3"),
        ([PREDICTION | {"rotations": []}], "annotation 0: 0 rotations were given"),
        ([PREDICTION | {"positions": [[0, float("nan"), 0]]}], "annotation 0: a position holds a number that is not"),
        ([PREDICTION | {"positions": [[0]]}], "a position has 1 numbers"),
        ([PREDICTION | {"rotations": [[0, 0, 0, 0]]}], "a rotation is all zeros"),
        ([PREDICTION | {"rotations": [[0, 0, 1]]}], "a rotation has 3 numbers"),
        ([PREDICTION, PREDICTION], "2 predictions for 1 annotations"),
        ([PREDICTION | {"id": "9"}], "id 9 matches no annotation"),
    ],
    ids=str,
)
def test_localization(
    predictions: list[dict[str, Any]],
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, truth = tmp_path / "pred.json", tmp_path / "gt.json"
    answers.write_text(json.dumps({"predictions": predictions}))
    truth.write_text(json.dumps({"annotations": [ANNOTATION]}))
    message = refusal(capsys, monkeypatch, answers, "--task", "localization", "--ground-truth", truth)
    assert said in message
    assert "pred.json" in message


def test_a_true_pose_that_is_no_rotation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, truth = tmp_path / "pred.json", tmp_path / "gt.json"
    answers.write_text(json.dumps({"predictions": [PREDICTION]}))
    broken = ANNOTATION | {"rotation": {"_x": 0, "_y": 0, "_z": 0, "_w": 0}}
    truth.write_text(json.dumps({"annotations": [broken]}))
    message = refusal(capsys, monkeypatch, answers, "--task", "localization", "--ground-truth", truth)
    assert "a rotation is all zeros" in message


def test_localization_needs_its_truth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    message = refusal(capsys, monkeypatch, tmp_path / "pred.json", "--task", "localization")
    assert "--ground-truth" in message


@pytest.mark.parametrize("task_name", ["lh_vln", "vln"])
def test_a_file_that_is_not_there(
    task_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    message = refusal(capsys, monkeypatch, tmp_path / "nowhere.jsonl", "--task", task_name)
    assert "nowhere.jsonl: No such file" in message


@pytest.mark.parametrize("task_name", ["lh_vln", "vln"])
def test_nothing_to_score(
    task_name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("")
    assert refusal(capsys, monkeypatch, file, "--task", task_name)


def test_predictions_are_matched_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    answers, truth = tmp_path / "pred.json", tmp_path / "gt.json"
    far = PREDICTION | {"positions": [[9, 9, 9]], "id": 22}
    answers.write_text(json.dumps({"predictions": [far, PREDICTION | {"id": "11"}]}))
    there = {"x": 9, "y": 9, "z": 0}
    truth.write_text(
        json.dumps(
            {"annotations": [ANNOTATION | {"question_id": 11}, ANNOTATION | {"question_id": 22, "position": there}]}
        )
    )
    arguments = ["nav-eval", "score", str(answers), "--task", "localization", "--ground-truth", str(truth), "--json"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 0
    assert json.loads(capsys.readouterr().out)["acc@0.5m"] == 1.0
