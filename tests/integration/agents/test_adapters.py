"""Published models behind servers of their own wires: history, sampling, sentences, chunks, odd answers."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_support import an_episode
from model_servers import http_server, navila_server, openpi_server

from nav_eval.agents.addresses import AddressError, connect
from nav_eval.agents.client import AgentClient, ClientSettings, EpisodeSession
from nav_eval.agents.failures import AgentCrash, AgentFailure, AgentStartTimeout, AgentTimeout, ProtocolError
from nav_eval.agents.messages import Action, ActionSpec, EpisodeEnd, MotionSpec, Observation, TaskInterface
from nav_eval.errors import ConfigError
from nav_eval.sensors import SensorSpec

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(connect_timeout=20.0, reset_timeout=20.0, action_timeout=20.0, retries=2, backoff=0.01)
ACTIONS = {
    "stop": ActionSpec(),
    "move_forward": ActionSpec(motion=MotionSpec(forward_metres=0.25)),
    "turn_left": ActionSpec(motion=MotionSpec(left_degrees=15.0)),
    "turn_right": ActionSpec(motion=MotionSpec(left_degrees=-15.0)),
}
LOOKS = {
    "look_up": ActionSpec(motion=MotionSpec(up_degrees=15.0)),
    "look_down": ActionSpec(motion=MotionSpec(up_degrees=-15.0)),
}
SENSORS = {
    "rgb": SensorSpec(kind="rgb", dtype="uint8", shape=(32, 32, 3)),
    "depth": SensorSpec(kind="depth", dtype="float32", shape=(32, 32)),
    "gps": SensorSpec(kind="gps", dtype="float32", shape=(2,)),
}
TASK = TaskInterface(name="vln", sensors=SENSORS, actions=ACTIONS, max_steps=500)
F, L, R, S = "move_forward", "turn_left", "turn_right", "stop"


def moment(step: int, between: tuple[Observation, ...] = ()) -> Observation:
    """A picture that says which step it was taken at, in a way that JPEG keeps; its channels have an order."""
    rgb = np.empty((32, 32, 3), np.uint8)
    rgb[:] = (20 + step * 4, 10, 200)
    depth = np.full((32, 32), 1.5 + step / 4, np.float32)
    return Observation(step=step, sensors={"rgb": rgb, "depth": depth}, between=between)


def ask(session: EpisodeSession, first: int, *, answered: int = 1) -> list[str]:
    """The reply to the observation after `answered` further actions; what was seen between comes with it."""
    between = tuple(moment(step) for step in range(first, first + answered - 1))
    return names(session.act(moment(first + answered - 1, between)))


def names(actions: Sequence[Action]) -> list[str]:
    return [action.name for action in actions]


def open_session(client: AgentClient, task: TaskInterface = TASK) -> EpisodeSession:
    client.describe(task)
    return client.open_episode(an_episode(3))


@pytest.mark.parametrize(
    ("sentence", "actions"),
    [
        ("The next action is move forward 75 cm.", [F] * 3),
        ("The next action is move forward.", [F]),  # the number is missing
        ("THE NEXT ACTION IS MOVE FORWARD 50 CM", [F] * 2),
        ("The next action is move forward 60 cm", [F] * 2),  # nearest of 25, 50, 75
        ("The next action is move forward 90 cm", [F] * 3),
        ("The next action is move forward 100 cm", [F] * 4),  # a multiple of 25 stays
        ("The next action is turn left 75 degrees.", [L] * 5),  # a multiple of 15 stays
        ("The next action is turn left 80 degrees.", [L] * 3),  # nearest of 15, 30, 45
        ("The next action is turn right 20 degree", [R]),
        ("The next action is turn right", [R]),
        ("The next action is stop.", [S]),
        ("Stop, or the next action is turn left 30 degrees", [S]),  # stop is looked for first
        ("The next action is turn left 30 degrees, then is move forward 25 cm", [F]),  # forward before left
        ("nonstop walking is turn left 15 degrees", [L]),  # the word stop, not its letters
        ("I do not know.", [S]),
        ("", [S]),
        ("please turn left 30 degrees", [S]),  # without "is" none of the sentences
        ("The next action is move forward 0 cm", [F]),
    ],
)
def test_navilas_sentences(sentence: str, actions: list[str]) -> None:
    with navila_server(lambda _: sentence) as port, connect(f"navila://127.0.0.1:{port}", SETTINGS) as client:
        assert ask(open_session(client), 0) == actions


def test_navila_is_shown_eight_frames_of_what_was_before_each_action() -> None:
    asked: list[Any] = []

    def answer(request: dict[str, Any]) -> str:
        asked.append((request["query"], [round((int(p[0, 0, 0]) - 20) / 4) for p in request["pictures"]]))
        return "The next action is turn left 45 degrees."

    with navila_server(answer) as port, connect(f"navila://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        ask(session, 0)
        for start in (1, 4, 7, 10, 13):
            ask(session, start, answered=3)
    told, frames = zip(*asked, strict=True)
    assert set(told) == {"Geh 3 Meter, dann 左转."}
    assert frames[0] == [-5, -5, -5, -5, -5, -5, -5, 0]  # black in front
    assert frames[2] == [-5, 0, 1, 2, 3, 4, 5, 6]
    assert frames[3] == [0, 1, 2, 3, 5, 6, 7, 9]  # ⌊i·9/7⌋ of ten frames, then the last
    assert frames[5] == [0, 2, 4, 6, 8, 10, 12, 15]


def test_navila_is_asked_again_when_a_connection_was_cut() -> None:
    replies = iter([None, b"\0\0\0\0\0\0\0\x20cut", "The next action is stop"])
    with navila_server(lambda _: next(replies)) as port, connect(f"navila://127.0.0.1:{port}", SETTINGS) as client:
        assert ask(open_session(client), 0) == [S]


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        ({"action": "stop"}, ProtocolError),  # no sentence
        (b"\x7f" + b"\xff" * 7 + b"x", ProtocolError),  # a reply of 2^63 bytes
        (b"\0\0\0\0\0\0\0\x03{{{", ProtocolError),
        (None, AgentCrash),  # always hangs up
    ],
)
def test_what_navila_may_not_answer(reply: Any, failure: type[AgentFailure]) -> None:
    with navila_server(lambda _: reply) as port, connect(f"navila://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        with pytest.raises(failure):
            ask(session, 0)


def test_a_long_walk_is_carried_out_whole() -> None:
    few = ClientSettings(connect_timeout=20.0, max_actions=3)
    replies = iter(["is move forward 200 cm", "is stop"])
    with navila_server(lambda _: next(replies)) as port, connect(f"navila://127.0.0.1:{port}", few) as client:
        session = open_session(client)
        assert [ask(session, 0), ask(session, 1), ask(session, 2), ask(session, 3)] == [[F] * 3, [F] * 3, [F] * 2, [S]]


def test_navila_refuses_steps_that_it_does_not_mean() -> None:
    coarse = {**ACTIONS, "turn_left": ActionSpec(motion=MotionSpec(left_degrees=30.0))}
    task = TaskInterface(name="vln", sensors=SENSORS, actions=coarse)
    with connect("navila://127.0.0.1:9", SETTINGS) as client, pytest.raises(ProtocolError, match="15°"):
        client.describe(task)


def test_streamvln_is_shown_blue_green_red_and_told_when_to_reset() -> None:
    asked: list[Any] = []
    replies = iter([{"action": [1, 2, 3, 1]}, {"action": []}, {"action": [0]}])

    def answer(request: dict[str, Any]) -> Any:
        if request["method"] == "GET":
            return 404, "no such page"
        asked.append(
            (request["path"], json.loads(request["json"]), request["image"][0, 0].tolist(), request["image_format"])
        )
        return next(replies)

    with http_server(answer) as port, connect(f"streamvln://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        assert ask(session, 0) == [F, L, R, F]
        assert ask(session, 4) == [S]  # nothing more to do
        again = client.open_episode(an_episode(4))
        assert ask(again, 0) == [S]
    assert [(path, told) for path, told, *_ in asked] == [
        ("/eval_vln", {"reset": True}),
        ("/eval_vln", {"reset": False}),
        ("/eval_vln", {"reset": True}),
    ]
    assert {kind for *_, kind in asked} == {"JPEG"}
    blue, green, red = asked[0][2]  # the file's first channel holds what is blue
    assert (abs(blue - 200) < 6, abs(green - 10) < 6, abs(red - 20) < 6) == (True, True, True)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        ({"action": [4]}, ProtocolError),
        ({"action": ["forward"]}, ProtocolError),
        ({"action": [1.5]}, ProtocolError),
        ({"actions": [1]}, ProtocolError),
        ((500, "CUDA error"), AgentCrash),
        (None, AgentCrash),  # asking again would show it the picture twice
        ("<html>", ProtocolError),
    ],
)
def test_what_streamvln_may_not_answer(reply: Any, failure: type[AgentFailure]) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return "fine" if request["method"] == "GET" else reply

    with http_server(answer) as port, connect(f"streamvln://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        with pytest.raises(failure):
            ask(session, 0)


MAPPING = """
observation: {observation/image: {sensor: rgb}, prompt: {text: instruction}}
action: {decode: argmax, names: [stop, move_forward, turn_left, turn_right], execute: 4}
"""
WIRES = {
    "navila": (navila_server, "The next action is move forward 25 cm."),
    "streamvln": (http_server, {"action": [1]}),
    "internvla": (http_server, {"discrete_action": [1]}),
    "omninav": (http_server, {"action": "forward"}),
    "openpi": (openpi_server, np.eye(4, dtype=np.float32)[[1]]),
}


@contextmanager
def open_model(model: str, act: Callable[[], Any], folder: Path, settings: ClientSettings) -> Iterator[EpisodeSession]:
    """A session with a server of this wire; `act` says what comes of every question for an action."""

    def answer(request: dict[str, Any]) -> Any:
        if request.get("method") == "GET" or request.get("path") == "/reset" or request.get("endpoint") == "reset":
            return {}
        return act()

    (folder / "mapping.yaml").write_text(MAPPING)
    mapping = f"?mapping={folder / 'mapping.yaml'}" if model == "openpi" else ""
    with WIRES[model][0](answer) as port, connect(f"{model}://127.0.0.1:{port}{mapping}", settings) as client:
        yield open_session(client)


@pytest.mark.parametrize("model", WIRES)
def test_a_slow_model_is_waited_for(model: str, tmp_path: Path) -> None:
    def act() -> Any:
        time.sleep(1.0)
        return WIRES[model][1]

    with open_model(model, act, tmp_path, SETTINGS) as session:
        assert ask(session, 0) == [F]


@pytest.mark.parametrize("model", WIRES)
def test_a_model_that_is_too_slow_ends_by_the_clock(model: str, tmp_path: Path) -> None:
    def act() -> Any:
        time.sleep(3.0)
        return WIRES[model][1]

    hasty = ClientSettings(connect_timeout=20.0, reset_timeout=20.0, action_timeout=0.2)
    with open_model(model, act, tmp_path, hasty) as session, pytest.raises(AgentTimeout):
        ask(session, 0)


@pytest.mark.parametrize("model", WIRES)
def test_a_server_that_always_hangs_up_has_crashed(model: str, tmp_path: Path) -> None:
    with open_model(model, lambda: None, tmp_path, SETTINGS) as session, pytest.raises(AgentCrash):
        ask(session, 0)


@pytest.mark.parametrize(
    ("model", "empty"),
    [
        ("navila", ""),
        ("streamvln", {"action": []}),
        ("internvla", {"discrete_action": []}),
        ("internvla", {"trajectory": []}),
        ("omninav", {"actions": []}),
        ("omninav", ""),
    ],
)
def test_nothing_more_to_do_is_a_stop(model: str, empty: Any, tmp_path: Path) -> None:
    with open_model(model, lambda: empty, tmp_path, SETTINGS) as session:
        assert ask(session, 0) == [S]


def test_an_openpi_chunk_without_actions_is_refused(tmp_path: Path) -> None:
    with (
        open_model("openpi", lambda: np.zeros((0, 4), np.float32), tmp_path, SETTINGS) as session,
        pytest.raises(ProtocolError),
    ):
        ask(session, 0)


@pytest.mark.parametrize("model", ["streamvln", "internvla"])
@pytest.mark.parametrize(("channels", "first"), [("", 200), ("?channels=bgr", 200), ("?channels=rgb", 20)])
def test_colours_come_in_the_order_that_is_asked_for(model: str, channels: str, first: int) -> None:
    asked: list[int] = []

    def answer(request: dict[str, Any]) -> Any:
        if request["method"] == "GET":
            return 404, ""
        asked.append(int(request["image"][0, 0, 0]))
        return WIRES[model][1]

    with http_server(answer) as port, connect(f"{model}://127.0.0.1:{port}{channels}", SETTINGS) as client:
        ask(open_session(client), 0)
    assert abs(asked[0] - first) < 6


@pytest.mark.parametrize(
    ("sentence", "actions"),
    [
        ("IS MOVE FORWARD", [F]),  # the number is missing
        ("The next action is turn left 75 degrees", [L] * 5),
        ("Move Forward", [F]),
        ("STOP", [S]),
    ],
)
def test_omninav_texts_follow_the_same_rules(sentence: str, actions: list[str], tmp_path: Path) -> None:
    with open_model("omninav", lambda: sentence, tmp_path, SETTINGS) as session:
        assert ask(session, 0) == actions


def test_internvla_gets_depth_and_looks_down() -> None:
    asked: list[Any] = []
    replies = iter(
        [{"discrete_action": [5]}, {"trajectory": [[0.25, 0.0, 0.0], [0.5, 0.5, 0.1]], "pixel_goal": [3, 4]},
         {"discrete_action": [1, 5, 1]}, {"discrete_action": [0]}]
    )  # fmt: skip

    def answer(request: dict[str, Any]) -> Any:
        if request["method"] == "GET":
            return 404, ""
        asked.append((request["path"], int(request["depth"][0, 0]), request["depth_format"]))
        return next(replies)

    task = TaskInterface(name="vln", sensors=SENSORS, actions=ACTIONS | LOOKS)
    with http_server(answer) as port, connect(f"internvla://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client, task)
        assert ask(session, 0) == ["look_down", "look_down"]
        assert ask(session, 2) == ["look_up", "look_up", F, L, L, L]  # four actions along the trajectory
        assert ask(session, 8) == [F, "look_down", "look_down"]
        assert ask(session, 11) == ["look_up", "look_up", S]
    assert asked[0] == ("/eval_dual", 15000, "PNG")  # 1.5 m
    assert asked[1][1] == 20000


def test_internvla_on_a_body_that_cannot_look_down_is_asked_again() -> None:
    replies = iter([{"discrete_action": [5]}, {"discrete_action": [2, 2]}, *[{"discrete_action": [5]}] * 9])

    def answer(request: dict[str, Any]) -> Any:
        return "" if request["method"] == "GET" else next(replies)

    with http_server(answer) as port, connect(f"internvla://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        assert ask(session, 0) == [L, L]
        with pytest.raises(ProtocolError, match="look down"):
            ask(session, 1)


@pytest.mark.parametrize(
    "reply",
    [
        {"trajectory": [[float("nan"), 0.0]]},
        {"trajectory": [[1e300, 0.0]]},
        {"trajectory": "left"},
        {"trajectory": [[1.0]]},
        {"pixel_goal": [1, 2]},
        {"discrete_action": [7]},
    ],
)
def test_what_internvla_may_not_answer(reply: Any) -> None:
    def answer(request: dict[str, Any]) -> Any:
        return "" if request["method"] == "GET" else reply

    with http_server(answer) as port, connect(f"internvla://127.0.0.1:{port}", SETTINGS) as client:
        session = open_session(client)
        with pytest.raises(ProtocolError):
            ask(session, 0)


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("The next action is turn right 30 degrees", [R, R]),
        ("MOVE FORWARD 50 cm", [F, F]),
        ({"text": "is move forward 75 cm"}, [F] * 3),
        ({"action": "forward"}, [F]),
        ({"action": "TURN_LEFT"}, [L]),
        ({"action": 3}, [R]),
        ({"action": {"type": "stop"}}, [S]),
        ({"actions": [1, 1, 0]}, [F, F, S]),
        ({"action": []}, [S]),
        ({"waypoint": [0.5, 0.0]}, [F, F]),
        ({"waypoint": {"x": 0.0, "y": 0.25}}, [L, L, L, L]),
        ({"waypoint": {"distance": 0.5, "angle": 0.0}}, [F, F]),
        ({"waypoint": [0.0, 0.0]}, [S]),
    ],
)
def test_omninav_policies_answer_in_three_ways(reply: Any, actions: list[str]) -> None:
    asked: list[Any] = []

    def answer(request: dict[str, Any]) -> Any:
        asked.append((request["method"], request["path"], request.get("instruction")))
        return {"/health": {"status": "ok"}, "/reset": {}, "/act": reply}[request["path"]]

    with http_server(answer) as port, connect(f"omninav://127.0.0.1:{port}", SETTINGS) as client:
        assert ask(open_session(client), 0) == actions
    told = "Geh 3 Meter, dann 左转."
    assert asked == [("GET", "/health", None), ("POST", "/reset", told), ("POST", "/act", told)]


def test_a_server_that_is_not_there_is_waited_for_and_named() -> None:
    short = ClientSettings(connect_timeout=0.3)
    for address in ("navila://127.0.0.1:9", "streamvln://127.0.0.1:9", "omninav://127.0.0.1:9"):
        with connect(address, short) as client, pytest.raises(AgentStartTimeout):
            client.describe(TASK)


def test_an_option_that_nobody_reads_is_refused() -> None:
    with pytest.raises(ConfigError, match="cameras"):
        connect("navila://localhost?cameras=rgb")
    with pytest.raises(AddressError, match="uninavid:package"):
        connect("uninavid:nothing")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("uninavid", [[F, L, R], [S]]),
        ("streamvln", [[F], [L], [L], [R], [S]]),
        ("internvla", [["look_down", "look_down"], ["look_up", "look_up", F, F], [S]]),
    ],
)
def test_a_models_class_is_served_as_it_is(model: str, expected: list[list[str]]) -> None:
    task = TaskInterface(
        name="vln",
        sensors={**SENSORS, "compass": SensorSpec(kind="compass", dtype="float32", shape=(1,))},
        actions=ACTIONS | LOOKS,
    )
    path = f"{__file__.removesuffix('test_adapters.py')}model_classes.py"
    with connect(f"{model}:{path}:{model.capitalize()}", SETTINGS) as client:
        session = open_session(client, task)
        sensors = {"gps": np.zeros(2, np.float32), "compass": np.zeros(1, np.float32)}
        replies = []
        for step in range(len(expected)):
            seen = moment(step)
            replies.append(names(session.act(Observation(step=step, sensors={**seen.sensors, **sensors}))))
        session.end(EpisodeEnd())
    assert replies == expected
