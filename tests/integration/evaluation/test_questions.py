"""SQA3D's questions from its files to a verified run: right and wrong words, types, hostile answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.results import Cause

pytestmark = pytest.mark.integration

CACHE = get_cache_folder()
ASKED = [("What color is the chair?", "blue"), ("How many tables are there?", "one"), ("Am I in a room?", "yes")]


@pytest.fixture
def benchmark(tmp_path: Path, room_data: Path) -> BenchmarkConfig:
    """Files as SQA3D publishes them, about our room."""
    place = {"position": {"x": 0.5, "y": 0, "z": 0}, "rotation": {"_x": 0, "_y": 0, "_z": 0, "_w": 1}}
    questions = [
        {
            "scene_id": "room.glb",
            "situation": "I stand here.",
            "alternative_situation": [],
            "question": question,
            "question_id": i,
        }
        for i, (question, _) in enumerate(ASKED)
    ]
    annotations = [
        {"scene_id": "room.glb", "question_id": i, "answers": [{"answer": answer, "answer_id": 1}], **place}
        for i, (_, answer) in enumerate(ASKED)
    ]
    for kind, key, records in (("questions", "questions", questions), ("sqa_annotations", "annotations", annotations)):
        (tmp_path / f"v1_balanced_{kind}_val_scannetv2.json").write_text(json.dumps({key: records}))
    file = tmp_path / "v1_balanced_questions_val_scannetv2.json"
    places = [f"dataset.data_path={file}", f"dataset.scene_path={room_data}", "output.save_trajectories=false"]
    return load_benchmark("sqa3d_qa_val", overrides=places, environ={})


AGENT = """
class Speaker:
    def act(self, observation):
        return REPLIES.get(observation.instruction.split(". ")[1], REPLIES["else"])
"""


def evaluate(benchmark: BenchmarkConfig, replies: dict[str, Any], folder: Path) -> RunFolder:
    (folder / "speaker.py").write_text(f"REPLIES = {replies!r}\n" + AGENT)
    EvaluationOrchestrator(cache=CACHE).run_benchmark(
        benchmark, agent=f"{folder / 'speaker.py'}:Speaker", out=folder / "run"
    )
    assert verify(folder / "run", cache=CACHE).equal
    return RunFolder(folder / "run")


def say(text: str) -> dict[str, Any]:
    return {"action": "answer", "text": text}


def test_the_agent_is_told_situation_and_question_and_nothing_more(benchmark: BenchmarkConfig) -> None:
    episodes = list(load_episodes(benchmark))
    told = [episode.public.instruction.text for episode in episodes if episode.public.instruction]
    assert told == [f"I stand here. {question}" for question, _ in ASKED]
    assert not any("blue" in repr(episode.public) for episode in episodes)


def test_right_answers_count_and_types_are_told(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    replies = {ASKED[0][0]: say(" Blue."), "else": say("two")}
    results = evaluate(benchmark, replies, tmp_path).results()
    assert [result.metrics["exact_match"] for result in results] == [1.0, 0.0, 0.0]
    assert [result.groups["question_type"] for result in results] == ["what", "how", "other"]
    assert results[0].actions == ({"action": "answer", "text": " Blue."},)


def test_an_oracle_is_always_right(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    replies = {question: say(answer) for question, answer in ASKED} | {"else": say("?")}
    results = evaluate(benchmark, replies, tmp_path).results()
    assert [result.metrics["exact_match"] for result in results] == [1.0] * 3


@pytest.mark.parametrize(
    "reply",
    [
        say(""),
        say("  "),
        say("x" * 1001),
        say("\ud800"),
        {"action": "answer"},
        {"poses": [{"position": [0, 0, 0]}]},
        "stop",
    ],
)
def test_hostile_answers_are_protocol_errors(benchmark: BenchmarkConfig, tmp_path: Path, reply: Any) -> None:
    results = evaluate(benchmark, {"else": reply}, tmp_path).results()
    assert {result.cause for result in results} == {Cause.PROTOCOL_ERROR}
    assert {result.metrics["exact_match"] for result in results} == {0.0}


def test_another_answer_in_the_log_is_found(benchmark: BenchmarkConfig, tmp_path: Path) -> None:
    evaluate(benchmark, {"else": say("two")}, tmp_path)
    file = tmp_path / "run/episodes.jsonl"
    file.write_text(file.read_text().replace('"two"', '"one"'))
    assert not verify(tmp_path / "run", cache=CACHE).equal
