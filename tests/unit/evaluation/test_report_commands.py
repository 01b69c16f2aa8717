"""`nav-eval report` and `nav-eval compare`, as a user types them."""

import json
import sys

import pytest
from report_samples import episode, played

from nav_eval.cli import main
from nav_eval.evaluation.aggregation import MetricsAggregator
from nav_eval.evaluation.report import ReportHeader
from nav_eval.records.results import EpisodeStatus


@pytest.fixture
def nav_eval(capsys, monkeypatch):
    """Runs a command; gives its exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["nav-eval", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        output = capsys.readouterr()
        return ended.value.code or 0, output.out, output.err

    return run


def test_report_of_a_folder(nav_eval, run_folder, tmp_path):
    folder = run_folder(played(20))
    page, results = tmp_path / "out" / "page.html", tmp_path / "out" / "results.json"
    code, out, err = nav_eval("report", folder, "--html", page, "--json", results, "--group-by", "scene")
    assert (code, err) == (0, "")
    assert "success ↑" in out
    assert "by scene" in out
    assert page.read_text().lstrip().startswith("<!doctype html>")
    written = json.loads(results.read_text())
    assert written["aggregated"]["success"]["count"] == 20
    assert written["episodes"][0]["trajectory"] == [[0, 0, 0], [1, 0, -1]]


def test_report_of_either_file_is_the_same(nav_eval, run_folder):
    results = played(20)
    folder = run_folder(results)
    aggregator = MetricsAggregator()
    for result in results:
        aggregator.add_episode_result(result)
    aggregator.export_json(folder / "results.json")
    outputs = {nav_eval("report", folder / name)[1] for name in (".", "episodes.jsonl", "results.json")}
    assert len(outputs) == 1
    (folder / "episodes.jsonl").unlink()
    assert nav_eval("report", folder)[1] in outputs


def test_a_folder_knows_its_benchmark_and_its_directions(nav_eval, run_folder):
    folder = run_folder([episode(1, metrics={"cost": 1.0})])
    header = ReportHeader(benchmark="VLN 2026", higher_is_better={"cost": False})
    MetricsAggregator(header).export_json(folder / "results.json")
    _, out, _ = nav_eval("report", folder)
    assert "VLN 2026" in out
    assert "cost ↓" in out


def test_report_groups_by_what_the_run_brings(nav_eval, run_folder):
    folder = run_folder([episode(i, groups={"style": "ab"[i % 2]}) for i in range(6)])
    code, out, _ = nav_eval("report", folder, "--group-by", "style")
    assert code == 0
    assert "by style" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("report", "nowhere"), "Cannot read"),
        (("report", "RUN", "--group-by", "weather"), "cannot be grouped by 'weather'"),
        (("report", "EMPTY"), "holds no episodes"),
        (("report", "BROKEN"), "line 1: not valid JSON"),
        (("report", "TWICE"), "'ep_1' has two different results"),
        (("compare", "RUN", "OTHER"), "not on the same episodes (only in run: 'ep_5'; only in other: 'ep_6')"),
        (("compare", "RUN", "UNSCORED"), "no score for episode 'ep_5' (infrastructure)"),
        (("compare", "RUN", "RUN", "--metric", "speed"), "do not both have 'speed'. Known: success"),
    ],
)
def test_refusals_are_one_line(nav_eval, run_folder, tmp_path, arguments, words):
    five = played(5)
    infrastructure = episode(5, status=EpisodeStatus.FAILED, cause="infrastructure")
    places = {
        "RUN": run_folder([*five, episode(5)]),
        "OTHER": run_folder([*five, episode(6)], "other"),
        "UNSCORED": run_folder([*five, infrastructure], "unscored"),
        "EMPTY": run_folder([], "empty"),
        "TWICE": run_folder([episode(1), episode(1, num_steps=2)], "twice"),
        "BROKEN": tmp_path / "broken.jsonl",
    }
    places["BROKEN"].write_text("{\n")
    code, out, err = nav_eval(*(places.get(argument, argument) for argument in arguments))
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


def test_compare_finds_the_better_run(nav_eval, run_folder):
    good, bad = run_folder(played(80, skill=0.9, seed=1), "good"), run_folder(played(80, skill=0.2, seed=2), "bad")
    code, out, _ = nav_eval("compare", good, bad)
    assert code == 0
    row = next(line for line in out.splitlines() if line.strip().startswith("success"))
    assert row.split()[-1] == "A"
    assert "McNemar" in out


def test_compare_in_json(nav_eval, run_folder):
    first, second = run_folder(played(40, seed=1), "first"), run_folder(played(40, seed=2), "second")
    _, out, _ = nav_eval("compare", first, second, "--metric", "success", "--json")
    result = json.loads(out)
    assert (result["first"], result["second"], list(result["metrics"])) == ("first", "second", ["success"])
    item = result["metrics"]["success"]
    assert item["difference"] == pytest.approx(item["first_mean"] - item["second_mean"])
    assert item["mcnemar"]["exact"] == (item["mcnemar"]["only_first"] + item["mcnemar"]["only_second"] < 25)


def test_a_run_compared_with_itself_differs_in_nothing(nav_eval, run_folder):
    folder = run_folder(played(30))
    metrics = json.loads(nav_eval("compare", folder, folder, "--json")[1])["metrics"]
    assert {(item["difference"], item["p_value"], item["significant"]) for item in metrics.values()} == {
        (0.0, 1.0, False)
    }


def test_other_episode_sets_with_equal_ids_are_refused(nav_eval, run_folder):
    folders = [run_folder(played(5), name) for name in ("one", "two")]
    for number, folder in enumerate(folders):
        header = ReportHeader(digests={"episodes": f"sha256:{number}"})
        MetricsAggregator(header).export_json(folder / "results.json")
    code, _, err = nav_eval("compare", *folders)
    assert code == 2
    assert "different episode sets" in err
