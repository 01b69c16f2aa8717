"""Everything that an agent may try against us, on a real engine: it fails, and the run ends with a named cause.

What each attempt gets stands in docs/security.md, in two tables; the tests here hold the engine to them, word for word.
"""

import hashlib
import json
import re
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval_worker.jobs.agent_session import AgentSession
from nav_eval_worker.lease_keeper import LeaseKeeper
from nav_eval_worker.runtime.base import AgentImage, ShardWork, Weights
from nav_eval_worker.runtime.containers import seccomp
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import ROOT, DockerEngine, packed

Admit = Callable[..., AgentImage]
Work = Callable[..., ShardWork]

AGENTS = Path(__file__).parent / "agents"
PIDS = {"": 64, "runsc": 256}
"""gVisor itself needs some thirty of them, and a process of the agent's is more than one to the host."""
SMALL = LimitsConfig(memory_gb=0.5, cpus=1.0, shm_gb=0.02, pids=PIDS[""], log_kb=16, start_seconds=60, step_seconds=20)
IMPATIENT = {"silence": {"start_seconds": 6.0}, "hang": {"step_seconds": 5.0}}
FORK_SECONDS = {"": 6.0, "runsc": 60.0}
"""Under runc a fork bomb sits at its limit until its time is up; gVisor ends at the limit."""
SCORED = "scored"
OF_ITS_OWN_KERNEL = "its own kernel's alone"
"""What the documentation says where a sandbox's kernel gives something that the host knows nothing of."""
#: all capabilities, permitted and effective, as `setcap` would write it: revision 2, then five words
ALL_CAPABILITIES = "01000002" + "ffffffff00000000" * 2


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended, in the words of the worker."""

    ended: str  #: the cause, or that it was scored
    detail: str
    lines: list[dict[str, Any]]
    log: str
    words: int  #: bytes that the agent printed in an episode, as far as they were kept
    seconds: tuple[float, float]

    @property
    def scores(self) -> list[object]:
        return [(line["episode_id"], line["status"], line["metrics"], line["num_steps"]) for line in self.lines]


def played(runtime: DockerRuntime, work: ShardWork) -> Outcome:
    """A pair, listened to as a worker does."""
    began = time.monotonic()
    lease = SimpleNamespace(id=work.run)
    held = SimpleNamespace(check=lambda: None, record_activity=lambda: None, reason=None, lease=lease)
    with runtime.run(work) as pair:
        play = AgentSession(pair, cast(LeaseKeeper, held))
        episodes = [finished for finished in play.episodes() if finished is not None]
        log = (play.output + pair.take_log()).decode(errors="replace")
    lines = [json.loads(finished.line.to_bytes()) for finished in episodes]
    named = [(str(line["cause"]), str(line.get("detail"))) for line in lines if line.get("cause")]
    if not named and play.failure is not None:
        named = [(str(play.failure.cause), str(play.failure))]
    ended, detail = named[0] if named else (SCORED, "")
    words = max((len(finished.output) for finished in episodes), default=0)
    return Outcome(ended=ended, detail=detail, lines=lines, log=log, words=words, seconds=(began, time.monotonic()))


@pytest.fixture(params=["", "runsc"], ids=["runc", "gvisor"])
def settings(request: pytest.FixtureRequest, engine: DockerEngine, settings: DockerSettings) -> DockerSettings:
    """Everything is tried twice: on the host's own kernel, and in gVisor."""
    if request.param:
        engine.add_gvisor()
    return replace(settings, runtime=request.param)


def limit(settings: DockerSettings, **more: float) -> LimitsConfig:
    return SMALL.model_copy(update={"pids": PIDS[settings.runtime], **more})


def documented(heading: str, runtime: str = "") -> dict[str, str]:
    """What docs/security.md says of each attempt under a heading; gVisor's column is empty where it is the same."""
    text = (ROOT / "docs" / "security.md").read_text().partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    rows = [
        [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line.startswith("| `")
    ]
    return {row[0]: row[3] if runtime and row[3] else row[2] for row in rows}


def attempts(file: str) -> list[str]:
    """The names of the attempts, as the source lists them."""
    source = (AGENTS / file).read_text()
    listed = " ".join(re.findall(r"^(?:EARLY|PLAYING) = \((.*?)\)", source, re.DOTALL | re.MULTILINE))
    return re.findall(r"\w+", listed)


class Service:
    """Something that listens on every address of the host, as a published database would, and on an abstract socket."""

    def __init__(self) -> None:
        self._sockets = [socket.create_server(("0.0.0.0", 0)), socket.socket(socket.AF_UNIX)]
        self.port = self._sockets[0].getsockname()[1]
        self.name = f"nav-eval-{uuid.uuid4().hex}"
        self._sockets[1].bind(f"\0{self.name}")
        self._sockets[1].listen()
        self.visitors: list[str] = []
        for listening in self._sockets:
            threading.Thread(target=self._accept, args=[listening], daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, address = listening.accept()
            except OSError:
                return
            self.visitors.append(str(address))
            connection.close()

    def close(self) -> None:
        for listening in self._sockets:
            listening.close()


@pytest.fixture
def host_service() -> Iterator[Service]:
    service = Service()
    with socket.create_connection((host_addresses()[0], service.port)):
        pass  # from the host itself it can be reached
    while not service.visitors:
        time.sleep(0.01)
    service.visitors.clear()
    yield service
    service.close()


@pytest.fixture
def host_marker() -> Iterator[Path]:
    marker = Path("/var/tmp") / f"nav-eval-secret-{uuid.uuid4().hex}"
    marker.write_text("the organiser's")
    yield marker
    marker.unlink()


def host_addresses() -> list[str]:
    """By which a container with a network could reach this host."""
    said = subprocess.run(["ip", "-o", "addr", "show"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"inet6? ([\da-f.:]+)/\d+.* scope global", said)
    return found or pytest.fail("this host has no address")


def test_every_way_out_is_closed(
    runtime: DockerRuntime,
    settings: DockerSettings,
    admitted: Admit,
    work: Work,
    host_service: Service,
    host_marker: Path,
) -> None:
    give = f"os.setxattr('/agent/capsh', 'security.capability', bytes.fromhex('{ALL_CAPABILITIES}'))"
    image = admitted(
        (AGENTS / "prober.py").read_text(),
        f"ENV HOST_ADDRESSES={','.join(host_addresses())} HOST_PORT={host_service.port}\n"
        f"ENV HOST_ABSTRACT_SOCKET={host_service.name} HOST_MARKER={host_marker}\n"
        "USER root\nRUN cp /bin/bash /agent/rootsh && chmod 4755 /agent/rootsh && cp /bin/bash /agent/capsh "
        f'&& python3 -c "import os; {give}"\nVOLUME /scratch\n',
    )
    outcome = played(runtime, work(image, limits=limit(settings, log_kb=64)))
    found = [json.loads(line.removeprefix("REPORT ")) for line in re.findall(r"^REPORT .*", outcome.log, re.MULTILINE)]
    assert outcome.ended == SCORED, outcome.detail + outcome.log
    expected = documented("Ways out", settings.runtime)
    granted = {attempt for attempt, said in expected.items() if said == OF_ITS_OWN_KERNEL}
    assert {entry["attempt"] for entry in found if entry["got"] is not None} == granted, found
    assert [entry["attempt"] for entry in found] == attempts("prober.py")
    odd = {
        entry["attempt"]: entry["why"]
        for entry in found
        if entry["attempt"] not in granted and not _reasons(entry["why"]) <= _reasons(expected[entry["attempt"]])
    }
    assert odd == {}
    assert host_service.visitors == []


def _reasons(text: str) -> set[str]:
    """An attempt of many parts is refused for several reasons; hosts differ in how many of them there are."""
    return set(text.split("; "))


def test_bombs_hurt_their_own_run_alone(
    engine: DockerEngine,
    runtime: DockerRuntime,
    settings: DockerSettings,
    admitted: Admit,
    work: Work,
    tmp_path: Path,
) -> None:
    image = admitted((AGENTS / "bombs.py").read_text(), "VOLUME /scratch\n")
    expected = documented("Bombs and bad behaviour", settings.runtime)
    weights = {name: chosen(runtime, name, tmp_path) for name in ("neighbour", "slow_neighbour", *expected)}
    small = limit(settings)
    alone = played(runtime, work(image, weights=weights["neighbour"], limits=small))

    def explode(bomb: str) -> Outcome:
        patience = {**IMPATIENT, "fork_bomb": {"step_seconds": FORK_SECONDS[settings.runtime]}}
        limits = small.model_copy(update=patience.get(bomb, {}))
        return played(runtime, work(image, weights=weights[bomb], limits=limits))

    beside: list[Outcome] = []
    with ThreadPoolExecutor(2) as pool:
        exploding = {bomb: pool.submit(explode, bomb) for bomb in expected}
        while not all(future.done() for future in exploding.values()):  # somebody honest is always beside them
            beside.append(played(runtime, work(image, weights=weights["slow_neighbour"], limits=small)))
    results = {bomb: future.result() for bomb, future in exploding.items()}

    odd = {
        bomb: outcome.ended for bomb, outcome in results.items() if outcome.ended not in expected[bomb].split(" or ")
    }
    assert odd == {}
    assert (alone.ended, len(alone.scores)) == (SCORED, 1)
    assert [outcome.scores for outcome in beside] == [alone.scores] * len(beside)
    assert {bomb for bomb, outcome in results.items() if any(_overlap(outcome, other) for other in beside)} == {
        *results
    }
    assert [results[bomb].scores for bomb in ("ring_hold", "socket_swap", "log_flood")] == [alone.scores] * 3
    _check_details(results)
    assert ("Resource temporarily unavailable" in results["fork_bomb"].log) is (settings.runtime == "")
    assert engine.client.containers.list(all=True, filters={"label": "nav-eval.run"}) == []
    assert engine.client.volumes.list(filters={"label": "nav-eval.run"}) == []


def _overlap(one: Outcome, other: Outcome) -> bool:
    return one.seconds[0] < other.seconds[1] and other.seconds[0] < one.seconds[1]


def _check_details(results: dict[str, Outcome]) -> None:
    """What a team is told, and what a bomb was told by the engine."""
    logs = {bomb: outcome.log for bomb, outcome in results.items()}
    assert all(outcome.words < (SMALL.log_kb << 10) + 100 for outcome in results.values())
    assert all(len(outcome.detail) < 1200 for outcome in results.values())
    assert "bytes left out" in logs["log_flood"]
    folders = ("/tmp", "/rpc", "/dev/shm", "/scratch")
    filled = dict(re.findall(r"^(\S+): No space left on device after (\d+) MB", logs["disk_fill"], re.MULTILINE))
    assert filled == dict(zip(folders, ("64", "1", "19", "64"), strict=True))
    assert "No space left on device after 31 folders" in logs["inode_fill"]
    assert re.search(r"Too many open files after 40\d\d files", logs["file_bomb"])
    assert "exit code 3" in results["crash"].detail
    assert "weights.pt is missing" in results["crash"].detail
    assert "signal SIGSEGV" in results["fault"].detail
    assert "about to read address 0" in results["fault"].detail
    assert "more memory than the phase allows" in results["memory_bomb"].detail
    assert "6 s" in results["silence"].detail
    assert "5 s" in results["hang"].detail
    assert "is no socket" in results["socket_link"].detail


def chosen(runtime: DockerRuntime, bomb: str, tmp_path: Path) -> Weights:
    """Weights that tell the agent which one it is."""
    archive = tmp_path / f"{bomb}.tar"
    archive.write_bytes(packed({"bomb": bomb}))
    return runtime.admit_weights(archive, digest=f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}")


def test_the_documented_tables_are_what_is_tried() -> None:
    assert sorted(documented("Ways out")) == sorted(attempts("prober.py"))
    assert sorted(documented("Bombs and bad behaviour")) == sorted(attempts("bombs.py"))


def test_our_system_calls_are_fewer_than_the_engines_own(engine: DockerEngine) -> None:
    """Read from what the engine hands to runc for a container that says nothing about system calls."""
    container = engine.client.containers.create("nav-eval-agent:latest", ["sleep", "60"], cap_drop=["ALL"])
    try:
        container.start()
        (file,) = (engine.folder / "exec").rglob(f"{container.id}/config.json")
        rules = json.loads(file.read_text())["linux"]["seccomp"]["syscalls"]
    finally:
        container.remove(force=True)
    theirs = {name for rule in rules if rule["action"] == "SCMP_ACT_ALLOW" for name in rule["names"]}
    assert seccomp.list_allowed_calls() < theirs
    assert not seccomp.list_allowed_calls() & {
        "socket",
        "clone",
        "clone3",
        "io_uring_setup",
        "keyctl",
        "bpf",
        "unshare",
        "ptrace",
    }
