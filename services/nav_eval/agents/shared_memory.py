"""Pixels that do not travel: memory that the evaluator writes and an agent on the same host reads.

One ring per running episode, made of slots that each hold one observation. A slot is taken by a request
and free again when the reply to it has come, unless that reply lists it as still held. When no slot is
free, or a tensor does not fit, it goes into the message: slower, never wrong.

Nothing here trusts the agent. The evaluator only ever writes. Anonymous memory is sealed, so that nobody
can shrink it under us (that would kill the writer) or map it for writing; a file in a given directory is
for containers, where the agent's mount of that directory is read-only.
"""

import fcntl
import mmap
import os
import secrets
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from nav_eval.agents.messages import Array
from nav_eval.sensors import TEXT, SensorSpec

PROOF_BYTES = 16
HEADER = 64  #: the proof stands at the beginning
ALIGNMENT = 64  #: a cache line
SMALLEST = 4096  #: bytes; smaller tensors travel in the message
MOST = 256 << 20  #: bytes of one ring

_F_SEAL_FUTURE_WRITE = 0x0010  # Linux 5.1; not yet in Python's fcntl
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | _F_SEAL_FUTURE_WRITE if hasattr(fcntl, "F_SEAL_SHRINK") else 0


class Slot:
    """Room for one observation: an array per large sensor."""

    def __init__(self, memory: mmap.mmap, offsets: Mapping[str, int], sensors: Mapping[str, SensorSpec]) -> None:
        self.offsets = offsets
        self.arrays: dict[str, Array] = {
            name: np.frombuffer(
                memory, spec.dtype, count=spec.nbytes // np.dtype(spec.dtype).itemsize, offset=at
            ).reshape(spec.shape)
            for name, at in offsets.items()
            for spec in (sensors[name],)
        }
        self.taken_by = 0  #: sequence number of the request that it belongs to; 0 while free

    def put(self, name: str, array: Array) -> int | None:
        """Where the array now lies; None if it has no place here."""
        room = self.arrays.get(name)
        if room is None or room.shape != array.shape or room.dtype != array.dtype:
            return None
        if array is not room:  # it was not drawn here in the first place
            np.copyto(room, array)
        return self.offsets[name]


class Ring:
    """The memory of one episode at a time."""

    def __init__(self, sensors: Mapping[str, SensorSpec], *, slots: int, directory: Path | None = None) -> None:
        large = {name: spec for name, spec in sensors.items() if _is_large(spec)}
        slot_size = sum(_align(spec.nbytes) for spec in large.values())
        slots = min(slots, (MOST - HEADER) // slot_size) if slot_size else 0
        self.size = _align(HEADER + slots * slot_size, to=mmap.PAGESIZE)
        self.proof = secrets.token_bytes(PROOF_BYTES)
        self._file: Path | None = None
        self._fd = self._anonymous() if directory is None else self._in(directory)
        memory = mmap.mmap(self._fd, self.size)
        memory[:PROOF_BYTES] = self.proof
        if self._file is None:
            fcntl.fcntl(self._fd, fcntl.F_ADD_SEALS, _SEALS)
        self.slots = [Slot(memory, _lay_out(large, HEADER + n * slot_size), large) for n in range(slots)]

    @property
    def path(self) -> str:
        """Where an agent on this host finds it."""
        return f"/proc/{os.getpid()}/fd/{self._fd}" if self._file is None else str(self._file)

    def take(self, sequence: int) -> Slot | None:
        """The first free slot for the request, which is likelier in the processor's cache; None if all are in use."""
        slot = next((slot for slot in self.slots if not slot.taken_by), None)
        if slot is not None:
            slot.taken_by = sequence
        return slot

    def release(self, held: Collection[int] = ()) -> None:
        """Everything may be overwritten but what is still held."""
        for slot in self.slots:
            if slot.taken_by not in held:
                slot.taken_by = 0

    def close(self) -> None:
        """Forget it; the memory goes when the last mapping does."""
        self.slots.clear()
        os.close(self._fd)
        if self._file is not None:
            self._file.unlink(missing_ok=True)

    def _anonymous(self) -> int:
        fd = os.memfd_create("nav-eval-observations", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, self.size)
        return fd

    def _in(self, directory: Path) -> int:
        fd, path = tempfile.mkstemp(prefix="observations-", dir=directory)
        self._file = Path(path)
        os.fchmod(fd, 0o644)  # the agent is another user; its mount of the directory is read-only
        os.posix_fallocate(fd, 0, self.size)  # fails now rather than by a signal when the tmpfs is full
        return fd


class RingPool:
    """Rings, used again by one episode after another: mapping one costs more than a step."""

    def __init__(self, sensors: Mapping[str, SensorSpec], *, slots: int, directory: Path | None) -> None:
        self._sensors, self._slots, self._directory = sensors, slots, directory
        self._idle: list[Ring] = []
        self._retired = False

    def take(self) -> Ring | None:
        """A ring of its own for an episode; None where this machine cannot make one."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._new()

    def give_back(self, ring: Ring) -> None:
        ring.release()
        self._idle.append(ring)
        if self._retired:
            self.retire()

    def retire(self) -> None:
        """Close what is idle now, and the rest when its episode is over."""
        self._retired = True
        while self._idle:
            self._idle.pop().close()

    def _new(self) -> Ring | None:
        if not any(_is_large(spec) for spec in self._sensors.values()):
            return None
        if self._directory is None and not (_SEALS and hasattr(os, "memfd_create")):
            return None
        try:
            return Ring(self._sensors, slots=self._slots, directory=self._directory)
        except OSError:  # no room, no permission, an old kernel: the message carries the pixels
            return None


def _is_large(spec: SensorSpec) -> bool:
    return spec.dtype != TEXT and spec.nbytes >= SMALLEST


def _lay_out(sensors: Mapping[str, SensorSpec], start: int) -> dict[str, int]:
    offsets = {}
    for name, spec in sensors.items():
        offsets[name] = start
        start += _align(spec.nbytes)
    return offsets


def _align(size: int, *, to: int = ALIGNMENT) -> int:
    return -(-size // to) * to
