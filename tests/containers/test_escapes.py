"""Everything that an agent may try against us, on a real engine: it fails, and the run ends with a named cause.

docs/security.md lists the attempts with their results; a test here keeps that table true.
"""

import hashlib
import json
import re
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nav_eval.causes import Cause
from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.evaluation.shard_protocol import Ended, Played
from nav_eval_worker.runtime.base import Image, Pair, ShardWork, Weights
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import ROOT, DockerEngine, packed

Admit = Callable[..., Image]
Work = Callable[..., ShardWork]

AGENTS = Path(__file__).parent / "agents"
SMALL = LimitsConfig(memory_gb=0.3, cpus=0.5, shm_gb=0.02, pids=64, log_kb=16, start_seconds=90, step_seconds=20)
#: what a bomb does to its own run; None: it was harmless, and the run is scored as any other
BOMBS: dict[str, set[Cause | None]] = {
    "fork_bomb": {None, Cause.AGENT_CRASH, Cause.AGENT_TIMEOUT, Cause.AGENT_OOM},
    "memory_bomb": {Cause.AGENT_OOM},
    "disk_fill": {None, Cause.AGENT_OOM},
    "inode_fill": {Cause.AGENT_CRASH, Cause.AGENT_START_TIMEOUT},
    "log_flood": {None},
    "socket_swap": {None, Cause.AGENT_CRASH, Cause.AGENT_START_TIMEOUT, Cause.PROTOCOL_ERROR},
    "crash": {Cause.AGENT_CRASH},
    "silence": {Cause.AGENT_START_TIMEOUT},
}


class Service:
    """Something that listens on every address of the host, as a published database would."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("0.0.0.0", 0))
        self.port = self._socket.getsockname()[1]
        self.visitors: list[str] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, address = self._socket.accept()
            except OSError:
                return
            self.visitors.append(str(address))
            connection.close()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def host_service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


@pytest.fixture
def host_marker() -> Iterator[Path]:
    marker = Path("/var/tmp") / f"nav-eval-secret-{uuid.uuid4().hex}"
    marker.write_text("the organiser's")
    yield marker
    marker.unlink()


def host_address() -> str:
    """An address of this host that a container with a network could reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])


def cause_of(pair: Pair) -> tuple[Cause | None, str]:
    """How a run ended, in the words of the worker: the agent's own end explains what the simulator saw."""
    cause: Cause | None = None
    detail = "no end"
    for message in pair.messages():
        if isinstance(message, Played) and (seen := json.loads(bytes(message.line)).get("cause")):
            cause, detail = Cause(seen), "episode"
        if isinstance(message, Ended):
            cause, detail = message.cause or cause, message.detail
    end = pair.agent_end()
    if end is not None and cause in (Cause.AGENT_CRASH, Cause.AGENT_TIMEOUT, Cause.AGENT_START_TIMEOUT):
        return end.cause, end.detail
    return cause, detail


def attempts(file: str) -> list[str]:
    """The names of the attempts, as the source lists them."""
    source = (AGENTS / file).read_text()
    listed = "".join(re.findall(r"^(?:EARLY|PLAYING) = \((.*?)\)", source, re.DOTALL | re.MULTILINE))
    return re.findall(r"\w+", listed)


def test_every_way_out_is_closed(
    runtime: DockerRuntime, admitted: Admit, work: Work, host_service: Service, host_marker: Path
) -> None:
    image = admitted(
        (AGENTS / "prober.py").read_text(),
        f"ENV HOST_SERVICE={host_address()}:{host_service.port} HOST_MARKER={host_marker}\n"
        "USER root\nRUN cp /bin/bash /agent/rootsh && chmod 4755 /agent/rootsh\nVOLUME /scratch\n",
    )
    with runtime.run(work(image, limits=SMALL)) as pair:
        cause, detail = cause_of(pair)
        log = pair.take_log().decode()
    found = {}
    for line in log.splitlines():
        if line.startswith("REPORT "):
            entry = json.loads(line.removeprefix("REPORT "))
            found[entry["attempt"]] = entry["got"]
    assert cause is None, detail
    assert {name: got for name, got in found.items() if got is not None} == {"write_outside": "['/scratch']"}
    assert sorted(found) == sorted(attempts("prober.py"))
    assert host_service.visitors == []


def test_bombs_hurt_their_own_run_alone(
    engine: DockerEngine, runtime: DockerRuntime, admitted: Admit, work: Work, tmp_path: Path
) -> None:
    image = admitted((AGENTS / "bombs.py").read_text(), "VOLUME /scratch\n")
    weights = {name: chosen(runtime, name, tmp_path) for name in ("neighbour", *BOMBS)}
    alone = played(runtime, work(image, weights=weights["neighbour"]))

    def explode(bomb: str) -> tuple[Cause | None, str, bytes]:
        limits = SMALL.model_copy(update={"start_seconds": 6.0}) if bomb == "silence" else SMALL
        with runtime.run(work(image, weights=weights[bomb], limits=limits)) as pair:
            cause, detail = cause_of(pair)
            return cause, detail, pair.take_log()

    with ThreadPoolExecutor(3) as pool:
        exploding = {bomb: pool.submit(explode, bomb) for bomb in BOMBS}
        beside = played(runtime, work(image, weights=weights["neighbour"]))
        results = {bomb: future.result(timeout=300) for bomb, future in exploding.items()}

    assert beside == alone
    assert len(alone) == 1
    for bomb, (cause, detail, _) in results.items():
        assert cause in BOMBS[bomb], f"{bomb}: {cause} {detail}"
    logs = {bomb: log.decode(errors="replace") for bomb, (_, _, log) in results.items()}
    assert all(len(log) < 17_000 for log in logs.values())
    assert "bytes left out" in logs["log_flood"]
    assert "No space left on device" in logs["disk_fill"]
    assert "weights.pt is missing" in results["crash"][1]
    assert "exit code 3" in results["crash"][1]
    assert engine.client.containers.list(all=True, filters={"label": "nav-eval.run"}) == []
    assert engine.client.volumes.list(filters={"label": "nav-eval.run"}) == []


def chosen(runtime: DockerRuntime, bomb: str, tmp_path: Path) -> Weights:
    """Weights that tell the agent which one it is."""
    archive = tmp_path / f"{bomb}.tar"
    archive.write_bytes(packed({"bomb": bomb}))
    return runtime.admit_weights(archive, digest=f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}")


def played(runtime: DockerRuntime, order: ShardWork) -> list[object]:
    """What scoring needs of every episode."""
    with runtime.run(order) as pair:
        lines = [json.loads(bytes(message.line)) for message in pair.messages() if isinstance(message, Played)]
    return [(line["episode_id"], line["status"], line["metrics"], line["num_steps"]) for line in lines]


def test_the_documented_table_is_what_is_tried() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    documented = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert documented == {*attempts("prober.py"), *BOMBS}
