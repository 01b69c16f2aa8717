"""How an agent ended, and whose doing that was: decided here for every runtime, in words for the team."""

from dataclasses import dataclass

from nav_eval.agents.messages import quote_last_words
from nav_eval.child_process import describe_exit
from nav_eval.records.results import Cause

LOG_TAIL = 4096  #: bytes in which an agent's last words are looked for
_KILLED = -9


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentEnd:
    """How the agent's process ended, when it ended by itself."""

    cause: Cause  #: `agent_crash`; `agent_oom` when it was ended for its memory; `infrastructure` when we ended it
    detail: str  #: exit code or signal, and its last words


def describe_end(code: int | None, log: bytes, *, what: str, out_of_memory: bool = False) -> AgentEnd:
    """How WHAT (a process, a container) of an agent ended; a negative code is a signal, as for Python's processes.

    Only what was measured is `agent_oom`, not what an agent prints. An engine notes that memory ran out also when a
    mere child was killed for it: an agent that ended well all the same is none.
    """
    last = quote_last_words(log)
    said = f" Its last words: {last}" if last else ""
    how = "nobody knows how" if code is None else describe_exit(code)
    if out_of_memory and code == _KILLED:
        return AgentEnd(cause=Cause.AGENT_OOM, detail=f"The agent needed more memory than the phase allows.{said}")
    if out_of_memory and code != 0:
        return AgentEnd(cause=Cause.AGENT_OOM, detail=f"The agent ran out of memory and ended with {how}.{said}")
    return AgentEnd(cause=Cause.AGENT_CRASH, detail=f"The agent's {what} ended with {how}.{said}")


def describe_container_end(code: int | None, log: bytes, *, out_of_memory: bool) -> AgentEnd:
    """The same of a container, whose code is 128 and the signal where a signal ended it."""
    signed = 128 - code if code is not None and code > 128 else code
    return describe_end(signed, log, what="container", out_of_memory=out_of_memory)


def blame_ourselves(what: str) -> AgentEnd:
    """Somebody ended the agent, and it was neither the agent nor its limits."""
    return AgentEnd(cause=Cause.INFRASTRUCTURE, detail=f"The agent's {what} was ended from outside.")
