"""What an agent did in an episode, as it is kept: each step is hashed together with the hash of the step before it.

An entry is an action, its arguments and the exact pose it led to. A replay that gets the same last link has gone the
same way, bit for bit.
"""

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from nav_eval.agents.messages import ANSWER, Action
from nav_eval.dataset.trajectory import LoggedAction
from nav_eval.errors import RecordError
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.simulator.motion import AgentState

FORMAT = b"nav-eval action log 1"

_encoder = msgspec.json.Encoder(order="deterministic")


TEXT_BYTES_PER_ACTION = 2048
TEXT_BYTES = 65_536  #: in an episode


class ReasoningBudget:
    """How much of an agent's own words an episode keeps: the beginning of each, until all is spent."""

    def __init__(self) -> None:
        self._left = TEXT_BYTES

    def keep(self, text: str) -> str:
        """As many whole characters as there is room for; what cannot be written as UTF-8 is left out."""
        kept = text.encode(errors="ignore")[: min(TEXT_BYTES_PER_ACTION, self._left)].decode(errors="ignore")
        self._left -= len(kept.encode())
        return kept


class ActionLog:
    """Grows by one entry per step. The chain is made when somebody asks for its digest."""

    def __init__(self, episode_id: str, start: AgentState) -> None:
        self.actions: list[LoggedAction] = []
        self._episode_id, self._start = episode_id, start
        self._states: list[AgentState | None] = []

    def append(self, action: Action, state: AgentState) -> None:
        """An action and where it led."""
        self.actions.append(_make_entry(action))
        self._states.append(state)

    def append_answer(self, poses: Sequence[Pose]) -> None:
        """A localization answer: nobody moves."""
        self.actions.append({"action": ANSWER, "poses": [[*pose.position, *pose.rotation] for pose in poses]})
        self._states.append(None)

    def append_text_answer(self, text: str) -> None:
        """An answer in words: nobody moves."""
        self.actions.append({"action": ANSWER, "text": text})
        self._states.append(None)

    @property
    def trajectory(self) -> tuple[Vec3, ...]:
        """The start, and where each action led."""
        return (self._start.position, *(state.position for state in self._states if state is not None))

    @property
    def digest(self) -> str:
        """The last link of the chain."""
        link = hashlib.sha256(FORMAT + self._episode_id.encode() + _pack_pose(self._start)).digest()
        for entry, state in zip(self.actions, self._states, strict=True):
            led_to = b"" if state is None else _pack_pose(state)
            link = hashlib.sha256(link + _encoder.encode(entry) + led_to).digest()
        return link.hex()


def _make_entry(action: Action) -> LoggedAction:
    """A bare name where there is no more to say."""
    said = {
        "action_args": dict(action.arguments),
        "goal": action.goal,
        "text": action.text,
        "reply": action.reply,
    }
    kept = {key: value for key, value in said.items() if value}
    return {"action": action.name, **kept} if kept else action.name


def parse_entry(entry: Any) -> Action:  # noqa: ANN401 - comes out of a file
    """The action of one entry as it stands in a file."""
    if isinstance(entry, str):
        return Action(name=entry)
    if isinstance(entry, dict) and entry.get("action") == ANSWER and isinstance(entry.get("text"), str):
        return Action(name=ANSWER, text=entry["text"])
    if isinstance(entry, dict) and entry.get("action") == ANSWER:
        return Action(name=ANSWER, poses=_parse_poses(entry))
    if isinstance(entry, dict) and isinstance(entry.get("action"), str):
        arguments = entry.get("action_args") or {}
        if isinstance(arguments, dict) and all(_is_number(value) for value in arguments.values()):
            return Action(
                name=entry["action"],
                arguments={str(name): float(value) for name, value in arguments.items()},
                goal=_parse_goal(entry.get("goal")),
                text=str(entry.get("text") or ""),
                reply=str(entry.get("reply") or ""),
            )
    raise RecordError(f"An action log holds {entry!r}; an entry is a name, or an object with action and action_args.")


def _is_number(value: object) -> bool:
    """Whole numbers of a file may be larger than any float."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 1023)


def _parse_goal(goal: Any) -> Mapping[str, Any] | None:  # noqa: ANN401 - comes out of a file
    if goal is not None and not isinstance(goal, dict):
        raise RecordError(f"An action log holds the goal {goal!r:.80}; it is an object.")
    return goal


def _parse_poses(entry: dict[str, Any]) -> tuple[Pose, ...]:
    try:
        return tuple(msgspec.convert({"position": row[:3], "rotation": row[3:]}, Pose) for row in entry["poses"])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RecordError(f"An action log holds the answer {entry!r}; poses are lists of seven numbers.") from error


def is_same_place(first: Sequence[float], second: Sequence[float]) -> bool:
    """Bit for bit, so that −0.0 is not 0.0."""
    return struct.pack("<3d", *first) == struct.pack("<3d", *second)


def _pack_pose(state: AgentState) -> bytes:
    return struct.pack("<3dqq?", *state.position, state.heading, state.tilt, state.collided)
