"""What a researcher reads after a run."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from nav_eval.agents.json_messages import decode_actions
from nav_eval.agents.messages import ProtocolError
from nav_eval.cli import app
from nav_eval.config import load_benchmark
from nav_eval.config.schema import AgentServiceConfig
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.aggregation import build_report
from nav_eval.evaluation.executor import open_agent
from nav_eval.evaluation.html_report import render_html
from nav_eval.evaluation.report import ReportHeader
from nav_eval.evaluation.run_folder import RunResults, compare_runs
from nav_eval.evaluation.terminal_report import print_report
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus
from nav_eval.suggestions import find_close_name
from support.paths import TESTS


def make_failed(name: str, cause: str, detail: str) -> EpisodeOutcome:
    return EpisodeOutcome(
        episode_id=name, status=EpisodeStatus.FAILED, metrics={"spl": 0.0}, num_steps=1, cause=cause, detail=detail
    )


def test_a_report_has_a_line_per_cause_and_names_the_agent() -> None:
    outcomes = [
        make_failed("a", "protocol_error", "The task has no action 'jump'."),
        make_failed("b", "protocol_error", "The task has no action 'jump'."),
        make_failed("c", "agent_crash", "It ended with exit code 3."),
    ]
    report = build_report(outcomes, header=ReportHeader(agent={"name": "Walker", "version": "7"}))
    out = io.StringIO()
    print_report(Console(file=out, width=200), report)
    text = out.getvalue()
    assert "agent Walker 7" in text
    assert text.count("The task has no action 'jump'.") == 1
    assert "It ended with exit code 3." in text
    page = render_html(report)
    assert "Walker" in page
    assert "It ended with exit code 3." in page


def test_everything_failed_is_exit_code_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TESTS / "data" / "run_0_1_0")
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "agent.py").write_text("class Agent:\n    def act(self, observation):\n        return 'jump'\n")
    config = tmp_path / "tiny.yaml"
    config.write_text("extends: demo_vln\nname: tiny\n")
    result = CliRunner().invoke(
        app,
        [
            "evaluate",
            str(config),
            "--agent",
            f"{tmp_path}/agent.py:Agent",
            "--out",
            str(tmp_path / "run"),
            "dataset.data_path=val.json.gz",
            "dataset.scene_path=.",
            "dataset.format=nav_eval",
            "dataset.generate=null",
            "task.sensors=[]",
        ],
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 3, result.output
    assert "has no action 'jump'" in result.output


def test_case_does_not_hide_a_name() -> None:
    assert find_close_name("MOVE_FORWARD", ["move_forward", "stop"]) == "move_forward"
    assert find_close_name("Sotp", ["move_forward", "stop"]) == "stop"


@pytest.mark.parametrize("reply", [{"action": 1}, {"actions": [1]}])
def test_numbers_are_no_actions(reply: object) -> None:
    with pytest.raises(ProtocolError, match="Actions are names, not numbers"):
        decode_actions(reply, sequence=1, most=5)


def test_mcnemar_is_for_yes_or_no_metrics() -> None:
    def make_run(name: str, values: list[float]) -> RunResults:
        outcomes = [
            EpisodeOutcome(
                episode_id=str(number),
                scene_id=f"s{number}",
                status=EpisodeStatus.COMPLETED,
                metrics={"spl": value, "success": value},
                num_steps=3,
            )
            for number, value in enumerate(values)
        ]
        return RunResults(name, outcomes, ReportHeader())

    found = compare_runs(make_run("a", [1.0, 0.0, 1.0, 1.0]), make_run("b", [0.0, 0.0, 1.0, 0.0]), directions={})
    assert found["success"].mcnemar is not None
    assert found["spl"].mcnemar is None


def test_the_benchmark_names_the_agent_where_the_command_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for service, said in (
        ("", "Which agent? Give --agent"),
        ("agent_service: {type: local, endpoint: 'baseline:randm'}\n", "There is no baseline 'randm'"),
    ):
        Path("mine.yaml").write_text(f"extends: demo_vln\nname: mine\n{service}")
        result = CliRunner().invoke(app, ["evaluate", "mine.yaml", "--out", "run"])
        assert result.exit_code != 0
        assert said in str(result.exception) + result.output
    service = AgentServiceConfig(protocol="rest", endpoint="gpu-box:8000")
    assert service.address == "http://gpu-box:8000"
    assert AgentServiceConfig(endpoint="unix:/rpc/agent.sock").address == "unix:/rpc/agent.sock"


@pytest.mark.parametrize("name", ["random", "forward", "stop"])
def test_a_baseline_that_walks_is_refused_where_nobody_walks(name: str) -> None:
    benchmark = load_benchmark("demo_localization", environ={})
    with pytest.raises(NavEvalError, match="walks and stops, and here nobody walks"):
        open_agent(f"Baseline:{name}", benchmark, [])


def test_what_was_finished_before_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has changed an agent and runs the same command must not take the former results for new ones."""
    monkeypatch.chdir(TESTS / "data" / "run_0_1_0")
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "tiny.yaml").write_text(
        "extends: demo_vln\nname: tiny\ntask: {extends: vln, sensors: []}\n"
        "dataset: {data_path: val.json.gz, scene_path: ., format: nav_eval, generate: null}\n"
    )
    command = ["evaluate", str(tmp_path / "tiny.yaml"), "--agent", "baseline:stop", "--out", str(tmp_path / "run")]
    first, again = (CliRunner().invoke(app, command) for _ in range(2))
    assert "finished before" not in first.stderr
    assert "All 4 episodes were finished before; give another --out to play them again." in again.stderr
    lines = (tmp_path / "run" / "episodes.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "run" / "episodes.jsonl").write_text("".join(lines[:3]))
    assert "Going on: 3 of 4 episodes were finished before." in CliRunner().invoke(app, command).stderr
