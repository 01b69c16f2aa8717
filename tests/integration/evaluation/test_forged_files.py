"""Run folders whose files say something that our own reading would pass over, or that no reader would survive."""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from forged_runs import FORMER, Run, copy_run, rebuild_report, set_line, set_manifest, set_report, set_shown_line

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.errors import RecordError
from nav_eval.evaluation.verification import verify

pytestmark = pytest.mark.integration

Forge = Callable[[Run], None]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FORMER)


def time_every_episode(run: Run) -> None:
    for line in run.lines:
        line["metrics"]["time"] = 0.001


def lower_a_point(run: Run) -> None:
    run.lines[1]["trajectory"][0][1] = -0.0


def name_the_metrics_only(run: Run) -> None:
    task = run.manifest["config"]["task"]
    task["metrics"] = [metric["name"] for metric in task["metrics"]]


def turn_the_report_around(run: Run) -> None:
    assert run.report is not None
    run.report["episodes"].reverse()


VALUES: dict[str, tuple[str, Forge, str]] = {
    "less than nothing": ("vln", rebuild_report(set_line("metrics", "collisions", to=-0.0)), "collisions is -0.0"),
    "less than no spread": ("vln", set_report("aggregated", "success", "std", to=-0.0), "std is -0.0"),
    "less than nothing, shown": ("vln", set_shown_line("metrics", "collisions", to=-0.0), "collisions is -0.0"),
    "below the floor by nothing": ("vln", rebuild_report(lower_a_point), "trajectory"),
    "a whole number": ("vln", rebuild_report(set_line("metrics", "success", to=1)), "metrics success is 1,"),
    "a time that nobody took": ("vln", rebuild_report(time_every_episode), "time is 0.001, should be missing"),
    "time that runs backwards": ("vln", rebuild_report(set_line("timing", "total", to=-5.0)), "timing total"),
    "a word in a sub-task": ("lh_vln", set_line("subtasks", 0, "official", to=True), "subtasks 0 official"),
    "a seed that nothing was drawn from": ("vln", rebuild_report(set_manifest("run_seed", to=77)), "run_seed is 77"),
    "a rule as a whole number": (
        "vln",
        rebuild_report(set_manifest("config", "evaluation", "success_distance", to=3)),
        "configuration evaluation success_distance is 3, should be 3.0",
    ),
    "names for metrics": ("vln", name_the_metrics_only, "configuration task metrics 0"),
    "a date that is none": ("vln", set_report("timestamp", to={"official": True}), "timestamp"),
    "another order": ("vln", turn_the_report_around, "list of episodes is d, c, b, a"),
    "a number of episodes": ("vln", set_report("episodes", to=5), "list of episodes"),
    "no list of episodes": ("vln", set_report("episodes", to=None), "list of episodes"),
    "an id that is a list": ("vln", set_shown_line("episode_id", to=["b"]), "list of episodes"),
    "half a character": ("vln", set_report("benchmark", to="\ud800"), "benchmark is �"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_that_reads_alike_is_found(name: str, cache: Path, tmp_path: Path) -> None:
    task, forge, said = VALUES[name]
    run = copy_run(task, tmp_path)
    forge(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert not report.equal
    assert said in report.summary()


@pytest.mark.parametrize("lie", ["x\nVerified: 4 episodes, everything is equal.", "\x1b[2K\rVerified", "\x1b]0;x\x07"])
def test_a_value_writes_no_verdict_of_its_own(lie: str, cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    run.lines[1]["scene_id"] = lie
    run.write()
    summary = verify(run.folder, cache=cache).summary()
    assert all(line.isprintable() for line in summary.splitlines())
    assert [line for line in summary.splitlines() if line.startswith("Verified")] == []


def replace(file: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def forge(run: Path) -> None:
        (run / file).write_bytes(change((run / file).read_bytes()))

    return forge


def put_in_place(file: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def forge(run: Path) -> None:
        (run / file).unlink()
        make(run / file)

    return forge


FILES: dict[str, Callable[[Path], None]] = {
    "an empty report": replace("results.json", lambda _: b""),
    "half a report": replace("results.json", lambda data: data[:500]),
    "more than a report": replace("results.json", lambda data: data + b"{}"),
    "bytes": replace("results.json", lambda _: bytes(range(256))),
    "no UTF-8": replace("results.json", lambda data: data.replace(b"Demo", b"D\xffmo", 1)),
    "UTF-16": replace("results.json", lambda data: data.decode().encode("utf-16")),
    "a mark of the byte order": replace("run.json", lambda data: b"\xef\xbb\xbf" + data),
    "as deep as nobody reads": replace("results.json", lambda _: b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "packed": replace("run.json", gzip.compress),
    "half a line": replace("episodes.jsonl", lambda data: data[:-50]),
    "zeros after the lines": replace("episodes.jsonl", lambda data: data + b"\0\0"),
    "a folder": put_in_place("results.json", Path.mkdir),
    "a pipe": put_in_place("results.json", os.mkfifo),
    "a device": put_in_place("run.json", lambda file: file.symlink_to("/dev/zero")),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_none_is_refused(name: str, cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    FILES[name](run.folder)
    with pytest.raises(RecordError, match=r"run\.json|results\.json|episodes\.jsonl"):
        verify(run.folder, cache=cache)


@pytest.mark.parametrize(
    "change",
    [lambda data: data.replace(b"\n", b"\r\n"), lambda data: data.replace(b',"num_steps"', b',\r"num_steps"')],
)
def test_white_space_says_nothing(change: Callable[[bytes], bytes], cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    replace("episodes.jsonl", change)(run.folder)
    assert verify(run.folder, cache=cache).equal


def test_what_lies_beside_a_run_is_named(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    (run.folder / "report.html").write_text("<h1>SPL 1.0</h1>")
    run.lines[1]["actions"][0] = {"action": "turn_left", "text": "I see the door."}
    run.write()
    report = verify(run.folder, cache=cache)
    assert "other files of the folder (report.html)" in report.unproven
    assert "the agent's words beside its actions" in report.unproven


def test_rules_are_those_of_the_benchmark_that_is_named(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    expected = BenchmarkConfig.model_validate(run.manifest["config"])
    same = verify(run.folder, expected=expected, cache=cache)
    assert same.equal
    assert "whose rules" not in same.summary()
    other = expected.model_copy(update={"evaluation": expected.evaluation.model_copy(update={"success_distance": 1.0})})
    report = verify(run.folder, expected=other, cache=cache)
    assert "rule evaluation success_distance is 3.0, should be 1.0" in report.summary()
