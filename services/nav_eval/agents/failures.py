"""What stops an episode, as exceptions: the agent's faults, ours, and somebody's wish; one leaf per cause."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from nav_eval.errors import NavEvalError
from nav_eval.records.results import Cause

log = logging.getLogger(__name__)


class EpisodeFailure(NavEvalError):
    """An episode cannot go on; `cause` says whose fault it is."""

    cause: ClassVar[Cause]
    is_advised: ClassVar[bool] = False  #: the message itself says what to do next


MAX_DETAIL = 4000
"""Characters of a failure's message: an agent may have written parts of it, and it is kept, shown and logged."""


class AgentFailure(EpisodeFailure):
    """The agent is to blame."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(None if message is None else limit_text(message, limit=MAX_DETAIL))


def limit_text(text: str, *, limit: int, also: str = "\n\t") -> str:
    """The beginning of a text that somebody else made, without characters that play tricks; `also` may stay."""
    kept = "".join(letter if letter.isprintable() or letter in also else " " for letter in text[: limit + 1])
    return kept if len(kept) <= limit else kept[:limit] + "…"


class ImageInvalid(AgentFailure):
    """The image cannot be run."""

    cause = Cause.IMAGE_INVALID


class AgentStartTimeout(AgentFailure):
    """The agent did not become ready in time."""

    cause = Cause.AGENT_START_TIMEOUT


class AgentCrash(AgentFailure):
    """The agent ended, or its code raised an error."""

    cause = Cause.AGENT_CRASH


class AgentNotStarted(AgentCrash):
    """The command of the agent is no program that can be started here."""

    is_advised = True


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


def blame_reply(doing: str) -> "_Blame":
    """Whatever goes wrong while a reply is decoded, checked or judged is the agent's: it chose every bit of it.

    Only what names itself a failure of ours stays one; no reply can raise that. The rest goes to our log, because it is
    also a check that we lack.
    """
    return _Blame(doing)


class _Blame:
    """No generator, because every step passes here twice."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, EpisodeFailure) or not isinstance(error, Exception):
            return
        if isinstance(error, NavEvalError):
            raise ProtocolError(str(error)) from error
        log.warning("A reply could not be taken while %s", self._doing, exc_info=error)  # the edge of what it may do
        raise ProtocolError(
            f"The reply could not be taken while {self._doing} ({type(error).__name__}); check its numbers and texts."
        ) from error


@contextmanager
def log_agent_errors(doing: str) -> Iterator[None]:
    """What an agent does once its episode is over changes nothing: whatever goes wrong then goes to our log alone."""
    try:
        yield
    except Exception as error:  # the edge of what an agent may do to us
        log.warning("An agent could not be left while %s", doing, exc_info=error)


def get_cause(error: NavEvalError) -> Cause:
    """A failure of an episode names its cause; whatever else stops one is ours."""
    return error.cause if isinstance(error, EpisodeFailure) else Cause.INFRASTRUCTURE
