"""Servers of published models' wires, from the description of the wires alone: no helper of the adapters is used."""

import base64
import io
import json
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
import numpy as np
from PIL import Image
from websockets.sync.server import ServerConnection, serve

Answer = Callable[[dict[str, Any]], Any]
"""What a server replies to a request; `bytes` are sent as they are, None hangs up."""


def picture_of(data: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(data)))


@contextmanager
def navila_server(answer: Answer) -> Iterator[int]:
    """Eight bytes of length, big-endian, then JSON; one connection per request."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = self.rfile.read(8)
            if len(head) < 8:
                return  # somebody looked whether we are there
            request = json.loads(self.rfile.read(int.from_bytes(head, "big")))
            request["pictures"] = [picture_of(base64.b64decode(image)) for image in request["images"]]
            said = answer(request)
            if said is None:
                return
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            whole = body if isinstance(said, bytes) else len(body).to_bytes(8, "big") + body
            self.wfile.write(whole)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        yield from _serve(server)


@contextmanager
def http_server(answer: Answer) -> Iterator[int]:
    """POST with JSON or a form; `answer` gets path, fields and files."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.reply(answer({"path": self.path, "method": "GET"}))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kind = self.headers["Content-Type"]
            parts = read_form(kind, body) if kind.startswith("multipart/form-data") else json.loads(body)
            self.reply(answer({"path": self.path, "method": "POST", **parts}))

        def reply(self, said: Any) -> None:
            if said is None:
                self.close_connection = True
                return
            status, said = said if isinstance(said, tuple) else (200, said)
            text = isinstance(said, str)
            body = said.encode() if text else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if text else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        yield from _serve(server)


@contextmanager
def openpi_server(answer: Answer) -> Iterator[int]:
    """WebSocket, msgpack with arrays as openpi writes them; the server speaks first. `answer` gives the chunk."""

    def talk(line: ServerConnection) -> None:
        line.send(msgspec.msgpack.encode({"name": "policy"}))
        for message in line:
            assert isinstance(message, bytes)
            said = answer(msgspec.msgpack.decode(message))
            if said is None:
                line.socket.shutdown(socket.SHUT_RDWR)
                return
            line.send(
                said if isinstance(said, (bytes, str)) else msgspec.msgpack.encode({"actions": write_array(said)})
            )

    with serve(talk, "127.0.0.1", 0, compression=None, max_size=None, close_timeout=0.5) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.socket.getsockname()[1]
        finally:
            server.shutdown()


def write_array(array: np.ndarray[Any, Any]) -> dict[bytes, Any]:
    return {b"__ndarray__": True, b"data": array.tobytes(), b"dtype": array.dtype.str, b"shape": list(array.shape)}


def _serve(server: socketserver.BaseServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server.server_address[1]  # type: ignore[misc]
    finally:
        server.shutdown()


def read_form(kind: str, body: bytes) -> dict[str, Any]:
    """Text fields by name; files decoded as pictures."""
    message = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields: dict[str, Any] = {}
    for part in message.iter_parts():  # type: ignore[attr-defined]
        name = part.get_param("name", header="content-disposition")
        data = part.get_payload(decode=True)
        if part.get_filename():
            fields[name], fields[f"{name}_format"] = picture_of(data), Image.open(io.BytesIO(data)).format
        else:
            fields[name] = data.decode()
    return fields
