"""Whatever an agent answers, in whatever task: its episode may end, the evaluator may not, and the fault is its own."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nav_eval.agents import json_messages, proto_messages
from nav_eval.agents._generated import agent_pb2 as pb
from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession
from nav_eval.agents.failures import MAX_DETAIL, AgentFailure, InfrastructureFailure, ProtocolError, blame_reply
from nav_eval.agents.messages import Action, AgentDescription, EpisodeEnd, Observation, TaskInterface
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.evaluation import shard
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.executor import EpisodeExecutor
from nav_eval.evaluation.task_interface import make_task_interface
from nav_eval.records.results import Cause, EpisodeResult, EpisodeStatus
from nav_eval.sensors import SensorSpec
from nav_eval.simulator.base import Simulator, SimulatorSetup, open_simulator
from nav_eval.tasks.base import build_task

TASKS = (
    *("demo_vln", "demo_lh_vln", "demo_objectnav", "demo_localization", "demo_imagenav", "demo_eqa"),
    *("demo_vln_goals", "demo_vln_ask", "pointnav_gibson_val", "sqa3d_qa_val"),
)
NUMBERS = st.one_of(
    st.floats(), st.sampled_from([1e-200, 1e-320, -0.0, 1e308, 1e-12, 1.0, 0.0]), st.integers(-(2**70), 2**70)
)
NAMES = ("stop", "move_forward", "answer", "turn_left", "waypoint", "pixel_goal", "trajectory", "teleport", "ask")
ARGUMENTS = ("x", "y", "z", "distance", "bearing", "heading", "u", "v")
TEXTS = st.one_of(st.sampled_from(NAMES), st.text(max_size=20))
WORDS = st.one_of(st.sampled_from(ARGUMENTS), st.text(max_size=20))
POSES = st.lists(
    st.fixed_dictionaries(
        {"position": st.lists(NUMBERS, max_size=4), "rotation": st.lists(NUMBERS, min_size=3, max_size=5)}
    ),
    max_size=5,
)
ACTIONS = st.fixed_dictionaries(
    {"action": TEXTS},
    optional={
        "action_args": st.dictionaries(WORDS, st.one_of(NUMBERS, TEXTS), max_size=4),
        "poses": POSES,
        "text": st.one_of(TEXTS, NUMBERS),
    },
)
REPLIES = st.one_of(ACTIONS, st.fixed_dictionaries({"actions": st.lists(ACTIONS, max_size=3)}))


class RepliesWith(AgentClient):
    """An agent that gives the same reply to everything, through the decoder of the real ones."""

    def __init__(self, decode: Callable[[], Sequence[Action]]) -> None:
        super().__init__(ClientSettings())
        self.decode = decode

    def health_check(self) -> AgentHealth:
        return AgentHealth.SERVING

    def close(self) -> None:
        pass

    def _describe(self, task: TaskInterface) -> AgentDescription:
        return AgentDescription(max_actions=3)

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> EpisodeSession:
        return _Session(self.decode, task=task, description=description, settings=self.settings)


class _Session(EpisodeSession):
    def __init__(self, decode: Callable[[], Sequence[Action]], **common: Any) -> None:
        super().__init__(**common)
        self._decode = decode

    def end(self, outcome: EpisodeEnd) -> None:
        pass

    def _transmit(self, observation: Observation) -> None:
        pass

    def _collect(self, seconds: float) -> Sequence[Action]:
        return self._decode()


class Arena:
    """One episode of a task, to be played again and again."""

    def __init__(self, benchmark: BenchmarkConfig, simulator: Simulator) -> None:
        self._benchmark, self._simulator = benchmark, simulator
        episode = next(iter(load_episodes(benchmark)))
        asked = {"question": "How many chairs?", "answers": ["two"]}
        private = msgspec.structs.replace(episode.private, info={**episode.private.info, **asked})
        self._episode = msgspec.structs.replace(episode, private=private)

    def play(self, decode: Callable[[], Sequence[Action]]) -> EpisodeResult:
        client = RepliesWith(decode)
        client.describe(make_task_interface(self._benchmark).only(frozenset()))
        task = build_task(self._benchmark.task, self._benchmark.evaluation)
        return EpisodeExecutor(task=task, simulator=self._simulator, client=client).run(self._episode)


@pytest.fixture(scope="module")
def arenas(room_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Arena]]:
    from nav_eval.config import load_benchmark

    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}"]
    made, opened = {}, []
    for name in TASKS:
        benchmark = load_benchmark(
            name, overrides=[*place, "dataset.format=nav_eval", "evaluation.max_steps=4"], environ={}
        )
        cache = tmp_path_factory.mktemp("cache")
        simulator = open_simulator(SimulatorSetup(benchmark=benchmark, cache=cache, pictures=False))
        opened.append(simulator)
        made[name] = Arena(benchmark, simulator)
    yield made
    for simulator in opened:
        simulator.close()


def test_no_task_is_left_out() -> None:
    from nav_eval.config import load_benchmark
    from nav_eval.tasks import TASKS as REGISTERED

    assert {load_benchmark(name, environ={}).task.type for name in TASKS} == set(REGISTERED)


def judge(result: EpisodeResult) -> None:
    """It ended well, or by the agent's fault; and what is kept can be written and read."""
    assert result.cause in (None, Cause.PROTOCOL_ERROR), result.detail
    assert len(result.detail or "") <= MAX_DETAIL + 1
    msgspec.json.decode(msgspec.json.encode(result), type=EpisodeResult)


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(reply=REPLIES)
def test_no_json_reply_is_our_fault(task: str, arenas: dict[str, Arena], reply: dict[str, Any]) -> None:
    judge(arenas[task].play(lambda: json_messages.decode_actions(reply, sequence=1, most=3)))


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=TEXTS,
    position=st.lists(st.floats(), min_size=3, max_size=3),
    rotation=st.lists(NUMBERS, min_size=4, max_size=4),
)
def test_no_protobuf_reply_is_our_fault(
    task: str, arenas: dict[str, Arena], name: str, position: list[float], rotation: list[float]
) -> None:
    reply = pb.ActReply()
    with suppress(ValueError, TypeError, OverflowError):  # what protobuf itself refuses never comes over the wire
        reply.actions.add(name=name, poses=[pb.Pose(position=position, rotation=[float(n) for n in rotation])])
    judge(arenas[task].play(lambda: proto_messages.decode_actions(reply, sequence=1, most=3)))


@pytest.mark.parametrize("tiny", [1e-200, 5e-324, 1e-170, 1e-12])
def test_a_rotation_of_no_length_is_a_protocol_error(tiny: float, arenas: dict[str, Arena]) -> None:
    reply = {"action": "answer", "poses": [{"position": [0, 0, 0], "rotation": [tiny, 0, 0, 0]}]}
    result = arenas["demo_localization"].play(lambda: json_messages.decode_actions(reply, sequence=1, most=1))
    assert result.cause is Cause.PROTOCOL_ERROR
    assert "rotation" in (result.detail or "")


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("x"), RecursionError(), UnicodeError(), MemoryError(), KeyError(1)]
)
def test_an_error_that_nobody_foresaw_is_the_agents(error: Exception, arenas: dict[str, Arena]) -> None:
    def decode() -> Sequence[Action]:
        raise error

    result = arenas["demo_vln"].play(decode)
    assert (result.status, result.cause) == (EpisodeStatus.FAILED, Cause.PROTOCOL_ERROR)


class _EndsBadly(_Session):
    def end(self, outcome: EpisodeEnd) -> None:
        raise OverflowError("cannot fit 'int' into an index-sized integer")


def test_what_comes_of_the_end_changes_no_result(arenas: dict[str, Arena], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}._Session", _EndsBadly)
    result = arenas["demo_vln"].play(lambda: [Action(name="stop")])
    assert (result.status, result.cause) == (EpisodeStatus.COMPLETED, None)


def test_what_we_say_is_ours_stays_ours() -> None:
    with pytest.raises(InfrastructureFailure), blame_reply("testing"):
        raise InfrastructureFailure("the disk is full")


class _Greedy(RepliesWith):
    """It wants to see all that is between as many actions as it may give."""

    def __init__(self, actions: int) -> None:
        super().__init__(lambda: [])
        self._actions = actions

    def _describe(self, task: TaskInterface) -> AgentDescription:
        return AgentDescription(max_actions=self._actions, wants_between=True)


def test_what_is_seen_between_actions_is_bounded() -> None:
    """Otherwise an agent has the simulator run out of memory, which would count as ours."""
    sensors = {"rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(2000, 2000, 3))}
    task = TaskInterface(name="vln", sensors=sensors, actions={"stop": build_spec()})
    with pytest.raises(ProtocolError, match="Say max_actions = 89"):
        _Greedy(65536).describe(task)
    assert _Greedy(89).describe(task).wants_between


def test_every_text_of_an_agent_is_shortened() -> None:
    task = TaskInterface(name="vln", sensors={}, actions={})
    with pytest.raises(ProtocolError) as refused:
        AgentDescription(sensors={"\x07" * 15_000_000: ()}).keep_wanted(task)
    assert len(str(refused.value)) < 1000
    assert len(str(AgentFailure("y" * 10**7))) == MAX_DETAIL + 1
    assert str(AgentFailure("a\x1b[2Jb\nc")) == "a [2Jb\nc"


def test_a_result_that_is_too_long_is_a_protocol_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "LONGEST_LINE", 2000)
    result = EpisodeResult(
        episode_id="a",
        scene_id="s",
        status=EpisodeStatus.COMPLETED,
        metrics={"success": 1.0},
        num_steps=900,
        actions=("move_forward",) * 900,
    )
    line = json.loads(shard._encode_bounded(result))
    assert (line["status"], line["cause"]) == ("failed", "protocol_error")
    assert line["metrics"] == {}
    assert "actions" not in line


def test_the_simulators_time_is_not_the_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("nav_eval.agents.client.time.monotonic", lambda: now[0])
    task = TaskInterface(name="vln", sensors={}, actions={"stop": build_spec()})
    session = _Session(
        lambda: (_advance(now, 3.0), [Action(name="stop")])[1],
        task=task,
        description=AgentDescription(),
        settings=ClientSettings(episode_timeout=10.0, action_timeout=60.0),
    )
    for _ in range(3):
        now[0] += 500.0  # we draw
        session.act(Observation(step=0, sensors={}))
    session.send(Observation(step=3, sensors={}))
    assert math.isclose(session._seconds_left(), 1.0)


def build_spec() -> Any:
    from nav_eval.agents.messages import ActionSpec

    return ActionSpec()


def _advance(now: list[float], seconds: float) -> None:
    now[0] += seconds
