"""An agent in plain Python: no SDK, no packages, REST as docs/protocol.md says.

    python agent.py 8085
    nav-eval evaluate demo_vln --agent http://localhost:8085

It walks ahead and turns away when the middle of the picture is near. Depth comes as numbers ("tensor"
observations): the format needs no image library.
"""

import base64
import json
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable

Document = dict[str, Any]

DESCRIPTION = {
    "name": "bare Python",
    "version": "1",
    "protocol_versions": [1],
    "sensors": ["depth"],
    "max_episodes": 8,
    "observations": "tensor",
}
episodes: dict[str, Document] = {}  # session_id → what we remember of the episode


def read_middle(tensor: Document) -> float:
    """Metres in the middle of a depth picture."""
    height, width = tensor["shape"][:2]
    place = 4 * (height // 2 * width + width // 2)
    return float(struct.unpack_from("<f", base64.b64decode(tensor["data"]), place)[0])


def act(request: Document) -> Document:
    episode = episodes[request["session_id"]]
    depth = request["observation"]["sensors"].get("depth")
    ahead = read_middle(depth) if depth else 9.0
    episode["steps"] += 1
    last = episode["steps"] >= episode["most"]
    name = "stop" if last else "move_forward" if ahead > 0.6 else "turn_left"
    return {"action": name if name in episode["actions"] else episode["actions"][0], "sequence": request["sequence"]}


def reset(request: Document) -> Document:
    task = request["task"]
    episodes[request["session_id"]] = {
        "steps": 0,
        "most": min(task["max_steps"] or 50, 50),
        "actions": list(task["actions"]),
    }
    return {}


def end(request: Document) -> Document:
    episodes.pop(request["session_id"], None)
    return {}


def describe(request: Document) -> Document:
    return {**DESCRIPTION, "sensors": [name for name in ("depth",) if name in request["task"]["sensors"]]}


ANSWERS: dict[str, Callable[[Document], Document]] = {
    "/describe": describe,
    "/episode/reset": reset,
    "/episode/act": act,
    "/episode/end": end,
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.answer(200 if self.path == "/health" else 404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            request = json.loads(body)
            self.answer(200, ANSWERS[self.path](request))
        except (KeyError, ValueError, TypeError, AttributeError) as error:
            self.answer(400, {"detail": f"{type(error).__name__}: {error}"})

    def answer(self, status: int, document: Document) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8085), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
