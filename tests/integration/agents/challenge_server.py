"""A small but honest stand-in for a challenge's server: tus 1.0 (core, creation), JSON, server-sent events."""

import base64
import hashlib
import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TUS = "1.0.0"
TOKEN = "team-token"


class Challenge:
    """What the server knows, and how it misbehaves."""

    def __init__(self) -> None:
        self.uploads: dict[str, bytearray] = {}
        self.lengths: dict[str, int] = {}
        self.metadata: dict[str, dict[str, str]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.requests: list[str] = []
        self.cut_after: list[int] = []  #: bytes of the next PATCHes after which the line breaks
        self.cut_events: list[int] = []  #: events after which the next streams break
        self.refuse: dict[str, tuple[int, str]] = {}
        self.elsewhere = ""  #: answer with a Location on another host
        self.seen_event_ids: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def finish(self, upload: str) -> None:
        """All bytes are there: the archive is what it was announced to be, or the submission fails."""
        told = self.metadata[upload]
        right = hashlib.sha256(self.uploads[upload]).hexdigest() == told["sha256"]
        self.submissions[told["submission_id"]]["status"] = "validating" if right else "failed"


def _handler(challenge: Challenge) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            challenge.requests.append(f"{self.command} {self.path}")
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self.reply(401, {"detail": "Who are you?"})
                return
            for prefix, (status, detail) in challenge.refuse.items():
                if f"{self.command} {self.path}".startswith(prefix):
                    self.reply(status, {"detail": detail})
                    return
            parts = self.path.partition("?")[0].strip("/").split("/")[2:]
            getattr(self, f"{self.command.lower()}_{parts[0]}")(*parts[1:])

        do_GET = do_POST = do_HEAD = do_PATCH = handle_one  # noqa: N815

        # tus

        def post_uploads(self) -> None:
            if not self.speaks_tus():
                return
            upload = uuid.uuid4().hex
            pairs = (pair.split(" ") for pair in self.headers["Upload-Metadata"].split(","))
            challenge.metadata[upload] = {key: base64.b64decode(value).decode() for key, value in pairs}
            challenge.uploads[upload] = bytearray()
            challenge.lengths[upload] = int(self.headers["Upload-Length"])
            self.drain()
            location = f"{challenge.elsewhere or ''}/api/v1/uploads/{upload}"
            self.reply(201, headers={"Location": location, "Tus-Resumable": TUS})

        def head_uploads(self, upload: str) -> None:
            if not self.speaks_tus():
                return
            if upload not in challenge.uploads:
                self.reply(404)
                return
            headers = {"Upload-Offset": str(len(challenge.uploads[upload])), "Cache-Control": "no-store"}
            self.reply(200, headers={**headers, "Upload-Length": str(challenge.lengths[upload])})

        def patch_uploads(self, upload: str) -> None:
            if not self.speaks_tus():
                return
            size = int(self.headers["Content-Length"])
            if self.headers["Content-Type"] != "application/offset+octet-stream":
                self.drain()
                self.reply(415)
                return
            data = challenge.uploads[upload]
            if int(self.headers["Upload-Offset"]) != len(data):
                self.drain()
                self.reply(409)
                return
            if challenge.cut_after:
                data += self.rfile.read(min(size, challenge.cut_after.pop(0)))
                self.connection.close()
                self.close_connection = True
                return
            data += self.rfile.read(size)
            if len(data) == challenge.lengths[upload]:
                challenge.finish(upload)
            self.reply(204, headers={"Upload-Offset": str(len(data))})

        def speaks_tus(self) -> bool:
            if self.headers.get("Tus-Resumable") == TUS:
                return True
            self.drain()
            self.reply(412, headers={"Tus-Version": TUS})
            return False

        # the rest

        def get_me(self) -> None:
            self.reply(200, {"team": "Team XYZ"})

        def post_submissions(self) -> None:
            told = json.loads(self.drain())
            known = [
                s for s in challenge.submissions.values() if s["sha256"] == told["sha256"] and s["status"] == "created"
            ]
            if not known:
                identity = f"s{len(challenge.submissions) + 1}"
                known = [{"id": identity, "status": "created", **told}]
                challenge.submissions[identity] = known[0]
            self.reply(201, known[0])

        def get_submissions(self, identity: str, part: str = "") -> None:
            if identity not in challenge.submissions:
                self.reply(404, {"detail": f"There is no submission {identity}."})
            elif part == "events":
                self.stream_events(identity)
            elif part == "logs":
                self.reply(200, text="first line\nsecond line\n")
            else:
                self.reply(200, challenge.submissions[identity])

        def stream_events(self, identity: str) -> None:
            last = self.headers.get("Last-Event-ID", "")
            challenge.seen_event_ids.append(last)
            begin = int(last) + 1 if last else 0
            stop = challenge.cut_events.pop(0) if challenge.cut_events else len(challenge.events)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(b": hello\n\n")
            for number, (kind, data) in enumerate(challenge.events[begin:stop], begin):
                if kind == "done":  # before it is told: who hears it asks for the submission at once
                    challenge.submissions[identity] |= data
                self.wfile.write(f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode())
            self.close_connection = True

        def get_competitions(self, *path: str) -> None:
            rows = [
                {"rank": 1, "team": "Team XYZ", "scores": {"TAR": 0.5, "ISR": 0.25}},
                {"rank": 2, "team": "迷路", "scores": {"TAR": 0.125}},
            ]
            self.reply(200, {"columns": ["TAR", "ISR"], "rows": rows, "path": "/".join(path)})

        def drain(self) -> bytes:
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def reply(
            self, status: int, document: Any = None, *, text: str = "", headers: dict[str, str] | None = None
        ) -> None:
            body = text.encode() or (json.dumps(document).encode() if document is not None else b"")
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    return Handler
