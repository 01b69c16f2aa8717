"""An engine that is away: nothing is claimed, no attempt is lost, and whoever watches over the worker sees it."""

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from nav_eval.evaluation.shard_protocol import Message
from nav_eval_store.models import Job, LeaseRow
from nav_eval_store.work.queues import JobQueue
from nav_eval_worker import heartbeat, runtime_health
from nav_eval_worker.job_runner import JobRunner, run_next_job
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.slots import WorkerSlots
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration
HEALTHY = Path(__file__).parents[4] / "deploy" / "docker" / "worker" / "healthy.py"


class FlakyRuntime(ScriptedRuntime):
    """One whose engine comes and goes."""

    is_well = True

    def check(self) -> None:
        if not self.is_well:
            raise RuntimeUnavailable("dial unix /srv/secret/docker.sock: no such file or directory")


@pytest.fixture(autouse=True)
def _ask_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_health, "FRESH_SECONDS", 0.0)


def list_leases(stack: Stack) -> list[LeaseRow]:
    with stack.database.read() as session:
        return list(session.scalars(select(LeaseRow)))


def test_nothing_is_claimed_while_the_runtime_is_away(stack: Stack, make_context) -> None:
    runtime = FlakyRuntime()
    context = make_context(runtime)
    submission = stack.submit(stack.team("ada"))
    runtime.is_well = False
    with stack.database.read() as session:
        job = session.scalars(select(Job.id)).one()
    runner = JobRunner(context, WorkerSlots(total=2, long=1))
    runner.run_dispatched(job, JobQueue.QUICK)  # a message that was on its way
    assert not run_next_job(context)
    assert list_leases(stack) == []
    runtime.is_well = True
    while run_next_job(context):
        pass
    stack.completed(submission)


def test_an_outage_costs_no_attempt(stack: Stack, make_context) -> None:
    """More of them than there are attempts."""

    def goes_away(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played(pair.work.episode_ids[0])
        runtime.is_well = False  # and the streams end without a word

    runtime = FlakyRuntime(plays_all, *[goes_away] * 4, plays_all)
    context = make_context(runtime)
    submission = stack.submit(stack.team("ada"))
    for _ in range(12):
        run_next_job(context)
        runtime.is_well = True
    ended = stack.completed(submission)
    assert len(stack.episodes(submission)) == 4
    assert "secret" not in str(ended.detail)
    with stack.database.read() as session:
        assert set(session.scalars(select(Job.failures))) == {0}


def test_the_health_check_asks_the_engine(stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = FlakyRuntime()
    context = make_context(runtime)
    monkeypatch.setenv("NAV_EVAL_WORKER_HOME", str(context.settings.folder))
    monkeypatch.setenv("NAV_EVAL_WORKER_NAME", context.settings.name)
    heartbeat.register(context)

    def ask(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["healthy.py", *arguments])
        return int(runpy.run_path(str(HEALTHY))["main"]())

    runtime.is_well = False
    context.health.refresh()
    heartbeat.send_heartbeat(context)
    assert (ask(), ask("alive")) == (1, 0)
    runtime.is_well = True
    context.health.refresh()
    heartbeat.send_heartbeat(context)
    assert ask() == 0
