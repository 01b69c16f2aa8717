"""Sending messages to workers without ever waiting for the broker.

A request hands over its messages and goes on; a thread sends them. When the broker is away they are logged and
forgotten: a worker's dispatcher finds jobs by their rows and sends again.
"""

import logging
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from nav_eval_store.work.broker import Broker, make_sender, send_messages
from nav_eval_store.work.queues import JobMessage

log = logging.getLogger("nav_eval_gateway.task_publisher")
MOST_WAITING = 10_000
"""Messages that wait to be sent; what comes on top is for the dispatcher."""


class TaskPublisher(Protocol):
    """Whatever carries messages to the workers."""

    def publish(self, messages: Sequence[JobMessage]) -> None:
        """Have these jobs done. Returns at once and never raises."""

    def close(self) -> None:
        """Send what is left, if that goes quickly."""


class CeleryTaskPublisher:
    """Sends Celery messages from a thread of its own."""

    def __init__(self, broker: Broker) -> None:
        self._app = make_sender(broker)
        self._queue: SimpleQueue[Sequence[JobMessage] | None] = SimpleQueue()
        self._thread = Thread(target=self._send_all, name="task-publisher", daemon=True)
        self._thread.start()

    def publish(self, messages: Sequence[JobMessage]) -> None:
        if self._queue.qsize() > MOST_WAITING:
            log.warning("too many messages wait; %d were left to the dispatcher", len(messages))
        elif messages:
            self._queue.put(messages)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=5.0)
        self._app.close()

    def _send_all(self) -> None:
        while (messages := self._queue.get()) is not None:
            try:
                send_messages(self._app, messages)
            except Exception as error:  # noqa: BLE001  whatever the broker's library raises
                log.warning("the broker does not answer, the dispatcher will send again: %s", error)
