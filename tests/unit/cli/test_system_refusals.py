"""What the system refuses: a line that says what to do, and never a traceback."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nav_eval.cache import open_cache_folder
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.report import ReportHeader, write_report
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus


@pytest.fixture
def results(tmp_path: Path) -> Path:
    outcome = EpisodeOutcome(episode_id="a", status=EpisodeStatus.COMPLETED, metrics={"success": 1.0}, num_steps=1)
    write_report(tmp_path / "results.json", build_report([outcome], header=ReportHeader(benchmark="Größe ●")))
    return tmp_path / "results.json"


def call(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "nav_eval.cli", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, check=False, encoding="utf-8", errors="replace"
    )


def test_a_folder_in_the_place_of_a_file_is_named(results: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = call("report", results, "--html", tmp_path / "folder")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"{tmp_path / 'folder'}: Is a directory. Check the path" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_place_that_takes_no_files_is_named(results: Path) -> None:
    done = call("report", results, "--html", "/proc/sys/kernel/ostype/x.html")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


def test_a_terminal_without_our_signs_gets_others(results: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = call("report", results, **ascii_only)
    assert (done.returncode, done.stderr) == (0, "")
    assert "success" in done.stdout


def test_a_folder_that_holds_no_run_is_told_where_runs_come_from(tmp_path: Path) -> None:
    done = call("replay", tmp_path)
    assert done.returncode == 2
    assert "Give the one that `nav-eval evaluate" in done.stderr


@pytest.mark.parametrize("words", [["--help"], ["report"]])
def test_output_that_nobody_takes_ends_quietly(words: list[str], results: Path) -> None:
    command = [sys.executable, "-m", "nav_eval.cli", *words, *([str(results)] if words == ["report"] else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, text=True)
    assert done.stderr.startswith("nav-eval: No space left on the device.")


def test_a_cache_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", "/proc/nav-eval")
    with pytest.raises(NavEvalError, match="Set NAV_EVAL_CACHE"):
        open_cache_folder()


def test_a_file_in_the_place_of_a_folder_is_named(results: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = call("report", results, "--html", tmp_path / "taken" / "x.html")
    assert f"{tmp_path / 'taken'} is in the way: a folder is needed there" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b"{}"), "it is gzip"),
        (b"\xef\xbb\xbf{}", "it begins with a byte-order mark"),
        (b'{"episode_id": "a", "sta', "goes on with a run that was cut off"),
    ],
    ids=["gzip", "a mark of the byte order", "half a line"],
)
def test_lines_that_are_none_are_called_what_they_are(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    file.write_bytes(content)
    done = call("report", file)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_empty_file_of_episodes_is_called_empty(tmp_path: Path) -> None:
    file = tmp_path / "val.json.gz"
    file.write_bytes(b"")
    assert f"{file} is empty" in call("episodes", "show", file).stderr


def test_a_disk_that_is_full_is_no_matter_of_rights(tmp_path: Path) -> None:
    full = "import errno, os, pathlib; from nav_eval_sdk import cli\n"
    full += "def refuse(*_, **__): raise OSError(errno.ENOSPC, 'No space left on device')\n"
    full += f"pathlib.Path.mkdir = refuse; os.makedirs = refuse; cli.main(['init', {str(tmp_path / 'project')!r}])"
    done = subprocess.run([sys.executable, "-c", full], capture_output=True, check=False, text=True)
    assert done.stderr.startswith("nav-eval-sdk: No space left on the device. Free some")
