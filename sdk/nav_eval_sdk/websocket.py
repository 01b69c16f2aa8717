"""A WebSocket (RFC 6455) on a plain socket: the client's side, and enough of the server's for `check`."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
import struct
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from nav_eval_sdk.errors import SdkError

TEXT, BINARY, CLOSE, PING, PONG = 0x1, 0x2, 0x8, 0x9, 0xA
MOST_BYTES = 1 << 30
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Disconnected(SdkError):
    """The other side is gone."""


class WebSocket:
    """An open connection; one thread may read while others write."""

    def __init__(self, sock: socket.socket, *, subprotocol: str = "", masks: bool = True) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.subprotocol = subprotocol
        self._socket = sock
        self._masks = masks  # clients must, servers must not
        self._writing = threading.Lock()

    def send(self, data: bytes, *, text: bool) -> None:
        self._write(TEXT if text else BINARY, data)

    def receive(self, timeout: float | None = None) -> bytes:
        """The next message; raises Disconnected when there will be none, TimeoutError when none comes."""
        self._socket.settimeout(timeout)
        parts: list[bytes] = []
        while True:
            last, opcode, payload = self._frame()
            if opcode == PING:
                self._write(PONG, payload)
            elif opcode == CLOSE:
                with suppress(Disconnected):
                    self._write(CLOSE, payload[:2])
                raise Disconnected("The other side closed the connection.")
            elif opcode != PONG:
                parts.append(payload)
                if last:
                    return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        with suppress(Disconnected):
            self._write(CLOSE, struct.pack(">H", 1000))
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._exactly(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self._exactly(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self._exactly(8))
        if size > MOST_BYTES:
            raise Disconnected(f"A message of {size} bytes is too large.")
        key = self._exactly(4) if second & 0x80 else b""
        payload = self._exactly(size)
        return bool(first & 0x80), first & 0x0F, _masked(payload, key) if key else payload

    def _exactly(self, size: int) -> bytes:
        buffer = bytearray(size)
        view, got = memoryview(buffer), 0
        while got < size:
            try:
                count = self._socket.recv_into(view[got:])
            except socket.timeout:
                raise TimeoutError("Nothing was heard in time.") from None
            except OSError as error:
                raise Disconnected(f"The connection broke: {error}") from error
            if not count:
                raise Disconnected("The connection broke.")
            got += count
        return bytes(buffer)

    def _write(self, opcode: int, payload: bytes) -> None:
        size, mask = len(payload), 0x80 if self._masks else 0
        header = struct.pack("B", 0x80 | opcode)
        if size < 126:
            header += struct.pack("B", mask | size)
        elif size < 1 << 16:
            header += struct.pack(">BH", mask | 126, size)
        else:
            header += struct.pack(">BQ", mask | 127, size)
        if self._masks:
            key = os.urandom(4)
            header, payload = header + key, _masked(payload, key)
        try:
            with self._writing:
                self._socket.sendall(header + payload)
        except OSError as error:
            raise Disconnected(f"The connection broke: {error}") from error


def connect(url: str, *, subprotocols: tuple[str, ...] = (), timeout: float = 10.0) -> WebSocket:
    """Open a connection to `ws://host:port/path` or `wss://…`."""
    parts = urlsplit(url)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise SdkError(f"{url!r} is no WebSocket address; write ws://host:port.")
    port = parts.port or (443 if parts.scheme == "wss" else 80)
    try:
        sock = socket.create_connection((parts.hostname, port), timeout)
        if parts.scheme == "wss":
            sock = ssl.create_default_context().wrap_socket(sock, server_hostname=parts.hostname)
        return _shaken_hands(
            sock, host=f"{parts.hostname}:{port}", path=_path(parts.path, parts.query), offer=subprotocols
        )
    except OSError as error:
        raise Disconnected(f"Cannot connect to {url}: {error}") from error


def accept(sock: socket.socket, *, known: tuple[str, ...] = ()) -> WebSocket:
    """The server's side of the handshake on a connection that was accepted."""
    _, headers = _read_head(sock)
    key = headers.get("sec-websocket-key", "").encode()
    offered = [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",")]
    chosen = next((name for name in known if name in offered), "")
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Accept: {_accept_key(key)}", *([f"Sec-WebSocket-Protocol: {chosen}"] if chosen else [])]
    sock.sendall("\r\n".join([*lines, "", ""]).encode())
    return WebSocket(sock, subprotocol=chosen, masks=False)


def _shaken_hands(sock: socket.socket, *, host: str, path: str, offer: tuple[str, ...]) -> WebSocket:
    key = base64.b64encode(os.urandom(16))
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key.decode()}", "Sec-WebSocket-Version: 13"]
    lines += [f"Sec-WebSocket-Protocol: {', '.join(offer)}"] if offer else []
    sock.sendall("\r\n".join([*lines, "", ""]).encode())
    status, headers = _read_head(sock)
    if " 101 " not in f"{status} " or headers.get("sec-websocket-accept") != _accept_key(key):
        sock.close()
        raise Disconnected(f"{host} does not speak WebSocket: {status[:100]}")
    return WebSocket(sock, subprotocol=headers.get("sec-websocket-protocol", ""))


def _read_head(sock: socket.socket) -> tuple[str, dict[str, str]]:
    """The first line and the headers, byte by byte: what follows belongs to the first frame."""
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        byte = sock.recv(1)
        if not byte or len(head) > 65536:
            raise Disconnected("The handshake ended too early.")
        head += byte
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.split(":", 1) for line in lines if ":" in line)
    return first, {name.strip().lower(): value.strip() for name, value in pairs}


def _accept_key(key: bytes) -> str:
    return base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()  # noqa: S324 (the standard says so)


def _path(path: str, query: str) -> str:
    return (path or "/") + (f"?{query}" if query else "")


def _masked(payload: bytes, key: bytes) -> bytes:
    size = len(payload)
    mask = int.from_bytes((key * (size // 4 + 1))[:size], "big")
    return (int.from_bytes(payload, "big") ^ mask).to_bytes(size, "big")
