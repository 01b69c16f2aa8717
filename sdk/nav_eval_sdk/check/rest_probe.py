"""`check` as the evaluator of an agent that serves REST."""

from __future__ import annotations

import http.client
import socket
import time
from typing import Any
from urllib.parse import urlsplit

from nav_eval_sdk.agent import Action, Description, Observation, Pose, Task
from nav_eval_sdk.check.checks import (
    NotServed,
    Probe,
    ProbeDescription,
    ProbeEpisode,
    ProbeError,
    ProbeReply,
    Readiness,
)
from nav_eval_sdk.errors import BadRequest
from nav_eval_sdk.json_messages import (
    Document,
    dump_document,
    encode_end,
    encode_observation,
    encode_reset,
    encode_task,
    load_document,
)

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

    def describe(self, task: Task) -> ProbeDescription:
        status, body = self.request("POST", "/describe", {"protocol_versions": [1], "task": encode_task(task)})
        if status in NOT_THERE:
            raise NotServed("POST /describe is not served")
        document = _load_object(status, body, "/describe")
        self.plain = document.get("observations", "plain") == "plain"
        return decode_description(document, body)

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
            "observation": encode_observation(observation, self.plain),
        }
        status, body = self.request("POST", "/episode/act", message)
        if status != 200:
            raise ProbeError(f"POST /episode/act gives {status}: {body[:200].decode(errors='replace')}")

    def request(self, method: str, path: str, document: Document | None = None, body: bytes = b"") -> tuple[int, bytes]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self.timeout)
        content = dump_document(document, binary=False) if document is not None else body
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
        status, body = probe.request("POST", "/episode/reset", encode_reset(self.session_id, task, instruction))
        if status != 204:
            _load_object(status, body, "/episode/reset")

    def ask(self, observation: Observation) -> ProbeReply:
        message = {
            "session_id": self.session_id,
            "sequence": self.sequence,
            "observation": encode_observation(observation, self._probe.plain),
        }
        started = time.monotonic()
        status, body = self._probe.request("POST", "/episode/act", message)
        return decode_reply(_load_object(status, body, "/episode/act"), time.monotonic() - started)

    def end(self) -> bool:
        message = {"session_id": self.session_id, **encode_end(self.sequence)}
        status, _ = self._probe.request("POST", "/episode/end", message)
        return status not in NOT_THERE

    def abandon(self) -> None:
        """There is nothing to hang up."""


def decode_description(document: Document, raw: bytes) -> ProbeDescription:
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
    return ProbeDescription(description, versions, tuple(sorted(odd)), bool(document.get("repeats_replies")), None, raw)


def decode_reply(document: Document, seconds: float) -> ProbeReply:
    items = document.get("actions", [document])
    if not isinstance(items, list):
        raise ProbeError("`actions` is no list")
    return ProbeReply(int(document.get("sequence") or 0), tuple(_decode_action(item) for item in items), seconds)


def _decode_action(item: Any) -> Action:  # noqa: ANN401
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


def _load_object(status: int, body: bytes, path: str) -> Document:
    if status != 200:
        raise ProbeError(f"POST {path} gives {status}: {body[:300].decode(errors='replace')}")
    try:
        return load_document(body, binary=False)
    except BadRequest as error:
        raise ProbeError(f"POST {path}: {error}") from None
