"""Reading pictures where the evaluator drew them, instead of receiving copies.

The arrays that an agent gets are views of that memory. Which of them it still has after its answer is
told to the evaluator, which leaves them alone until the agent has dropped them. An agent that keeps
pictures gets copies from then on, so that the evaluator does not run out of room.
"""

from __future__ import annotations

import math
import mmap
import os
import weakref
from pathlib import Path

import numpy as np

from nav_eval_sdk.agent import Array
from nav_eval_sdk.errors import BadRequest
from nav_eval_sdk.tensors import little_endian

PROOF_BYTES = 16
DIRECTORY_VARIABLE = "NAV_EVAL_SHM_DIR"


class Memory:
    """One mapped file of the evaluator."""

    def __init__(self, path: str, size: int) -> None:
        """Raises OSError or ValueError where the file cannot be mapped: then pictures come by message."""
        fd = os.open(_here(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._mapped = mmap.mmap(fd, size, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        self.size = size
        self._views: dict[int, list[weakref.ref[Array]]] = {}
        self._copies = False

    @property
    def proof(self) -> bytes:
        return self._mapped[:PROOF_BYTES]

    def array(self, sequence: int, *, offset: int, dtype: str, shape: tuple[int, ...]) -> Array:
        """The tensor at `offset`, which belongs to the request `sequence`."""
        element = little_endian(dtype)
        if offset + math.prod(shape) * element.itemsize > self.size:
            raise BadRequest(f"A tensor of shape {shape} at {offset} lies outside the shared memory.")
        view = np.ndarray(shape, element, self._mapped, offset)
        if self._copies:
            copy = view.copy()
            copy.flags.writeable = False
            return copy
        self._views.setdefault(sequence, []).append(weakref.ref(view))
        return view

    def held(self) -> list[int]:
        """The requests whose arrays somebody still has."""
        self._views = {
            sequence: alive
            for sequence, views in self._views.items()
            for alive in ([view for view in views if view() is not None],)
            if alive
        }
        self._copies = self._copies or bool(self._views)
        return list(self._views)


class Memories:
    """Mapped files by path; a file serves one episode after another."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Memory] = {}

    def get(self, path: str, size: int) -> Memory | None:
        """The memory, if it can be mapped and nothing of an earlier episode is still in use."""
        try:
            memory = self._known.get((path, size)) or Memory(path, size)
        except (OSError, ValueError):
            return None
        self._known[path, size] = memory
        return None if memory.held() else memory

    def proof(self, path: str, size: int) -> bytes:
        """What the evaluator wrote at the beginning; empty if it cannot be read."""
        try:
            return Memory(path, size).proof
        except (OSError, ValueError):
            return b""


def _here(path: str) -> str:
    directory = os.environ.get(DIRECTORY_VARIABLE)
    return str(Path(directory) / Path(path).name) if directory else path
