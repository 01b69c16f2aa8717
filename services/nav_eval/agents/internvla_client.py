"""InternVLA-N1's real-world server: POST /eval_dual with colour and depth; actions, a trajectory or a pixel back.

As StreamVLN's server (streamvln_client.py), and besides `depth`, a 16-bit PNG of metres × 10,000. Action 5 asks to look
down: the cameras are tilted by 30°, the server is asked again with what is seen there, and then they are tilted back.
docs/adapters/internvla.md.
"""

import math
from typing import ClassVar

import numpy as np

from nav_eval.agents.adapter_client import choose_camera, decode_numbers
from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.image_codecs import encode_16_bit_png
from nav_eval.agents.messages import Action, AgentDescription, Array, TaskInterface
from nav_eval.agents.rest_client import HttpConnection
from nav_eval.agents.streamvln_client import StreamVlnClient, StreamVlnSession
from nav_eval.agents.waypoints import decode_points, make_walk
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import ConfigError
from nav_eval.sensors import DepthSpec

UNITS_PER_METRE = 10_000.0
LOOK_DOWN, LOOK_UP = "look_down", "look_up"
LOOK_DEGREES = 30.0  #: two actions of 15° in its own loop
MAX_LOOKS = 3  #: in a row; a model that never stops looking down would never act
HORIZON = 4  #: actions of a trajectory that are carried out before the model is asked again


class InternVlaClient(StreamVlnClient):
    """`internvla://host:5801?camera=rgb&depth=depth&channels=bgr&horizon=4`."""

    model = "internvla"
    rig = "internvla"
    port = 5801
    options: ClassVar[tuple[str, ...]] = ("rig", "camera", "depth", "channels", "instruction", "horizon")

    def _describe(self, task: TaskInterface) -> AgentDescription:
        task = self._choose_rig(task)
        self._depth = choose_camera(task, "depth", wanted=self._address.options.get("depth"))
        colour = super()._describe(task)
        return self._make_description([*colour.sensors, self._depth])

    def _open(
        self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription
    ) -> "InternVlaSession":
        return InternVlaSession(
            episode,
            connection=self._connect(),
            camera=self._camera,
            depth=self._depth,
            channels=self._channels,
            tells=self._address.options.get("instruction", "0") not in ("", "0"),
            horizon=self._address.get_count("horizon", HORIZON),
            task=task,
            description=description,
            settings=self.settings,
        )


class InternVlaSession(StreamVlnSession):
    """One episode of the dual system."""

    def __init__(
        self,
        episode: PublicEpisode,
        *,
        connection: HttpConnection,
        camera: str,
        depth: str,
        channels: str,
        tells: bool,
        horizon: int,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(
            episode,
            connection=connection,
            camera=camera,
            channels=channels,
            tells=tells,
            task=task,
            description=description,
            settings=settings,
        )
        self._depth, self._horizon = depth, horizon
        self._looks = _count_looks(task)
        self._looking_down = False
        self._looked = 0

    def _make_files(self) -> dict[str, tuple[str, str, bytes]]:
        assert self._seen is not None  # nobody is asked before something was seen
        spec = self._task.sensors[self._depth].camera
        metres = to_metres(self._seen.sensors[self._depth], None if spec is None else spec.depth)
        picture = encode_16_bit_png(metres * UNITS_PER_METRE)
        return {**super()._make_files(), "depth": ("depth.png", "image/png", picture)}

    def _decide(self, seconds: float) -> list[Action]:
        names = self._read(self._ask("/eval_dual", self._make_files(), seconds))
        before = self._look(LOOK_UP) if self._looking_down else []
        self._looking_down = False
        if not names or names[-1].name != LOOK_DOWN:
            self._looked = 0
            return [*before, *names]
        self._looked += 1
        if self._looked > MAX_LOOKS:
            raise ProtocolError(f"The model asked {self._looked} times in a row to look down, and did nothing.")
        self._looking_down = bool(self._looks)
        acted = [*before, *names[:-1], *self._look(LOOK_DOWN)]
        return acted or self._decide(self._seconds_left())  # a body that cannot look down is asked again as it stands

    def _look(self, action: str) -> list[Action]:
        return [Action(name=action)] * self._looks

    def _read(self, reply: dict[str, object]) -> list[Action]:
        """The actions up to the first look down, or a walk along the trajectory."""
        if reply.get("discrete_action") is not None:
            names = decode_numbers(reply["discrete_action"])
            end = names.index(LOOK_DOWN) + 1 if LOOK_DOWN in names else len(names)
            return [Action(name=name) for name in names[:end]]
        if reply.get("trajectory") is not None:
            points = decode_points(reply["trajectory"])
            return make_walk(points, task=self._task, limit=self._horizon)
        raise ProtocolError("InternVLA's server answered neither `discrete_action` nor `trajectory`.")


def to_metres(reading: Array, spec: DepthSpec | None) -> Array:
    """A depth picture in metres, whatever the sensor delivers."""
    picture = np.asarray(reading, np.float32).reshape(reading.shape[:2])
    if spec is None or not spec.normalized:
        return picture
    return picture * np.float32(spec.maximum - spec.minimum) + np.float32(spec.minimum)


def _count_looks(task: TaskInterface) -> int:
    """How many actions tilt the cameras by 30°; none where the task cannot."""
    down, up = task.actions.get(LOOK_DOWN), task.actions.get(LOOK_UP)
    if down is None or up is None:
        return 0
    degrees = 15.0 if down.motion is None else abs(down.motion.up_degrees)
    count = LOOK_DEGREES / degrees
    if not math.isclose(count, round(count)):
        raise ConfigError(f"InternVLA looks down by 30°, which tilts of {degrees:g}° do not add up to; take its rig.")
    return round(count)
