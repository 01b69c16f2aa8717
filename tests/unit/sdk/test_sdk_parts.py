"""The parts of the SDK that need no network."""

import ast
import functools
import math
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nav_eval_sdk
from nav_eval_sdk import Action, Agent, Episode, Observation, Outcome, Pose
from nav_eval_sdk.answers import actions_of
from nav_eval_sdk.documents import observation_of, reply_document
from nav_eval_sdk.errors import AgentError, BadAnswer, BadRequest, SdkError
from nav_eval_sdk.hosting import Host
from nav_eval_sdk.packing import pack, unpack
from nav_eval_sdk.tensors import raw_array
from nav_eval_sdk.websocket import Disconnected, WebSocket, accept, connect

SOURCES = sorted(Path(nav_eval_sdk.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.name)
def test_every_file_is_python_3_9(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 9))
    lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    unions = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)]
    names = [node for node in unions if isinstance(node.right, ast.Constant) and node.right.value is None]
    assert lazy or not names, "`X | None` needs `from __future__ import annotations` on Python 3.9"
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Match)]


DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
    max_leaves=20,
)


def plain(value: Any) -> Any:
    """Views as bytes, so that both sides can be compared."""
    if isinstance(value, memoryview):
        return bytes(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(DOCUMENTS)
def test_our_msgpack_is_everybodys_msgpack(document: Any) -> None:
    assert msgspec.msgpack.decode(pack(document)) == document
    assert plain(unpack(msgspec.msgpack.encode(document))) == document


@given(st.binary(max_size=80))
def test_no_bytes_do_more_than_be_refused_by_the_sdk(data: bytes) -> None:
    with suppress(BadRequest):
        unpack(data)


@pytest.mark.parametrize(
    "data", [b"\x91" * 1000, b"\xdd\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xc1", b"\x00\x00"]
)
def test_msgpack_that_lies_is_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        unpack(data)


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        ("stop", (Action("stop"),)),
        (Action("stop"), (Action("stop"),)),
        ({"action": "stop"}, (Action("stop"),)),
        ({"action": "go", "action_args": {"x": 1}}, (Action("go", {"x": 1.0}),)),
        (["stop", Action("go")], (Action("stop"), Action("go"))),
        ({"poses": [Pose((1.0, 2.0, 3.0))]}, (Action("answer", poses=(Pose((1.0, 2.0, 3.0)),)),)),
        ({"poses": [{"position": [1, 2, 3]}]}, (Action("answer", poses=(Pose((1.0, 2.0, 3.0)),)),)),
    ],
)
def test_act_may_answer_in_several_ways(answer: object, actions: tuple[Action, ...]) -> None:
    assert actions_of(answer) == actions


@pytest.mark.parametrize("answer", [None, 3, [], {"act": "stop"}, [None], {"poses": ["here"]}, {"action": 1}])
def test_what_is_no_action_is_refused_with_what_would_be(answer: object) -> None:
    with pytest.raises(BadAnswer):
        actions_of(answer)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"), [(b"1234", "float32", (2,)), (b"1234", "object", (1,)), (b"", "uint8", (2**40,))]
)
def test_a_tensor_that_lies_is_refused(data: bytes, dtype: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(BadRequest):
        raw_array(data, dtype, shape)


def test_an_observation_is_a_mapping_of_its_sensors() -> None:
    document = {
        "observation": {"step": 4, "sensors": {"gps": {"dtype": "float32", "shape": [2], "data": b"\0" * 8}}},
        "between": [{"step": 3, "sensors": {}}],
    }
    seen = observation_of(document, Episode("1", instruction="north"))
    assert (list(seen), seen["gps"].shape, seen.step, seen.instruction) == (["gps"], (2,), 4, "north")
    assert [earlier.step for earlier in seen.between] == [3]
    with pytest.raises(ValueError, match="read-only"):
        seen["gps"][0] = 1.0


def test_one_action_is_told_as_the_seeds_do_and_several_as_a_list() -> None:
    assert reply_document(3, [Action("go", {"x": 1.0})]) == {"sequence": 3, "action": "go", "action_args": {"x": 1.0}}
    assert len(reply_document(3, [Action("go"), Action("stop")])["actions"]) == 2


class Thinker(Agent):
    threads: set[int] = set()  # noqa: RUF012

    def __init__(self) -> None:
        self.threads.add(threading.get_ident())

    def reset(self, episode: Episode) -> None:
        self.threads.add(threading.get_ident())
        self.count = 0

    def act(self, observation: Observation) -> str:
        self.threads.add(threading.get_ident())
        self.count += 1
        return f"a{self.count}"


def an_episode(session: str) -> Episode:
    return Episode("1", session_id=session)


SEEN = Observation(0, {})


def test_an_agent_lives_in_one_thread() -> None:
    Thinker.threads = set()
    host = Host(Thinker)
    host.start()
    host.reset(an_episode("s"))
    host.act("s", 1, SEEN)
    assert len(Thinker.threads) == 1
    assert threading.get_ident() not in Thinker.threads


def test_a_question_asked_again_gets_the_same_answer_without_acting_twice() -> None:
    host = Host(Thinker)
    host.start()
    host.reset(an_episode("s"))
    answers = [host.act("s", sequence, SEEN)[0].name for sequence in (1, 1, 2, 2, 3)]
    assert answers == ["a1", "a1", "a2", "a2", "a3"]


def test_episodes_that_were_given_up_make_room() -> None:
    host = Host(Thinker)
    assert host.start().max_episodes == 1
    host.reset(an_episode("old"))
    host.reset(an_episode("new"))
    assert host.act("new", 1, SEEN)[0].name == "a1"
    with pytest.raises(BadRequest, match="send Reset first"):
        host.act("old", 1, SEEN)


@pytest.mark.parametrize(("source", "episodes"), [(Thinker, 3), (Thinker(), 1), (functools.partial(Thinker), 3)])
def test_a_class_serves_several_episodes_and_an_instance_one(source: Any, episodes: int) -> None:
    assert Host(source, max_episodes=3).start().max_episodes == episodes


class Batcher(Agent):
    max_episodes = 4

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def act_batch(self, observations: Any) -> list[str]:
        self.sizes.append(len(observations))
        return [observation.episode.session_id for observation in observations]


def test_observations_that_come_together_are_answered_together() -> None:
    agent = Batcher()
    host = Host(agent, batch_window=1.0)
    assert host.start().max_episodes == 4
    for session in "abcd":
        host.reset(an_episode(session))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda s: host.act(s, 1, Observation(0, {}, episode=an_episode(s)))[0].name, "abcd"))
    assert answers == list("abcd"), "each episode gets its own answer"
    assert agent.sizes == [4]


def test_a_batch_does_not_wait_for_episodes_that_do_not_exist() -> None:
    agent = Batcher()
    host = Host(agent, batch_window=60.0)
    host.start()
    host.reset(an_episode("a"))
    assert host.act("a", 1, Observation(0, {}, episode=an_episode("a")))[0].name == "a"


class Failing(Agent):
    error: Exception = ValueError("bug")

    def act(self, observation: Observation) -> str:
        raise self.error


@pytest.mark.parametrize(("error", "memory"), [(ValueError("bug"), False), (MemoryError("big"), True)])
def test_an_error_of_the_agent_names_its_place(error: Exception, memory: bool, capsys: pytest.CaptureFixture) -> None:
    agent = Failing()
    agent.error = error
    host = Host(agent)
    host.start()
    host.reset(an_episode("s"))
    with pytest.raises(AgentError, match=r"test_sdk_parts\.py:\d+") as caught:
        host.act("s", 1, SEEN)
    assert caught.value.out_of_memory is memory
    assert "Traceback" in capsys.readouterr().err
    host.reset(an_episode("next"))


def test_what_has_no_act_is_no_agent() -> None:
    class Empty(Agent):
        pass

    with pytest.raises(SdkError, match="is no agent"):
        Host(Empty).start()


def test_the_end_of_an_episode_is_told_once() -> None:
    told: list[tuple[str, str]] = []

    class Listener(Thinker):
        def end(self, episode: Episode, outcome: Outcome) -> None:
            told.append((episode.session_id, outcome.status))

    host = Host(Listener)
    host.start()
    host.reset(an_episode("s"))
    host.end("s", Outcome())
    host.end("s", Outcome(status="cancelled"))
    assert told == [("s", "completed")]


@pytest.fixture
def pair() -> tuple[WebSocket, WebSocket]:
    """Both ends of a WebSocket on this machine."""
    listener = socket.create_server(("127.0.0.1", 0))
    accepted: list[WebSocket] = []

    def serve() -> None:
        accepted.append(accept(listener.accept()[0], known=("nav.msgpack.v1",)))

    thread = threading.Thread(target=serve)
    thread.start()
    client = connect(
        f"ws://127.0.0.1:{listener.getsockname()[1]}/x?y=1", subprotocols=("nav.json.v1", "nav.msgpack.v1")
    )
    thread.join()
    return client, accepted[0]


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, 3_000_000])
def test_websocket_messages_of_every_size_arrive(pair: tuple[WebSocket, WebSocket], size: int) -> None:
    client, server = pair
    assert client.subprotocol == server.subprotocol == "nav.msgpack.v1"
    data = np.random.default_rng(size).bytes(size)
    for sender, receiver in ((client, server), (server, client)):
        thread = threading.Thread(target=sender.send, args=(data,), kwargs={"text": False})
        thread.start()
        assert receiver.receive(5.0) == data
        thread.join()


def test_a_closed_websocket_says_so(pair: tuple[WebSocket, WebSocket]) -> None:
    client, server = pair
    with pytest.raises(TimeoutError):
        server.receive(0.01)
    client.close()
    with pytest.raises(Disconnected):
        server.receive(1.0)


def test_who_does_not_speak_websocket_is_named() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        sock, _ = listener.accept()
        sock.recv(1000)
        sock.sendall(b"HTTP/1.1 404 Not Found\r\n\r\n")

    threading.Thread(target=serve, daemon=True).start()
    with pytest.raises(Disconnected, match="does not speak WebSocket"):
        connect(f"ws://127.0.0.1:{listener.getsockname()[1]}")


def test_not_a_number_is_for_the_evaluator_to_refuse() -> None:
    (action,) = actions_of(Action("go", {"x": math.nan}))
    assert math.isnan(action.arguments["x"])


def test_the_sdk_imports_nothing_heavy() -> None:
    import subprocess

    code = "import sys, nav_eval_sdk; print(sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "numpy" in loaded
    for heavy in ("PIL", "websockets", "msgspec", "pydantic", "torch", "'nav_eval'"):
        assert heavy not in loaded
