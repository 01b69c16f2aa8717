"""Generated questions: who does not look is right by chance, who knows is always right, and everything can be seen."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from nav_eval.cache import get_cache_folder
from nav_eval.config import BenchmarkConfig, load_benchmark
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.verification import verify
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause, EpisodeResult
from nav_eval.replay.builder import ReplayBuilder
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval_worlds.episodes import generate_episodes
from nav_eval_worlds.episodes.eqa import GENERATOR
from nav_eval_worlds.episodes.question_plan import KINDS
from nav_eval_worlds.episodes.single_goal import make_look_rotation
from nav_eval_worlds.generator import list_scenes, load_base_benchmark
from nav_eval_worlds.houses.house_files import write_houses

pytestmark = pytest.mark.integration

CACHE = get_cache_folder()
HOUSES = ("flat_1", "flat_2", "flat_1", "flat_2", "flat_3", "flat_1", "flat_2", "flat_1")
QUESTIONS = 210


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eqa")
    for seed, template in enumerate(HOUSES):
        list(write_houses(folder / "scenes", count=1, seed=seed, split="unseen", template=template))
    scenes = folder / "scenes"
    base, names = load_base_benchmark("eqa", scenes), list_scenes(scenes, "unseen")
    write_episodes(folder / "eqa.json", generate_episodes(base, names, count=QUESTIONS, seed=1, cache=CACHE))
    return folder


def load(work: Path, *more: str) -> BenchmarkConfig:
    places = [f"dataset.data_path={work / 'eqa.json'}", f"dataset.scene_path={work / 'scenes'}"]
    return load_benchmark("demo_eqa", overrides=[*places, *more], environ={})


def play(work: Path, agent: str, *more: str) -> list[EpisodeResult]:
    out = work / f"run_{len(list(work.iterdir()))}"
    EvaluationOrchestrator(cache=CACHE).run_benchmark(load(work, *more), agent=agent, out=out)
    assert verify(out, cache=CACHE).equal
    return list(RunFolder(out).results())


def test_there_is_every_kind_and_each_says_how_it_was_made(work: Path) -> None:
    episodes = list(load_episodes(load(work)))
    assert len(episodes) >= 200
    assert {episode.private.info["question_type"] for episode in episodes} == set(KINDS)
    assert {episode.private.info["generator"] for episode in episodes} == {GENERATOR}
    assert f"/{GENERATOR.replace(' ', '_')}/" in str(load_benchmark("demo_eqa", environ={}).dataset.data_path)
    for episode in episodes:
        assert episode.private.info["answers"][0] in episode.private.info["options"]
        assert not {"answers", "evidence"} & set(msgspec.to_builtins(episode.public))


@pytest.mark.parametrize("baseline", ["random", "majority", "blind"])
def test_without_looking_one_is_right_by_chance(work: Path, baseline: str) -> None:
    chances = [1 / len(episode.private.info["options"]) for episode in load_episodes(load(work))]
    right = sum(result.metrics["exact_match"] or 0.0 for result in play(work, f"baseline:{baseline}"))
    spread = math.sqrt(sum(chance * (1 - chance) for chance in chances))
    assert abs(right - sum(chances)) < 1.96 * spread  # the 95 % interval


def test_the_oracle_is_always_right(work: Path) -> None:
    results = play(work, "baseline:oracle")
    assert [result.metrics["exact_match"] for result in results] == [1.0] * QUESTIONS
    assert {result.groups["question_type"] for result in results} == set(KINDS)
    assert all(len(result.trajectory or ()) == len(result.actions) + 1 for result in results)


def test_what_is_asked_for_is_seen_from_walkable_ground(work: Path) -> None:
    """In pictures, which know nothing of the lines of sight that the generator draws."""
    benchmark = load(work, "task.sensors.instance={width: 224, height: 224, hfov: 90}")
    episodes = [episode for episode in load_episodes(benchmark) if episode.private.info["evidence"]][::8]
    with open_simulator(SimulatorSetup(benchmark=benchmark, cache=CACHE)) as simulator:
        for episode in episodes:
            wanted, seen = set(episode.private.info["evidence"]), set[int]()
            for ids in look_around(episode, simulator):
                seen.update(np.unique(ids).tolist())
                if wanted <= seen:
                    break
            assert wanted <= seen, episode.private.info["question"]


def look_around(episode: Episode, simulator: Any) -> Iterator[Any]:
    """From each goal in eight directions: ahead, down and up."""
    for goal in episode.goals:
        simulator.reset(episode, sensors=())
        assert simulator.ground.is_navigable(goal.position)
        for turn in range(8):
            away = (
                goal.position[0] + math.sin(turn * math.pi / 4),
                0.0,
                goal.position[2] + math.cos(turn * math.pi / 4),
            )
            start = Pose(goal.position, make_look_rotation(goal.position, away))
            there = msgspec.structs.replace(episode.private, start=start)
            yield simulator.reset(msgspec.structs.replace(episode, private=there), sensors=["instance"])["instance"]
            for look in ("look_down", "look_up"):
                for _ in range(3 if look == "look_down" else 6):
                    simulator.act(look)
                yield simulator.observe()["instance"]


def answer(folder: Path, reply: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    code = f"class Speaker:\n    def act(self, observation):\n        return {reply}\n"
    (folder / "speaker.py").write_text(code)
    return f"{folder / 'speaker.py'}:Speaker"


def test_numbers_are_numbers_and_articles_do_not_count(work: Path, tmp_path: Path) -> None:
    words = {"1": "One", "2": " two.", "3": "3.0", "4": "FOUR", "5": "five"}
    episodes = list(load_episodes(load(work)))
    replies = {e.private.info["question"]: e.private.info["answers"][0] for e in episodes}
    told = {q: words.get(a, f"The {a.upper()}.") for q, a in replies.items()}
    reply = f"{{'action': 'answer', 'text': {told!r}[observation.instruction]}}"
    results = play(work, answer(tmp_path, reply))
    twice = len(episodes) - len(replies)  # the same words in two houses
    assert sum(result.metrics["exact_match"] or 0.0 for result in results) >= len(episodes) - 2 * twice


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        ("'stop'", None),  # gives up
        ("'turn_left'", None),  # until the steps are used up
        ("{'action': 'answer', 'text': 'I cannot say'}", None),
        ("{'action': 'answer'}", Cause.PROTOCOL_ERROR),
        ("{'action': 'answer', 'text': 'x' * 1001}", Cause.PROTOCOL_ERROR),
        ("{'action': 'ask', 'text': 'Where am I?'}", Cause.PROTOCOL_ERROR),  # not in this task
    ],
)
def test_no_answer_is_worth_nothing(work: Path, tmp_path: Path, reply: str, cause: Cause | None) -> None:
    results = play(work, answer(tmp_path, reply), "dataset.episodes=2", "evaluation.max_steps=5")
    assert {(result.cause, result.metrics["exact_match"]) for result in results} == {(cause, 0.0)}


def test_another_answer_in_the_log_is_found(work: Path, tmp_path: Path) -> None:
    benchmark = load(work, "dataset.episodes=2")
    out = tmp_path / "run"
    EvaluationOrchestrator(cache=CACHE).run_benchmark(benchmark, agent="baseline:random", out=out)
    file = out / "episodes.jsonl"
    first = next(iter(RunFolder(out).results())).actions[-1]
    assert isinstance(first, dict)
    file.write_text(file.read_text().replace(f'"text":"{first["text"]}"', '"text":"something else"'))
    assert not verify(out, cache=CACHE).equal


def test_a_replay_shows_the_answer(work: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    EvaluationOrchestrator(cache=CACHE).run_benchmark(
        load(work, "dataset.episodes=1"), agent="baseline:oracle", out=out
    )
    result = next(iter(RunFolder(out).results()))
    with ReplayBuilder(out, cache=CACHE) as builder:
        replay = builder.replay(result.episode_id)
    assert not replay.differences
    assert (replay.steps[-1].action, replay.steps[-1].text) == ("answer", result.actions[-1]["text"])  # type: ignore[index]
    assert replay.events[-1].reason == "answer"
