"""OmniNavBench policies: GET /health, POST /reset with the instruction, POST /act with a picture.

An answer to /act is raw text, a step action or a waypoint; docs/adapters/omninav.md lists every form that is read.
"""

import json
import math

from nav_eval.agents.adapter_client import (
    AdapterClient,
    AdapterSession,
    choose_camera,
    decode_numbers,
    encode_jpeg_text,
)
from nav_eval.agents.client import ClientSettings, retry
from nav_eval.agents.document_codecs import Document
from nav_eval.agents.failures import AgentCrash, ConnectionLost, ProtocolError
from nav_eval.agents.messages import Action, AgentDescription, EpisodeEnd, Observation, TaskInterface, shorten
from nav_eval.agents.rest_client import NOT_THERE, HttpConnection, HttpReply
from nav_eval.agents.sentences import parse_sentence
from nav_eval.agents.waypoints import BodyPoint, decode_points, make_walk
from nav_eval.dataset.episode import PublicEpisode

HORIZON = 4  #: actions towards a waypoint before the policy is asked again
_WORDS = {
    "stop": "stop",
    "forward": "move_forward",
    "move_forward": "move_forward",
    "left": "turn_left",
    "turn_left": "turn_left",
    "right": "turn_right",
    "turn_right": "turn_right",
    "look_up": "look_up",
    "look_down": "look_down",
}
_TEXT_KEYS = ("text", "raw_text", "raw", "response", "output", "answer")
_ACTION_KEYS = ("action", "actions", "step_action", "discrete_action")
_POINT_KEYS = ("waypoint", "waypoints", "trajectory")


class OmniNavClient(AdapterClient):
    """`omninav://host:8000?camera=rgb&horizon=4`."""

    model = "omninav"
    rig = ""
    port = 8000
    options = ("rig", "camera", "horizon")

    def _probe(self, seconds: float) -> None:
        connection = self._connect()
        try:
            status = connection.ask("GET", "/health", seconds=seconds).status
        finally:
            connection.close()
        if status >= 500:
            raise ConnectionLost(f"The policy says that it is not ready (status {status}).")

    def _describe(self, task: TaskInterface) -> AgentDescription:
        task = self._choose_rig(task)
        self._camera = choose_camera(task, "rgb", wanted=self._address.options.get("camera"))
        self._wait_until_served()
        return self._make_description([self._camera])

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "OmniNavSession":
        session = OmniNavSession(
            episode,
            connection=self._connect(),
            camera=self._camera,
            horizon=self._address.get_count("horizon", HORIZON),
            task=task,
            description=description,
            settings=self.settings,
        )
        session.reset()
        return session

    def _connect(self) -> HttpConnection:
        limit = self.settings.max_reply_bytes
        return HttpConnection(self._address.url, watchdog=self._watchdog, max_reply_bytes=limit)


class OmniNavSession(AdapterSession):
    """One episode of a policy that keeps its own history."""

    def __init__(
        self,
        episode: PublicEpisode,
        *,
        connection: HttpConnection,
        camera: str,
        horizon: int,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(episode, task=task, description=description, settings=settings)
        self._connection, self._camera, self._horizon = connection, camera, horizon
        self._seen: Observation | None = None

    def reset(self) -> None:
        """Begin; a policy without /reset has nothing to forget."""
        question = {"instruction": self._instruction}
        ask = lambda: self._connection.ask("POST", "/reset", question, seconds=self._settings.reset_timeout)  # noqa: E731
        reply = retry(ask, on=ConnectionLost, settings=self._settings)
        if reply.status not in NOT_THERE:
            _check_status(reply)

    def end(self, outcome: EpisodeEnd) -> None:
        self._connection.close()

    def _see(self, observation: Observation) -> None:
        self._seen = observation

    def _decide(self, seconds: float) -> list[Action]:
        assert self._seen is not None  # nobody is asked before something was seen
        picture = encode_jpeg_text(self._seen.sensors[self._camera])
        question: Document = {"rgb_base64": picture, "instruction": self._instruction}
        reply = self._connection.ask("POST", "/act", question, seconds=seconds)
        _check_status(reply)
        return self._read(_parse_body(reply))

    def _read(self, answer: object) -> list[Action]:
        """Actions from whatever form the answer has."""
        if isinstance(answer, str):
            return [Action(name=name) for name in parse_words(answer)]
        if not isinstance(answer, dict):
            return [Action(name=name) for name in _parse_items(answer)]
        for key in _POINT_KEYS:
            if answer.get(key) is not None:
                return make_walk(_decode_waypoints(answer[key]), task=self._task, limit=self._horizon)
        for key in (*_ACTION_KEYS, *_TEXT_KEYS):
            if answer.get(key) is not None:
                return self._read(answer[key])
        if isinstance(answer.get("type") or answer.get("name"), str):
            return self._read(answer.get("name") or answer.get("type"))
        raise ProtocolError(f"The policy answered {shorten(repr(answer), limit=80)}: no text, action or waypoint.")


def _check_status(reply: HttpReply) -> None:
    if reply.status >= 500:
        raise AgentCrash(f"The policy failed with status {reply.status}: {reply.text()}")
    if not 200 <= reply.status < 300:
        raise ProtocolError(f"The policy refused with status {reply.status}: {reply.text()}")


def _parse_body(reply: HttpReply) -> object:
    """JSON if it is JSON; raw text otherwise."""
    text = reply.body.decode(errors="replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parse_items(answer: object) -> list[str]:
    items = answer if isinstance(answer, list) else [answer]
    words = [item for item in items if isinstance(item, str)]
    if words and len(words) == len(items):
        return [name for word in words for name in parse_words(word)]
    return decode_numbers(items)


def parse_words(text: str) -> list[str]:
    """A step action by its name, or a sentence by NaVILA's rules."""
    word = "_".join(text.strip().strip(".!'\"").lower().split())
    if word in _WORDS:
        return [_WORDS[word]]
    return parse_sentence(text if " is " in f" {text.lower()} " else f"is {text}")


def _decode_waypoints(value: object) -> list[BodyPoint]:
    if isinstance(value, dict):
        value = [value.get("x"), value.get("y")] if "x" in value else _to_metric(value)
    flat = isinstance(value, list) and bool(value) and not isinstance(value[0], list)
    return decode_points([value] if flat else value)


def _to_metric(value: dict[str, object]) -> object:
    """A waypoint by distance and bearing, in radians to the left."""
    distance, angle = value.get("distance"), value.get("angle", value.get("bearing", 0.0))
    if not isinstance(distance, int | float) or not isinstance(angle, int | float) or not math.isfinite(angle):
        raise ProtocolError(f"A waypoint is {shorten(repr(value), limit=80)}; it has x and y, or distance and angle.")
    return [distance * math.cos(angle), distance * math.sin(angle)]
