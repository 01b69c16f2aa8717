"""Runs of a forger who knows the code: every digest and mean follows from what is forged. It is found, or named."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from forged_runs import FORMER, Run, copy_run, rebuild_report, set_line
from typer.testing import CliRunner

from nav_eval.action_log import parse_entry
from nav_eval.cli.lazy_commands import app
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.errors import RecordError
from nav_eval.evaluation.episodes import count_instruction_words, load_episodes
from nav_eval.evaluation.run_folder import make_manifest
from nav_eval.evaluation.verification import verify
from nav_eval.play import EpisodePlay
from nav_eval.records.results import EpisodeResult, EpisodeStatus, encode_result
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

pytestmark = pytest.mark.integration

Forge = Callable[[Run], None]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def in_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FORMER)


def read_benchmark(run: Run) -> BenchmarkConfig:
    return BenchmarkConfig.model_validate(run.manifest["config"])


def make_digests_again(run: Run) -> None:
    benchmark = read_benchmark(run)
    manifest = make_manifest(
        benchmark, load_episodes(benchmark), agent=run.manifest["agent"], run_seed=run.manifest["run_seed"]
    )
    run.manifest = json.loads(msgspec.json.encode(manifest)) | {"engine_version": run.manifest["engine_version"]}


def act(run: Run, number: int, actions: Sequence[Any], **said: Any) -> None:
    """A line as a run would have written it, had an agent acted like this."""
    benchmark = read_benchmark(run)
    episode = load_episodes(benchmark).by_id(run.lines[number]["episode_id"])
    setup = SimulatorSetup(benchmark=benchmark, cache=run.folder / "cache", pictures=False)
    with open_simulator(setup) as simulator:
        task = build_task(benchmark.task, benchmark.evaluation)
        play = EpisodePlay(episode, task=task, simulator=simulator)
        for entry in actions:
            play.apply(parse_entry(entry))
        if said.get("cause", "").startswith("agent"):
            play.progress.abort()
        worth = play.progress.result()
    result = EpisodeResult(
        episode_id=episode.episode_id,
        scene_id=episode.scene_id,
        status=EpisodeStatus.COMPLETED,
        metrics=dict(worth.metrics),
        num_steps=worth.steps,
        shortest_path_length=episode.private.shortest_path_length,
        instruction_length=count_instruction_words(episode),
        trajectory=play.log.trajectory,
        actions=tuple(play.log.actions),
        action_digest=play.log.digest,
    )
    run.lines[number] = json.loads(encode_result(result)) | said


def break_off(cause: str, status: str) -> Forge:
    return lambda run: act(run, 1, run.lines[1]["actions"][:-3], cause=cause, status=status, detail="Lost.")


def add_actions(*actions: Any) -> Forge:
    return lambda run: run.lines[1].update(actions=[*actions, *run.lines[1]["actions"]])


def measure_time(seconds: float | None) -> Forge:
    def forge(run: Run) -> None:
        metrics = run.manifest["config"]["task"]["metrics"]
        metrics.append(metrics[-1] | {"name": "time", "params": {}})
        make_digests_again(run)
        for line in run.lines:
            line["metrics"]["time"] = seconds

    return forge


def draw_seed(seed: int) -> Forge:
    def forge(run: Run) -> None:
        run.manifest["config"]["scenario_config"]["domain_randomization"]["level"] = 2
        run.manifest["run_seed"] = seed
        make_digests_again(run)

    return forge


FOUND: dict[str, tuple[Forge, str]] = {
    "a crash that the clock ended": (break_off("agent_crash", "timeout"), "status is timeout, should be failed"),
    "a time-out that is a fault": (break_off("agent_timeout", "failed"), "status is failed, should be timeout"),
    "an image that cannot be run, and ran": (break_off("image_invalid", "failed"), "cause is image_invalid"),
    "less than no time": (measure_time(-5.0), "time is -5.0, should be seconds"),
    "yes for a time": (measure_time(True), "time is True, should be seconds"),
    "no time": (measure_time(None), "time is None, should be seconds"),
    "a seed that nobody draws": (draw_seed(-3), "run_seed is -3, should be a draw"),
    "a goal in a task without goals": (
        add_actions({"action": "turn_left", "goal": {"judge": "10/10"}}),
        "episode 'b' at step 1: action {'action': 'turn_left', 'goal': {'judge': '10/10'}} cannot be carried out: "
        "This task takes no goals",
    ),
    "a pause in a task without goals": (add_actions("stay"), "at step 1: action stay cannot be carried out"),
    "an action that the task has not": (add_actions("look_up"), "at step 1: action look_up cannot be carried out"),
    "a number beyond all": (
        add_actions({"action": "move_forward", "action_args": {"step_size": 10**400}}),
        "An action log holds {'action': 'move_forward'",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_claim_is_found(name: str, cache: Path, tmp_path: Path) -> None:
    forge, said = FOUND[name]
    run = copy_run("vln", tmp_path)
    rebuild_report(forge)(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert not report.equal
    assert said in report.summary()


@pytest.mark.parametrize(
    ("old", "lie"),
    [('"oracle"', r'"or\ud800acle"'), ('"engine_version"', '"controller": {"x": NaN}, "engine_version"')],
)
def test_what_no_run_writes_is_refused(old: str, lie: str, cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    file = run.folder / "run.json"
    file.write_text(file.read_text().replace(old, lie, 1))
    with pytest.raises(RecordError, match=r"run\.json: not JSON as a run writes it"):
        verify(run.folder, cache=cache)


def name_more_of_the_agent(run: Run) -> None:
    run.manifest["agent"] |= {"official": "yes"}


UNPROVEN: dict[str, tuple[Forge, str]] = {
    "words of the agent": (name_more_of_the_agent, "what the agent says of itself (name, official, version)"),
    "a crash": (break_off("agent_crash", "failed"), "why 1 episode broke off"),
    "our fault": (break_off("infrastructure", "failed"), "that 1 episode is rightly in no mean"),
}


@pytest.mark.parametrize("name", UNPROVEN)
def test_what_only_the_run_tells_is_named(name: str, cache: Path, tmp_path: Path) -> None:
    forge, said = UNPROVEN[name]
    run = copy_run("vln", tmp_path)
    rebuild_report(forge)(run)
    run.write()
    report = verify(run.folder, cache=cache)
    assert report.equal, report.summary()
    assert said in report.summary()


def test_a_seed_may_have_been_chosen(cache: Path, tmp_path: Path) -> None:
    """Whoever draws often enough plays in the easiest of all worlds."""
    run = copy_run("vln", tmp_path)
    draw_seed(12345)(run)
    run.write()
    assert "that the seed 12345 was drawn and not chosen" in verify(run.folder, cache=cache).unproven


def test_what_was_not_played_again_is_named(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    assert "what 2 other episodes say" in verify(run.folder, limit=2, cache=cache).summary()


def never_begin(run: Run) -> None:
    lost = {"status": "failed", "cause": "infrastructure", "detail": "Lost.", "metrics": {}, "num_steps": 0}
    run.lines = [{"episode_id": line["episode_id"], "scene_id": line["scene_id"], **lost} for line in run.lines]


def test_a_run_without_anything_to_play_again_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = copy_run("vln", tmp_path)
    rebuild_report(never_begin)(run)
    run.write()
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    said = CliRunner().invoke(app, ["verify", str(run.folder)])
    assert said.stdout.startswith("Nothing is verified")
    assert said.exit_code == 1


def choose(*episode_ids: str) -> Forge:
    def forge(run: Run) -> None:
        run.manifest["config"]["dataset"]["episode_ids"] = list(episode_ids)
        make_digests_again(run)
        run.lines = [line for line in run.lines if line["episode_id"] in episode_ids]

    return forge


@pytest.mark.parametrize(
    ("played", "said"),
    [
        (("c", "d"), "episode 'c': part of the benchmark is yes, should be no such episode"),  # easier ones
        (("a", "b", "c"), "episode 'c': part of the benchmark"),  # and one more
        (("a",), "the run has 1 of the benchmark's 2 episodes"),
    ],
)
def test_episodes_are_those_of_the_benchmark_that_is_named(
    played: tuple[str, ...], said: str, cache: Path, tmp_path: Path
) -> None:
    run = copy_run("vln", tmp_path)
    whole = read_benchmark(run)
    expected = whole.model_copy(update={"dataset": whole.dataset.model_copy(update={"episode_ids": ("a", "b")})})
    rebuild_report(choose(*played))(run)
    run.write()
    report = verify(run.folder, expected=expected, cache=cache)
    assert report.equal == (set(played) <= {"a", "b"})
    assert said in report.summary()


def test_a_title_of_its_own_is_named(cache: Path, tmp_path: Path) -> None:
    run = copy_run("vln", tmp_path)
    expected = read_benchmark(run)
    run.manifest["config"]["name"] = "R2R, official"
    make_digests_again(run)
    rebuild_report(set_line("status", to="completed"))(run)
    run.write()
    report = verify(run.folder, expected=expected, cache=cache)
    assert "what it calls itself (R2R, official; the benchmark is Demo - VLN)" in report.unproven
