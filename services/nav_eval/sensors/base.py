"""What a sensor is: its settings, what it delivers, within which bounds, and how it is read, in one class.

A kind of sensor is a model: its fields are what a configuration may say about it. The same class says what an
agent is told (`spec`), what Gymnasium may expect (`bounds`, `list_texts`) and what is sensed (`read`). A sensor
keeps nothing between readings, so one serves every episode.

This is below the configuration, which is made of sensors, and knows no simulator: who simulates hands over a
`SensorContext`.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nav_eval.config_model import ConfigModel
from nav_eval.dataset.episode import Episode, GoalImage
from nav_eval.errors import SimulatorError
from nav_eval.randomness import make_generator
from nav_eval.records.geometry import Pose
from nav_eval.registry import Registry

if TYPE_CHECKING:
    from nav_eval.sensors.camera import CameraSensor

TEXT = "text"
"""The dtype of sensors that are words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DepthSpec:
    """What the numbers of a depth picture mean."""

    minimum: float  #: metres; anything closer reads as this
    maximum: float  #: metres; anything farther reads as this
    normalized: bool  #: readings are (metres − minimum) / (maximum − minimum)


@dataclass(frozen=True, kw_only=True, slots=True)
class CameraSpec:
    """Lens and place of a camera, as agents are told: nobody has to hard-code them."""

    width: int
    height: int
    hfov: float  #: degrees, horizontal; pixels are square
    pose: Pose  #: on the body, before any tilt: x right, y up, −z ahead
    near: float  #: metres
    far: float  #: metres
    depth: DepthSpec | None = None  #: depth cameras only

    @property
    def focal_length(self) -> float:
        """Pixels, along both axes."""
        return 0.5 * self.width / math.tan(math.radians(self.hfov) / 2)

    @property
    def principal_point(self) -> tuple[float, float]:
        """Pixels; the centre of the first pixel is (0.5, 0.5)."""
        return (self.width / 2, self.height / 2)


@dataclass(frozen=True, kw_only=True, slots=True)
class SensorSpec:
    """What a sensor delivers, as agents are told."""

    kind: str  #: rgb, depth, semantic, gps, …
    dtype: str  #: of a tensor on the wire, or TEXT
    shape: tuple[int, ...] = ()  #: 0 stands for an extent that differs from episode to episode
    camera: CameraSpec | None = None  #: cameras only

    @property
    def nbytes(self) -> int:
        """How much memory one reading takes; 0 when that is not known beforehand."""
        return 0 if self.dtype == TEXT else math.prod(self.shape) * np.dtype(self.dtype).itemsize


class Bounds(NamedTuple):
    """Least and greatest readings: one number each, or one per element."""

    low: ArrayLike
    high: ArrayLike


@dataclass(frozen=True, slots=True)
class TextValue:
    """Words for the agent."""

    text: str
    tokens: tuple[str, ...] = ()


SensorValue: TypeAlias = NDArray[Any] | TextValue


class PictureSource(Protocol):
    """Who draws pictures for the sensors of one agent at one moment."""

    def draw_camera(self, name: str, camera: "CameraSensor") -> NDArray[Any]:
        """What the camera's channel shows, before the sensor makes a reading of it; the sensor may change it."""
        ...

    def draw_goal(self, image: GoalImage) -> NDArray[np.uint8]:
        """What the goal looks like in colour; drawn once, to be left as it is."""
        ...


class NoPictures:
    """The picture source of a simulator that draws nothing."""

    def draw_camera(self, name: str, camera: "CameraSensor") -> NDArray[Any]:
        raise SimulatorError(f"This simulator draws no pictures; take the sensor {name!r} away.")

    def draw_goal(self, image: GoalImage) -> NDArray[np.uint8]:
        raise SimulatorError("This simulator draws no pictures; take the picture of the goal away.")


class BlankPictures:
    """The picture source of a simulator in which there is nothing to be seen: every value is 0."""

    def draw_camera(self, name: str, camera: "CameraSensor") -> NDArray[Any]:
        return np.zeros(camera.channel.shape(camera.width, camera.height), camera.channel.dtype)

    def draw_goal(self, image: GoalImage) -> NDArray[np.uint8]:
        return np.zeros((image.height, image.width, 3), np.uint8)


@dataclass(frozen=True, kw_only=True, slots=True)
class SensorContext:
    """All that a sensor may look at: one moment of an episode."""

    episode: Episode
    start: Pose  #: the agent at the first step, on the ground
    now: Pose  #: the agent at this step
    step: int = 0  #: actions carried out so far
    seed: int = 0  #: of the benchmark: what noise is drawn from
    category_ids: Mapping[str, int] = field(default_factory=dict)  #: of the scene, by name
    pictures: PictureSource = field(default_factory=NoPictures)  #: who draws

    def make_generator(self, name: str) -> np.random.Generator:
        """Random numbers for the sensor called `name` at this step: the same for every team and in every replay."""
        return make_generator(self.seed, "noise", f"{self.episode.episode_id}/{self.step}/{name}")


class Sensor(ConfigModel):
    """One entry of an observation. A subclass has a field `kind: Literal["…"] = "…"`, by which it is registered."""

    if TYPE_CHECKING:
        kind: str  # every subclass has it, among its own fields

    is_rendered: ClassVar[bool] = False
    """Whether a reading needs a renderer."""

    @property
    @abstractmethod
    def spec(self) -> SensorSpec:
        """What this sensor delivers; part of what agents are told."""

    @abstractmethod
    def read(self, name: str, context: SensorContext) -> SensorValue:
        """What the agent senses now. `name` is what the task calls this sensor."""

    @property
    def bounds(self) -> Bounds:
        """Within what numbers stay; by default all that the type can hold."""
        dtype = np.dtype(self.spec.dtype)
        if dtype.kind == "f":
            return Bounds(-np.inf, np.inf)
        return Bounds(False, True) if dtype.kind == "b" else Bounds(np.iinfo(dtype).min, np.iinfo(dtype).max)

    def fit_spec(self, name: str, episodes: Sequence[Episode]) -> SensorSpec:
        """The spec with the extents that only the episodes know."""
        return self.spec

    def list_texts(self, episodes: Sequence[Episode]) -> set[str] | None:
        """What a sensor of words may say in these episodes; None where they do not tell."""
        return None


S = TypeVar("S", bound=Sensor)

SENSORS: Registry[type[Sensor]] = Registry("sensor", entry_point_group="nav_eval.sensors")


def register_sensor(cls: type[S]) -> type[S]:
    """Class decorator: make a sensor available to configurations by its kind."""
    SENSORS.register(cls.model_fields["kind"].default)(cls)
    return cls
