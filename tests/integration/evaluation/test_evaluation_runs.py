"""Whole runs in a real scene, with real pictures where an agent wants them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation import offline_scoring
from nav_eval.evaluation.report import Report
from nav_eval.evaluation.run_folder import OtherRun, RunFolder, RunUnderWay
from nav_eval.evaluation.runner import RunCallbacks
from nav_eval.evaluation.verification import verify
from nav_eval.metrics.lh_vln import ScoringOptions, ScoringRule
from nav_eval.orchestrator import EvaluationOrchestrator

pytestmark = pytest.mark.integration

MakeBenchmark = Callable[..., BenchmarkConfig]


def evaluate(
    benchmark: BenchmarkConfig,
    agent: str,
    out: Path,
    *,
    workers: int | None = None,
    callbacks: RunCallbacks | None = None,
) -> Report:
    orchestrator = EvaluationOrchestrator(cache=out.parent / "cache", workers=workers)
    return orchestrator.run_benchmark(benchmark, agent=agent, out=out, callbacks=callbacks)


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]


def without_clock(out: Path) -> dict[str, dict[str, Any]]:
    return {line["episode_id"]: line | {"timing": None} for line in lines(out)}


def means(report: Report) -> dict[str, float | None]:
    return {name: statistics.mean for name, statistics in report.aggregated.items()}


def test_the_oracle_is_perfect(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    scores = means(evaluate(room_benchmark(), "baseline:oracle", tmp_path / "run"))
    for name in ("sr", "isr", "csr", "cgt", "tar", "score"):
        assert scores[name] == 1.0, name


def test_random_is_near_nothing_and_skill_shows(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    scores = [
        means(evaluate(room_benchmark(), agent, tmp_path / f"run{number}"))["score"] or 0.0
        for number, agent in enumerate(
            ["baseline:random", "baseline:noisy_oracle?skill=0.9", "baseline:noisy_oracle?skill=1.0"]
        )
    ]
    assert scores[0] < 0.5
    assert scores == sorted(scores)
    assert scores[2] == 1.0


@pytest.mark.parametrize("agent", ["oracle", "random", "wall_follower", "keyword"])
def test_a_run_is_what_it_says(agent: str, room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=60"), f"baseline:{agent}", tmp_path / "run")
    report = verify(tmp_path / "run", cache=tmp_path / "cache")
    assert report.equal, report.summary()
    assert report.episodes == 4


def test_two_processes_give_the_same_lines(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=60")
    evaluate(benchmark, "baseline:wall_follower", tmp_path / "one")
    evaluate(benchmark, "baseline:wall_follower", tmp_path / "two", workers=2)
    assert without_clock(tmp_path / "one") == without_clock(tmp_path / "two")


def test_several_episodes_at_once_give_the_same_lines(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=40"), "baseline:wall_follower", tmp_path / "one")
    together = room_benchmark("demo_lh_vln", "evaluation.max_steps=40", "evaluation.concurrent_episodes=3")
    evaluate(together, "baseline:wall_follower", tmp_path / "three")
    assert without_clock(tmp_path / "one") == without_clock(tmp_path / "three")


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def interrupt_after(count: int) -> RunCallbacks:
    seen: list[str] = []

    def on_result(result: Any, _: Any) -> None:
        seen.append(result.episode_id)
        if len(seen) == count:
            raise Interrupted

    return RunCallbacks(on_result=on_result)


def test_an_interrupted_run_goes_on_where_it_was(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(Interrupted):
        evaluate(room_benchmark(), "baseline:oracle", out, callbacks=interrupt_after(2))
    assert json.loads((out / "results.json").read_text())["counts"]["episodes"] == 2
    with (out / "episodes.jsonl").open("a") as file:
        file.write('{"episode_id": "half a li')
    played: list[str] = []
    callbacks = RunCallbacks(on_result=lambda result, _: played.append(result.episode_id))
    report = evaluate(room_benchmark(), "baseline:oracle", out, callbacks=callbacks)
    assert played == ["c", "d"]
    assert report.counts.episodes == 4
    assert [line["episode_id"] for line in lines(out)] == ["a", "b", "c", "d"]


def test_a_folder_of_another_run_is_refused(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    evaluate(room_benchmark(), "baseline:stop", tmp_path / "run")
    other = room_benchmark("demo_lh_vln", "evaluation.success_distance=2.0")
    with pytest.raises(OtherRun, match="holds another run"):
        evaluate(other, "baseline:stop", tmp_path / "run")


def test_a_run_of_another_agent_is_not_gone_on_with(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    """Or one report would show the episodes of both under the name of the last."""
    with pytest.raises(Interrupted):
        evaluate(room_benchmark(), "baseline:stop", tmp_path / "run", callbacks=interrupt_after(2))
    with pytest.raises(OtherRun, match="a run of the agent stop 1, and this one is oracle 1"):
        evaluate(room_benchmark(), "baseline:oracle", tmp_path / "run")
    assert len(lines(tmp_path / "run")) == 2


def test_two_runs_at_once_do_not_share_a_folder(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run").claim(), pytest.raises(RunUnderWay, match="Another `nav-eval evaluate`"):
        evaluate(room_benchmark(), "baseline:stop", tmp_path / "run")
    assert evaluate(room_benchmark(), "baseline:stop", tmp_path / "run").counts.episodes == 4


@pytest.mark.parametrize("task", ["demo_vln", "demo_objectnav"])
def test_other_tasks_run_too(task: str, room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    report = evaluate(
        room_benchmark(task, "evaluation.distance_to=point", "evaluation.success_distance=0.5"),
        "baseline:oracle",
        tmp_path / "run",
    )
    assert means(report)["success"] == 1.0


def tamper(out: Path, change: Callable[[dict[str, Any]], None]) -> None:
    changed = lines(out)
    change(changed[1])
    (out / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))


def raise_score(line: dict[str, Any]) -> None:
    line["metrics"]["tar"] = 0.999


def move_a_point(line: dict[str, Any]) -> None:
    line["trajectory"][3][0] += 1e-9


def change_an_action(line: dict[str, Any]) -> None:
    line["actions"][2] = "move_forward" if line["actions"][2] != "move_forward" else "turn_left"


def drop_the_end(line: dict[str, Any]) -> None:
    del line["actions"][-1]


def better_subtask(line: dict[str, Any]) -> None:
    line["subtasks"][0]["navigation_error"] = 0.01


def easier_world(line: dict[str, Any]) -> None:
    line["randomization"] = {"level": 0}


@pytest.mark.parametrize(
    "change", [raise_score, move_a_point, change_an_action, drop_the_end, better_subtask, easier_world]
)
def test_tampering_is_found(
    change: Callable[[dict[str, Any]], None], room_benchmark: MakeBenchmark, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:random?seed=4", out)
    assert verify(out, cache=tmp_path / "cache").equal
    tamper(out, change)
    report = verify(out, cache=tmp_path / "cache")
    assert not report.equal
    assert "episode 'b'" in report.summary()


def test_a_changed_rule_is_found(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:forward", out)
    manifest = json.loads((out / "run.json").read_text())
    manifest["config"]["evaluation"]["success_distance"] = 3.0
    (out / "run.json").write_text(json.dumps(manifest))
    assert "digest of rules" in verify(out, cache=tmp_path / "cache").summary()


@pytest.mark.parametrize(
    ("keys", "value", "found"),
    [
        (("aggregated", "tar", "mean"), 1.0, "statistics of tar mean"),
        (("scores", "tar"), 1.0, "score tar"),
        (("counts", "episodes"), 40, "number of episodes"),
        (("digests", "rules"), "sha256:00", "digest of rules"),
        (("aggregated", "made_up"), {"mean": 1.0}, "statistics of made_up"),
    ],
)
def test_a_changed_report_is_found(
    keys: tuple[str, ...], value: object, found: str, room_benchmark: MakeBenchmark, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:forward", out)
    report = json.loads((out / "results.json").read_text())
    place = report
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (out / "results.json").write_text(json.dumps(report))
    assert f"results.json: {found} is" in verify(out, cache=tmp_path / "cache").summary()


def test_an_episode_that_was_left_out_is_found(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:forward", out)
    kept = (out / "episodes.jsonl").read_text().splitlines(keepends=True)[1:]
    (out / "episodes.jsonl").write_text("".join(kept))
    assert "number of episodes" in verify(out, cache=tmp_path / "cache").summary()
    (out / "results.json").unlink()  # now it is a run that was cut off, and says so
    assert "1 episode has no result" in verify(out, partial=True, cache=tmp_path / "cache").summary()
    assert not verify(out, cache=tmp_path / "cache").equal


def test_a_run_of_some_episodes_says_of_how_many(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=5", "dataset.episodes=3"), "baseline:forward", out)
    report = verify(out, cache=tmp_path / "cache")
    assert report.equal
    assert "the run has 3 of the benchmark's 4 episodes" in report.summary()


def test_a_randomised_run_is_verified_with_its_own_seed(room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=10", "scenario.domain_randomization.level=2")
    evaluate(benchmark, "baseline:forward", out)
    assert json.loads((out / "run.json").read_text())["run_seed"] != 0
    assert verify(out, cache=tmp_path / "cache").equal


@pytest.mark.parametrize("rule", ["documented", "reference"])
def test_the_board_row_is_what_anyone_can_recompute(rule: str, room_benchmark: MakeBenchmark, tmp_path: Path) -> None:
    out = tmp_path / "run"
    benchmark = room_benchmark("demo_lh_vln", f"task.scoring.rule={rule}", "evaluation.max_steps=80")
    report = evaluate(benchmark, "baseline:noisy_oracle?skill=0.95&seed=2", out)
    options = ScoringOptions(rule=ScoringRule(rule))
    assert report.scores == offline_scoring.score_long_horizon(out / "episodes.jsonl", options)
    assert report.scores["score"] is not None
