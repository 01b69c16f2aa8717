"""What a worker does without being told: recovery, ranks, a clean host; whatever the clock says."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Message
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions.visibility import ORGANISER
from nav_eval_store.database import Database, ManualClock
from nav_eval_store.models import LeaseEnd, LeaseRow
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import leases, workers
from nav_eval_store.work.broker import Broker
from nav_eval_store.work.queues import JobQueue
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.dispatcher import Dispatcher
from nav_eval_worker.host_cleaner import FILMING_TIME, HostCleaner
from nav_eval_worker.job_runner import run_next_job
from nav_eval_worker.maintenance import Maintenance
from nav_eval_worker.worker import JobWorker
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration


@contextmanager
def keep_running(worker: JobWorker) -> Iterator[None]:
    """Registered and alive while the block lasts."""
    worker.start()
    try:
        yield
    finally:
        worker.stop()


def cut_off(context: WorkerContext, stack: Stack) -> None:
    """From the broker, as when Redis is down."""
    away = Broker("redis://127.0.0.1:1/0")
    context.dispatcher = Dispatcher(away, stack.database, deadlines=context.deadlines)


def test_maintenance_ranks_and_dispatches(stack: Stack, make_context) -> None:
    context = make_context()
    maintenance = Maintenance(context)
    submission = stack.submit(stack.team("ada"))
    assert maintenance.run_round() == 1  # sends a message for the job that waits
    assert maintenance.run_round() == 0  # once
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert stack.read(ranking.list_unranked_phases)
    maintenance.run_round()
    assert not stack.read(ranking.list_unranked_phases)
    with stack.database.read() as session:
        assert not leaderboard.build_board(session, stack.phase(session), ORGANISER).provisional


def test_what_nobody_can_have_got_is_sent_again(stack: Stack, make_context) -> None:
    context = make_context()
    cut_off(context, stack)
    stack.submit(stack.team("ada"))
    assert Maintenance(context).run_round() == 1
    assert Maintenance(context).run_round() == 1  # at once, not after a minute


def test_a_step_that_fails_does_not_keep_the_others_from_being_done(
    stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError

    context = make_context()
    monkeypatch.setattr(ranking, "list_unranked_phases", fails)
    stack.submit(stack.team("ada"))
    assert Maintenance(context).run_round() == 1


def test_a_worker_is_listed_while_it_is_there(stack: Stack, make_context) -> None:
    context = make_context(concurrency=3, poll_seconds=0.05)
    cut_off(context, stack)
    submission = stack.submit(stack.team("ada"))
    with keep_running(JobWorker(context)):
        (listed,) = stack.read(workers.list_alive_workers)
        assert (listed.name, listed.slots, listed.abilities["express"]) == ("w1", 3, True)
        stack.completed(submission)  # it looks by itself: the broker is away
        assert (context.settings.folder / "alive" / "w1").exists()  # for a health check
    assert stack.read(workers.list_alive_workers) == []


def test_what_a_dead_worker_left_is_swept(stack: Stack, make_context) -> None:
    swept: list[str] = []

    class Messy(ScriptedRuntime):
        def sweep(self, is_active) -> int:
            swept.extend(run for run in (str(lease.id), "dead") if not is_active(run))
            return len(swept)

    context = make_context(Messy())
    stack.submit(stack.team("ada"))
    lease = stack.database.run(lambda session: leases.claim_next_job(session, "w1"))
    assert lease is not None
    runs = context.settings.folder / "runs"
    for name in (str(lease.id), "dead"):
        (runs / name).mkdir(parents=True)
    assert HostCleaner(context).clean() == 1
    assert swept == ["dead"]
    assert [folder.name for folder in runs.iterdir()] == [str(lease.id)]


@pytest.mark.parametrize(
    ("end", "seconds", "is_swept"),
    [
        (LeaseEnd.DONE, 1, False),  # it may be making films
        (LeaseEnd.DONE, FILMING_TIME.total_seconds() + 1, True),
        (LeaseEnd.LOST, 1, True),
    ],
)
def test_a_job_that_is_done_has_time_for_its_films(
    stack: Stack, make_context, end: LeaseEnd, seconds: float, is_swept: bool
) -> None:
    clock = ManualClock()
    context = make_context()
    context.database = stack.database = Database(stack.environment["NAV_EVAL_DATABASE"], clock=clock)
    stack.submit(stack.team("ada"))
    lease = context.database.run(lambda session: leases.claim_next_job(session, "w1"))
    with context.database.begin() as session:
        row = session.get_one(LeaseRow, lease.id)
        row.end, row.released_at = end, clock.now()
    clock.advance(seconds=seconds)
    folder = context.settings.folder / "runs" / str(lease.id)
    folder.mkdir(parents=True)
    HostCleaner(context).clean()
    assert folder.exists() is not is_swept


def test_what_a_lost_worker_left_is_swept_when_its_lease_has_run_out(stack: Stack, make_context) -> None:
    """Nobody has to start anything again: a worker that is there looks often enough."""
    context = make_context(poll_seconds=0.05)
    context.settings = replace(context.settings, deadlines=replace(context.deadlines, lease=timedelta(seconds=0.3)))
    stack.submit(stack.team("ada"))
    lost = stack.database.run(lambda session: leases.claim_next_job(session, "w0", deadlines=context.deadlines))
    left = context.settings.folder / "runs" / str(lost.id)
    left.mkdir(parents=True)
    with keep_running(JobWorker(context)):
        time.sleep(0.4)
        Maintenance(context).run_round()
        stack.wait_until(lambda: not left.exists(), seconds=10)


@pytest.mark.parametrize(
    ("jump", "reaped"),
    [
        ({"days": 1}, True),  # every lease looks long dead, and is taken from its worker
        ({"days": -1}, False),  # none ever gets old
        ({"seconds": 2}, False),
    ],
)
def test_a_clock_that_jumps_costs_time_and_nothing_else(
    stack: Stack, make_context, jump: dict[str, float], reaped: bool
) -> None:
    """The clock jumps in the middle of a shard, and the beat looks at once."""
    clock = ManualClock()
    context = make_context()
    context.database = stack.database = Database(stack.environment["NAV_EVAL_DATABASE"], clock=clock)
    maintenance = Maintenance(context)

    def jumps(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played("a")
        stack.wait_until(lambda: stack.finished(submission) == 1)
        clock.advance(**jump)
        maintenance.run_round()
        for episode in ("b", "c", "d"):
            yield played(episode)
        yield Ended()

    context.runtime = ScriptedRuntime(plays_all, jumps, plays_all)
    submission = stack.submit(stack.team("ada"))
    for _ in range(10):
        while run_next_job(context):
            pass
        clock.advance(seconds=30)
        maintenance.run_round()
    ended = stack.completed(submission)
    assert ended.state is SubmissionState.COMPLETED
    assert len(stack.episodes(submission)) == 4
    assert stack.scores(submission)["tar"] == (0.5, 0.0, 0.5, 0.5, 4)
    ends = [lease.end.value for lease in stack.leases(submission)]
    assert ("lost" in ends) is reaped
    assert len(ends) == 4 + reaped


def test_the_deadlines_of_a_worker_are_its_leases(stack: Stack, make_context) -> None:
    context = make_context()
    context.settings = replace(
        context.settings, deadlines=replace(context.deadlines, lease=context.deadlines.lease * 10)
    )
    submission = stack.submit(stack.team("ada"))
    assert run_next_job(context, [JobQueue.QUICK])
    (lease,) = stack.leases(submission)
    assert (lease.expires_at - lease.acquired_at).total_seconds() == pytest.approx(30, abs=5)


def test_a_worker_that_stops_waits_for_its_jobs(stack: Stack, make_context) -> None:
    """Told to stop, it comes to its end only when the episode has, and says that it stopped last of all."""

    def is_slow(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played("a")
        context.stopping.set()
        time.sleep(0.5)
        yield played("b")
        yield Ended()

    context = make_context(ScriptedRuntime(plays_all, is_slow), poll_seconds=0.05)
    cut_off(context, stack)
    submission = stack.submit(stack.team("ada"))
    with keep_running(JobWorker(context)):
        assert context.stopping.wait(20)
    assert context.runtime.pairs[-1].stopped.is_set()
    assert stack.leases(submission)[-1].end is LeaseEnd.RELEASED
    assert stack.finished(submission) >= 1


def test_a_worker_whose_row_is_gone_registers_again(stack: Stack, make_context) -> None:
    context = make_context(poll_seconds=0.05)
    with keep_running(JobWorker(context)):
        with stack.database.begin() as session:
            session.delete(session.get_one(workers.Worker, "w1"))
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1, seconds=10)
