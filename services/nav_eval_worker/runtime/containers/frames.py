"""What a container prints, as it prints it: the engine's frames off the bare connection.

The SDK has a reader of its own, which waits before each read until the connection has something. Over TLS that is too
late: what it waits for may be decrypted already, so that it gave every line only when the next one came.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

_HEADER = struct.Struct(">BxxxL")
_CHUNK = 1 << 16
STANDARD_ERROR = 2


def frames(connection: Any) -> Iterator[tuple[int, bytes]]:  # noqa: ANN401 (a socket, or what is left of one)
    """Which stream, and some of its bytes; ends with the container, or when the connection breaks off."""
    receive: Callable[[int], bytes] = connection.recv if hasattr(connection, "recv") else connection.read
    while len(header := _exactly(receive, _HEADER.size)) == _HEADER.size:
        stream, left = _HEADER.unpack(header)
        while left and (data := receive(min(left, _CHUNK))):
            left -= len(data)
            yield stream, data


def _exactly(receive: Callable[[int], bytes], size: int) -> bytes:
    data = b""
    while len(data) < size and (more := receive(size - len(data))):
        data += more
    return data
