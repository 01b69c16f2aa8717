"""How many jobs a worker does at once, and from which queues it takes the next.

Shards may take long, and a team that has just submitted must not wait for one to end: one slot beside those for
shards takes only what is quick. Celery's pool has as many threads as there are slots; so that none of them
sits on a message that it may not do, the worker does not consume a queue for which it has no slot left.
"""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from nav_eval_store.work.queues import JobQueue


class WorkerSlots:
    """The slots of one worker."""

    def __init__(self, *, total: int, long: int) -> None:
        """`long` is how many of them may be taken by jobs of long queues."""
        self.total, self.long = total, long
        self._taken = self._taken_long = 0
        self._is_draining = False
        self._changed = threading.Condition()
        self.on_change: Callable[[], None] = lambda: None

    @contextmanager
    def take(self, queue: JobQueue) -> Iterator[bool]:
        """A slot for a job of this queue while the block lasts; False if none is free."""
        taken = self._take(queue)
        if taken:
            self.on_change()
        try:
            yield taken
        finally:
            if taken:
                self._free(queue)
                self.on_change()

    def _take(self, queue: JobQueue) -> bool:
        with self._changed:
            if not self._has_room(queue):
                return False
            self._taken += 1
            self._taken_long += queue.is_long
            return True

    def _free(self, queue: JobQueue) -> None:
        with self._changed:
            self._taken -= 1
            self._taken_long -= queue.is_long
            self._changed.notify_all()

    def _has_room(self, queue: JobQueue) -> bool:
        return self._taken < self.total and (not queue.is_long or self._taken_long < self.long)

    def drain(self, *, is_draining: bool) -> None:
        """Take nothing new, or take jobs again."""
        with self._changed:
            self._is_draining, before = is_draining, self._is_draining
        if before is not is_draining:
            self.on_change()

    def list_open_queues(self, queues: Collection[JobQueue]) -> list[JobQueue]:
        """Those from which a job could begin now."""
        with self._changed:
            return [] if self._is_draining else [queue for queue in queues if self._has_room(queue)]

    def wait_until_idle(self) -> None:
        """Until no job runs any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._taken == 0)


class QueueSubscription:
    """Keeps a Celery worker consuming exactly the queues for which it has a slot."""

    def __init__(self, controller: Any, slots: WorkerSlots) -> None:  # noqa: ANN401 - Celery does not say more
        self._controller, self._slots = controller, slots
        self._queues = [JobQueue(name) for name in controller.app.amqp.queues.consume_from if name in list(JobQueue)]

    def update(self) -> None:
        """Have it done in the thread that talks to the broker; before there is one, at once."""
        consumer = getattr(self._controller, "consumer", None)
        if consumer is None or consumer.task_consumer is None:
            self._select()
        else:
            consumer.call_soon(self._consume, consumer)

    def _consume(self, consumer: Any) -> None:  # noqa: ANN401
        if consumer.task_consumer is None:
            self._select()
            return
        for queue, is_open in self._list_changes():
            (consumer.add_task_queue if is_open else consumer.cancel_task_queue)(queue.value)

    def _select(self) -> None:
        """What the next connection consumes."""
        known = self._controller.app.amqp.queues
        for queue, is_open in self._list_changes():
            if is_open:
                known.select_add(known[queue.value])
            else:
                known.deselect(queue.value)

    def _list_changes(self) -> list[tuple[JobQueue, bool]]:
        consumed = self._controller.app.amqp.queues.consume_from
        wanted = self._slots.list_open_queues(self._queues)
        return [(queue, queue in wanted) for queue in self._queues if (queue in wanted) != (queue.value in consumed)]
