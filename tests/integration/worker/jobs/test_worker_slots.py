"""How many jobs a worker does at once, which message makes it do which job, and whose turn it is."""

import threading
from collections.abc import Iterator
from uuid import UUID

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Message
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import dispatch, workers
from nav_eval_store.work.queues import JobMessage, JobQueue
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.job_runner import JobRunner
from nav_eval_worker.slots import WorkerSlots
from support.challenge import TEST
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration


class Consumer:
    """Celery's part, without a broker: takes messages in their order, each for a slot that is free."""

    def __init__(self, context: WorkerContext, stack: Stack) -> None:
        settings = context.settings
        self.slots = WorkerSlots(total=settings.slots, long=settings.concurrency)
        self.messages: list[JobMessage] = []
        self._runner, self._stack = JobRunner(context, self.slots), stack
        context.dispatcher.send = self._send  # type: ignore[method-assign]
        register = workers.register_worker
        abilities = {"express": settings.has_quick_slot}
        stack.database.run(
            lambda session: register(
                session, settings.name, host="h", version="1", slots=settings.concurrency, abilities=abilities
            )
        )

    def _send(self, messages: list[JobMessage]) -> bool:
        self.messages += messages
        return True

    def run(self) -> int:
        """Until there is no message for a free slot; how many jobs were done."""
        done = 0
        self.messages += self._stack.database.run(dispatch.dispatch_jobs)
        while message := self._take():
            before = len(self._stack.leases(message.submission_id))
            self._runner.run_dispatched(message.job_id, message.queue)
            done += len(self._stack.leases(message.submission_id)) - before
        return done

    def _take(self) -> JobMessage | None:
        open_queues = self.slots.list_open_queues(tuple(JobQueue))
        found = next((message for message in self.messages if message.queue in open_queues), None)
        if found is not None:
            self.messages.remove(found)
        return found


def test_each_job_that_ends_sends_the_next_message(stack: Stack, make_context) -> None:
    consumer = Consumer(make_context(), stack)
    submissions = [stack.submit(stack.team(name)) for name in ("ada", "bob")]
    assert consumer.run() == 8
    assert {stack.get(submission).state for submission in submissions} == {SubmissionState.COMPLETED}
    assert consumer.run() == 0


def test_a_message_makes_the_worker_do_that_very_job(stack: Stack, make_context) -> None:
    consumer = Consumer(make_context(concurrency=2), stack)
    submissions = [stack.submit(stack.team(name)) for name in ("ada", "bob", "cy")]
    sent = stack.database.run(dispatch.dispatch_jobs)
    assert {message.submission_id for message in sent} == set(submissions)
    last = sent[-1]
    for _ in range(3):  # a message that comes three times
        consumer._runner.run_dispatched(last.job_id, last.queue)
    assert [lease.job_id for submission in submissions for lease in stack.leases(submission)] == [last.job_id]


def test_a_newcomer_does_not_wait_for_a_team_with_twenty_submissions(stack: Stack, make_context) -> None:
    """The newcomer comes while the third of twenty is played, and is done before the fourth."""
    order: list[UUID] = []
    newcomer: list[UUID] = []

    def record(pair: ScriptedPair) -> Iterator[Message]:
        if len(pair.work.episode_ids) > 1:
            order.append(stack.submission_of(pair.work.run))
            if len(order) == 3:
                newcomer.append(stack.submit(stack.team("newcomer")))
        yield from plays_all(pair)

    busy = stack.team("busy")
    twenty = [stack.submit(busy) for _ in range(20)]
    consumer = Consumer(make_context(ScriptedRuntime(record), express=False), stack)
    consumer.run()
    assert len(order) == 21
    assert order.index(newcomer[0]) == 3
    assert set(order) == {*twenty, *newcomer}


def test_a_verdict_does_not_wait_for_a_shard_to_end(stack: Stack, make_context) -> None:
    """One slot plays a long shard; the one for what is quick checks, tries and does not play."""
    end = threading.Event()

    def long(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        if len(pair.work.episode_ids) > 1:
            end.wait(120)
        for episode in pair.work.episode_ids:
            yield played(episode)
        yield Ended()

    consumer = Consumer(make_context(ScriptedRuntime(long)), stack)
    first = stack.submit(stack.team("first"))
    player = threading.Thread(target=consumer.run)
    player.start()
    stack.wait_until(lambda: stack.get(first).state is SubmissionState.RUNNING, seconds=20)
    assert consumer.slots.list_open_queues(tuple(JobQueue)) == [JobQueue.QUICK]
    second = stack.submit(stack.team("second"))
    assert consumer.run() == 2  # validate and canary
    assert stack.get(second).state is SubmissionState.QUEUED
    assert stack.get(second).canary["passed"]
    assert consumer.run() == 0  # its shard waits for a slot that may play
    assert [message.queue for message in consumer.messages] == [JobQueue.SHARDS]
    end.set()
    player.join(timeout=120)
    assert stack.get(second).state is SubmissionState.COMPLETED  # by the slot that got free


def test_a_message_for_which_there_is_no_slot_goes_to_another_worker(stack: Stack, make_context) -> None:
    context = make_context()
    consumer = Consumer(context, stack)
    stack.submit(stack.team("ada"))
    (message,) = stack.database.run(dispatch.dispatch_jobs)
    with consumer.slots.take(JobQueue.SHARDS), consumer.slots.take(JobQueue.QUICK):
        assert consumer.slots.list_open_queues(tuple(JobQueue)) == []
        consumer._runner.run_dispatched(message.job_id, message.queue)
        assert stack.leases(message.submission_id) == []
    assert stack.database.run(dispatch.dispatch_jobs) == [message], "at once, not after a minute"


def test_a_worker_that_stops_or_drains_takes_nothing_new(stack: Stack, make_context) -> None:
    context = make_context()
    consumer = Consumer(context, stack)
    submission = stack.submit(stack.team("ada"))
    with stack.database.begin() as session:
        workers.drain_workers(session, ["w1"], actor=TEST, reason="maintenance")
    assert consumer.run() == 0
    consumer.slots.drain(is_draining=True)
    assert consumer.slots.list_open_queues(tuple(JobQueue)) == []
    with stack.database.begin() as session:
        workers.undrain_workers(session, ["w1"], actor=TEST)
    consumer.slots.drain(is_draining=False)
    context.stopping.set()
    (message,) = stack.database.run(dispatch.dispatch_jobs)
    consumer._runner.run_dispatched(message.job_id, message.queue)
    assert stack.leases(submission) == []


def test_two_workers_never_do_the_same(stack: Stack, make_context) -> None:
    """Five submissions, two workers without a broker, two slots each: every episode is played once."""
    runtimes = [ScriptedRuntime(), ScriptedRuntime()]
    contexts = [make_context(runtime, concurrency=2) for runtime in runtimes]
    submissions = [stack.submit(stack.team(f"team-{number}")) for number in range(5)]
    runners = [JobRunner(context, WorkerSlots(total=3, long=2)) for context in contexts]

    def work(runner: JobRunner) -> None:
        while any(not stack.get(submission).state.is_final for submission in submissions):
            runner.run_next()

    threads = [threading.Thread(target=work, args=(runner,)) for runner in runners for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    for submission in submissions:
        stack.completed(submission, seconds=1)
    shards = [pair for runtime in runtimes for pair in runtime.pairs if len(pair.work.episode_ids) > 1]
    assert len(shards) == len(submissions)
