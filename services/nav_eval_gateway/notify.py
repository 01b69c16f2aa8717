"""Telling the workers that a job waits, without ever waiting for the broker.

A request hands over its messages and goes on; a thread sends them. When the broker is away they are
logged and forgotten: `recover` finds jobs by their rows.
"""

import logging
from collections.abc import Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Protocol

from nav_eval_store import messages
from nav_eval_store.messages import Broker
from nav_eval_store.recovery import Message

log = logging.getLogger("nav_eval_gateway.notify")
MOST_WAITING = 10_000
"""Messages that wait to be sent; what comes on top is for `recover`."""


class Messenger(Protocol):
    """Somebody who tells the workers."""

    def tell(self, waiting: Sequence[Message]) -> None:
        """These jobs wait. Returns at once and never raises."""

    def close(self) -> None:
        """Send what is left, if that goes quickly."""


class CeleryMessenger:
    """Sends Celery messages from a thread of its own."""

    def __init__(self, broker: Broker) -> None:
        self._app = messages.sender(broker)
        self._queue: SimpleQueue[Sequence[Message] | None] = SimpleQueue()
        self._thread = Thread(target=self._send_all, name="messenger", daemon=True)
        self._thread.start()

    def tell(self, waiting: Sequence[Message]) -> None:
        if self._queue.qsize() > MOST_WAITING:
            log.warning("too many messages wait; %d were left to recover", len(waiting))
        elif waiting:
            self._queue.put(waiting)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(timeout=5.0)
        self._app.close()

    def _send_all(self) -> None:
        while (waiting := self._queue.get()) is not None:
            try:
                messages.send(self._app, waiting)
            except Exception as error:  # noqa: BLE001  whatever the broker's library raises
                log.warning("the broker does not answer, recover will tell the workers: %s", error)
