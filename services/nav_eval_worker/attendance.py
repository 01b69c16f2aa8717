"""A worker's presence: its row in the list of workers, and a look at the queue now and then without being told.

The look makes the broker a convenience: with Redis down or emptied, work goes on, only a few seconds later.
"""

import logging
import platform
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

import nav_eval
from nav_eval_store import workers
from nav_eval_worker.hands import Hands
from nav_eval_worker.workshop import Workshop

HEARTBEAT_SECONDS = 10.0

log = logging.getLogger(__name__)


@contextmanager
def attending(shop: Workshop, hands: Hands) -> Iterator[None]:
    """Registered and alive while the block lasts."""
    _register(shop)
    over = threading.Event()
    thread = threading.Thread(target=_attend, args=(shop, hands, over), name="attendance", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        shop.insist(lambda session: workers.stopped(session, shop.settings.name), seconds=5.0)


def _register(shop: Workshop) -> None:
    settings = shop.settings
    abilities = {"runtime": settings.runtime, "express": settings.express}
    shop.insist(
        lambda session: workers.register(
            session,
            settings.name,
            host=platform.node(),
            version=nav_eval.__version__,
            slots=settings.concurrency,
            abilities=abilities,
        )
    )


def _attend(shop: Workshop, hands: Hands, over: threading.Event) -> None:
    looked_at = -shop.settings.look_seconds
    while True:
        try:
            shop.database.run(lambda session: workers.heartbeat(session, shop.settings.name))
        except DBAPIError as error:
            log.warning("No sign of life: %s", error.orig)
        if time.monotonic() - looked_at >= shop.settings.look_seconds:
            looked_at = time.monotonic()
            threading.Thread(target=hands.work, name="hand").start()
        if over.wait(min(HEARTBEAT_SECONDS, shop.settings.look_seconds)):
            return
