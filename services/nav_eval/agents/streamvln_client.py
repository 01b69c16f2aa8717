"""StreamVLN's real-world server: POST /eval_vln with a picture, whole numbers back.

A form with `image`, a JPEG whose channels are blue, green, red, and `json`, which says whether an episode begins. The
server keeps the history of one episode, and its instruction stands in its source: docs/adapters/streamvln.md says what
that means.
"""

import json
from collections.abc import Mapping
from typing import ClassVar

from nav_eval.agents.adapter_client import (
    AdapterClient,
    AdapterSession,
    choose_camera,
    decode_numbers,
    encode_multipart,
)
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.image_codecs import encode_image
from nav_eval.agents.messages import Action, AgentDescription, Array, Encoding, EpisodeEnd, Observation, TaskInterface
from nav_eval.agents.rest_client import HttpConnection
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError

ACTIONS = ("stop", "move_forward", "turn_left", "turn_right")
FORM_ORDERS = {"bgr": slice(None, None, -1), "rgb": slice(None)}


def encode_frame(picture: Array, channels: str) -> bytes:
    """A JPEG whose three channels are in this order, whatever a viewer makes of them."""
    return encode_image(picture[..., :3][..., FORM_ORDERS[channels]].copy(), Encoding.JPEG)


class StreamVlnClient(AdapterClient):
    """`streamvln://host:5801?camera=rgb&channels=bgr&instruction=1`."""

    model = "streamvln"
    rig = "streamvln"
    port = 5801
    options: ClassVar[tuple[str, ...]] = ("rig", "camera", "channels", "instruction")

    def _probe(self, seconds: float) -> None:
        connection = self._connect()
        try:
            connection.ask("GET", "/", seconds=seconds)  # whatever it says: it is there
        except ProtocolError:
            return
        finally:
            connection.close()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        task = task if not task.rigs else self._choose_rig(task)
        self._camera = choose_camera(task, "rgb", wanted=self._address.options.get("camera"))
        self._channels = get_channels(self._address.options)
        self._wait_until_served()
        return self._make_description([self._camera])

    def _open(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription
    ) -> "StreamVlnSession":
        return StreamVlnSession(
            episode,
            connection=self._connect(),
            camera=self._camera,
            channels=self._channels,
            tells=self._address.options.get("instruction", "0") not in ("", "0"),
            task=task,
            description=description,
            settings=self.settings,
        )

    def _connect(self) -> HttpConnection:
        limit = self.settings.max_reply_bytes
        return HttpConnection(self._address.url, watchdog=self._watchdog, max_reply_bytes=limit)


def get_channels(options: Mapping[str, str]) -> str:
    """The order of colours in the pictures that are sent."""
    channels = options.get("channels", "bgr")
    if channels not in FORM_ORDERS:
        raise ConfigError(f"The option channels={channels!r} must be bgr, as the published clients send, or rgb.")
    return channels


class StreamVlnSession(AdapterSession):
    """One episode; the first question resets the server."""

    def __init__(
        self,
        episode: PublicEpisode,
        *,
        connection: HttpConnection,
        camera: str,
        channels: str,
        tells: bool,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(episode, task=task, description=description, settings=settings)
        self._connection, self._camera, self._channels, self._tells = connection, camera, channels, tells
        self._begins = True
        self._seen: Observation | None = None

    def end(self, outcome: EpisodeEnd) -> None:
        self._connection.close()

    def _see(self, observation: Observation) -> None:
        self._seen = observation

    def _decide(self, seconds: float) -> list[Action]:
        reply = self._ask("/eval_vln", self._make_files(), seconds)
        if "action" not in reply:
            raise ProtocolError("StreamVLN's server answered without `action`.")
        return [Action(name=name) for name in decode_numbers(reply["action"], names=ACTIONS)]

    def _make_files(self) -> dict[str, tuple[str, str, bytes]]:
        assert self._seen is not None  # nobody is asked before something was seen
        picture = encode_frame(self._seen.sensors[self._camera], self._channels)
        return {"image": ("rgb.jpg", "image/jpeg", picture)}

    def _ask(self, path: str, files: dict[str, tuple[str, str, bytes]], seconds: float) -> dict[str, object]:
        told = {"reset": self._begins, **({"instruction": self._instruction} if self._tells else {})}
        body, content_type = encode_multipart(files, {"json": json.dumps(told)})
        reply = self._connection.post(path, body, content_type=content_type, seconds=seconds).document()
        self._begins = False
        if not isinstance(reply, dict):
            raise ProtocolError(f"The server answered {type(reply).__name__}; it answers an object.")
        return reply
