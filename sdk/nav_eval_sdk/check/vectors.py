"""The recorded conversations that come with the SDK, as an agent of any protocol can be asked them.

They are files in `nav_eval_sdk/vectors`, plain JSON, for implementations in any language: docs/definitions.md says
how to read them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nav_eval_sdk.agent import Observation, Task
from nav_eval_sdk.json_messages import decode_episode, decode_observation

FOLDER = Path(__file__).resolve().parents[1] / "vectors"


@dataclass(frozen=True)
class Conversation:
    """What the evaluator says in one episode."""

    task: Task
    instruction: str
    observations: tuple[Observation, ...]


def read_conversation(name: str) -> Conversation:
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    episode = decode_episode(document["reset"])
    observations = tuple(decode_observation(exchange["send"], episode) for exchange in document["exchanges"])
    return Conversation(episode.task, episode.instruction, observations)


def keep_wanted(observation: Observation, wanted: Iterable[str]) -> Observation:
    """The observation with the sensors that the agent asked for; all where it asked for none."""
    names = set(wanted)
    if not names:
        return observation
    return Observation(
        step=observation.step,
        sensors={name: array for name, array in observation.sensors.items() if name in names},
        texts={name: text for name, text in observation.texts.items() if name in names},
        episode=observation.episode,
    )
