"""`nav-eval episodes`: what an organiser runs on a file before trusting it."""

import pytest
from dataset_factories import long_task, r2r_document, r2r_episode, write_json
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import DatasetError


@pytest.fixture
def path(tmp_path):
    return write_json(tmp_path / "val.json.gz", r2r_document(*map(r2r_episode, range(1, 6))))


def run(*arguments):
    result = CliRunner().invoke(app, ["episodes", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_validate_counts_and_gives_the_digest(path):
    output = run("validate", path, "--format", "r2r")
    assert "5 episodes in 1 scenes are sound" in output
    assert load_dataset(DatasetRequest(format="r2r", path=path)).digest in output


def test_validate_refuses_what_loading_refuses(path):
    with pytest.raises(DatasetError, match="missing required field `format`"):
        run("validate", path)


def test_show_lists_what_is_asked_for(path):
    output = run("show", path, "--format", "r2r", "--id", "2", "--id", "4")
    assert [line.split()[0] for line in output.splitlines()[1:]] == ["2", "4"]
    assert "Walk left, stop." in output
    assert "7.96" in output
    assert len(run("show", path, "--format", "r2r", "-n", "3").splitlines()) == 4


def test_show_names_the_targets_of_a_long_task(tmp_path):
    write_json(tmp_path / "batch_6.json.gz", {"0": {"lh_task": long_task()}})
    assert "towel, sink" in run("show", tmp_path, "--format", "lhvln")


def test_show_json_converts_to_our_format(path, tmp_path):
    converted = tmp_path / "converted.jsonl"
    converted.write_text(run("show", path, "--format", "r2r", "--json"))
    original = load_dataset(DatasetRequest(format="r2r", path=path))
    assert load_dataset(DatasetRequest(format="nav_eval", path=converted)).episodes == original.episodes


def test_a_file_cannot_write_control_characters_to_the_terminal(tmp_path):
    instruction = {"instruction_text": "Go \x1b[2J[red]left"}
    path = write_json(tmp_path / "val.json.gz", r2r_document(r2r_episode(instruction=instruction)))
    output = run("show", path, "--format", "r2r")
    assert "\x1b[2J" not in output
    assert "[red]left" in output
