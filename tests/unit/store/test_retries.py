"""When a job fails: whose fault it was decides, and our patience ends."""

from datetime import timedelta

import pytest

from nav_eval.records.results import Cause
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind
from nav_eval_store.work.retries import FaultConsequence, compute_retry_delay, decide_consequence


@pytest.mark.parametrize(
    ("failures", "pause"),
    [(1, timedelta(seconds=10)), (2, timedelta(seconds=20)), (3, None), (7, None)],
)
def test_attempts_are_spaced_and_end(failures: int, pause: timedelta | None) -> None:
    assert compute_retry_delay(failures, Deadlines()) == pause


@pytest.mark.parametrize(
    ("kind", "cause", "expected"),
    [
        (JobKind.VALIDATE, Cause.IMAGE_INVALID, FaultConsequence.FAIL),
        (JobKind.CANARY, Cause.AGENT_START_TIMEOUT, FaultConsequence.FAIL),
        (
            JobKind.SHARD,
            Cause.AGENT_CRASH,
            FaultConsequence.SCORE_AS_IT_STANDS,
        ),  # a crash costs episodes, not the submission
        (JobKind.SCORE, Cause.AGENT_CRASH, FaultConsequence.RETRY),  # no agent takes part in scoring
        *((kind, Cause.INFRASTRUCTURE, FaultConsequence.RETRY) for kind in JobKind),
    ],
)
def test_whose_fault_decides(kind: JobKind, cause: Cause, expected: FaultConsequence) -> None:
    assert decide_consequence(kind, cause) is expected
