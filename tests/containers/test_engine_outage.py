"""An engine that crashes under a pair, with and without live-restore: an outage of ours, nothing is left of it."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Played, Ready
from nav_eval_worker.runtime.base import AgentImage, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.docker import DockerRuntime
from nav_eval_worker.runtime_health import RuntimeHealth
from support.engine import DockerEngine

SLOW = """
import time
from nav_eval_sdk import Agent, serve

class Slow(Agent):
    sensors = []
    def act(self, observation):
        time.sleep(3)
        return "move_forward"

if __name__ == "__main__":
    serve(Slow)
"""


@pytest.fixture(params=[(), ("--live-restore",)], ids=["plain", "live-restore"])
def fragile_engine(engine: DockerEngine, request: pytest.FixtureRequest) -> Iterator[DockerEngine]:
    """The session's engine with other options; as it was afterwards."""
    if request.param:
        engine.stop()
        engine.start_again(*request.param)
    yield engine
    engine.stop()
    engine.start_again()


def list_left(engine: DockerEngine, run: str) -> list[str]:
    label = {"label": f"nav-eval.run={run}"}
    containers = engine.client.containers.list(all=True, filters=label)
    return [str(c.name) for c in containers] + [v.name for v in engine.client.volumes.list(filters=label)]


def test_a_crash_of_the_engine_is_an_outage_and_leaves_nothing(
    fragile_engine: DockerEngine,
    runtime: DockerRuntime,
    admitted: Callable[..., AgentImage],
    work: Callable[..., ShardWork],
) -> None:
    engine, health = fragile_engine, RuntimeHealth(runtime)
    assert health.check(anew=True)
    shard = work(admitted(SLOW))
    heard = []
    with runtime.run(shard) as pair:
        for message in pair.messages():
            heard.append(message)
            if isinstance(message, Ready):
                engine.crash()
                began = time.monotonic()
        assert time.monotonic() - began < 60, "an engine that is gone is not waited for"
        assert not any(isinstance(message, (Played, Ended)) for message in heard), "nobody is blamed"
        assert pair.agent_end() is None or pair.agent_end().cause.is_ours
        assert not health.check(anew=True)
    with pytest.raises(RuntimeUnavailable):
        runtime.sweep(lambda run: False)
    engine.start_again(*engine.options)
    assert health.check(anew=True), "by the same connection settings, whatever the socket's inode is now"
    runtime.sweep(lambda run: run != shard.run)
    left = list_left(engine, shard.run)
    if engine.options:  # it counts mounts that are not there, until it is started once more
        mounts = Path("/proc/mounts").read_text()
        assert not [name for name in left if name in mounts], "but no memory is held"
        engine.stop()
        engine.start_again()
        runtime.sweep(lambda run: run != shard.run)
        left = list_left(engine, shard.run)
    assert left == []
