"""What an agent said about itself, once it is checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from nav_eval.agents.failures import ProtocolError
from nav_eval.agents.interface import TaskInterface

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

    def wanted(self, task: TaskInterface) -> TaskInterface:
        """The task with the sensors that this agent wants to see."""
        unknown = sorted(set(self.sensors) - set(task.sensors))
        if unknown:
            raise ProtocolError(
                f"Describe asks for the sensor {unknown[0]!r}, which this task does not have. "
                f"It has: {', '.join(sorted(task.sensors))}."
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


def bounded(value: int, *, what: str, most: int) -> int:
    """A count that the agent gave; 0 means 1."""
    if not 0 <= value <= most:
        raise ProtocolError(f"Describe says {what} = {value}; it must lie between 0 and {most}.")
    return value or 1


def short(text: str, *, limit: int = MAX_TEXT) -> str:
    """Words of an agent that we show to people: printable and not too long."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text[: limit + 1])
    return printable if len(printable) <= limit else printable[:limit] + "…"
