"""A finished run is played again by a simulator of its own: checked, filmed, and nobody's score if it cannot be."""

import json
import os
from io import BytesIO
from pathlib import Path

import pytest

from nav_eval.evaluation.shard_protocol import Beat, Checked, Drawn, Ended, Filmed, Message, Purpose, Recorded
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.replay.model import decode_replay
from nav_eval_worker.runtime.base import ReplayWork
from nav_eval_worker.runtime.process import ProcessPair, ProcessRuntime
from support.worker import room_benchmark_config

pytestmark = pytest.mark.integration


@pytest.fixture
def run(tmp_path: Path, room_data: Path, engine_cache: Path) -> Path:
    folder = tmp_path / "run"
    benchmark = room_benchmark_config(tmp_path, room_data, max_steps=4)
    EvaluationOrchestrator(cache=engine_cache).run_benchmark(benchmark, agent="baseline:forward", out=folder)
    return folder


@pytest.fixture
def runtime(tmp_path: Path, engine_cache: Path) -> ProcessRuntime:
    return ProcessRuntime(tmp_path / "worker", cache=engine_cache)


def replayed(runtime: ProcessRuntime, run: Path, purpose: Purpose, episodes: int | None = None) -> list[Message]:
    work = ReplayWork(run="r1", worker="w", folder=run, purpose=purpose, episodes=episodes)
    with runtime.replay(work) as simulation:
        return [message for message in simulation.messages() if not isinstance(message, Beat)]


@pytest.mark.parametrize(("episodes", "count"), [(None, 4), (2, 2)])
def test_a_run_that_is_what_it_says(runtime: ProcessRuntime, run: Path, episodes: int | None, count: int) -> None:
    checked, ended = replayed(runtime, run, Purpose.CHECK, episodes)
    assert isinstance(checked, Checked)
    assert (checked.episodes, checked.equal, checked.differences) == (count, True, ())
    assert ended == Ended()


def test_a_run_that_is_not(runtime: ProcessRuntime, run: Path) -> None:
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    lines[0]["metrics"]["spl"] = 1.0
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    checked, _ = replayed(runtime, run, Purpose.CHECK)
    assert isinstance(checked, Checked)
    assert not checked.equal
    assert any("spl is 1.0" in difference for difference in checked.differences)


def test_films_are_told_one_by_one(runtime: ProcessRuntime, run: Path) -> None:
    film, ended = replayed(runtime, run, Purpose.FILM, episodes=1)
    assert isinstance(film, Filmed)
    assert decode_replay(bytes(film.replay), where="the film").episode_id == film.episode_id == "a"
    assert ended == Ended()


def test_a_video_is_told_with_how_it_comes_along(runtime: ProcessRuntime, run: Path) -> None:
    av = pytest.importorskip("av", reason="nav-eval[video] is not installed")
    drawn, video, ended = replayed(runtime, run, Purpose.VIDEO, episodes=1)
    assert isinstance(drawn, Drawn)
    assert isinstance(video, Recorded)
    assert (drawn.steps, drawn.total, video.episode_id, ended) == (0, 5, "a", Ended())
    with av.open(BytesIO(video.video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 5
    assert frames[0].std() > 5


def test_a_run_that_is_none_is_our_fault(runtime: ProcessRuntime, tmp_path: Path) -> None:
    (ended,) = replayed(runtime, tmp_path, Purpose.CHECK)
    assert isinstance(ended, Ended)
    assert ended.cause is not None
    assert ended.cause.is_ours


def test_a_simulator_that_is_killed_says_nothing_more(runtime: ProcessRuntime, run: Path) -> None:
    work = ReplayWork(run="r1", worker="w", folder=run, purpose=Purpose.CHECK)
    with runtime.replay(work) as simulation:
        assert isinstance(simulation, ProcessPair)
        os.kill(simulation.simulator.pid, 9)
        assert [message for message in simulation.messages() if not isinstance(message, Beat)] == []
