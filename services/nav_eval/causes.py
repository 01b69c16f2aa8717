"""Why an episode or a submission ended early: one named cause each, with what the team can do next.

An agent's fault ends its episode, which is scored as it stands; the run goes on. `infrastructure` is
ours: retried, never scored, never charged to a quota.
"""

from enum import StrEnum


class Cause(StrEnum):
    """What ended it."""

    IMAGE_INVALID = "image_invalid"  #: the upload is no image that we can run
    AGENT_START_TIMEOUT = "agent_start_timeout"  #: the agent did not become ready in time
    AGENT_CRASH = "agent_crash"  #: the agent's process ended, or its code raised an error
    AGENT_OOM = "agent_oom"  #: it asked for more memory than it may have
    AGENT_TIMEOUT = "agent_timeout"  #: no reply within the time for one reset, one action or the episode
    PROTOCOL_ERROR = "protocol_error"  #: the reply is not what agent.proto or the task allows
    CANCELLED = "cancelled"  #: the team or the organiser stopped it
    INFRASTRUCTURE = "infrastructure"  #: our fault: retried, never scored, never charged

    @property
    def advice(self) -> str:
        """One sentence that tells the team what to do next."""
        return _ADVICE[self]

    @property
    def is_ours(self) -> bool:
        """Retried, never scored, never charged to a quota."""
        return self is Cause.INFRASTRUCTURE


UNSCORED = frozenset({Cause.IMAGE_INVALID, Cause.CANCELLED, Cause.INFRASTRUCTURE})
"""Causes that say nothing about the agent's navigation: no episode ends in the means by them."""

_ADVICE = {
    Cause.IMAGE_INVALID: "Build for linux/amd64, save one image with `docker save`, and upload again.",
    Cause.AGENT_START_TIMEOUT: "Serve first and load weights afterwards; `nav-eval-sdk check` shows when it answers.",
    Cause.AGENT_CRASH: "Read the end of the agent's log, where the error stands; `nav-eval-sdk check` shows it too.",
    Cause.AGENT_OOM: "Lower the batch size or the model's size, or free what an episode leaves behind.",
    Cause.AGENT_TIMEOUT: "Make `act` faster, or answer several actions at once; `nav-eval-sdk check` prints the times.",
    Cause.PROTOCOL_ERROR: "Run `nav-eval-sdk check` on the agent: it names the reply that is wrong and how to fix it.",
    Cause.CANCELLED: "Submit again when you are ready.",
    Cause.INFRASTRUCTURE: "Nothing: the evaluation is repeated by itself and your quota is untouched.",
}
