"""A small HTTP client that is never the bottleneck: keep-alive connections, one buffer, no parsing to speak of.

`python -m bench.http_load HOST PORT PATH CONNECTIONS SECONDS` prints what it measured as JSON. It runs in a process
of its own, so that what it takes is not taken from the server's.
"""

import json
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

BUFFER = 1 << 22


@dataclass(slots=True)
class Load:
    """What came back."""

    requests: int = 0
    seconds: float = 0.0
    bytes: int = 0  #: of bodies
    statuses: dict[str, int] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.requests / self.seconds


class _Connection:
    """One request at a time, again and again."""

    def __init__(self, address: tuple[str, int], request: bytes) -> None:
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self._request = request
        self._head = b""
        self._left = 0

    def ask(self) -> None:
        self._head, self._left = b"", -1
        self.socket.send(self._request)

    def read(self, buffer: bytearray, load: Load) -> bool:
        """True when a whole answer has come."""
        number = self.socket.recv_into(buffer)
        if number == 0:
            raise ConnectionError("the server closed the connection")
        if self._left < 0:
            self._head += bytes(memoryview(buffer)[: min(number, 4096)])
            end = self._head.find(b"\r\n\r\n")
            if end < 0:
                return False
            length = int(self._head[:end].lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            status = self._head[9:12].decode()
            load.statuses[status] = load.statuses.get(status, 0) + 1
            load.bytes += length
            self._left = length + end + 4 - number
        else:
            self._left -= number
        return self._left == 0


def load(host: str, port: int, path: str, *, connections: int, seconds: float, headers: str = "") -> Load:
    """Ask for `path` over and over, with so many requests under way."""
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n".encode()
    selector, buffer, measured = selectors.DefaultSelector(), bytearray(BUFFER), Load()
    for _ in range(connections):
        connection = _Connection((host, port), request)
        selector.register(connection.socket, selectors.EVENT_READ, connection)
        connection.ask()
    started = time.perf_counter()
    while (passed := time.perf_counter() - started) < seconds:
        for key, _ in selector.select(timeout=seconds):
            if key.data.read(buffer, measured):
                measured.requests += 1
                key.data.ask()
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    measured.seconds = passed
    return measured


def load_from_another_process(host: str, port: int, path: str, *, connections: int, seconds: float) -> Load:
    command = [sys.executable, "-m", "bench.http_load", host, str(port), path, str(connections), str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return Load(**json.loads(done.stdout))


if __name__ == "__main__":
    host, port, path, connections, seconds = sys.argv[1:]
    print(json.dumps(asdict(load(host, int(port), path, connections=int(connections), seconds=float(seconds)))))
