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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from nav_eval.agents.failures import AgentCrash
from nav_eval.child_process import ProcessNotStarted, ReapedProcess
from nav_eval.evaluation.shard_protocol import LONGEST_MESSAGE, Message, decode_message
from nav_eval_worker.archives import (
    IMAGE_LIMITS,
    WEIGHTS_LIMITS,
    ArchiveLimits,
    ImageSummary,
    rewrite_archive,
    unpack_weights,
)
from nav_eval_worker.archives.rootfs import resolve_path, unpack_image
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.agent_end import LOG_TAIL, AgentEnd, describe_end
from nav_eval_worker.runtime.base import (
    SOCKET_NAME,
    WEIGHTS_VARIABLE,
    AgentImage,
    Pair,
    ReplayWork,
    Runtime,
    RuntimeUnavailable,
    ShardWork,
    Simulation,
    Usage,
    Weights,
    make_replay_order,
    make_shard_order,
)
from nav_eval_worker.runtime.output import CappedLog

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


class StartCommand(msgspec.Struct, frozen=True, kw_only=True):
    """How an image wants to be started; kept beside its files."""

    command: tuple[str, ...]
    environment: tuple[str, ...]
    working_dir: str

    @classmethod
    def from_summary(cls, summary: ImageSummary) -> "StartCommand":
        command = (*summary.entrypoint, *summary.command)
        return cls(command=command, environment=summary.environment, working_dir=summary.working_dir)


class ProcessRuntime(Runtime):
    """Everything on this machine, as this user."""

    name = "process"

    def __init__(self, folder: Path, *, cache: Path) -> None:
        """`folder` keeps images and weights by digest; `cache` is the engine's."""
        self._images = DigestStore(folder / "images")
        self._weights = DigestStore(folder / "weights")
        self._cache = cache
        self._sockets = f"{SOCKETS}{hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:8]}-"

    def check(self) -> None:
        if not sys.platform.startswith("linux"):
            raise RuntimeUnavailable("The process runtime needs Linux.")

    def find(self, image_id: str) -> AgentImage | None:
        folder = self._images.find(image_id)
        return None if folder is None else AgentImage(id=image_id, handle=str(folder))

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> AgentImage:
        with self._images.make_entry() as folder:
            canonical = folder / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            unpack_image(canonical, folder / "root", summary, limits=limits)
            canonical.unlink()
            (folder / "start.json").write_bytes(msgspec.json.encode(StartCommand.from_summary(summary)))
            kept = self._images.keep(folder, summary.image_id)
        return AgentImage(id=summary.image_id, handle=str(kept), summary=summary)

    def find_weights(self, digest: str) -> Weights | None:
        folder = self._weights.find(digest)
        return None if folder is None else Weights(digest=digest, handle=str(folder / "weights"))

    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        with self._weights.make_entry() as folder:
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

    def _start_simulator(self, work: ShardWork, socket: Path) -> ReapedProcess:
        order = work.folder / "order.json"
        order.write_bytes(msgspec.json.encode(make_shard_order(work, socket=socket, cache=self._cache)))
        return _start_program("nav_eval.evaluation.shard", order)

    @contextmanager
    def replay(self, work: ReplayWork) -> Iterator[Simulation]:
        order = work.folder / "order.json"
        order.write_bytes(msgspec.json.encode(make_replay_order(work, run=work.folder, cache=self._cache)))
        simulation = ProcessPair()
        try:
            simulation.simulator = _start_program("nav_eval.replay.process", order)
            simulation.listen()
            yield simulation
        finally:
            simulation.stop()

    def sweep(self, is_active: Callable[[str], bool]) -> int:
        found = {f: f.name.removeprefix(self._sockets) for f in Path(tempfile.gettempdir()).glob(f"{self._sockets}*")}
        dead = [folder for folder, name in found.items() if not is_active(name.rpartition("-")[0])]
        for folder in dead:  # the processes themselves ended with their worker: their reapers saw to it
            shutil.rmtree(folder, ignore_errors=True)
        self._images.tidy()
        self._weights.tidy()
        return len(dead)


def _start_program(program: str, order: Path) -> ReapedProcess:
    command = [sys.executable, "-m", program, str(order)]
    environment = {**_make_environment(), "OPENBLAS_NUM_THREADS": "1"}  # a second one would only wait, in circles
    return _start(command, environment=environment, errors=False)


def _start(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path | None = None, errors: bool = True
) -> ReapedProcess:
    try:
        return ReapedProcess(command, environment=environment, folder=folder, errors=errors)
    except OSError as error:
        raise RuntimeUnavailable(f"Cannot start a process: {error.strerror}.") from error


def _start_agent(work: ShardWork, image: AgentImage, socket: Path) -> ReapedProcess:
    folder = Path(image.handle)
    root, start = folder / "root", msgspec.json.decode((folder / "start.json").read_bytes(), type=StartCommand)
    there = resolve_path(root, start.working_dir)
    there.mkdir(parents=True, exist_ok=True)
    command = [_translate_word(root, word, is_program=index == 0) for index, word in enumerate(start.command)]
    settings = {
        **_make_environment(),
        **_translate_environment(root, start.environment),
        "HOME": str(work.folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUNBUFFERED": "1",
        "NAV_EVAL_SOCKET": str(socket),
        "NAV_EVAL_ADDRESS": f"unix:{socket}",
        "NAV_EVAL_PROTOCOL": "grpc",
        **({} if work.weights is None else {WEIGHTS_VARIABLE: work.weights.handle}),
    }
    try:
        return _start(command, environment=settings, folder=there)
    except ProcessNotStarted as refusal:
        raise AgentCrash(str(refusal)) from refusal


def _translate_word(root: Path, word: str, *, is_program: bool) -> str:
    """A word of the image's command as it makes sense outside the image."""
    if is_program and Path(word).name in ("python", "python3"):
        return sys.executable
    if word.startswith("/") and (inside := resolve_path(root, word)).exists():
        return str(inside)
    return word


def _translate_environment(root: Path, assignments: tuple[str, ...]) -> dict[str, str]:
    """The image's variables; paths in them are those of its folder, and its PATH means nothing here."""
    variables = dict(assignment.split("=", 1) for assignment in assignments if "=" in assignment)
    variables.pop("PATH", None)
    return {
        name: ":".join(_translate_word(root, part, is_program=False) for part in value.split(":"))
        for name, value in variables.items()
    }


def _make_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, without anything that could be a secret."""
    variables = os.environ if environ is None else environ
    return {
        name: value for name, value in variables.items() if name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIXES)
    }


class ProcessPair(Pair):
    """Two processes, each with its reaper; or a simulator alone."""

    agent: ReapedProcess | None = None
    simulator: ReapedProcess

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

    def agent_end(self, *, patience: float = 1.0) -> AgentEnd | None:
        if self.agent is None or self._stopped.is_set() or (end := self.agent.wait(patience)) is None:
            return None
        self._agent_reader.join(timeout=0.5)
        return describe_end(end.code, self._log.read_tail(LOG_TAIL), what="process")

    def take_log(self, *, whole_lines: bool = False) -> bytes:
        return self._log.take(whole_lines=whole_lines)

    def simulator_log(self) -> bytes:
        return self._simulator_log.read_tail(SIMULATOR_LOG)

    def usage(self) -> Usage:
        if self.agent is None:
            return Usage()
        end = self.agent.wait(0.0) or self.agent.measure()
        return Usage(cpu_seconds=end.cpu_seconds, memory_bytes=end.memory_bytes)

    def stop(self) -> None:
        self._stopped.set()
        if hasattr(self, "simulator"):
            self.simulator.stop(at_once=True)
        if self.agent is not None:
            self.agent.stop()
        for reader in self._readers:
            reader.join(timeout=1.0)


IDLE_SECONDS = 14 * 86_400.0
"""After which nobody will ask for it; and if somebody does, it is made again."""
PART = ".part"


class DigestStore:
    """`folder/<digest>`, each a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, digest: str) -> Path | None:
        """What is kept under DIGEST; asking counts as use."""
        place = self._place(digest)
        try:
            os.utime(place)
        except FileNotFoundError:
            return None
        return place

    @contextmanager
    def make_entry(self) -> Iterator[Path]:
        """An empty folder to fill; `keep` it before the block ends, or it is gone."""
        self._folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(suffix=PART, dir=self._folder))
        try:
            yield part
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def keep(self, part: Path, digest: str) -> Path:
        """Give it its name. Whoever was first is right: equal digests mean equal content."""
        place = self._place(digest)
        with suppress(OSError):  # it is there already
            part.rename(place)
        os.utime(place)
        return place

    def tidy(self, *, idle_seconds: float = IDLE_SECONDS) -> int:
        """Drop what was not used for long, and what dead workers left half made."""
        dropped = 0
        for place in self._folder.iterdir() if self._folder.is_dir() else ():
            with suppress(FileNotFoundError):
                if time.time() - place.stat().st_mtime > idle_seconds:
                    dropped += 1
                    shutil.rmtree(place, ignore_errors=True)
        return dropped

    def _place(self, digest: str) -> Path:
        kind, _, value = digest.rpartition(":")
        if kind not in ("", "sha256") or len(value) != 64 or set(value) - set("0123456789abcdef"):
            raise ValueError(f"{digest!r} is no sha256")
        return self._folder / value
