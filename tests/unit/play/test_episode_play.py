"""One object plays an episode from actions: what it refuses, what it logs, and which stages it sees."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval.action_log import ActionLog, parse_entry
from nav_eval.agents.messages import ANSWER, Action
from nav_eval.config import BenchmarkConfig
from nav_eval.errors import RecordError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.play import EpisodeOver, EpisodePlay
from nav_eval.records.geometry import Pose
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.simulator.motion import ActionRefused
from nav_eval.tasks.base import build_task

FORWARD, STOP = Action(name="move_forward"), Action(name="stop")
Begin = Callable[..., EpisodePlay]


@pytest.fixture
def begin(room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path) -> Iterator[Begin]:
    """`begin("demo_vln", "evaluation.max_steps=3")`: the first episode of such a benchmark."""
    opened = []

    def make(name: str, *overrides: str) -> EpisodePlay:
        benchmark = room_benchmark(name, *overrides)
        simulator = open_simulator(SimulatorSetup(benchmark=benchmark, cache=tmp_path, pictures=False))
        opened.append(simulator)
        task = build_task(benchmark.task, benchmark.evaluation)
        return EpisodePlay(next(iter(load_episodes(benchmark))), task=task, simulator=simulator)

    yield make
    for simulator in opened:
        simulator.close()


def test_an_action_moves_counts_and_is_logged(begin: Begin) -> None:
    play = begin("demo_vln")
    state = play.apply(FORWARD)
    assert play.progress.steps == 1
    assert play.state == state
    assert play.log.actions == ["move_forward"]
    assert play.log.trajectory == (play.episode.start_position, state.position)


def test_nothing_happens_after_the_end(begin: Begin) -> None:
    play = begin("demo_vln")
    play.apply(STOP)
    assert play.is_over
    with pytest.raises(EpisodeOver):
        play.apply(FORWARD)
    assert play.log.actions == ["stop"]


@pytest.mark.parametrize(("action", "refusal"), [("fly", ActionRefused), (ANSWER, RecordError)])
def test_what_a_task_does_not_have_is_refused(action: str, refusal: type[Exception], begin: Begin) -> None:
    play = begin("demo_vln")
    with pytest.raises(refusal):
        play.apply(Action(name=action))
    assert play.progress.steps == 0
    assert play.log.actions == []


def test_a_task_is_asked_for_its_stages(begin: Begin) -> None:
    one, several, none = begin("demo_vln"), begin("demo_lh_vln"), begin("demo_localization", "dataset.generate=null")
    assert [stage.name for stage in one.stages] == ["chair"]
    assert [stage.name for stage in several.stages] == ["chair", "chair"]
    assert none.stages == ()
    assert none.measure_distance(0) == math.inf


def test_a_stop_leads_to_the_next_stage_and_stays_at_the_last(begin: Begin) -> None:
    play = begin("demo_lh_vln")
    seen = [play.stage]
    while not play.is_over:
        play.apply(STOP)
        seen.append(play.stage)
    assert seen == [0, 1, 1]
    assert play.progress.closed_stages == 2


def test_an_answer_moves_nobody(begin: Begin) -> None:
    play = begin("demo_localization", "dataset.generate=null")
    before = play.state
    play.apply(Action(name=ANSWER, poses=(play.episode.private.start,)))
    assert play.state == before
    assert set(play.progress.result().metrics.values()) == {1.0}
    assert play.log.trajectory == (before.position,)


@pytest.mark.parametrize(
    "action",
    [
        FORWARD,
        Action(name="velocity_control", arguments={"linear_velocity": 0.5, "angular_velocity": -3.0}),
        Action(name=ANSWER, poses=(Pose((1.0, 2.0, 3.0)), Pose((0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)))),
    ],
)
def test_a_log_is_read_as_it_was_written(action: Action, begin: Begin) -> None:
    play = begin("demo_vln")
    log = ActionLog("a", play.state)
    log.append_answer(action.poses) if action.poses else log.append(action, play.state)
    assert parse_entry(log.actions[0]) == action
    assert log.digest != ActionLog("a", play.state).digest


@pytest.mark.parametrize("entry", [7, {}, {"action": "a", "action_args": [1]}, {"action": "answer", "poses": [[1]]}])
def test_what_is_no_entry_is_refused(entry: object) -> None:
    with pytest.raises(RecordError, match="An action log holds"):
        parse_entry(entry)
