"""A container's standard input and output, through the WebSocket by which a cluster passes them on.

A plain blocking socket around the protocol's rules, so that there is one thread that listens, time limits are those of
the socket, and whoever closes it wakes the listener.
"""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import suppress

from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

PROTOCOL = Subprotocol("v4.channel.k8s.io")
STDIN, STDOUT, STDERR = 0, 1, 2
PIECE = 32 << 10
TROUBLE = (WebSocketException, OSError)


class Attachment:
    """Two ways through one connection; each message begins with the number of its stream."""

    def __init__(self, url: str, *, trust: ssl.SSLContext, token: str, seconds: float) -> None:
        """Connects and shakes hands within so many seconds; `TROUBLE` when that fails."""
        place = parse_uri(url)
        self._protocol = ClientProtocol(place, subprotocols=[PROTOCOL], max_size=None)
        self._lock = threading.Lock()
        self._socket = socket.create_connection((place.host, place.port), timeout=seconds)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if place.secure:
                self._socket = trust.wrap_socket(self._socket, server_hostname=place.host)
            self._open(token)
        except BaseException:
            self._socket.close()
            raise

    def send(self, data: bytes) -> None:
        """To the container's standard input."""
        for start in range(0, len(data), PIECE):
            with self._lock:
                self._protocol.send_binary(bytes([STDIN]) + data[start : start + PIECE])
                self._flush()

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """Number of the stream and what came through it, until the container ends or `close` is called."""
        part = bytearray()
        while True:
            for frame in self._frames():
                part += frame.data
                if frame.fin and part:
                    yield part[0], bytes(part[1:])
                    part.clear()
            if self._protocol.state is not State.OPEN:
                return
            self._receive()

    def close(self) -> None:
        """Wakes whoever listens."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _open(self, token: str) -> None:
        request = self._protocol.connect()
        request.headers["Authorization"] = f"Bearer {token}"
        with self._lock:
            self._protocol.send_request(request)
            self._flush()
        while self._protocol.state is State.CONNECTING and self._protocol.handshake_exc is None:
            self._receive()
        if self._protocol.handshake_exc is not None:
            raise self._protocol.handshake_exc
        self._socket.settimeout(None)

    def _receive(self) -> None:
        data = self._socket.recv(PIECE)
        with self._lock:
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            self._flush()

    def _frames(self) -> list[Frame]:
        with self._lock:
            events = self._protocol.events_received()
        wanted = (Opcode.BINARY, Opcode.TEXT, Opcode.CONT)
        return [event for event in events if isinstance(event, Frame) and event.opcode in wanted]

    def _flush(self) -> None:
        """What the protocol wants to say, answers to pings included; an empty piece says that it is over."""
        for data in self._protocol.data_to_send():
            if data:
                self._socket.sendall(data)
