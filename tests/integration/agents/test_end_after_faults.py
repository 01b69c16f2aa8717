"""After its own fault or when its time is up, an agent hears End with status and reason, whatever it speaks."""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from agent_support import TASK, an_episode, free_port, observations

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.failures import AgentFailure, ProtocolError
from nav_eval.agents.messages import EndStatus, EpisodeEnd
from nav_eval.evaluation.executor import _make_end
from nav_eval.records.results import Cause
from nav_eval_sdk import Agent, Episode, Observation, Outcome
from nav_eval_sdk.grpc_server import GrpcServer
from nav_eval_sdk.host import Host
from nav_eval_sdk.rest_server import RestServer

pytestmark = pytest.mark.integration

SETTINGS = ClientSettings(connect_timeout=30.0, reset_timeout=30.0, action_timeout=0.5, end_timeout=30.0, backoff=0.01)


class Listener(Agent):
    """Does what it is told by the test, and keeps what it hears at the end."""

    def __init__(self, answer: str, heard: "queue.Queue[Outcome]", release: threading.Event) -> None:
        self._answer, self._heard, self._release = answer, heard, release

    def act(self, observation: Observation) -> str:
        if self._answer == "hang":
            self._release.wait(60)
        return self._answer

    def end(self, episode: Episode, outcome: Outcome) -> None:
        self._heard.put(outcome)


@contextmanager
def serve(protocol: str, agent: Agent) -> Iterator[AgentClient]:
    host = Host(agent)
    host.start()
    server = GrpcServer(host, "127.0.0.1:0") if protocol == "grpc" else RestServer(host, "127.0.0.1:0")
    scheme = "grpc" if protocol == "grpc" else "http"
    try:
        with connect(f"{scheme}://127.0.0.1:{server.port}", SETTINGS) as client:
            yield client
    finally:
        server.stop()


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [("Move_Forward", "failed", "Did you mean 'move_forward'?"), ("hang", "timeout", "No reply to observation 1")],
)
def test_the_agent_is_told_how_it_ended(protocol: str, answer: str, status: str, reason: str) -> None:
    heard: queue.Queue[Outcome] = queue.Queue()
    release = threading.Event()
    with serve(protocol, Listener(answer, heard, release)) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        with pytest.raises(AgentFailure) as failed:
            session.act(observations(0)[0])
        session.end(_make_end(failed.value, 0))
        release.set()
        outcome = heard.get(timeout=60)
    assert outcome.status == status
    assert reason in outcome.reason


def test_an_agent_whose_answer_nobody_waited_for_is_told_the_end() -> None:
    heard: queue.Queue[Outcome] = queue.Queue()
    release = threading.Event()
    with serve("grpc", Listener("hang", heard, release)) as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        session.send(observations(0)[0])
        threading.Timer(0.2, release.set).start()
        session.end(EpisodeEnd(status=EndStatus.CANCELLED, steps=7))
        assert heard.get(timeout=60) == Outcome(status="cancelled", steps=7)


def test_a_refused_version_is_told_at_once() -> None:
    from websockets.sync.client import connect as dial

    port = free_port()
    patient = ClientSettings(connect_timeout=600.0)
    with connect(f"ws://127.0.0.1:{port}", patient) as client, dial(f"ws://127.0.0.1:{port}") as socket:
        socket.send('{"type": "connect", "protocol_version": "2.0", "agent_info": {"name": "newer"}}')
        socket.recv(timeout=60)
        with pytest.raises(ProtocolError, match="speaks version 2") as refused:
            client.describe(TASK)
    assert refused.value.cause is Cause.PROTOCOL_ERROR
