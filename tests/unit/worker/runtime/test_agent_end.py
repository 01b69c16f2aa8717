"""How an agent ended, and whose doing that was, whatever it ran in."""

import pytest

from nav_eval.records.results import Cause
from nav_eval_worker.runtime.agent_end import blame_ourselves, describe_container_end, describe_end


@pytest.mark.parametrize(
    ("code", "out_of_memory", "log", "cause"),
    [
        (137, True, "", Cause.AGENT_OOM),
        (137, False, "", Cause.AGENT_CRASH),  # somebody else killed it
        (0, True, "", Cause.AGENT_CRASH),  # a child was killed, the agent itself ended as it liked
        (1, True, "", Cause.AGENT_OOM),  # it did not survive the end of its child
        (1, False, "CUDA out of memory", Cause.AGENT_CRASH),  # it says so; nobody measured it
        (127, False, "[FATAL tini (7)] exec python4 failed: No such file or directory", Cause.AGENT_CRASH),
        (None, False, "", Cause.AGENT_CRASH),  # its container was removed
    ],
)
def test_ends_have_causes(code: int | None, out_of_memory: bool, log: str, cause: Cause) -> None:
    end = describe_container_end(code, log.encode(), out_of_memory=out_of_memory)
    assert end.cause is cause
    assert log in end.detail


def test_the_last_words_are_short() -> None:
    assert len(describe_container_end(1, b"x" * 5_000_000, out_of_memory=False).detail) < 1_200


def test_processes_and_containers_are_told_alike() -> None:
    contained = describe_container_end(139, b"bye", out_of_memory=False).detail
    assert contained == "The agent's container ended with signal SIGSEGV. Its last words: bye"
    assert describe_end(-11, b"bye", what="process").detail == contained.replace("container", "process")
    assert blame_ourselves("pod").cause is Cause.INFRASTRUCTURE
