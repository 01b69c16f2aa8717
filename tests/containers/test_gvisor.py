"""Agents in gVisor: the walls are measured, a run is scored as under runc, and no way out is open.

Needs a runsc of 2024 or later: in the path, or where NAV_EVAL_TEST_RUNSC says (Debian 13's package, unpacked).
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.evaluation.shard_protocol import Ended, Message, Played
from nav_eval_worker.runtime.base import AgentImage, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine

LIMITS = LimitsConfig(memory_gb=0.6, cpus=1.0, shm_gb=0.05, pids=256, log_kb=16, start_seconds=60, step_seconds=20)
"""More processes than elsewhere: at its limit gVisor ends the whole sandbox."""
OF_ITS_OWN_KERNEL = {"make_device", "spare_itself"}
"""A device's name in its own memory and a mark of its own: the sandbox's kernel keeps both, the host's sees neither."""
AGENTS = Path(__file__).with_name("agents")
OPTIONS = "--platform=systrap --network=none --host-uds=all"


def find_runsc() -> str:
    program = os.environ.get("NAV_EVAL_TEST_RUNSC") or shutil.which("runsc")
    if program is None:
        pytest.skip("there is no runsc (Debian 13: apt-get install runsc)")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    year = re.search(r"20\d\d", said)
    if year is None or int(year[0]) < 2024:
        pytest.skip(f"this runsc is too old: {said.splitlines()[0] if said else 'it says nothing'}")
    return program


@pytest.fixture(scope="module")
def gvisor_engine(engine: DockerEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerEngine]:
    """The session's engine, which knows gVisor meanwhile."""
    wrapper = tmp_path_factory.mktemp("runsc") / "runsc"
    wrapper.write_text(f'#!/bin/sh\nexec {find_runsc()} {OPTIONS} "$@"\n')
    wrapper.chmod(0o755)
    engine.stop()
    engine.start_again(f"--add-runtime=runsc={wrapper}")
    yield engine
    engine.stop()
    engine.start_again()


@pytest.fixture
def settings(gvisor_engine: DockerEngine, settings: DockerSettings) -> DockerSettings:
    return replace(settings, runtime="runsc")


WALKER = """
from nav_eval_sdk import Agent, serve

class Walker(Agent):
    sensors = ["depth"]
    def act(self, observation):
        return "move_forward" if observation["depth"][80:140, 80:140].min() > 0.5 else "turn_left"

if __name__ == "__main__":
    serve(Walker)
"""


def play(runtime: DockerRuntime, work: ShardWork) -> tuple[list[Message], str]:
    with runtime.run(work) as pair:
        heard = list(pair.messages())
        return heard, pair.take_log().decode(errors="replace")


def get_line(heard: list[Message]) -> str:
    """What was scored, without what is measured in seconds."""
    assert heard[-1] == Ended(), heard[-1]
    line = next(bytes(message.line).decode() for message in heard if isinstance(message, Played))
    return re.sub(r'"timing":\{[^}]*\}', "", line)


def test_a_run_is_scored_in_gvisor_as_under_runc(
    runtime: DockerRuntime,
    settings: DockerSettings,
    admitted: Callable[..., AgentImage],
    work: Callable[..., ShardWork],
) -> None:
    runtime.probe()
    image = admitted(WALKER)
    inside, _ = play(runtime, work(image, limits=LIMITS))
    plain = DockerRuntime(runtime._folder, settings=replace(settings, runtime=""))
    outside, _ = play(plain, work(image, limits=LIMITS))
    assert get_line(inside) == get_line(outside)


def test_no_way_out_is_open_in_gvisor(
    runtime: DockerRuntime, admitted: Callable[..., AgentImage], work: Callable[..., ShardWork]
) -> None:
    """The attempts of the escape suite, without those that need a service on the host; reasons are gVisor's own."""
    image = admitted(
        (AGENTS / "prober.py").read_text(),
        "ENV HOST_ADDRESSES=192.0.2.1 HOST_PORT=9\nENV HOST_ABSTRACT_SOCKET=x HOST_MARKER=x\n",
    )
    _, log = play(runtime, work(image, limits=LIMITS.model_copy(update={"log_kb": 256})))
    found = [json.loads(line) for line in re.findall(r"^REPORT (.*)", log, re.MULTILINE)]
    got = {entry["attempt"]: entry["got"] for entry in found if entry["got"] is not None}
    assert len(found) >= 30  # up to the one that wants lines of /proc which gVisor does not have
    assert got.keys() <= OF_ITS_OWN_KERNEL


def test_a_runtime_that_is_not_there_is_refused(runtime: DockerRuntime, settings: DockerSettings) -> None:
    with pytest.raises(RuntimeUnavailable):
        DockerRuntime(runtime._folder, settings=replace(settings, runtime="no-such-runtime")).probe()
