"""The small parts that every client is made of."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from nav_eval.agents import image_codecs
from nav_eval.agents.addresses import SCHEMES, AddressError, connect
from nav_eval.agents.client import ClientSettings, Watchdog, retry
from nav_eval.agents.failures import AgentFailure, ConnectionLost, ProtocolError
from nav_eval.agents.grpc_client import GrpcAgentClient
from nav_eval.agents.local_client import LocalAgentClient, NoSuchAgent, load_agent_factory
from nav_eval.agents.messages import (
    Action,
    ActionSpec,
    Encoding,
    EpisodeEnd,
    Observation,
    TaskInterface,
    quote_last_words,
)
from nav_eval.agents.openpi_client import PolicyMapping, decode_actions, pack, read_mapping, resize_with_padding, unpack
from nav_eval.agents.rest_client import RestAgentClient
from nav_eval.agents.websocket_connection import Heartbeat
from nav_eval.dataset.episode import Episode, Instruction, PrivateEpisode, PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause
from nav_eval.sensors import SensorSpec
from nav_eval_sdk.cli import load_agent
from support.load import Deadline, measure_slowdown

TASK = TaskInterface(
    name="vln",
    sensors={"gps": SensorSpec(kind="gps", dtype="float32", shape=(2,))},
    actions={"stop": ActionSpec(), "go": ActionSpec()},
)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_heartbeat_is_due_after_30_s_and_lost_after_60_s() -> None:
    clock = Clock()
    heart = Heartbeat(interval=30.0, timeout=60.0, clock=clock)
    seen = []
    for clock.now in (129.9, 130.0, 160.0, 160.1):
        seen.append((heart.due, heart.lost))
    assert seen == [(False, False), (True, False), (True, False), (True, True)]
    heart.heard()
    assert not heart.lost
    heart.sent()
    assert not heart.due


def test_the_watchdog_bites_only_what_is_late() -> None:
    dog, bitten = Watchdog(), []
    with dog.watch(600.0, lambda: bitten.append("patient")) as patient:
        with dog.watch(0.02, lambda: bitten.append("late")) as late:  # earlier than what it sleeps for
            deadline = Deadline(10.0)
            while not bitten and not deadline.is_over:
                time.sleep(0.01)
        quick = 0.2 * measure_slowdown()
        with dog.watch(quick, lambda: bitten.append("quick")):
            pass
    time.sleep(quick + 0.05)
    assert (bitten, late.expired, patient.expired) == (["late"], True, False)
    dog.close()


def test_the_watchdog_goes_to_sleep_for_good() -> None:
    dog = Watchdog()
    with dog.watch(1.0, lambda: None):
        pass
    assert [thread for thread in threading.enumerate() if thread.name == "nav-eval-watchdog"]
    dog.close()
    deadline = Deadline(2)
    while dog._thread is not None and dog._thread.is_alive():
        assert not deadline.is_over
        time.sleep(0.01)


@pytest.mark.parametrize(("failures", "works"), [(0, True), (3, True), (4, False)])
def test_three_further_attempts(failures: int, works: bool) -> None:
    attempts = []

    def operation() -> str:
        attempts.append(time.monotonic())
        if len(attempts) <= failures:
            raise ConnectionLost
        return "done"

    settings = ClientSettings(backoff=0.001)
    if works:
        assert retry(operation, on=ConnectionLost, settings=settings) == "done"
    else:
        with pytest.raises(ConnectionLost):
            retry(operation, on=ConnectionLost, settings=settings)
    assert len(attempts) == min(failures, 3) + 1


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("grpc://localhost:8085", GrpcAgentClient),
        ("localhost:8085", GrpcAgentClient),
        ("[::1]:8085", GrpcAgentClient),
        ("unix:/rpc/agent.sock", GrpcAgentClient),
        ("http://localhost:80/agent", RestAgentClient),
        ("https://agent.example", RestAgentClient),
        ("collections:Counter", LocalAgentClient),
        ("module:collections:Counter", LocalAgentClient),
    ],
)
def test_an_address_says_what_the_agent_speaks(address: str, kind: type) -> None:
    with connect(address) as client:
        assert type(client) is kind


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "empty"),
        ("ftp://host:1", r"no protocol that we speak\. We speak command, grpc"),
        ("grcp://host:1", "Did you mean 'grpc'"),
        ("grpc://:8085", "no host"),
        ("grpc://host:99999", "no usable port"),
        ("unix:", "path of a socket"),
        ("openpi://host:8000", "needs one mapping"),
    ],
)
def test_an_address_that_is_none_is_refused_with_what_would_be(address: str, words: str) -> None:
    with pytest.raises(AddressError, match=words):
        connect(address)


SERVED_AT_ITS_END = """
from nav_eval_sdk import Agent, serve
class Mine(Agent):
    def act(self, observation):
        return "stop"
serve(Mine)
"""


def test_a_file_that_serves_at_its_end_is_also_loaded_for_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serving_agent.py"
    file.write_text(SERVED_AT_ITS_END)
    monkeypatch.setenv("NAV_EVAL_PROTOCOL", "none")  # `serve` would refuse it, and never end if it did not
    assert load_agent_factory(f"{file}:Mine")().act(None) == "stop"
    assert load_agent(f"{file}:Mine").__name__ == "Mine"


def test_a_file_alone_is_told_how_it_becomes_an_agent(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(SERVED_AT_ITS_END)
    with pytest.raises(AddressError, match=r"is a file: give 'python .*agent\.py', which serves, or .*:CLASS"):
        connect(str(file))


def test_last_words_are_lines_without_the_marks_below_them() -> None:
    log = b"Loading\n\n    raise ValueError('no weights')\n    ~~~~~^^^^^^^\nValueError: no weights\n"
    assert quote_last_words(log) == "Loading | raise ValueError('no weights') | ValueError: no weights"


@pytest.mark.parametrize(
    ("address", "words"),
    [("no_such_module_x:Agent", "Cannot import"), ("collections:Agentt", "no 'Agentt'"), ("no/such.py:A", "no file")],
)
def test_a_class_that_is_not_there_is_named(address: str, words: str) -> None:
    with pytest.raises(NoSuchAgent, match=words):
        connect(address)


def test_others_may_add_their_own_kind_of_address() -> None:
    SCHEMES.register("test-only")(lambda address, settings: LocalAgentClient(lambda: address, settings))
    with connect("test-only:whatever") as client:
        assert type(client) is LocalAgentClient


class Local:
    """Any object with `act` is an agent."""

    answer: object = "go"

    def reset(self, episode) -> None:
        assert episode.instruction == "north"

    def act(self, observation):
        assert observation["gps"].shape == (2,)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(observation) if callable(self.answer) else self.answer


def local(answer: object, **limits: float) -> list[Action]:
    class Answering(Local):
        pass

    Answering.answer = staticmethod(answer) if callable(answer) else answer
    client = LocalAgentClient(Answering, ClientSettings(**limits))
    client.describe(TASK)
    session = client.open_episode(PublicEpisode(episode_id="1", instruction=Instruction(text="north")))
    return session.act(Observation(step=0, sensors={"gps": np.zeros(2, np.float32)}))


def change(observation) -> str:
    observation["gps"][0] = 1.0
    return "go"


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (ValueError("bug"), Cause.AGENT_CRASH),
        (SystemExit(1), Cause.AGENT_CRASH),
        (MemoryError(), Cause.AGENT_OOM),
        ("fly", Cause.PROTOCOL_ERROR),
        (3, Cause.PROTOCOL_ERROR),
        ([], Cause.PROTOCOL_ERROR),
        ({"action": "go", "action_args": {"x": "y"}}, Cause.PROTOCOL_ERROR),
        (change, Cause.AGENT_CRASH),  # observations are read-only, as over every wire
        (lambda _: time.sleep(2), Cause.AGENT_TIMEOUT),
    ],
)
def test_a_local_agent_fails_like_any_other(answer: object, cause: Cause) -> None:
    with pytest.raises(AgentFailure) as caught:
        local(answer, action_timeout=0.05)
    assert caught.value.cause is cause


@pytest.mark.parametrize("answer", ["go", ["go"], {"action": "go"}, Action(name="go")])
def test_a_local_agent_may_answer_in_several_ways(answer: object) -> None:
    assert local(answer) == [Action(name="go")]


def test_only_a_public_episode_reaches_an_agent() -> None:
    public = PublicEpisode(episode_id="1", instruction=Instruction(text="north"))
    whole = Episode(public=public, private=PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0))))
    client = LocalAgentClient(Local, ClientSettings())
    client.describe(TASK)
    with pytest.raises(TypeError, match="PublicEpisode only"):
        client.open_episode(whole)  # type: ignore[arg-type]
    client.open_episode(public).end(EpisodeEnd())


@given(
    arrays.arrays(
        st.sampled_from([np.uint8, np.float32, np.int64, np.bool_, np.float16]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
def test_arrays_survive_openpi_msgpack(array: np.ndarray) -> None:
    back = unpack(pack({"a": array, "list": [array], "text": "日本"}))
    assert back["text"] == "日本"
    for seen in (back["a"], back["list"][0]):
        assert (seen.dtype, seen.shape) == (array.dtype, array.shape)
        assert seen.tobytes() == array.tobytes()


@pytest.mark.parametrize(
    ("dtype", "shape", "data"),
    [
        ("|O", [1], b"12345678"),  # objects would be pickle
        ("<c8", [1], b"12345678"),
        ("|V8", [1], b"12345678"),
        ("<f4", [10**9, 10**9], b"1234"),  # refused before anything is allocated
        ("<f4", [-1], b"1234"),
        ("nonsense", [1], b"1234"),
        ("<f4", [2], b"1234"),
    ],
)
def test_arrays_that_lie_are_refused(dtype: str, shape: list[int], data: bytes) -> None:
    import msgspec

    message = msgspec.msgpack.encode({b"__ndarray__": True, b"data": data, b"dtype": dtype, b"shape": shape})
    with pytest.raises(ProtocolError):
        unpack(message)


@given(st.binary(max_size=60))
def test_no_bytes_do_more_than_be_refused(data: bytes) -> None:
    with suppress(ProtocolError):
        unpack(data)


def mapping(**action: object) -> PolicyMapping:
    return PolicyMapping.model_validate({"observation": {}, "action": {"names": ["stop", "go"], **action}})


@pytest.mark.parametrize(
    ("settings", "reply", "done"),
    [
        ({"decode": "argmax"}, {"actions": np.array([[0, 1.0], [1, 0]])}, ["go", "stop"]),
        ({"decode": "argmax", "execute": 1}, {"actions": np.array([[0, 1.0], [1, 0]])}, ["go"]),
        ({"decode": "argmax"}, {"actions": np.array([0, 1.0])}, ["go"]),
        ({"decode": "index"}, {"actions": np.array([1, 0, 1])}, ["go", "stop", "go"]),
        ({"decode": "index"}, {"actions": 1}, ["go"]),
        ({"decode": "name"}, {"actions": ["go", "stop"]}, ["go", "stop"]),
        ({"decode": "name"}, {"actions": "go"}, ["go"]),
        ({"decode": "velocity"}, {"actions": np.array([[0.5, 0.1, 0.9]])}, ["stop"]),
        ({"decode": "velocity", "key": "a"}, {"a": np.array([[0.5, 0.1]])}, ["velocity_control"]),
    ],
)
def test_a_mapping_reads_what_policies_answer(settings: dict, reply: dict, done: list[str]) -> None:
    assert [action.name for action in decode_actions(mapping(**settings).action, reply)] == done


@pytest.mark.parametrize(
    ("settings", "reply"),
    [
        ({}, {}),
        ({}, []),
        ({}, {"actions": np.zeros((1, 3))}),
        ({}, {"actions": np.array([[np.nan, 1.0]])}),
        ({}, {"actions": "go"}),
        ({}, {"actions": np.zeros((2, 2, 2))}),
        ({"decode": "index"}, {"actions": [5]}),
        ({"decode": "index"}, {"actions": [-1]}),
        ({"decode": "index"}, {"actions": [float("nan")]}),
        ({"decode": "name"}, {"actions": [1]}),
        ({"decode": "velocity"}, {"actions": [[np.inf, 0.0]]}),
        ({"decode": "velocity"}, {"actions": [[0.0]]}),
    ],
)
def test_a_mapping_refuses_what_it_cannot_read(settings: dict, reply: object) -> None:
    with pytest.raises(ProtocolError):
        decode_actions(mapping(**settings).action, reply)


def test_a_velocity_becomes_arguments() -> None:
    (done,) = decode_actions(
        mapping(decode="velocity", arguments=["linear", "angular"]).action, {"actions": [0.5, -0.1]}
    )
    assert done.arguments == {"linear": 0.5, "angular": -0.1}


@pytest.mark.parametrize(
    "text",
    ["observation: {}", "{", "observation: {a: {sensor: rgb, stretch: 1}}\naction: {}", "action: {decode: argmax}"],
)
def test_a_mapping_file_that_is_wrong_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"map\.yaml"):
        read_mapping(file)


def test_pictures_are_padded_not_stretched() -> None:
    tall = resize_with_padding(np.full((100, 50, 3), 200, np.uint8), 224, 224)
    assert tall.shape == (224, 224, 3)
    assert not tall[:, :50].any()
    assert (tall[:, 60:160] == 200).all()


@pytest.mark.parametrize(
    ("shape", "dtype", "wanted", "chosen"),
    [
        ((4, 4, 3), np.uint8, (Encoding.JPEG, Encoding.RAW), Encoding.JPEG),
        ((4, 4), np.uint8, (Encoding.JPEG,), Encoding.JPEG),
        ((4, 4, 4), np.uint8, (Encoding.JPEG, Encoding.PNG), Encoding.PNG),  # JPEG has no alpha
        ((4, 4), np.float32, (Encoding.JPEG, Encoding.PNG), Encoding.RAW),  # depth stays exact
        ((4,), np.uint8, (Encoding.PNG,), Encoding.RAW),
    ],
)
def test_only_pictures_are_encoded(shape: tuple, dtype: type, wanted: tuple, chosen: Encoding) -> None:
    assert image_codecs.choose_encoding(np.zeros(shape, dtype), wanted) is chosen
