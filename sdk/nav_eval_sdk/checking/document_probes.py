"""Agents that speak REST or WebSocket."""

from __future__ import annotations

import base64
import http.client
import queue
import socket
import threading
import time
import uuid
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from nav_eval_sdk.agent import Action, Array, Description, Observation, Pose, Task
from nav_eval_sdk.checking.png import png
from nav_eval_sdk.checking.probe import Described, NotServed, Probe, ProbeEpisode, ProbeError, Readiness, Reply
from nav_eval_sdk.documents import Document, decode, encode
from nav_eval_sdk.errors import BadRequest, SdkError
from nav_eval_sdk.websocket import Disconnected, WebSocket, accept

NOT_THERE = (404, 405, 501)


class RestProbe(Probe):
    protocol = "rest"

    def __init__(self, url: str, *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._parts = urlsplit(url)
        self.plain = True  #: until the agent says that it reads tensors

    def wait_until_ready(self, seconds: float) -> Readiness:
        started = time.monotonic()
        while True:
            try:
                status, _ = self.request("GET", "/health")
                if status == 200 or status in NOT_THERE:
                    return Readiness(time.monotonic() - started, has_health=status == 200)
                last = f"GET /health gives {status}"
            except ProbeError as error:
                last = str(error)
            if time.monotonic() - started > seconds:
                raise ProbeError(f"not ready after {seconds:g} s: {last}")
            time.sleep(0.05)

    def describe(self, task: Task) -> Described:
        status, body = self.request("POST", "/describe", {"protocol_versions": [1], "task": task_document(task)})
        if status in NOT_THERE:
            raise NotServed("POST /describe is not served")
        document = _object(status, body, "/describe")
        self.plain = document.get("observations", "plain") == "plain"
        return described(document, body)

    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode:
        return _RestEpisode(self, task, instruction)

    def close(self) -> None:
        """Every request has its own connection."""

    def is_serving(self) -> bool:
        try:
            self.request("GET", "/health")
        except ProbeError:
            return False
        return True

    def send_garbage(self) -> None:
        self.request("POST", "/episode/act", None, body=b"{not json")

    def act_without_reset(self, observation: Observation) -> None:
        message = {
            "session_id": "never-reset",
            "sequence": 1,
            "observation": observation_document(observation, self.plain),
        }
        status, body = self.request("POST", "/episode/act", message)
        if status != 200:
            raise ProbeError(f"POST /episode/act gives {status}: {body[:200].decode(errors='replace')}")

    def request(self, method: str, path: str, document: Document | None = None, body: bytes = b"") -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
        content = encode(document, binary=False) if document is not None else body
        try:
            connection.request(
                method, self._parts.path.rstrip("/") + path, content, {"Content-Type": "application/json"}
            )
            response = connection.getresponse()
            return response.status, response.read(1 << 20)
        except socket.timeout:
            raise ProbeError(f"no reply to {method} {path} within {self.timeout:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise ProbeError(f"{method} {path} fails: {error!r}") from None
        finally:
            connection.close()


class _RestEpisode(ProbeEpisode):
    def __init__(self, probe: RestProbe, task: Task, instruction: str) -> None:
        super().__init__()
        self._probe = probe
        status, body = probe.request("POST", "/episode/reset", reset_document(self.session_id, task, instruction))
        if status != 204:
            _object(status, body, "/episode/reset")

    def ask(self, observation: Observation) -> Reply:
        message = {
            "session_id": self.session_id,
            "sequence": self.sequence,
            "observation": observation_document(observation, self._probe.plain),
        }
        started = time.monotonic()
        status, body = self._probe.request("POST", "/episode/act", message)
        return reply_of(_object(status, body, "/episode/act"), time.monotonic() - started)

    def end(self) -> bool:
        status, _ = self._probe.request("POST", "/episode/end", {"session_id": self.session_id, "status": "success"})
        return status not in NOT_THERE

    def abandon(self) -> None:
        """There is nothing to hang up."""


class WebSocketProbe(Probe):
    """Opens the port that the agent is to connect to."""

    protocol = "websocket"

    def __init__(self, host: str, port: int, *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._listener = socket.create_server((host, port))
        self.port: int = self._listener.getsockname()[1]
        self._lines: queue.Queue[_AgentLine] = queue.Queue()
        self.hello: Document = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def wait_until_ready(self, seconds: float) -> Readiness:
        started = time.monotonic()
        line = self.free_line(seconds)
        self._lines.put(line)
        return Readiness(time.monotonic() - started, has_health=True)

    def describe(self, task: Task) -> Described:
        return described(self.hello, repr(sorted(self.hello.items(), key=str)).encode())

    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode:
        return _LineEpisode(self, self.free_line(self.timeout), task, instruction)

    def is_serving(self) -> bool:
        try:
            self._lines.put(self.free_line(self.timeout))
        except ProbeError:
            return False
        return True

    def free_line(self, seconds: float) -> _AgentLine:
        try:
            return self._lines.get(timeout=seconds)
        except queue.Empty:
            raise ProbeError(f"the agent did not connect to port {self.port} within {seconds:g} s") from None

    def give_back(self, line: _AgentLine) -> None:
        if self.hello.get("keep_alive"):
            self._lines.put(line)
        else:
            line.close()

    def close(self) -> None:
        self._listener.close()
        while not self._lines.empty():
            line = self._lines.get()
            try:
                line.say({"type": "disconnect", "reason": "the check is over"})
            except SdkError:
                continue
            line.close()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._welcome, args=(sock,), daemon=True).start()

    def _welcome(self, sock: socket.socket) -> None:
        try:
            line = _AgentLine(accept(sock, known=("nav.msgpack.v1", "nav.json.v1")))
            hello = line.hear(self.timeout)
            if hello.get("type") != "connect":
                return
            self.hello = hello
            line.say({"type": "connected", "session_id": uuid.uuid4().hex, "heartbeat_interval": 30.0})
            self._lines.put(line)
        except (SdkError, OSError):
            sock.close()


class _AgentLine:
    """One connection of the agent."""

    def __init__(self, websocket: WebSocket) -> None:
        self._websocket = websocket
        self._binary = websocket.subprotocol == "nav.msgpack.v1"

    def say(self, document: Document) -> None:
        self._websocket.send(encode(document, binary=self._binary), text=not self._binary)

    def hear(self, seconds: float) -> Document:
        while True:
            document = decode(self._websocket.receive(seconds), binary=self._binary)
            if document.get("type") != "heartbeat":
                return document

    def close(self) -> None:
        self._websocket.close()


class _LineEpisode(ProbeEpisode):
    def __init__(self, probe: WebSocketProbe, line: _AgentLine, task: Task, instruction: str) -> None:
        super().__init__()
        self._probe = probe
        self._line = line
        self._tell({"type": "reset_episode", **reset_document(self.session_id, task, instruction)})

    def ask(self, observation: Observation) -> Reply:
        plain = self._probe.hello.get("observations", "plain") == "plain"
        answers_ready = self._probe.hello.get("first_action") == "episode_ready"
        message = {
            "session_id": self.session_id,
            "sequence": self.sequence,
            "observation": observation_document(observation, plain),
        }
        started = time.monotonic()
        if self.sequence == 1:
            self._tell({"type": "episode_ready", **message})
        if self.sequence > 1 or not answers_ready:
            self._tell({"type": "get_action", **message})
        answer = self._hear()
        if answer.get("type") != "action":
            raise ProbeError(
                f"the agent sends {answer.get('type')!r} instead of an action: {answer.get('message', '')}"
            )
        return reply_of(answer, time.monotonic() - started)

    def end(self) -> bool:
        self._tell({"type": "episode_end", "session_id": self.session_id, "status": "success", "metrics": {}})
        self._probe.give_back(self._line)
        return True

    def abandon(self) -> None:
        self._line.close()

    def _tell(self, document: Document) -> None:
        try:
            self._line.say(document)
        except Disconnected as error:
            raise ProbeError(f"the agent hung up: {error}") from None

    def _hear(self) -> Document:
        try:
            return self._line.hear(self._probe.timeout)
        except TimeoutError:
            raise ProbeError(f"no reply within {self._probe.timeout:g} s") from None
        except (Disconnected, BadRequest) as error:
            raise ProbeError(str(error)) from None


def described(document: Document, raw: bytes) -> Described:
    sensors = document.get("sensors") or {}
    wanted = sensors if isinstance(sensors, dict) else {name: ["raw"] for name in sensors}
    try:
        description = Description(
            name=str(document.get("name", document.get("agent_id", ""))),
            version=str(document.get("version", "")),
            sensors={name: tuple(encodings) for name, encodings in wanted.items()},
            max_episodes=int(document.get("max_episodes", 1)) or 1,
            max_actions=int(document.get("max_actions", 1)) or 1,
            wants_between=bool(document.get("wants_between")),
        )
        versions = tuple(int(version) for version in document.get("protocol_versions", ()))
    except (TypeError, ValueError) as error:
        raise ProbeError(f"the description is not usable: {error}") from None
    known = {"raw", "jpeg", "png"}
    odd = {str(name) for encodings in wanted.values() for name in encodings} - known
    return Described(description, versions, tuple(sorted(odd)), bool(document.get("repeats_replies")), None, raw)


def task_document(task: Task) -> Document:
    return {
        "name": task.name,
        "sensors": {
            name: {"kind": spec.kind, "dtype": spec.dtype, "shape": list(spec.shape)}
            for name, spec in task.sensors.items()
        },
        "actions": {
            name: {"arguments": {key: list(span) for key, span in takes.items()}}
            for name, takes in task.actions.items()
        },
        "max_steps": task.max_steps,
        "reset_seconds": task.reset_seconds,
        "action_seconds": task.action_seconds,
    }


def reset_document(session_id: str, task: Task, instruction: str) -> Document:
    return {
        "session_id": session_id,
        "episode": {"episode_id": "check", "instruction": {"text": instruction, "tokens": []}},
        "task": task_document(task),
    }


def observation_document(observation: Observation, plain: bool) -> Document:
    if plain:
        shown = {name: _plain(array) for name, array in observation.sensors.items()}
        told = {"text": observation.instruction, "tokens": []}
        return {"step": observation.step, "instruction": told, **shown, **observation.texts}
    return {
        "step": observation.step,
        "sensors": {
            name: {
                "dtype": array.dtype.name,
                "shape": list(array.shape),
                "encoding": "raw",
                "data": array.tobytes(),
            }
            for name, array in observation.sensors.items()
        },
        "texts": dict(observation.texts),
    }


def _plain(array: Array) -> Any:  # noqa: ANN401
    """As the seeds have it: pictures as base64 PNG, depth in millimetres, small readings as numbers."""
    if array.ndim < 2 or array.size < 64:
        return array.tolist()
    deep = array if array.dtype.kind in "iu" else array * 1000.0
    pixels = array if array.dtype == np.uint8 else np.clip(np.rint(deep), 0, 65535).astype(np.uint16)
    return base64.b64encode(png(pixels)).decode("ascii")


def reply_of(document: Document, seconds: float) -> Reply:
    items = document.get("actions", [document])
    if not isinstance(items, list):
        raise ProbeError("`actions` is no list")
    return Reply(int(document.get("sequence") or 0), tuple(_action(item) for item in items), seconds)


def _action(item: Any) -> Action:  # noqa: ANN401
    if isinstance(item, str):
        return Action(item)
    poses = item.get("poses") or [] if isinstance(item, dict) else []
    name = item.get("action", "answer" if poses else None) if isinstance(item, dict) else None
    if not isinstance(name, str):
        raise ProbeError(f"the reply has no `action`: {item!r:.200}")
    try:
        arguments = {str(key): float(value) for key, value in (item.get("action_args") or {}).items()}
        return Action(name, arguments, tuple(Pose(tuple(p["position"]), tuple(p["rotation"])) for p in poses))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ProbeError(f"the action {item!r:.200} is not usable: {error}") from None


def _object(status: int, body: bytes, path: str) -> Document:
    if status != 200:
        raise ProbeError(f"POST {path} gives {status}: {body[:300].decode(errors='replace')}")
    try:
        return decode(body, binary=False)
    except BadRequest as error:
        raise ProbeError(f"POST {path}: {error}") from None
