"""Worker processes as seen from the process that uses them."""

import contextlib
import multiprocessing
from collections.abc import Iterator, Sequence
from itertools import pairwise
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.envs.vector.line import Line
from nav_eval.envs.vector.memory import Layout, SharedArrays
from nav_eval.envs.vector.messages import Command, Order, Reply
from nav_eval.envs.vector.worker import work
from nav_eval.errors import SimulatorError

PATIENCE = 5.0  #: seconds for a worker to end by itself
_RENDER = msgspec.json.encode(Command(name="render"))


class WorkerFailed(SimulatorError):
    """A worker process of a vector environment failed; the message says why."""


class _Worker(NamedTuple):
    process: BaseProcess
    line: Line
    envs: range


class Workers:
    """Processes that share one memory, with the environments dealt out in equal runs."""

    def __init__(self, layout: Layout, *, count: int, order: dict[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self.memory = SharedArrays.create(layout, context)
        self._workers: list[_Worker] = []
        for envs in _dealt(layout.num_envs, count):
            ours, theirs = Line.pair(context)
            made = Order(envs=list(envs), num_envs=layout.num_envs, arrays=layout.arrays, **order)
            arguments = (theirs, self.memory.memory, msgspec.json.encode(made))
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours, envs))

    def greet(self) -> None:
        """Wait until all are ready."""
        self.collect()

    def reset(self, commands: Sequence[Command]) -> None:
        """One command per worker, in order."""
        for worker, command in zip(self._workers, commands, strict=True):
            _say(worker, msgspec.json.encode(command))

    def step(self) -> None:
        """All environments, with the actions that are in memory."""
        for worker in self._workers:
            with contextlib.suppress(OSError):  # it died; hearing from it says why
                worker.line.nudge()

    def collect(self) -> list[Reply]:
        """What the workers have to tell about the last command; most steps leave nothing to tell."""
        heard = [_hear(worker) for worker in self._workers]
        return [_understood(message) for message in heard if message is not None]

    def render(self) -> list[NDArray[np.uint8]]:
        for worker in self._workers:
            _say(worker, _RENDER)
        return [picture for worker in self._workers for picture in _pictures(worker)]

    @property
    def runs(self) -> list[range]:
        """Which environments each worker has."""
        return [worker.envs for worker in self._workers]

    def close(self) -> None:
        for worker in self._workers:
            worker.line.close()  # the end of its input is the end of its work
        for worker in self._workers:
            worker.process.join(PATIENCE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()


def _say(worker: _Worker, message: bytes) -> None:
    with contextlib.suppress(OSError):  # it died; hearing from it says why
        worker.line.say(message)


def _hear(worker: _Worker) -> bytes | None:
    try:
        return worker.line.hear()
    except (EOFError, OSError) as error:
        worker.process.join(PATIENCE)
        raise WorkerFailed(
            f"The worker of environments {worker.envs.start} to {worker.envs.stop - 1} ended with exit code "
            f"{worker.process.exitcode}; −9 is often a machine out of memory: use fewer environments."
        ) from error


def _understood(message: bytes) -> Reply:
    reply = msgspec.json.decode(message, type=Reply)
    if reply.refusal is not None:
        raise WorkerFailed(reply.refusal)
    return reply


def _pictures(worker: _Worker) -> Iterator[NDArray[np.uint8]]:
    for height, width in _understood(_hear(worker) or b"").pictures:
        yield np.frombuffer(bytearray(_hear(worker) or b""), np.uint8).reshape(height, width, 3)


def _dealt(environments: int, workers: int) -> list[range]:
    """Runs that differ in length by one at most."""
    ends = [environments * n // workers for n in range(workers + 1)]
    return [range(start, end) for start, end in pairwise(ends)]
