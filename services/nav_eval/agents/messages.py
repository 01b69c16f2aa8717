"""What passes between evaluator and agent, on our side of the wire.

`TaskInterface` is what a task offers to an agent and allows it: sensors and actions, without anything of the
scene. `AgentDescription` is what the agent said about itself, once it is checked. Then observations go one way
and actions the other, until `EpisodeEnd`. A reply is hostile until it has passed here: right number, known names,
finite arguments, real poses.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from numpy.typing import NDArray

from nav_eval.agents.failures import EpisodeFailure, ProtocolError, limit_text
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause
from nav_eval.sensors import SensorSpec
from nav_eval.suggestions import suggest_close_match

DTYPES = frozenset(
    ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
)  #: what a tensor may be made of; objects never


@dataclass(frozen=True, kw_only=True, slots=True)
class MotionSpec:
    """What one action does to the body, walls aside."""

    forward_metres: float = 0.0
    left_degrees: float = 0.0  #: negative to the right
    up_degrees: float = 0.0  #: negative down
    seconds: float = 0.0  #: simulated, that a velocity is held


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionSpec:
    """One action of the task."""

    arguments: Mapping[str, tuple[float, float]] = field(default_factory=dict)  #: which it takes, between which values
    motion: MotionSpec | None = None  #: what it does when no argument says otherwise
    takes_text: bool = False  #: in words: `text` is the answer or the question itself
    budget: int = 0  #: how often it may be done in an episode; 0 means as often as one likes


class StopMeaning(StrEnum):
    """What `stop` says in a task."""

    UNSPECIFIED = "unspecified"  #: a plug-in's task that does not say
    ENDS_EPISODE = "ends_episode"  #: "I have arrived": the episode ends here
    CLOSES_SUBTASK = "closes_subtask"  #: "I have done this part"; after the last one the episode ends
    NONE = "none"  #: there is none: the episode ends with an answer


@dataclass(frozen=True, kw_only=True, slots=True)
class BodySpec:
    """What moves, as collisions see it: an upright cylinder whose origin is in the middle of its foot."""

    radius: float  #: metres
    height: float  #: metres
    slides: bool  #: along a wall, instead of stopping at it
    max_tilt_degrees: float  #: that looking up and down may add up to


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInterface:
    """What every episode of a run has in common, as the agent is told."""

    name: str  #: vln, lh_vln, …
    sensors: Mapping[str, SensorSpec]
    actions: Mapping[str, ActionSpec]
    max_steps: int = 0  #: actions per episode; 0 means no limit
    stop_meaning: StopMeaning = StopMeaning.UNSPECIFIED
    success_metres: float = 0.0  #: a success is a stop closer than this; 0 means not told
    control_rate_hz: float = 0.0  #: actions per simulated second; 0: they take no time
    body: BodySpec | None = None  #: tasks without motion have none
    rigs: "Mapping[str, TaskInterface]" = field(default_factory=dict)  #: what an agent may choose instead, by name

    def only(self, names: frozenset[str]) -> "TaskInterface":
        """The same task with these sensors alone."""
        return replace(self, sensors={name: spec for name, spec in self.sensors.items() if name in names})


PROTOCOL_VERSION = 1

MAX_EPISODES = 1024  #: at once; more would be a mistake
MAX_TEXT = 200  #: characters of a name that ends up on a page
MAX_METADATA = 50  #: entries


class Encoding(StrEnum):
    """How a picture travels."""

    RAW = "raw"  #: the array's bytes
    JPEG = "jpeg"  #: lossy, 8-bit pictures only
    PNG = "png"  #: lossless, 8-bit pictures only


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentDescription:
    """Who the agent is and what it wants."""

    name: str = "agent"
    version: str = ""
    sensors: Mapping[str, tuple[Encoding, ...]] = field(default_factory=dict)  #: empty: all of the task, raw
    max_episodes: int = 1  #: at once
    max_actions: int = 1  #: in one reply
    wants_between: bool = False  #: to see what was sensed between the actions of one reply
    repeats_replies: bool = False  #: asking again with the same sequence number is safe
    shared_memory: bool = False  #: it has proved that it sees the memory that we offered
    metadata: Mapping[str, str] = field(default_factory=dict)
    rig: str = ""  #: which of the task's rigs it chose; empty: the first, or there are none

    def to_record(self) -> dict[str, str]:
        """What a run keeps about its agent; the rig is what was played, whatever the agent calls itself."""
        about = {key: value for key, value in self.metadata.items() if key != "rig"}
        return {"name": self.name, "version": self.version, **about, **({"rig": self.rig} if self.rig else {})}

    def choose_rig(self, task: TaskInterface) -> "tuple[AgentDescription, TaskInterface]":
        """The description with the rig that is played, and the task as it is with that."""
        if not task.rigs:
            return replace(self, rig=""), task
        rig = self.rig or next(iter(task.rigs))
        if rig not in task.rigs:
            raise ProtocolError(f"Describe asks for the rig {shorten(rig)!r}; this task has: {', '.join(task.rigs)}.")
        return replace(self, rig=rig), task.rigs[rig]

    def keep_wanted(self, task: TaskInterface) -> TaskInterface:
        """The task with the sensors that this agent wants to see."""
        unknown = sorted(set(self.sensors) - set(task.sensors))
        if unknown:
            raise ProtocolError(
                f"Describe asks for the sensor {shorten(unknown[0])!r}, which this task does not have."
                f"{suggest_close_match(unknown[0][:100], task.sensors)} It has: {', '.join(sorted(task.sensors))}. "
                "Ask for one of these, or leave the sensors out to get all; a benchmark offers more in task.sensors."
            )
        return task.only(frozenset(self.sensors)) if self.sensors else task

    def encodings(self, sensor: str) -> tuple[Encoding, ...]:
        return self.sensors.get(sensor) or (Encoding.RAW,)


def check_versions(spoken: "tuple[int, ...]") -> None:
    """Refuse an agent that does not speak our version; one that says nothing speaks version 1."""
    if spoken and PROTOCOL_VERSION not in spoken:
        versions = ", ".join(map(str, spoken[:10]))
        raise ProtocolError(
            f"The agent speaks version {versions} of the protocol, the evaluator version {PROTOCOL_VERSION}. "
            "Install the SDK that belongs to this challenge."
        )


def check_count(value: int, *, what: str, most: int) -> int:
    """A count that the agent gave; 0 means 1."""
    if not 0 <= value <= most:
        raise ProtocolError(f"Describe says {what} = {value}; it must lie between 0 and {most}.")
    return value or 1


def shorten(text: str, *, limit: int = MAX_TEXT) -> str:
    """Words of an agent that we show to people: printable and not too long."""
    return limit_text(text, limit=limit, also="")


def quote_last_words(log: bytes) -> str:
    """The last lines of a log in one; the marks that Python sets under a line point at nothing there."""
    lines = [line.strip() for line in log.decode(errors="replace").splitlines() if line.strip(" ~^")]
    return shorten(" | ".join(lines[-5:]), limit=1000)


Array: TypeAlias = NDArray[Any]

ANSWER = "answer"  #: the action of tasks that are answered: it carries poses or words


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What an agent senses at one moment."""

    step: int  #: actions carried out so far
    sensors: Mapping[str, Array]  #: by the names that the task gives them
    texts: Mapping[str, str] = field(default_factory=dict)  #: sensors that are words
    between: "tuple[Observation, ...]" = ()  #: sensed between the actions of the last reply, oldest first


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What an agent wants to do next; checked before anyone sees it."""

    name: str
    arguments: Mapping[str, float] = field(default_factory=dict)  #: finite, within the task's bounds
    poses: tuple[
        Pose, ...
    ] = ()  #: localization: up to three guesses, the best first; trajectory: where to go, in order
    camera: str = ""  #: whose pixel it is, in a pixel goal
    text: str = ""  #: why, in the agent's own words; kept in the log as far as the budget goes
    goal: Mapping[str, Any] | None = None  #: in a log: what an agent asked for, at the first action that it led to
    reply: str = ""  #: in a log: what the informant said to a question

    def to_goal(self) -> dict[str, Any]:
        """What was asked for, as a log keeps it."""
        said = {
            "action_args": dict(self.arguments),
            "camera": self.camera,
            "poses": [[*pose.position, *pose.rotation] for pose in self.poses],
        }
        return {"action": self.name, **{key: value for key, value in said.items() if value}}


class EndStatus(StrEnum):
    """How an episode ended, as the agent is told."""

    COMPLETED = "completed"  #: by a stop or by the step limit
    FAILED = "failed"  #: by a fault of the agent
    TIMEOUT = "timeout"  #: because the time for a reply or for the episode was up
    CANCELLED = "cancelled"  #: by the organiser, or by a fault of ours


@dataclass(frozen=True, kw_only=True, slots=True)
class EpisodeEnd:
    """What an agent is told when its episode is over."""

    status: EndStatus = EndStatus.COMPLETED
    steps: int = 0  #: actions carried out
    reason: str = ""  #: one sentence where something went wrong
    metrics: Mapping[str, float] = field(default_factory=dict)  #: empty wherever scores must stay secret

    @classmethod
    def from_failure(cls, failure: EpisodeFailure, *, steps: int = 0) -> "EpisodeEnd":
        """What an agent is told of what ended its episode; what is ours does not concern it."""
        if failure.cause.is_ours:
            return cls(status=EndStatus.CANCELLED, steps=steps)
        status = EndStatus.TIMEOUT if failure.cause is Cause.AGENT_TIMEOUT else EndStatus.FAILED
        return cls(status=status, steps=steps, reason=str(failure))


PIXEL_GOAL, TRAJECTORY = "pixel_goal", "trajectory"
MAX_POSES = 3
MAX_TRAJECTORY = 100
MAX_ANSWER_BYTES = 1000
_MOST_POSES = {ANSWER: MAX_POSES, TRAJECTORY: MAX_TRAJECTORY}
SHORTEST_ROTATION = 1e-6  #: length of a quaternion that still says which way
MAX_COORDINATE = 1e6  #: metres; the same bound as every coordinate of a dataset


def check_actions(actions: Sequence[Action], *, task: TaskInterface, most: int) -> list[Action]:
    """The actions if the task allows them all; otherwise the first thing that is wrong."""
    if not actions:
        raise ProtocolError("The reply has no action; answer every observation with at least one.")
    if len(actions) > most:
        raise ProtocolError(
            f"The reply has {len(actions)} actions, and the agent may give {most} at once; say more in Describe."
        )
    for action in actions:
        _check_action(action, task)
    return list(actions)


def make_pose(*, position: Sequence[float], rotation: Sequence[float]) -> Pose:
    """A guess of a localization task, or what is wrong with it."""
    if len(position) != 3 or len(rotation) != 4:
        raise ProtocolError(
            f"A pose has {len(position)} numbers for its position and {len(rotation)} for its rotation; "
            "it takes 3 (x, y, z) and 4 (x, y, z, w)."
        )
    if not all(math.isfinite(number) and abs(number) <= MAX_COORDINATE for number in (*position, *rotation)):
        raise ProtocolError(f"A pose has numbers that are no metres: {[*position, *rotation]}.")
    if math.hypot(*rotation) < SHORTEST_ROTATION:
        raise ProtocolError(f"A pose has the rotation {[*rotation]}, which is none; no turn at all is 0, 0, 0, 1.")
    x, y, z = map(float, position)
    i, j, k, w = map(float, rotation)
    return Pose((x, y, z), (i, j, k, w))


def _check_action(action: Action, task: TaskInterface) -> None:
    if action.name not in task.actions:
        raise ProtocolError(_explain_unknown_action(action.name, task.actions))
    _check_arguments(action, task.actions[action.name].arguments)
    if task.actions[action.name].takes_text:
        _check_answer_in_words(action)
        return
    most = _MOST_POSES.get(action.name, 0)
    if most and not action.poses:
        raise ProtocolError(f"The {action.name} has no pose; give one to {most}.")
    if action.poses and not most:
        raise ProtocolError(f"The action {action.name!r} carries poses, and takes none; leave them out.")
    if len(action.poses) > most:
        raise ProtocolError(f"The {action.name} has {len(action.poses)} poses; give at most {most}.")
    if action.name == PIXEL_GOAL and getattr(task.sensors.get(action.camera), "camera", None) is None:
        raise ProtocolError(f"pixel_goal names {shorten(action.camera)!r}, which is no camera that you asked for.")


def _check_answer_in_words(action: Action) -> None:
    if action.poses or not action.text.strip():
        raise ProtocolError(f"The {action.name} of this task is in words: give `text`, and no poses.")
    if len(action.text.encode(errors="replace")) > MAX_ANSWER_BYTES or not _is_unicode(action.text):
        raise ProtocolError(f"The {action.name} is no text of at most {MAX_ANSWER_BYTES} bytes.")


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _check_arguments(action: Action, bounds: Mapping[str, tuple[float, float]]) -> None:
    for name, value in action.arguments.items():
        if name not in bounds:
            takes = ", ".join(sorted(bounds)) or "none"
            raise ProtocolError(f"{action.name} does not take the argument {shorten(name)!r}; it takes: {takes}.")
        low, high = bounds[name]
        if not math.isfinite(value) or not low <= value <= high:
            raise ProtocolError(f"{action.name}: {name} = {value} is not within [{low:g}, {high:g}].")


def _explain_unknown_action(name: str, known: Iterable[str]) -> str:
    hint = suggest_close_match(name[:100], known)
    number = " Actions are names, not numbers." if _is_number(name) else ""
    return f"The task has no action {shorten(name)!r}.{number}{hint} It has: {', '.join(sorted(known))}."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
