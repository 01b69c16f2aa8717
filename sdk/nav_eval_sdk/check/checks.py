"""What a check is: a name, what is expected, what to fix when it is not so, how to find out, and what was found.

And how it talks to an agent: a `Probe` asks like the evaluator, but looks closer. And what it shows: a task
like those of a challenge, and pictures that change as if the agent moved.
"""

from __future__ import annotations

import functools
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from nav_eval_sdk.agent import Action, Array, Description, Episode, Observation, SensorSpec, Task
from nav_eval_sdk.errors import SdkError


class ProbeError(SdkError):
    """The agent did not do what was asked; the message says what it did instead."""


class NotServed(ProbeError):
    """The agent does not serve this optional part."""


@dataclass(frozen=True)
class Readiness:
    """How an agent said that it is ready."""

    seconds: float
    has_health: bool


@dataclass(frozen=True)
class ProbeDescription:
    """What the agent says about itself, and what only a checker wants to know."""

    description: Description
    protocol_versions: tuple[int, ...] = ()
    unknown_encodings: tuple[str, ...] = ()
    repeats_replies: bool = False
    proof_is_right: bool | None = None  #: None if it does not claim to see our memory
    raw: bytes = b""


@dataclass(frozen=True)
class ProbeReply:
    """One answer to one observation."""

    sequence: int
    actions: tuple[Action, ...]
    seconds: float = 0.0


class ProbeEpisode(ABC):
    """One episode against the agent."""

    def __init__(self) -> None:
        self.session_id = uuid.uuid4().hex
        self.sequence = 0

    def act(self, observation: Observation) -> ProbeReply:
        self.sequence += 1
        return self.ask(observation)

    @abstractmethod
    def ask(self, observation: Observation) -> ProbeReply:
        """Send the observation under the present sequence number; calling it twice repeats the request."""

    @abstractmethod
    def end(self) -> bool:
        """Say that the episode is over; False if the agent does not care."""

    @abstractmethod
    def abandon(self) -> None:
        """Vanish, as an evaluator does that is killed."""


class Probe(ABC):
    """One agent under test."""

    protocol: str
    port: int = 0  #: that the agent must connect to, where it is the agent who connects

    def __init__(self, *, timeout: float) -> None:
        self.timeout = timeout

    @abstractmethod
    def wait_until_ready(self, seconds: float) -> Readiness: ...

    @abstractmethod
    def describe(self, task: Task) -> ProbeDescription:
        """Raises NotServed where the agent leaves it to the defaults."""

    @abstractmethod
    def open(self, task: Task, *, instruction: str, shared: bool = False) -> ProbeEpisode: ...

    @abstractmethod
    def is_serving(self) -> bool:
        """Whether the agent still answers."""

    def send_garbage(self) -> None:
        """Bytes that are no message; the agent may refuse them, and must live on."""
        raise NotServed("There is no garbage for this protocol.")

    def act_without_reset(self, observation: Observation) -> None:
        """An observation of an episode that never began: the agent must refuse it. Raises ProbeError if it does."""
        raise NotServed("This protocol has no such question.")

    @abstractmethod
    def close(self) -> None:
        """Let go."""


@dataclass
class Latencies:
    """How long the agent took, reply by reply."""

    seconds: list[float] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


HEIGHT, WIDTH = 480, 640

SENSORS = {
    "rgb": SensorSpec("rgb", "uint8", (HEIGHT, WIDTH, 3)),
    "depth": SensorSpec("depth", "float32", (HEIGHT, WIDTH)),
    "semantic": SensorSpec("semantic", "int32", (HEIGHT, WIDTH)),
    "instance": SensorSpec("instance", "uint32", (HEIGHT, WIDTH)),
    "gps": SensorSpec("gps", "float32", (2,)),
    "compass": SensorSpec("compass", "float32", (1,)),
    "pose": SensorSpec("pose", "float32", (3, 4)),
    "pointgoal": SensorSpec("pointgoal", "float32", (2,)),
    "imagegoal": SensorSpec("imagegoal", "uint8", (HEIGHT, WIDTH, 3)),
    "objectgoal": SensorSpec("objectgoal", "text"),
    "instruction": SensorSpec("instruction", "text"),
}
DISCRETE: dict[str, dict[str, tuple[float, float]]] = {
    "stop": {},
    "move_forward": {},
    "turn_left": {},
    "turn_right": {},
    "look_up": {},
    "look_down": {},
}
VELOCITY: dict[str, dict[str, tuple[float, float]]] = {
    "velocity_control": {"linear_velocity": (-2.0, 2.0), "angular_velocity": (-180.0, 180.0)}
}
TASKS: dict[str, dict[str, dict[str, tuple[float, float]]]] = {
    "navigation": {**DISCRETE, **VELOCITY},
    "localization": {"answer": {}, "stop": {}},
}


def make_task(name: str, *, extra_sensors: Iterable[str] = (), action_seconds: float = 30.0) -> Task:
    """The task called `name`, with sensors such as `rgb_left:uint8:480x640x3` besides the usual ones."""
    if name not in TASKS:
        raise SdkError(f"There is no task {name!r} to check; choose among {', '.join(TASKS)}.")
    return Task(
        name=name,
        sensors={**SENSORS, **dict(_parse_sensor(text) for text in extra_sensors)},
        actions=TASKS[name],
        max_steps=500,
        reset_seconds=60.0,
        action_seconds=action_seconds,
    )


def offer_sensors(task: Task, wanted: Iterable[str]) -> Task:
    """The task with what an agent asks for, as far as names have a kind that exists: `rgb_front` is an rgb sensor.

    Each benchmark has names of its own; whether it has these turns out in a submission or in a local test.
    """
    kinds = {name: name.split("_")[0] for name in wanted if name not in task.sensors}
    named = {name: SENSORS[kind] for name, kind in kinds.items() if kind in SENSORS}
    return replace(task, sensors={**task.sensors, **named})


def make_observation(
    task: Task, step: int, *, wanted: Iterable[str] = (), episode: Episode | None = None
) -> Observation:
    """What the wanted sensors read at `step`; the same for everyone who asks."""
    names = list(wanted) or list(task.sensors)
    specs = {name: task.sensors[name] for name in names if name in task.sensors}
    return Observation(
        step=step,
        sensors={name: _make_reading(spec, step) for name, spec in specs.items() if spec.dtype != "text"},
        texts={name: "chair" for name, spec in specs.items() if spec.dtype == "text"},
        episode=episode or Episode("check"),
    )


def _make_reading(spec: SensorSpec, step: int) -> Array:
    return np.roll(_make_waves(spec), step * 1013)


@functools.lru_cache(maxsize=32)
def _make_waves(spec: SensorSpec) -> Array:
    shape = tuple(extent or 32 for extent in spec.shape)
    waves = (np.arange(np.prod(shape, dtype=np.int64), dtype=np.int64) * 7 + 3) % 251
    return (waves / 25.0 if spec.dtype.startswith("float") else waves).astype(spec.dtype).reshape(shape)


def _parse_sensor(text: str) -> tuple[str, SensorSpec]:
    if text.endswith(":text"):
        name = text.removesuffix(":text")
        return name, SensorSpec(name.split("_")[0], "text")
    try:
        name, dtype, shape = text.split(":")
        extents = tuple(int(extent) for extent in shape.split("x"))
        np.dtype(dtype)
    except (ValueError, TypeError):
        raise SdkError(
            f"{text!r} is no sensor; write name:dtype:shape, such as rgb_left:uint8:480x640x3, or name:text."
        ) from None
    return name, SensorSpec(name.split("_")[0], dtype, extents)


PROTOCOLS = ("grpc", "rest", "websocket")
STEPS = 30
PASS, WARN, FAIL, SKIP = "pass", "warn", "fail", "skip"
SAMPLE_INSTRUCTION = "Leave the bedroom, turn left at the sofa and wait by the kitchen table."


class CheckFailed(Exception):
    """The agent does something wrong."""


class CheckDoubtful(Exception):
    """The agent may do this, but it will probably be sorry."""


class CheckSkipped(Exception):
    """There is nothing to check here."""


@dataclass
class CheckContext:
    """What the checks share."""

    probe: Probe
    task: Task
    start_seconds: float
    described: ProbeDescription | None = None
    latencies: Latencies = field(default_factory=Latencies)
    first: list[ProbeReply] = field(default_factory=list)

    def see(self, step: int) -> Observation:
        wanted = self.described.description.sensors if self.described else ()
        return make_observation(self.task, step, wanted=wanted)

    def open(self, *, instruction: str = SAMPLE_INSTRUCTION, shared: bool = False) -> ProbeEpisode:
        return self.probe.open(self.task, instruction=instruction, shared=shared)

    def act(self, episode: ProbeEpisode, step: int) -> ProbeReply:
        reply = episode.act(self.see(step))
        self.latencies.seconds.append(reply.seconds)
        return reply

    def play(self, steps: int = 5, *, shared: bool = False) -> list[ProbeReply]:
        episode = self.open(shared=shared)
        replies = [self.act(episode, step) for step in range(steps)]
        episode.end()
        return replies

    @property
    def max_actions(self) -> int:
        return self.described.description.max_actions if self.described else 1

    @property
    def max_episodes(self) -> int:
        return self.described.description.max_episodes if self.described else 1


CheckFunction = Callable[[CheckContext], "str | None"]


@dataclass(frozen=True)
class Check:
    """One thing that an agent must do, or should."""

    name: str
    title: str  #: what is expected, in a few words
    fix: str  #: what to do when it is not so
    run: CheckFunction  #: returns a remark; raises when something is wrong
    protocols: tuple[str, ...] = PROTOCOLS
    essential: bool = False  #: without it the others mean nothing


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    title: str
    verdict: str  #: pass, warn, fail or skip
    remark: str = ""
    fix: str = ""  #: what to do, where something is to do

    def document(self) -> dict[str, str]:
        return {key: value for key, value in vars(self).items() if value}


class Checks(list[Check]):
    """Checks in the order in which they are written down."""

    def add(
        self, title: str, *, fix: str, protocols: Iterable[str] = PROTOCOLS, essential: bool = False
    ) -> Callable[[CheckFunction], CheckFunction]:
        """Decorator: the check is called as its function, without `check_`."""

        def register(run: CheckFunction) -> CheckFunction:
            self.append(Check(run.__name__.removeprefix("check_"), title, fix, run, tuple(protocols), essential))
            return run

        return register


def require_description(context: CheckContext) -> ProbeDescription:
    if context.described is None:
        raise CheckSkipped("no description")
    return context.described
