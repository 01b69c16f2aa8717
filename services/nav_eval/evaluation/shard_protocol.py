"""What a worker and the simulator's process say to each other, whatever runs the two.

The order goes in as one JSON document. What comes out, on standard output, is one JSON document per
line: first `Ready`, then a `Played` for each episode the moment it ends, a `Beat` now and then, and as the
last thing `Ended`. A finished run that is played again (`ReplayOrder`) answers with `Checked` or `Filmed`.
A stream that stops without `Ended` is a simulator that died: our fault. The exit code repeats the cause for
those who have lost the stream. Nothing here needs a simulator, so that a worker stays small.
"""

import os
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from nav_eval.agents.failures import MAX_DETAIL, AgentFailure, limit_text
from nav_eval.config import BenchmarkConfig, compute_config_digest
from nav_eval.errors import NavEvalError, RecordError
from nav_eval.records.results import Cause

LONGEST_MESSAGE = 64 << 20  #: bytes of one line; no episode has so many steps
EXIT_CODES: Mapping[Cause, int] = {cause: number for number, cause in enumerate(Cause, start=10)}
"""How the program ends, by cause; 0 when every episode was played."""


class BadOrder(RecordError):
    """The order is not one that this simulator can carry out; worker and simulator differ."""


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that the phase allows; what is not given is as the benchmark says."""

    start: float | None = None  #: until the agent answers `Describe`
    step: float | None = None
    episode: float | None = None


class ShardOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Play these episodes of this benchmark against this agent."""

    benchmark: dict[str, Any]  #: the configuration, resolved
    config_digest: str  #: of the same; an order that was cut or mixed up is refused
    episode_ids: tuple[str, ...]
    agent: str  #: `unix:/rpc/agent.sock`, or an organiser's `baseline:NAME`
    run_seed: int = 0
    episode_seed: str | None = None  #: what the agent's names of the episodes are drawn from; None: the dataset's
    cache: str  #: where things are kept that can always be made again
    shared_memory_dir: str | None = None  #: a tmpfs that the agent can read; anonymous memory when not given
    time_limits: TimeLimits = TimeLimits()
    rig: str | None = None  #: that the agent chose when it was tried; None: it may choose


def order_for(
    benchmark: BenchmarkConfig,
    *,
    episode_ids: tuple[str, ...],
    agent: str,
    cache: Path,
    run_seed: int = 0,
    episode_seed: str | None = None,
    time_limits: TimeLimits | None = None,
    shared_memory_dir: Path | None = None,
    rig: str | None = None,
) -> ShardOrder:
    """The order, with the digest that protects it."""
    return ShardOrder(
        benchmark=benchmark.model_dump(mode="json"),
        config_digest=compute_config_digest(benchmark),
        episode_ids=episode_ids,
        agent=agent,
        run_seed=run_seed,
        episode_seed=episode_seed,
        cache=str(cache),
        shared_memory_dir=None if shared_memory_dir is None else str(shared_memory_dir),
        time_limits=time_limits or TimeLimits(),
        rig=rig,
    )


class Purpose(StrEnum):
    """Why a run is played again."""

    CHECK = "check"  #: does it come out as it says
    FILM = "film"  #: for the page that shows it
    VIDEO = "video"  #: for a file to keep


class ReplayOrder(msgspec.Struct, frozen=True, kw_only=True):
    """Play this run again from its logs, without the agent."""

    run: str  #: its folder
    purpose: Purpose
    episodes: int | None = None  #: so many, from the first; None is all
    episode_ids: tuple[str, ...] | None = None  #: these alone; None is all
    cache: str


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag="ready"):
    """The agent has described itself."""

    agent: dict[str, str]  #: name, version and what else it says about itself
    at_once: int = 1  #: episodes played at the same time
    seconds: float = 0.0  #: from the start of the program
    digests: dict[str, str] = {}  #: of configuration, rules and episode set, as the simulator sees them


class Played(msgspec.Struct, frozen=True, kw_only=True, tag="played"):
    """An episode has ended."""

    line: msgspec.Raw  #: its line of episodes.jsonl, as it is


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag="checked"):
    """A run was played again and compared."""

    episodes: int
    missing: int = 0  #: episodes of the run that have no result
    steps: int
    differences: tuple[str, ...] = ()  #: the first of them, in words

    @property
    def equal(self) -> bool:
        return not self.differences


class Filmed(msgspec.Struct, frozen=True, kw_only=True, tag="filmed"):
    """An episode as the replay page shows it."""

    episode_id: str
    replay: msgspec.Raw  #: `nav_eval.replay.model.Replay`


class Drawn(msgspec.Struct, frozen=True, kw_only=True, tag="drawn"):
    """So much of a video is drawn."""

    steps: int
    total: int


class Recorded(msgspec.Struct, frozen=True, kw_only=True, tag="recorded"):
    """An episode as a video."""

    episode_id: str
    video: bytes  #: MP4


class Beat(msgspec.Struct, frozen=True, kw_only=True, tag="beat"):
    """Still here."""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """The program ends; without a cause, all episodes were played."""

    cause: Cause | None = None
    detail: str = ""


Message = Ready | Played | Checked | Filmed | Drawn | Recorded | Beat | Ended

_MESSAGES = msgspec.json.Decoder(Message)


def decode_message(line: bytes) -> Message:
    """One line of the stream."""
    try:
        message: Message = _MESSAGES.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RecordError(f"The simulator's stream has a line that is no message: {error}.") from error
    return message


def read_order(data: bytes) -> tuple[ShardOrder, BenchmarkConfig]:
    """The order and its benchmark, if they belong together."""
    try:
        order = msgspec.json.decode(data, type=ShardOrder)
        benchmark = BenchmarkConfig.model_validate(order.benchmark)
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise BadOrder(f"This is no order: {error}.") from error
    if compute_config_digest(benchmark) != order.config_digest:
        raise BadOrder("The benchmark of the order has another digest than the order says.")
    return order, benchmark


def read_replay_order(data: bytes) -> ReplayOrder:
    try:
        return msgspec.json.decode(data, type=ReplayOrder)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadOrder(f"This is no order: {error}.") from error


BEAT_SECONDS = 2.0


class MessageWriter:
    """Where messages go; one at a time, whichever thread has something to say."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    @classmethod
    def on_stdout(cls) -> "MessageWriter":
        """Standard output is for messages: whatever else prints there goes to standard error from now on."""
        messages = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return cls(messages)

    def write(self, message: Message) -> None:
        line = msgspec.json.encode(message) + b"\n"
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
        except OSError:  # nobody listens any more: there is nobody to play for
            os._exit(EXIT_CODES[Cause.INFRASTRUCTURE])

    def run(self, work: Callable[[], Ended]) -> int:
        """Do `work` with signs of life, and say how it ended, however it did; the program's exit code."""
        with self._send_beats():
            ended = _run_to_end(work)
        self.write(ended)
        return 0 if ended.cause is None else EXIT_CODES[ended.cause]

    @contextmanager
    def _send_beats(self) -> Iterator[None]:
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT_SECONDS):
                self.write(Beat())

        thread = threading.Thread(target=beat, name="beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _run_to_end(work: Callable[[], Ended]) -> Ended:
    try:
        return work()
    except NavEvalError as error:
        cause = error.cause if isinstance(error, AgentFailure) else Cause.INFRASTRUCTURE
        return Ended(cause=cause, detail=limit_text(str(error), limit=MAX_DETAIL))
    except Exception as error:  # noqa: BLE001 - the end of the process; the worker must hear of it
        traceback.print_exc()
        return Ended(
            cause=Cause.INFRASTRUCTURE, detail=limit_text(f"{type(error).__name__}: {error}", limit=MAX_DETAIL)
        )
