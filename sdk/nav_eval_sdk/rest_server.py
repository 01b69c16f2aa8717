"""The agent's end of the REST protocol, on the standard library's HTTP server."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

from nav_eval_sdk.errors import AgentError, BadRequest, SdkError
from nav_eval_sdk.host import Host
from nav_eval_sdk.json_messages import (
    JSON,
    MSGPACK,
    Document,
    decode_episode,
    decode_observation,
    decode_outcome,
    dump_document,
    encode_description,
    encode_reply,
    load_document,
)

MOST_BYTES = 1 << 30


class RestServer:
    """Serves the agents of a host until it is stopped."""

    def __init__(self, host: Host, address: str) -> None:
        """`address` is `host:port`; port 0 picks a free one."""
        name, _, port = address.removeprefix("http://").rpartition(":")
        try:
            self._server = _Server((name.strip("[]"), int(port)), _make_handler(host))
        except (OSError, ValueError, OverflowError) as error:
            raise SdkError(f"Cannot serve on {address}: {error}") from error
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        while self._thread.is_alive():
            self._thread.join(0.2)  # a little at a time: signals are handled in between

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _make_handler(host: Host) -> type[BaseHTTPRequestHandler]:
    service = _RestService(host)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1  # headers and body leave together

        def do_GET(self) -> None:
            if self.path == "/health":
                status = "serving" if host.ready else "loading"
                self._reply(200 if host.ready else 503, {"status": status}, binary=False)
            else:
                self._reply(404, {"error": f"There is no {self.path}."}, binary=False)

        def do_POST(self) -> None:
            binary = self.headers.get("Content-Type", "").startswith(MSGPACK)
            handle = service.paths.get(self.path)
            try:
                body = self._body()
                if handle is None:
                    self._reply(404, {"error": f"There is no {self.path}."}, binary=False)
                    return
                self._reply(200, handle(load_document(body, binary=binary)), binary=binary)
            except BadRequest as error:
                self._reply(400, {"error": str(error)}, binary=False)
            except AgentError as error:
                self._reply(507 if error.out_of_memory else 500, {"error": str(error)}, binary=False)
            except SdkError as error:
                self._reply(500, {"error": str(error)}, binary=False)

        def _body(self) -> bytes:
            size = self.headers.get("Content-Length", "")
            if not size.isdigit() or int(size) > MOST_BYTES:
                self.close_connection = True
                raise BadRequest("The request needs a Content-Length.")
            return self.rfile.read(int(size))

        def _reply(self, status: int, document: Document, *, binary: bool) -> None:
            body = dump_document(document, binary=binary)
            self.send_response(status)
            self.send_header("Content-Type", MSGPACK if binary else JSON)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:  # noqa: ANN401
            """Silence: one line per step helps nobody."""

    return Handler


class _RestService:
    def __init__(self, host: Host) -> None:
        self._host = host
        self.paths: dict[str, Callable[[Document], Document]] = {
            "/describe": self._describe,
            "/episode/reset": self._reset,
            "/episode/act": self._act,
            "/episode/end": self._end,
        }

    def _describe(self, document: Document) -> Document:
        return encode_description(self._host.describe())

    def _reset(self, document: Document) -> Document:
        self._host.reset(decode_episode(document))
        return {"status": "ready"}

    def _act(self, document: Document) -> Document:
        session_id, sequence = str(document.get("session_id", "")), int(document.get("sequence", 0))
        observation = decode_observation(document, self._host.session(session_id).episode)
        return encode_reply(sequence, self._host.act(session_id, sequence, observation))

    def _end(self, document: Document) -> Document:
        self._host.end(str(document.get("session_id", "")), decode_outcome(document))
        return {"status": "ended"}
