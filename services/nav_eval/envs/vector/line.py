"""How two processes of a vector environment talk.

Nearly every step needs no words: the actions and what came of them lie in shared memory. So a line carries
single bytes, which cost a microsecond, and messages only when there is something to tell. A line whose other
end is gone raises EOFError or BrokenPipeError, so nobody waits for the dead.
"""

import os
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext

_NUDGE, _MESSAGE = b".", b"!"


class Line:
    """One end."""

    def __init__(self, hears: Connection, says: Connection) -> None:
        self._hears, self._says = hears, says
        self._ear, self._mouth = hears.fileno(), says.fileno()

    def __reduce__(self) -> tuple[object, ...]:
        return Line, (self._hears, self._says)  # to a process that is being spawned, and nowhere else

    @classmethod
    def pair(cls, context: SpawnContext) -> "tuple[Line, Line]":
        """Both ends: pipes, because sockets take longer."""
        (we_hear, they_say), (they_hear, we_say) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        return cls(we_hear, we_say), cls(they_hear, they_say)

    def nudge(self) -> None:
        """Say that it is the other one's turn, and nothing else."""
        os.write(self._mouth, _NUDGE)

    def say(self, message: bytes) -> None:
        os.write(self._mouth, _MESSAGE)
        self._says.send_bytes(message)

    def hear(self) -> bytes | None:
        """Wait for the other one: a message, or None for a nudge."""
        first = os.read(self._ear, 1)
        if first == _NUDGE:
            return None
        if not first:
            raise EOFError
        return self._hears.recv_bytes()

    def close(self) -> None:
        self._hears.close()
        self._says.close()
        self._ear = self._mouth = -1
