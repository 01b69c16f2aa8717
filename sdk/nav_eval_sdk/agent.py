"""The contract of an agent: reset on a new episode, then answer every observation with an action.

Frames: metres, radians; right-handed, Y up, −Z forward; quaternions x, y, z, w.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from nav_eval_sdk.geometry import Body, Camera, Motion

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class SensorSpec:
    """One sensor that the task offers."""

    kind: str  #: rgb, depth, semantic, gps, …
    dtype: str  #: of the array; "text" for sensors that are words
    shape: tuple[int, ...] = ()  #: 0 stands for an extent that differs from episode to episode
    camera: Camera | None = None  #: lens and place, of cameras; None also where the evaluator is older


@dataclass(frozen=True)
class Task:
    """What an episode offers and allows."""

    name: str = ""
    sensors: Mapping[str, SensorSpec] = field(default_factory=dict)
    actions: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)
    """By name: the arguments that an action takes, and between which values. Most take none."""
    max_steps: int = 0  #: actions per episode, stops included; 0 means no limit
    reset_seconds: float = 0.0  #: the time for one `reset`; 0 means not told
    action_seconds: float = 0.0  #: the time for one `act`
    episode_seconds: float = 0.0  #: of wall clock for the whole episode
    motions: Mapping[str, Motion] = field(default_factory=dict)
    """By action: what it does to the body. Those that only say something, such as `stop`, have none."""
    budgets: Mapping[str, int] = field(default_factory=dict)
    """By action: how often it may be done in an episode. Those without may be done as often as one likes."""
    control_rate_hz: float = 0.0  #: actions per simulated second; 0 where they take no time
    stop_meaning: str = "unspecified"  #: ends_episode, closes_subtask, or none
    success_metres: float = 0.0  #: a success is a stop closer than this; 0 means not told
    body: Body | None = None


@dataclass(frozen=True)
class Episode:
    """What an agent is told when an episode starts. Goals and paths are never part of it."""

    episode_id: str
    instruction: str = ""
    tokens: tuple[str, ...] = ()  #: the instruction's words, where the dataset has them
    language: str = ""  #: such as "en-US"
    object_category: str | None = None  #: what to find, where the task has that
    task: Task = field(default_factory=Task)
    session_id: str = ""  #: unlike any other episode's, also when several run at once


@dataclass(frozen=True, eq=False)
class Observation(Mapping[str, Array]):
    """One moment: every sensor that the agent asked for, by name: `observation["rgb"]`.

    The arrays are read-only and yours to keep: `.copy()` what you want to change.
    """

    step: int  #: actions carried out so far
    sensors: Mapping[str, Array]
    texts: Mapping[str, str] = field(default_factory=dict)  #: sensors that are words
    between: tuple[Observation, ...] = ()  #: seen between the actions of your last answer, oldest first
    episode: Episode = field(default_factory=lambda: Episode(""))  #: which episode this is a moment of

    @property
    def instruction(self) -> str:
        return self.episode.instruction

    def __getitem__(self, name: str) -> Array:
        try:
            return self.sensors[name]
        except KeyError:
            raise MissingSensor(name, self) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.sensors)

    def __len__(self) -> int:
        return len(self.sensors)


class MissingSensor(KeyError):
    """An observation has no such array; the message says what it has, and how to get more."""

    def __init__(self, name: object, observation: Observation) -> None:
        super().__init__(name)
        self._name, self._observation = name, observation

    def __str__(self) -> str:
        seen = self._observation
        if self._name in seen.texts:
            return f"{self._name!r} is words, which are in observation.texts[{self._name!r}]"
        has = ", ".join(seen.sensors) or "no arrays"
        return f"no {self._name!r} in the observation; this one has {has}. Add it to the agent's `sensors`"


@dataclass(frozen=True)
class Pose:
    """A place and a direction, as a localization task wants to know them."""

    position: tuple[float, float, float]
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Action:
    """What to do next; arguments only where the task allows them."""

    name: str
    arguments: Mapping[str, float] = field(default_factory=dict)
    poses: tuple[Pose, ...] = ()
    """Localization: `Action("answer", poses=(…,))`, up to three, the best first. Trajectory: where to go, in order."""
    camera: str = ""  #: whose pixel it is, in `Action("pixel_goal", {"u": …, "v": …}, camera="rgb")`
    text: str = ""  #: why, in words: kept in the record and shown in replays, at most 2,048 bytes per action


Answer = Union[str, Action, Mapping[str, Any], Sequence[Union[str, Action, Mapping[str, Any]]]]
"""What `act` may return: an action, its name, `{"action": …, "action_args": {…}}`, or a list of such."""


@dataclass(frozen=True)
class Outcome:
    """How an episode ended."""

    status: str = "completed"  #: completed, failed, timeout or cancelled
    steps: int = 0
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)  #: empty wherever scores are secret


@dataclass(frozen=True)
class Description:
    """What the evaluator should know about an agent. Nothing is rendered that nobody asked for."""

    name: str = "agent"
    version: str = ""
    sensors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Wanted sensors with their encodings, best first (raw, jpeg, png); empty means all of them, raw."""
    max_episodes: int = 1  #: at once
    max_actions: int = 1  #: in one answer
    wants_between: bool = False  #: also send what was seen between the actions of one answer
    metadata: Mapping[str, str] = field(default_factory=dict)
    rig: str = ""  #: which of the challenge's rigs (cameras and motion) to play with; empty means the first


class Agent:
    """Write `act`, or `act_batch` to answer several episodes at once; override the rest as needed.

    All methods of one agent are called in one thread, the same that constructed it.
    """

    name: str = ""  #: as shown on the leaderboard; the class's name by default
    version: str = ""
    sensors: Sequence[str] | Mapping[str, Sequence[str]] = ()
    """Names of wanted sensors, or names with encodings: `{"rgb": ["jpeg"]}`. Empty means all, raw."""
    max_episodes: int = 1
    """How many at once: served by as many instances, or by one that has `act_batch`."""
    max_actions: int = 1
    wants_between: bool = False
    rig: str = ""
    """Which of the challenge's rigs, where it has several; its sensors are then those of that rig."""

    def describe(self) -> Description:
        """From the class attributes; override it where they are not enough."""
        names = (self.sensors,) if isinstance(self.sensors, str) else self.sensors  # "rgb" is one name, not three
        wanted = names if isinstance(names, Mapping) else dict.fromkeys(names, ("raw",))
        return Description(
            name=self.name or type(self).__name__,
            version=self.version,
            sensors={sensor: tuple(encodings) for sensor, encodings in wanted.items()},
            max_episodes=self.max_episodes,
            max_actions=self.max_actions,
            wants_between=self.wants_between,
            rig=self.rig,
        )

    def reset(self, episode: Episode) -> None:
        """A new episode begins."""

    def act(self, observation: Observation) -> Answer:
        """Choose the next action, or several."""
        return self.act_batch([observation])[0]

    def act_batch(self, observations: Sequence[Observation]) -> Sequence[Answer]:
        """The same for several episodes at once; `observation.episode` says which is which."""
        return [self.act(observation) for observation in observations]

    def end(self, episode: Episode, outcome: Outcome) -> None:
        """An episode is over: forget what you kept for it."""
