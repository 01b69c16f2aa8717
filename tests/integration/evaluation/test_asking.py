"""Questions on the way: answers from ground truth, a budget, the same words in every replay and on every wire."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.generators import ensure_generated
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.results import Cause, EpisodeResult
from nav_eval.replay.builder import ReplayBuilder

pytestmark = pytest.mark.integration

CACHE = get_cache_folder()
ASKER = """
from nav_eval_sdk import Action, Agent


class Asker(Agent):
    sensors = ("instruction",)
    questions = QUESTIONS
    max_actions = 2

    def act(self, observation):
        asked = observation.step
        if asked < len(self.questions):
            return Action("ask", text=self.questions[asked])
        return [Action("turn_left", text=observation.texts["ask"]), "stop"]  # what was heard, into the log
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("asking")


@pytest.fixture(scope="module")
def benchmark(work: Path) -> BenchmarkConfig:
    made = load_benchmark(
        "demo_vln_ask",
        overrides=[
            f"dataset.data_path={work / 'vln.json'}",
            f"dataset.scene_path={work / 'scenes'}",
            "dataset.generate.houses=1",
            "dataset.generate.episodes=2",
            "dataset.generate.seed=13",
        ],
        environ={},
    )
    ensure_generated(made, cache=CACHE)
    return made


def play(benchmark: BenchmarkConfig, questions: list[str], folder: Path) -> list[EpisodeResult]:
    file = folder / "asker.py"
    file.write_text(ASKER.replace("QUESTIONS", repr(questions)))
    EvaluationOrchestrator(cache=CACHE).run_benchmark(benchmark, agent=f"{file}:Asker", out=folder / "run")
    assert verify(folder / "run", cache=CACHE).equal
    return list(RunFolder(folder / "run").results())


def list_replies(result: EpisodeResult) -> list[str]:
    return [entry["reply"] for entry in result.actions if isinstance(entry, dict) and "reply" in entry]


def test_answers_are_true_and_reach_the_agent(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    asked = ["Where am I?", "How far is it?", "Which way is it?"]
    for result in play(benchmark, asked, tmp_path):
        place, distance, way = list_replies(result)
        assert place.startswith("In the ")
        metres = float(distance.removeprefix("About ").removesuffix(" metres."))
        assert abs(metres - (result.shortest_path_length or 0.0)) <= 0.5
        assert way.removesuffix(".") in {
            f"{where}{side}"
            for where in ("To the ", "Ahead to the ", "Behind you to the ")
            for side in ("left", "right")
        } | {"Straight ahead", "Behind you"}
        assert result.actions[-2] == {"action": "turn_left", "text": way}  # the last reply was in its observation
        assert (result.num_steps, result.cause) == (5, None)  # every question is a step


def test_things_are_where_the_annotation_says(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    (file,) = (Path(benchmark.dataset.scene_path)).glob("*.semantics.json")
    scene = json.loads(file.read_text())
    kinds = {region["id"]: region["category"] for region in scene["regions"]}
    sofas = [thing for thing in scene["objects"] if thing["category"] == "sofa"]
    chairs = [thing for thing in scene["objects"] if thing["category"] == "chair"]
    asked = ["Where is the sofa?", "how many CHAIRS are there", "What colour is the sofa?"]
    where, count, colour = list_replies(play(benchmark, asked, tmp_path)[0])
    assert all(kinds[sofa["region"]] in where for sofa in sofas)
    assert count == f"{len(chairs)}."
    assert all(sofa["attributes"]["colour"] in colour.lower() for sofa in sofas)


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        ("Is there a helicopter?", "No."),
        ("Is there a sofa in the swimming pool?", "There is no swimming pool."),
        ("Where is the helicopter?", "There is none."),
        ("Tell me a joke", "I do not understand."),
        ("what colour is the .*?", "There is none."),  # no pattern of theirs is one of ours
        ("¿Dónde está?", "I do not understand."),
        ("is there " + "a " * 490, "No."),
    ],
)
def test_odd_questions_get_plain_answers(benchmark: BenchmarkConfig, tmp_path: Path, question: str, reply: str) -> None:
    assert all(list_replies(result)[0].startswith(reply) for result in play(benchmark, [question], tmp_path))


@pytest.mark.parametrize("question", ["", "  ", "x" * 1001])
def test_what_is_no_question_is_a_protocol_error(benchmark: BenchmarkConfig, tmp_path: Path, question: str) -> None:
    assert {result.cause for result in play(benchmark, [question], tmp_path)} == {Cause.PROTOCOL_ERROR}


def test_one_question_too_many_ends_the_episode(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    for result in play(benchmark, ["Where am I?"] * 4, tmp_path):
        assert (result.cause, len(list_replies(result))) == (Cause.PROTOCOL_ERROR, 3)
        assert "3 questions" in (result.detail or "")


def test_a_task_that_does_not_say_so_takes_no_questions(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    actions = tuple(action for action in benchmark.task.actions if action.name != "ask")
    silent = benchmark.model_copy(update={"task": benchmark.task.model_copy(update={"actions": actions})})
    assert {result.cause for result in play(silent, ["Where am I?"], tmp_path)} == {Cause.PROTOCOL_ERROR}


@pytest.mark.parametrize(("old", "new"), [("About ", "Only "), ("How far is it?", "Where am I?")])
def test_another_dialogue_in_the_log_is_found(benchmark: BenchmarkConfig, tmp_path: Path, old: str, new: str) -> None:
    play(benchmark, ["How far is it?"], tmp_path)
    file = tmp_path / "run/episodes.jsonl"
    file.write_text("".join(line.replace(old, new, 1) for line in file.read_text().splitlines(keepends=True)))
    assert any("informant" in str(found) for found in verify(tmp_path / "run", cache=CACHE).differences)


def test_a_reply_that_nobody_gave_is_found(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    play(benchmark, ["How far is it?"], tmp_path)
    file = tmp_path / "run/episodes.jsonl"
    file.write_text(file.read_text().replace('{"action":"turn_left"', '{"reply":"Well done.","action":"turn_left"'))
    assert any("informant" in str(found) for found in verify(tmp_path / "run", cache=CACHE).differences)


def test_a_replay_shows_both_sides(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    result = play(benchmark, ["Where am I?"], tmp_path)[0]
    with ReplayBuilder(tmp_path / "run", cache=CACHE) as builder:
        replay = builder.replay(result.episode_id)
    assert not replay.differences
    number, step = replay.spoken[0]
    assert (number, step.action, step.text, step.reply) == (1, "ask", "Where am I?", list_replies(result)[0])


@pytest.mark.parametrize(("protocol", "scheme"), [("grpc", "grpc"), ("rest", "http"), ("websocket", "ws")])
def test_every_wire_tells_the_budget_and_the_replies(
    benchmark: BenchmarkConfig, tmp_path: Path, protocol: str, scheme: str
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{probe.getsockname()[1]}"
    address = f"{scheme}://{place}"
    told = 'assert self.episode.task.budgets == {"ask": 3}, self.episode.task\n        asked ='
    code = ASKER.replace("QUESTIONS", repr(["Where am I?", "How far is it?"])).replace("asked =", told, 1)
    code += "\n    def reset(self, episode):\n        self.episode = episode\n"
    (tmp_path / "asker.py").write_text(code)
    where = ["--protocol", protocol, "--address", address if protocol == "websocket" else place]
    agent = subprocess.Popen([sys.executable, "-m", "nav_eval_sdk", "serve", f"{tmp_path / 'asker.py'}:Asker", *where])
    try:
        EvaluationOrchestrator(cache=CACHE).run_benchmark(benchmark, agent=address, out=tmp_path / "far")
    finally:
        agent.terminate()
        agent.wait()
    (tmp_path / "near").mkdir()
    near = play(benchmark, ["Where am I?", "How far is it?"], tmp_path / "near")
    far: list[Any] = list(RunFolder(tmp_path / "far").results())
    assert [result.cause for result in far] == [None, None]
    by_id = {result.episode_id: result.actions for result in near}
    assert {result.episode_id: result.actions for result in far} == by_id
