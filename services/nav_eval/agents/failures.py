"""What stops an episode, as exceptions: the agent's faults, ours, and somebody's wish; one leaf per cause."""

from typing import ClassVar

from nav_eval.errors import NavEvalError
from nav_eval.records.results import Cause


class EpisodeFailure(NavEvalError):
    """An episode cannot go on; `cause` says whose fault it is."""

    cause: ClassVar[Cause]


class AgentFailure(EpisodeFailure):
    """The agent is to blame."""


class ImageInvalid(AgentFailure):
    """The image cannot be run."""

    cause = Cause.IMAGE_INVALID


class AgentStartTimeout(AgentFailure):
    """The agent did not become ready in time."""

    cause = Cause.AGENT_START_TIMEOUT


class AgentCrash(AgentFailure):
    """The agent ended, or its code raised an error."""

    cause = Cause.AGENT_CRASH


class ConnectionLost(AgentCrash):
    """The connection to the agent broke: its process ended, or it closed the connection."""


class AgentOutOfMemory(AgentFailure):
    """The agent ran out of memory."""

    cause = Cause.AGENT_OOM


class AgentTimeout(AgentFailure):
    """The agent did not reply in time."""

    cause = Cause.AGENT_TIMEOUT


class ProtocolError(AgentFailure):
    """The agent's reply is not what the protocol or the task allows."""

    cause = Cause.PROTOCOL_ERROR


class Cancelled(EpisodeFailure):
    """The evaluation was stopped."""

    cause = Cause.CANCELLED


class InfrastructureFailure(EpisodeFailure):
    """The evaluator failed; the agent is not to blame."""

    cause = Cause.INFRASTRUCTURE


FAILURES: dict[Cause, type[EpisodeFailure]] = {
    failure.cause: failure
    for failure in (
        ImageInvalid,
        AgentStartTimeout,
        AgentCrash,
        AgentOutOfMemory,
        AgentTimeout,
        ProtocolError,
        Cancelled,
        InfrastructureFailure,
    )
}


def get_cause(error: NavEvalError) -> Cause:
    """A failure of an episode names its cause; whatever else stops one is ours."""
    return error.cause if isinstance(error, EpisodeFailure) else Cause.INFRASTRUCTURE
