"""A probe cell: what an engine builds around an agent, measured from inside, before the first agent is let in.

An engine may say that it has a wall and leave it out without a word: rootless ones ignore limits on cgroup v1, old
sandboxes cut the socket between agent and simulator. So a worker that starts plays against a cell of its own, with the
flags of an agent's: it looks around, answers on the socket, then takes memory and starts threads until it is stopped.
"""

import json
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import docker
from docker.errors import APIError, DockerException
from docker.models.containers import Container
from requests.exceptions import RequestException

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval_worker.runtime.base import CellWork
from nav_eval_worker.runtime.containers import spec, volumes
from nav_eval_worker.runtime.containers.engine import DockerSettings, translate_engine_errors

MEMORY_MB, PIDS = 256, 256
LIMITS = LimitsConfig(memory_gb=MEMORY_MB / 1000, cpus=1.0, shm_gb=0.016, pids=PIDS, log_kb=64)
SECONDS = 120.0
LAST_WORDS_SECONDS = 5.0
"""What a cell had answered before it failed, its peer has read by then."""
LOOK_SECONDS = 0.1
NEVER_ENDED = -1
_TROUBLE = (DockerException, RequestException, OSError)
_NOTHING = "0000000000000000"

CELL = """
import ctypes, errno, json, os, socket, threading, time

def can(action):
    try:
        action()
    except OSError:
        return False
    return True

def connect():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outside:
        outside.connect(("192.0.2.1", 9))

def is_open(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(number, *arguments) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)

status = dict(line.rstrip().split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
facts = {
    "kernel": os.uname().release,
    "uid": os.getuid(),
    "capabilities": status.get("CapEff", ""),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "reaches_network": can(connect),
    "writes_root": can(lambda: open("/probe", "w").close()),
    "writes_pictures": can(lambda: open("/obs/probe", "w").close()),
    "has_io_uring": is_open(425, 1, 0),
    "has_namespaces": ctypes.CDLL(None).unshare(0x10000000) == 0,
}
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["NAV_EVAL_SOCKET"])
os.chmod(os.environ["NAV_EVAL_SOCKET"], 0o666)
server.listen()
server.settimeout(60)
peer, _ = server.accept()
peer.sendall(json.dumps(facts).encode())
peer.close()
if os.fork() == 0:
    taken = []
    for megabytes in range(16, 1024, 16):
        taken.append(b"x" * (16 << 20))
        print("MEMORY", megabytes, flush=True)
    os._exit(0)
os.wait()
started = 0
try:
    while started < 1000:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
        started += 1
except RuntimeError:
    pass
print("THREADS", started, flush=True)
os._exit(0)
"""

PEER = """
import os, socket, sys, time

last = time.monotonic() + 30
while True:
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect("/rpc/agent.sock")
        break
    except OSError as error:
        if time.monotonic() > last:
            sys.exit(str(error))
        time.sleep(0.1)
peer.settimeout(30)
while data := peer.recv(65536):
    sys.stdout.write(data.decode())
print("\\n" + os.uname().release)
"""


def find_missing_walls(client: docker.DockerClient, settings: DockerSettings) -> list[str]:
    """What a cell on this engine lacks; nothing if all is as it should be."""
    work = CellWork(run=f"probe-{uuid.uuid4().hex}", worker="probe", limits=LIMITS)
    made: list[Container] = []
    try:
        with translate_engine_errors():
            for part, options in spec.list_shared_volumes(work, settings).items():
                mark = spec.make_labels(work, settings, part)
                volumes.make_memory(client, spec.make_name(work, part), options=options, labels=mark)
            made.append(_create(client, settings, spec.make_agent(work, settings, volumes=()), CELL))
            made.append(_create(client, settings, spec.make_peer(work, settings), PEER))
            return _play(made[0], made[1])
    finally:
        _remove(client, work, made)


def _create(client: docker.DockerClient, settings: DockerSettings, options: dict[str, Any], script: str) -> Container:
    return client.containers.create(
        settings.simulator_image, **options, entrypoint=["python3", "-I", "-c"], command=[script]
    )


def _play(cell: Container, peer: Container) -> list[str]:
    cell.start()
    peer.start()
    code = wait_for_peer(peer, cell)
    said = peer.logs(stdout=True, stderr=False).decode(errors="replace")
    if code or not said:
        heard = cell.logs(tail=5).decode(errors="replace").strip()
        return [f"a socket that a simulator could reach (the cell said: {heard or 'nothing'})"]
    with suppress(*_TROUBLE):
        cell.wait(timeout=SECONDS)
    facts, _, kernel = said.strip().partition("\n")
    return judge_facts(json.loads(facts), kernel=kernel) + judge_limits(
        cell.logs(stdout=True, stderr=False).decode(errors="replace")
    )


def wait_for_peer(peer: Container, cell: Container) -> int:
    """Its exit code. It need not look for a cell that has failed for as long as for one that is slow."""
    last = time.monotonic() + SECONDS
    while (code := _get_exit_code(peer)) is None and time.monotonic() < last:
        if _get_exit_code(cell):
            last = min(last, time.monotonic() + LAST_WORDS_SECONDS)
        time.sleep(LOOK_SECONDS)
    return NEVER_ENDED if code is None else code


def _get_exit_code(container: Container) -> int | None:
    container.reload()
    state = container.attrs["State"]
    return int(state["ExitCode"]) if state["Status"] in ("exited", "dead") else None


def judge_facts(facts: Mapping[str, Any], *, kernel: str) -> list[str]:
    """Which walls are missing by what the cell saw. KERNEL is what its peer, without a sandbox, runs on.

    A sandbox such as gVisor is a kernel of its own, which makes namespaces of its own: they lead nowhere.
    """
    has_namespaces = facts["has_namespaces"] and facts["kernel"] == kernel
    found = {
        "user without rights": facts["uid"] == 0 or facts["capabilities"] not in ("", _NOTHING),
        "network of its own without a way out": facts["reaches_network"] or set(facts["interfaces"]) - {"lo"},
        "read-only root": facts["writes_root"],
        "pictures that it cannot change": facts["writes_pictures"],
        "filter of system calls": facts["has_io_uring"] or has_namespaces,
    }
    return [wall for wall, is_missing in found.items() if is_missing]


def judge_limits(output: str) -> list[str]:
    """Which limits did not hold. A sandbox that ends as a whole at its limit prints no more: that holds, too."""
    numbers: dict[str, int] = {}
    for line in output.splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            numbers[name] = max(int(number), numbers.get(name, 0))
    limits = {"limit of memory": ("MEMORY", MEMORY_MB + 64), "limit of processes": ("THREADS", PIDS + 16)}
    return [wall for wall, (name, most) in limits.items() if numbers.get(name, 0) > most]


def _remove(client: docker.DockerClient, work: CellWork, made: list[Container]) -> None:
    """What is left all the same, the next sweep finds by its label."""
    for container in made:
        with suppress(*_TROUBLE):
            container.remove(force=True, v=True)
    for part in ("rpc", "obs"):
        with suppress(APIError, *_TROUBLE):
            client.volumes.get(spec.make_name(work, part)).remove(force=True)
