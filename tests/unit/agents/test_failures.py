"""Whose fault it is, by type."""

import pytest

from nav_eval.agents.failures import FAILURES, AgentFailure, InfrastructureFailure, get_cause
from nav_eval.errors import RecordError
from nav_eval.evaluation.runner import WorkersFailed
from nav_eval.records.results import Cause


@pytest.mark.parametrize("cause", Cause)
def test_only_the_agents_faults_are_agent_failures(cause: Cause) -> None:
    is_theirs = cause not in (Cause.INFRASTRUCTURE, Cause.CANCELLED)
    assert issubclass(FAILURES[cause], AgentFailure) is is_theirs


def test_whatever_names_no_cause_is_ours() -> None:
    assert get_cause(FAILURES[Cause.AGENT_OOM]()) is Cause.AGENT_OOM
    assert get_cause(RecordError("a file")) is Cause.INFRASTRUCTURE
    assert issubclass(WorkersFailed, InfrastructureFailure)
