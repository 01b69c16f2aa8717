"""What agents use while they run: processor time and memory, as their workers measure it.

A worker says with each sign of life what the agent has used under its lease. A shard that goes from one worker to
another adds up; its peak is the highest of all.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID


class AgentUsage(NamedTuple):
    """What an agent used; None where it cannot be measured."""

    cpu_seconds: float | None = None
    memory_bytes: int | None = None
    """At most."""

    def __bool__(self) -> bool:
        return self.cpu_seconds is not None or self.memory_bytes is not None

    def and_then(self, other: "AgentUsage") -> "AgentUsage":
        """Both, one after the other."""
        return sum_usage((self, other))


def sum_usage(parts: Iterable[AgentUsage]) -> AgentUsage:
    """All of it together."""
    known = list(parts)
    seconds = [part.cpu_seconds for part in known if part.cpu_seconds is not None]
    peaks = [part.memory_bytes for part in known if part.memory_bytes is not None]
    return AgentUsage(sum(seconds) if seconds else None, max(peaks, default=None))


def add_to_job_usage(before: Mapping[str, Any] | None, lease_id: UUID, used: AgentUsage) -> dict[str, Any]:
    """A job's notes, with what was used under a lease so far."""
    return {**(before or {}), str(lease_id): {"cpu_seconds": used.cpu_seconds, "memory_bytes": used.memory_bytes}}


def sum_job_usage(notes: Mapping[str, Any] | None) -> AgentUsage:
    return sum_usage(AgentUsage(note["cpu_seconds"], note["memory_bytes"]) for note in (notes or {}).values())
