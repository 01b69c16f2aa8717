"""Agents as local processes, for installations in which everybody trusts everybody: `make demo`, a laptop, a test.

Nothing is isolated here. The image's files are unpacked into a folder, and its command is run as a
process of this machine, with our own Python where the image says `python`. It must be asked for
by name (`NAV_EVAL_RUNTIME=process`); strangers' images belong into the `docker` runtime.
"""

import hashlib
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from nav_eval.agents.description import short
from nav_eval.agents.failures import AgentCrash
from nav_eval.agents.process import OUT_OF_MEMORY, ending
from nav_eval.causes import Cause
from nav_eval.evaluation.shard_protocol import LONGEST_MESSAGE, Message, decode_message
from nav_eval_worker.archives import (
    IMAGE_LIMITS,
    WEIGHTS_LIMITS,
    ArchiveLimits,
    ImageSummary,
    rewrite_archive,
    unpack_weights,
)
from nav_eval_worker.archives.rootfs import resolved, unpack_image
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import (
    SOCKET_NAME,
    WEIGHTS_VARIABLE,
    AgentEnd,
    Image,
    Pair,
    ReplayWork,
    Runtime,
    RuntimeUnavailable,
    ShardWork,
    Simulation,
    Usage,
    Weights,
    order_of,
    replay_order_of,
)
from nav_eval_worker.runtime.kept import Kept, NotStarted
from nav_eval_worker.runtime.logs import CappedLog
from nav_eval_worker.runtime.shelf import Shelf

SIMULATOR_LOG = 64 << 10
SOCKETS = "nav-eval-run-"
"""Folders of sockets, in the system's temporary folder: a socket's path must be short. Other installations have
theirs there, too, so that the name goes on with a mark of ours."""
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV", "GALLIUM_DRIVER")
_PASSED_ON_PREFIXES = (
    "LC_",
    "LD_",
    "MESA",
    "LIBGL",
    "EGL",
    "__EGL",
    "NVIDIA",
    "CUDA",
    "NUMBA",
    "XDG_",
    "PYTHON",
    "COV",
)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """How an image wants to be started; kept beside its files."""

    command: tuple[str, ...]
    environment: tuple[str, ...]
    working_dir: str

    @classmethod
    def of(cls, summary: ImageSummary) -> "Start":
        command = (*summary.entrypoint, *summary.command)
        return cls(command=command, environment=summary.environment, working_dir=summary.working_dir)


class ProcessRuntime(Runtime):
    """Everything on this machine, as this user."""

    name = "process"

    def __init__(self, folder: Path, *, cache: Path) -> None:
        """`folder` keeps images and weights by digest; `cache` is the engine's."""
        self._images = Shelf(folder / "images")
        self._weights = Shelf(folder / "weights")
        self._cache = cache
        self._sockets = f"{SOCKETS}{hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]}-"

    def check(self) -> None:
        if not sys.platform.startswith("linux"):
            raise RuntimeUnavailable("The process runtime needs Linux.")

    def find(self, image_id: str) -> Image | None:
        folder = self._images.find(image_id)
        return None if folder is None else Image(id=image_id, handle=str(folder))

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> Image:
        with self._images.making() as folder:
            canonical = folder / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            unpack_image(canonical, folder / "root", summary, limits=limits)
            canonical.unlink()
            (folder / "start.json").write_bytes(msgspec.json.encode(Start.of(summary)))
            kept = self._images.keep(folder, summary.image_id)
        return Image(id=summary.image_id, handle=str(kept), summary=summary)

    def find_weights(self, digest: str) -> Weights | None:
        folder = self._weights.find(digest)
        return None if folder is None else Weights(digest=digest, handle=str(folder / "weights"))

    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        with self._weights.making() as folder:
            unpack_weights(archive, folder / "weights", limits)
            kept = self._weights.keep(folder, digest)
        return Weights(digest=digest, handle=str(kept / "weights"))

    @contextmanager
    def run(self, work: ShardWork) -> Iterator[Pair]:
        with ExitStack() as stack:
            sockets = Path(tempfile.mkdtemp(prefix=f"{self._sockets}{work.run}-"))
            stack.callback(shutil.rmtree, sockets, ignore_errors=True)
            pair = ProcessPair(limit=work.limits.log_kb << 10)
            stack.callback(pair.stop)
            if work.image is not None:
                pair.agent = _start_agent(work, work.image, sockets / SOCKET_NAME)
            pair.simulator = self._start_simulator(work, sockets / SOCKET_NAME)
            pair.listen()
            yield pair

    def _start_simulator(self, work: ShardWork, socket: Path) -> Kept:
        order = work.folder / "order.json"
        order.write_bytes(msgspec.json.encode(order_of(work, socket=socket, cache=self._cache)))
        return _simulator("shard", order)

    @contextmanager
    def replay(self, work: ReplayWork) -> Iterator[Simulation]:
        order = work.folder / "order.json"
        order.write_bytes(msgspec.json.encode(replay_order_of(work, run=work.folder, cache=self._cache)))
        simulation = ProcessPair()
        try:
            simulation.simulator = _simulator("replay_run", order)
            simulation.listen()
            yield simulation
        finally:
            simulation.stop()

    def sweep(self, is_active: Callable[[str], bool]) -> int:
        found = {f: f.name.removeprefix(self._sockets) for f in Path(tempfile.gettempdir()).glob(f"{self._sockets}*")}
        dead = [folder for folder, name in found.items() if not is_active(name.rpartition("-")[0])]
        for folder in dead:  # the processes themselves ended with their worker: their keepers saw to it
            shutil.rmtree(folder, ignore_errors=True)
        self._images.tidy()
        self._weights.tidy()
        return len(dead)


def _simulator(program: str, order: Path) -> Kept:
    command = [sys.executable, "-m", f"nav_eval.evaluation.{program}", str(order)]
    return Kept(command, environment=_environment(), errors=False)


def _start_agent(work: ShardWork, image: Image, socket: Path) -> Kept:
    folder = Path(image.handle)
    root, start = folder / "root", msgspec.json.decode((folder / "start.json").read_bytes(), type=Start)
    there = resolved(root, start.working_dir)
    there.mkdir(parents=True, exist_ok=True)
    command = [_word(root, word, is_program=index == 0) for index, word in enumerate(start.command)]
    settings = {
        **_environment(),
        **_image_environment(root, start.environment),
        "HOME": str(work.folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "NAV_EVAL_SOCKET": str(socket),
        "NAV_EVAL_ADDRESS": f"unix:{socket}",
        "NAV_EVAL_PROTOCOL": "grpc",
        **({} if work.weights is None else {WEIGHTS_VARIABLE: work.weights.handle}),
    }
    try:
        return Kept(command, environment=settings, folder=there)
    except NotStarted as refusal:
        raise AgentCrash(str(refusal)) from refusal


def _word(root: Path, word: str, *, is_program: bool) -> str:
    """A word of the image's command as it makes sense outside the image."""
    if is_program and Path(word).name in ("python", "python3"):
        return sys.executable
    if word.startswith("/") and (inside := resolved(root, word)).exists():
        return str(inside)
    return word


def _image_environment(root: Path, assignments: tuple[str, ...]) -> dict[str, str]:
    """The image's variables; paths in them are those of its folder, and its PATH means nothing here."""
    variables = dict(assignment.split("=", 1) for assignment in assignments if "=" in assignment)
    variables.pop("PATH", None)
    return {
        name: ":".join(_word(root, part, is_program=False) for part in value.split(":"))
        for name, value in variables.items()
    }


def _environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without anything that could be a secret."""
    variables = os.environ if environ is None else environ
    return {
        name: value for name, value in variables.items() if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }


class ProcessPair(Pair):
    """Two processes, each with its keeper; or a simulator alone."""

    agent: Kept | None = None
    simulator: Kept

    def __init__(self, *, limit: int = 0) -> None:
        self._log = CappedLog(limit)
        self._simulator_log = CappedLog(SIMULATOR_LOG)
        self._stopped = threading.Event()
        self._readers: list[threading.Thread] = []

    def listen(self) -> None:
        """Take what both print, so that neither waits for us."""
        self._read(self.simulator.errors, self._simulator_log)
        if self.agent is not None:
            self._agent_reader = self._read(self.agent.output, self._log)

    def _read(self, stream: BinaryIO, log: CappedLog) -> threading.Thread:
        def pump() -> None:
            while chunk := stream.read1(1 << 16):  # type: ignore[attr-defined]
                log.write(chunk)

        thread = threading.Thread(target=pump, name="log", daemon=True)
        thread.start()
        self._readers.append(thread)
        return thread

    def messages(self) -> Iterator[Message]:
        while line := self.simulator.output.readline(LONGEST_MESSAGE):
            if self._stopped.is_set():
                return
            if not line.endswith(b"\n"):
                return  # it died while it spoke
            yield decode_message(line)

    def agent_end(self) -> AgentEnd | None:
        if self.agent is None or self._stopped.is_set() or (end := self.agent.wait(1.0)) is None:
            return None
        self._agent_reader.join(timeout=0.5)
        lines = self._log.last_words(4096).decode(errors="replace").strip().splitlines()
        last = short(" | ".join(lines[-5:]), limit=1000)
        how = "nobody knows how" if end.code is None else ending(end.code)
        said = f" Its last words: {last}" if last else ""
        cause = Cause.AGENT_OOM if OUT_OF_MEMORY.search(last) else Cause.AGENT_CRASH
        return AgentEnd(cause=cause, detail=f"The agent's process ended with {how}.{said}")

    def take_log(self) -> bytes:
        return self._log.take()

    def simulator_log(self) -> bytes:
        return self._simulator_log.last_words(SIMULATOR_LOG)

    def usage(self) -> Usage:
        if self.agent is None:
            return Usage()
        end = self.agent.wait(0.0) or self.agent.so_far()
        return Usage(cpu_seconds=end.cpu_seconds, memory_bytes=end.memory_bytes)

    def stop(self) -> None:
        self._stopped.set()
        if hasattr(self, "simulator"):
            self.simulator.stop(at_once=True)
        if self.agent is not None:
            self.agent.stop()
        for reader in self._readers:
            reader.join(timeout=1.0)
