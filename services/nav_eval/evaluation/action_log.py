"""What an agent did, in a form that nobody can change afterwards without being found out.

Every step is hashed together with the hash of the step before it: the action, its arguments and the
exact pose it led to. A replay that gets the same last link has gone the same way, bit for bit.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from nav_eval.agents.messages import ANSWER
from nav_eval.dataset.episode import Pose, Vec3
from nav_eval.errors import RecordError
from nav_eval.simulator.motion import AgentState

FORMAT = b"nav-eval action log 1"

LoggedAction: TypeAlias = str | dict[str, Any]
"""The name alone, or `{"action": name, "action_args": {…}}`."""

_encoder = msgspec.json.Encoder(order="deterministic")


class ActionLog:
    """Grows by one entry per step."""

    def __init__(self, episode_id: str, start: AgentState) -> None:
        self.actions: list[LoggedAction] = []
        self.trajectory: list[Vec3] = [start.position]
        self._link = hashlib.sha256(FORMAT + episode_id.encode() + _pose(start)).digest()

    def append(self, action: str, arguments: Mapping[str, float], state: AgentState) -> None:
        entry: LoggedAction = {"action": action, "action_args": dict(arguments)} if arguments else action
        self.actions.append(entry)
        self.trajectory.append(state.position)
        self._link = hashlib.sha256(self._link + _encoder.encode(entry) + _pose(state)).digest()

    def answer(self, poses: Sequence[Pose]) -> None:
        """A localization answer: nobody moves."""
        entry: LoggedAction = {"action": ANSWER, "poses": [[*pose.position, *pose.rotation] for pose in poses]}
        self.actions.append(entry)
        self._link = hashlib.sha256(self._link + _encoder.encode(entry)).digest()

    @property
    def digest(self) -> str:
        """The last link of the chain."""
        return self._link.hex()


def logged(entry: Any) -> tuple[str, dict[str, float]]:  # noqa: ANN401 - comes out of a file
    """Name and arguments of one entry as it stands in a file."""
    if isinstance(entry, str):
        return entry, {}
    if isinstance(entry, dict) and isinstance(entry.get("action"), str):
        arguments = entry.get("action_args") or {}
        if isinstance(arguments, dict) and all(isinstance(value, int | float) for value in arguments.values()):
            return entry["action"], {str(name): float(value) for name, value in arguments.items()}
    raise RecordError(f"An action log holds {entry!r}; an entry is a name, or an object with action and action_args.")


def logged_poses(entry: Any) -> list[Pose] | None:  # noqa: ANN401 - comes out of a file
    """The poses of an answer; None if the entry is an action."""
    if not (isinstance(entry, dict) and entry.get("action") == ANSWER):
        return None
    try:
        return [msgspec.convert({"position": row[:3], "rotation": row[3:]}, Pose) for row in entry["poses"]]
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RecordError(f"An action log holds the answer {entry!r}; poses are lists of seven numbers.") from error


def same_place(first: Sequence[float], second: Sequence[float]) -> bool:
    """Bit for bit, so that −0.0 is not 0.0."""
    return struct.pack("<3d", *first) == struct.pack("<3d", *second)


def _pose(state: AgentState) -> bytes:
    return struct.pack("<3dqq?", *state.position, state.heading, state.tilt, state.collided)
