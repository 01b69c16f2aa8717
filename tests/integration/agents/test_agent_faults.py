"""Every way to fail has one named cause, ends within its deadline and leaves no process behind."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from agent_support import HERE, TASK, an_episode, observations, play

from nav_eval.agents.addresses import connect
from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.agents.failures import AgentFailure
from nav_eval.agents.messages import EpisodeEnd
from nav_eval.agents.process_client import ProcessAgentClient
from nav_eval.records.results import Cause
from support.load import Deadline, measure_slowdown

pytestmark = pytest.mark.integration

QUICK = ClientSettings(
    connect_timeout=10.0, reset_timeout=1.0, action_timeout=1.0, end_timeout=0.5, backoff=0.01, max_reply_bytes=1 << 20
)
IMPATIENT = ClientSettings(connect_timeout=0.7, reset_timeout=1.0, action_timeout=1.0, backoff=0.01)
#: for faults that have nothing to do with time: a busy machine must not make another one of them
PATIENT = replace(QUICK, reset_timeout=60.0, action_timeout=60.0)

FAULTS = [
    # what the agent does, the cause, words that the message must have
    ("never starts", Cause.AGENT_START_TIMEOUT, "does not answer after 0.7 s"),
    ("dies at once", Cause.AGENT_CRASH, "no such weights: model.pt"),
    ("runs out of memory at start", Cause.AGENT_CRASH, "MemoryError"),  # it prints so; nobody measured it
    ("hangs in describe", Cause.AGENT_START_TIMEOUT, "Describe"),
    ("garbage in describe", Cause.PROTOCOL_ERROR, "no DescribeReply"),
    ("wrong version", Cause.PROTOCOL_ERROR, "version 2, 3"),
    ("unknown sensor", Cause.PROTOCOL_ERROR, "'x_ray'"),
    ("too many episodes", Cause.PROTOCOL_ERROR, "max_episodes = 5000"),
    ("hangs in reset", Cause.AGENT_TIMEOUT, "within 1 s while answering Reset"),
    ("hangs in act", Cause.AGENT_TIMEOUT, "observation 3 within 1 s"),
    ("is killed", Cause.AGENT_CRASH, "SIGKILL"),
    ("exits", Cause.AGENT_CRASH, "exit code 3. Its last words: I have had enough"),
    ("raises", Cause.AGENT_CRASH, "a bug of the team"),
    ("out of memory", Cause.AGENT_OOM, "CUDA out of memory"),
    ("garbage", Cause.PROTOCOL_ERROR, "no EpisodeReply"),
    ("huge", Cause.PROTOCOL_ERROR, "too large"),
    ("much metadata", Cause.PROTOCOL_ERROR, "too much metadata"),
    ("closes the stream", Cause.PROTOCOL_ERROR, "closed the stream"),
    ("answers something else", Cause.PROTOCOL_ERROR, "'reset' instead of answering Act 3"),
    ("answers another request", Cause.PROTOCOL_ERROR, "to request 1, but the last one was 3"),
    ("unknown action", Cause.PROTOCOL_ERROR, "Did you mean 'move_forward'?"),
    ("no action", Cause.PROTOCOL_ERROR, "no action"),
    ("too many actions", Cause.PROTOCOL_ERROR, "4 actions, and the agent may give 3"),
    ("a million actions", Cause.PROTOCOL_ERROR, "actions"),
    ("NaN argument", Cause.PROTOCOL_ERROR, "nan is not within"),
    ("infinite argument", Cause.PROTOCOL_ERROR, "inf is not within"),
    ("argument out of range", Cause.PROTOCOL_ERROR, "99.0 is not within [0.05, 0.5]"),
    ("unknown argument", Cause.PROTOCOL_ERROR, "does not take the argument 'where'"),
    ("pose without question", Cause.PROTOCOL_ERROR, "carries poses"),
]


@contextmanager
def rogue(mode: str, settings: ClientSettings = QUICK) -> Iterator[ProcessAgentClient]:
    os.environ["NAV_EVAL_ROGUE"] = mode
    client = ProcessAgentClient(f"{sys.executable} {HERE / 'rogue_grpc.py'}", settings)
    try:
        yield client
    finally:
        client.close()
        del os.environ["NAV_EVAL_ROGUE"]
        assert not alive(client.pid)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(("mode", "cause", "words"), FAULTS, ids=[mode for mode, *_ in FAULTS])
def test_a_fault_has_a_name_in_time(mode: str, cause: Cause, words: str) -> None:
    patience = {
        "never starts": IMPATIENT,
        "hangs in describe": ClientSettings(connect_timeout=2.0),
        "hangs in reset": QUICK,
        "hangs in act": QUICK,
    }
    with rogue(mode, patience.get(mode, PATIENT)) as client:
        started = time.monotonic()
        with pytest.raises(AgentFailure) as caught:
            describe_and_play(client)
        assert (caught.value.cause, words in str(caught.value)) == (cause, True), str(caught.value)
        assert time.monotonic() - started < 6.0 * measure_slowdown()


def describe_and_play(client: AgentClient) -> None:
    client.describe(TASK)
    play(client)


def test_a_session_that_failed_stays_failed() -> None:
    with rogue("garbage") as client:
        client.describe(TASK)
        session = client.open_episode(an_episode())
        session.act(observations(0, 1)[0])
        session.act(observations(0, 1)[0])
        with pytest.raises(AgentFailure) as caught:
            session.act(observations(0, 1)[0])
        with pytest.raises(AgentFailure) as again:
            session.act(observations(0, 1)[0])
        assert again.value is caught.value
        session.end(EpisodeEnd())


def test_an_agent_that_does_not_say_goodbye_loses_nothing() -> None:
    with rogue("hangs in end") as client:
        client.describe(TASK)
        started = time.monotonic()
        assert [action.name for action in play(client)] == ["turn_left"] * 20
        assert time.monotonic() - started < 3.0 * measure_slowdown()


@pytest.mark.parametrize("mode", ["forges the proof", "claims shared memory"])
def test_memory_that_an_agent_only_claims_to_see_is_not_used(mode: str) -> None:
    with rogue(mode) as client:
        assert not client.describe(TASK).shared_memory
        assert len(play(client)) == 20


def test_an_episode_is_over_when_its_time_is() -> None:
    limits = ClientSettings(connect_timeout=10.0, action_timeout=5.0, episode_timeout=0.8)
    with rogue("hangs in act", limits) as client:
        client.describe(TASK)
        started = time.monotonic()
        with pytest.raises(AgentFailure, match=r"The episode took longer than 0.8 s") as caught:
            play(client)
        assert caught.value.cause is Cause.AGENT_TIMEOUT
        assert time.monotonic() - started < 3.0 * measure_slowdown()


def test_one_bad_episode_leaves_the_next_alone() -> None:
    with rogue("raises") as client:
        client.describe(TASK)
        for _ in range(2):
            with pytest.raises(AgentFailure, match="a bug of the team"):
                play(client)


def test_a_command_that_does_not_exist_is_a_crash() -> None:
    with pytest.raises(AgentFailure, match="Cannot start 'no-such-agent'") as caught:
        connect("no-such-agent --fast")
    assert caught.value.cause is Cause.AGENT_CRASH


def test_the_children_of_an_agent_go_with_it(tmp_path: Path) -> None:
    agent = tmp_path / "parent.py"
    agent.write_text(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'child')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)\n"
    )
    with connect(f"{sys.executable} {agent}", IMPATIENT) as client:
        with pytest.raises(AgentFailure):
            client.describe(TASK)
        child = int((tmp_path / "child").read_text())
        assert alive(child)
    deadline = Deadline(2.0)
    while alive(child) and state(child) != "Z" and not deadline.is_over:
        time.sleep(0.02)
    assert not alive(child) or state(child) == "Z"  # an orphan's entry may wait for init


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_a_socket_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "ours.sock").touch()
    link = tmp_path / "agent.sock"
    link.symlink_to(tmp_path / "ours.sock")
    with connect(f"unix:{link}", IMPATIENT) as client, pytest.raises(AgentFailure, match="is no socket") as caught:
        client.describe(TASK)
    assert caught.value.cause is Cause.PROTOCOL_ERROR
