"""WebSocket: agents written from the seeds' messages alone, reconnects, heartbeats and faults."""

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from agent_support import TASK, an_episode, observations, play
from PIL import Image
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import ClientConnection, connect

from nav_eval.agents.client import AgentHealth, ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.messages import EndStatus, EpisodeEnd
from nav_eval.agents.websocket_client import WebSocketAgentClient
from nav_eval.evaluation.executor import _make_end
from nav_eval.records.results import Cause
from support.load import Deadline, measure_slowdown

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(
    connect_timeout=3.0,
    reset_timeout=1.0,
    action_timeout=1.0,
    reconnect_timeout=0.5,
    end_timeout=0.5,
    max_reply_bytes=1 << 20,
)

Talk = Callable[[ClientConnection, dict], None]


@contextmanager
def evaluator(
    talk: Talk, *, hello: dict | None = None, settings: ClientSettings = SETTINGS, **options: object
) -> Iterator:
    """An evaluator, and an agent in a thread that connects and answers each message by `talk`."""
    client = WebSocketAgentClient("127.0.0.1", 0, settings)
    stop = threading.Event()

    def agent() -> None:
        while not stop.is_set():
            try:
                with connect(f"ws://127.0.0.1:{client.port}", proxy=None, **options) as line:  # type: ignore[arg-type]
                    say(line, {"type": "connect", "agent_id": "team_xyz", "protocol_version": "1.0", **(hello or {})})
                    for message in line:
                        talk(line, json.loads(message) if isinstance(message, str) else msgspec.msgpack.decode(message))
            except (OSError, ConnectionClosed, InvalidHandshake):
                time.sleep(0.02)

    thread = threading.Thread(target=agent, daemon=True)
    thread.start()
    try:
        with client:
            yield client
    finally:
        stop.set()
        thread.join(3)


def say(line: ClientConnection, document: dict) -> None:
    line.send(json.dumps(document))


def turn_left(line: ClientConnection, message: dict) -> None:
    """All that the seeds ask of an agent."""
    if message["type"] == "get_action":
        say(line, {"type": "action", "session_id": message["session_id"], "action": "turn_left", "action_args": {}})


def test_an_agent_from_the_seeds_alone_is_evaluated() -> None:
    seen: list[dict] = []

    def talk(line: ClientConnection, message: dict) -> None:
        seen.append(message)
        turn_left(line, message)

    with evaluator(talk) as client:
        assert client.describe(TASK).name == "team_xyz"
        assert client.health_check() is AgentHealth.SERVING
        for seed in range(2):  # the connection is closed after each episode, and the agent comes back
            assert [action.name for action in play(client, seed)] == ["turn_left"] * 20
    first = [message["type"] for message in seen[: seen.index(next(m for m in seen if m["type"] == "episode_end")) + 1]]
    assert first == ["connected", "reset_episode", "episode_ready", *["get_action"] * 20, "episode_end"]
    assert len({message["session_id"] for message in seen if message["type"] == "reset_episode"}) == 2
    ready = next(message for message in seen if message["type"] == "episode_ready")["observation"]
    rgb = np.asarray(Image.open(io.BytesIO(base64.b64decode(ready["rgb"]))))
    assert np.array_equal(rgb, observations(0)[0].sensors["rgb"])
    assert ready["instruction"]["text"] == "Geh 0 Meter, dann 左转."
    reset = next(message for message in seen if message["type"] == "reset_episode")
    assert set(reset["episode"]) == {"episode_id", "instruction"}


def test_an_agent_may_answer_episode_ready_and_ask_for_a_reset() -> None:
    """The order of the seeds' sequence diagram."""

    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "connected":
            say(line, {"type": "reset_episode", "session_id": message["session_id"]})
        if message["type"] in ("episode_ready", "get_action"):
            say(line, {"type": "action", "session_id": message["session_id"], "action": "turn_right"})

    with evaluator(talk, hello={"first_action": "episode_ready"}) as client:
        client.describe(TASK)
        assert [action.name for action in play(client)] == ["turn_right"] * 20


def test_the_end_is_told_in_the_seeds_words() -> None:
    ends: list[dict] = []

    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "episode_end":
            ends.append(message)

    outcomes = [
        (EpisodeEnd(status=EndStatus.COMPLETED, steps=45, metrics={"spl": 0.85}), "success"),
        (EpisodeEnd(status=EndStatus.TIMEOUT, reason="too slow"), "timeout"),
        (EpisodeEnd(status=EndStatus.FAILED), "error"),
    ]
    with evaluator(talk) as client:
        client.describe(TASK)
        for outcome, _ in outcomes:
            client.open_episode(an_episode()).end(outcome)
        wait_until(lambda: len(ends) == 3)
    assert [end["status"] for end in ends] == [word for _, word in outcomes]
    assert (ends[0]["num_steps"], ends[0]["metrics"], ends[1]["reason"]) == (45, {"spl": 0.85}, "too slow")


def test_an_agent_that_is_too_slow_is_told_so() -> None:
    ends: list[dict] = []

    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "episode_end":
            ends.append(message)

    with evaluator(talk, settings=replace(SETTINGS, action_timeout=0.3)) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        with pytest.raises(AgentFailure) as failed:
            session.act(observations(0)[0])
        session.end(_make_end(failed.value, 0))
        wait_until(lambda: bool(ends))
    assert ends[0]["status"] == "timeout"
    assert "No reply to observation 1" in ends[0]["reason"]


def test_msgpack_is_agreed_on_as_sub_protocol() -> None:
    seen: list[dict] = []

    def talk(line: ClientConnection, message: dict) -> None:
        seen.append(message)
        if message["type"] == "get_action":
            line.send(msgspec.msgpack.encode({"type": "action", "action": "stop", "sequence": message["sequence"]}))

    options = {"subprotocols": ["nav.msgpack.v1"]}
    hello = {"observations": "tensor"}
    with evaluator(talk, hello=hello, **options) as client:
        client.describe(TASK)
        play(client)
    depth = next(message for message in seen if message["type"] == "get_action")["observation"]["sensors"]["depth"]
    array = np.frombuffer(depth["data"], depth["dtype"]).reshape(depth["shape"])
    assert np.array_equal(array, observations(0)[0].sensors["depth"])


def test_a_broken_connection_is_taken_up_again() -> None:
    """The agent loses its connection at step 5, comes back under the same session and is asked again."""
    sessions: list[str] = []
    steps: list[int] = []
    client = WebSocketAgentClient("127.0.0.1", 0, SETTINGS)

    def agent() -> None:
        session = ""
        for attempt in range(2):
            with connect(f"ws://127.0.0.1:{client.port}", proxy=None) as line:
                again = {"session_id": session} if session else {}
                say(line, {"type": "connect", "protocol_version": "1.0", **again})
                for raw in line:
                    message = json.loads(raw)
                    if message["type"] == "connected":
                        sessions.append(message["session_id"])
                    if message["type"] == "get_action":
                        session = message["session_id"]
                        if attempt == 0 and message["observation"]["step"] == 5:
                            line.socket.close()
                            break
                        steps.append(message["observation"]["step"])
                        say(line, {"type": "action", "action": "turn_left", "sequence": message["sequence"]})

    thread = threading.Thread(target=agent, daemon=True)
    thread.start()
    with client:
        client.describe(TASK)
        assert len(play(client)) == 20
    thread.join(60)
    assert steps == list(range(20))
    assert sessions[0] == sessions[1]


def test_an_agent_that_does_not_come_back_has_crashed() -> None:
    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "get_action":
            line.socket.close()

    started = time.monotonic()
    with evaluator(talk) as client:
        client.describe(TASK)
        with pytest.raises(AgentFailure) as caught:
            play(client)
    assert caught.value.cause is Cause.AGENT_CRASH
    assert time.monotonic() - started < 5.0 * measure_slowdown()


def test_heartbeats_go_both_ways_and_their_absence_ends_a_connection() -> None:
    beats: list[float] = []

    def silent(line: ClientConnection, message: dict) -> None:
        if message["type"] == "heartbeat":
            beats.append(time.monotonic())

    settings = ClientSettings(connect_timeout=3.0, heartbeat_interval=0.1, heartbeat_timeout=0.5)
    client = WebSocketAgentClient("127.0.0.1", 0, settings)
    with client, connect(f"ws://127.0.0.1:{client.port}", proxy=None) as line:
        say(line, {"type": "connect", "protocol_version": "1.0"})
        client.describe(TASK)
        started = time.monotonic()
        with pytest.raises(ConnectionClosed):
            listen(line, silent)
        assert 0.4 < time.monotonic() - started < 2.0 * measure_slowdown()
        wait_until(lambda: client.health_check() is AgentHealth.UNREACHABLE)
    assert 2 <= len(beats) <= 8


def listen(line: ClientConnection, talk: Talk) -> None:
    while True:
        talk(line, json.loads(line.recv(timeout=3)))


def test_an_agent_that_beats_stays_connected_while_it_thinks() -> None:
    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] != "get_action":
            return
        if message["observation"]["step"] == 0:
            for _ in range(8):
                time.sleep(0.1)
                say(line, {"type": "heartbeat"})
        turn_left(line, message)

    settings = ClientSettings(connect_timeout=3.0, heartbeat_interval=0.1, heartbeat_timeout=0.5, action_timeout=3.0)
    with evaluator(talk, settings=settings) as client:
        client.describe(TASK)
        assert len(play(client)) == 20


def action(**content: object) -> Talk:
    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "get_action":
            say(line, {"type": "action", **content})

    return talk


def raw(data: bytes | str) -> Talk:
    def talk(line: ClientConnection, message: dict) -> None:
        if message["type"] == "get_action":
            line.send(data)

    return talk


def drips(line: ClientConnection, message: dict) -> None:
    if message["type"] == "get_action":

        def fragments() -> Iterator[str]:
            for _ in range(100):
                yield " "
                time.sleep(0.1)

        line.send(fragments())


FAULTS: list[tuple[str, Talk, Cause, str]] = [
    ("says nothing", lambda line, message: None, Cause.AGENT_TIMEOUT, "observation 1 within"),
    ("drips", drips, Cause.AGENT_TIMEOUT, "observation 1 within"),
    ("no JSON", raw("{type: action}"), Cause.PROTOCOL_ERROR, "no JSON"),
    ("no object", raw('"action"'), Cause.PROTOCOL_ERROR, "`type`"),
    ("bytes", raw(b"\xff\x00\xff"), Cause.PROTOCOL_ERROR, "no JSON"),
    ("100 MB", raw(" " * (100 << 20)), Cause.PROTOCOL_ERROR, "too large"),
    ("unknown message", raw('{"type": "act"}'), Cause.PROTOCOL_ERROR, "does not send 'act'"),
    ("unknown action", action(action="fly"), Cause.PROTOCOL_ERROR, "'fly'"),
    ("no action", action(), Cause.PROTOCOL_ERROR, "no `action`"),
    ("bad arguments", action(action="stop", action_args=[1]), Cause.PROTOCOL_ERROR, "action_args"),
    ("error", raw('{"type": "error", "message": "bug"}'), Cause.AGENT_CRASH, "bug"),
    ("out of memory", raw('{"type": "error", "code": "agent_oom"}'), Cause.AGENT_OOM, "memory"),
    ("disconnect", raw('{"type": "disconnect", "reason": "bored"}'), Cause.AGENT_CRASH, "bored"),
]


@pytest.mark.parametrize(("name", "talk", "cause", "words"), FAULTS, ids=[name for name, *_ in FAULTS])
def test_a_fault_over_websocket_has_a_name_in_time(name: str, talk: Talk, cause: Cause, words: str) -> None:
    patient = replace(SETTINGS, connect_timeout=60.0, action_timeout=60.0, reset_timeout=60.0)
    with evaluator(talk, settings=SETTINGS if cause is Cause.AGENT_TIMEOUT else patient) as client:
        client.describe(TASK)
        started = time.monotonic()
        with pytest.raises(AgentFailure) as caught:
            play(client)
        assert (caught.value.cause, words in str(caught.value)) == (cause, True), str(caught.value)
        assert time.monotonic() - started < 4.0 * measure_slowdown()


def test_an_action_that_nobody_asked_for_is_refused() -> None:
    def twice(line: ClientConnection, message: dict) -> None:
        turn_left(line, message)
        turn_left(line, message)

    with evaluator(twice) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        session.act(observations(0, 1)[0])
        time.sleep(0.3)  # the simulator's time for a step, generously
        with pytest.raises(AgentFailure, match="second action") as caught:
            session.act(observations(0, 1)[0])
        assert caught.value.cause is Cause.PROTOCOL_ERROR
        session.end(EpisodeEnd())


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ({"type": "connect", "protocol_version": "2.0"}, "version 2"),
        ({"type": "connect", "protocol_version": "new"}, "like '1.0'"),
        ({"type": "hello"}, "must be a `connect`"),
        ({"type": "connect", "max_episodes": "many"}, "max_episodes"),
    ],
)
def test_who_introduces_itself_badly_is_told_why(first: dict, words: str) -> None:
    client = WebSocketAgentClient("127.0.0.1", 0, ClientSettings(connect_timeout=600.0))
    with client, connect(f"ws://127.0.0.1:{client.port}", proxy=None) as line:
        say(line, first)
        answer = json.loads(line.recv(timeout=2))
        assert (answer["type"], answer["code"]) == ("error", "protocol_error")
        assert words in answer["message"]
        with pytest.raises(AgentFailure, match=words):
            client.describe(TASK)


def test_only_who_knows_the_path_may_connect() -> None:
    client = WebSocketAgentClient("127.0.0.1", 0, SETTINGS, path="/secret")
    with client:
        for path in ("", "/", "/guess"):
            with pytest.raises(InvalidHandshake), connect(f"ws://127.0.0.1:{client.port}{path}", proxy=None):
                pass
        with connect(f"ws://127.0.0.1:{client.port}/secret", proxy=None) as line:
            say(line, {"type": "connect", "protocol_version": "1.0"})
            assert client.describe(TASK).name == "agent"


def wait_until(condition: Callable[[], bool], seconds: float = 3.0) -> None:
    deadline = Deadline(seconds)
    while not condition():
        assert not deadline.is_over
        time.sleep(0.01)
