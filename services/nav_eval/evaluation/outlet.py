"""How a simulator's program speaks to whoever started it: messages on standard output, the last says how it went."""

import os
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec

from nav_eval.agents.failures import AgentFailure
from nav_eval.causes import Cause
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.shard_protocol import EXIT_CODES, Beat, Ended, Message

BEAT_SECONDS = 2.0


class Outlet:
    """Where messages go; one at a time, whichever thread has something to say."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    @classmethod
    def on_stdout(cls) -> "Outlet":
        """Standard output is for messages: whatever else prints there goes to standard error from now on."""
        messages = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        return cls(messages)

    def say(self, message: Message) -> None:
        line = msgspec.json.encode(message) + b"\n"
        try:
            with self._lock:
                self._stream.write(line)
                self._stream.flush()
        except OSError:  # nobody listens any more: there is nobody to play for
            os._exit(EXIT_CODES[Cause.INFRASTRUCTURE])

    def tell(self, work: Callable[[], Ended]) -> int:
        """Do `work` with signs of life, and say how it ended, however it did; the program's exit code."""
        with self._beating():
            ended = _ended(work)
        self.say(ended)
        return 0 if ended.cause is None else EXIT_CODES[ended.cause]

    @contextmanager
    def _beating(self) -> Iterator[None]:
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT_SECONDS):
                self.say(Beat())

        thread = threading.Thread(target=beat, name="beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _ended(work: Callable[[], Ended]) -> Ended:
    try:
        return work()
    except NavEvalError as error:
        cause = error.cause if isinstance(error, AgentFailure) else Cause.INFRASTRUCTURE
        return Ended(cause=cause, detail=str(error))
    except Exception as error:  # noqa: BLE001 - the end of the process; the worker must hear of it
        traceback.print_exc()
        return Ended(cause=Cause.INFRASTRUCTURE, detail=f"{type(error).__name__}: {error}")
