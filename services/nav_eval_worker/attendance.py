"""A worker's presence: its row in the list of workers, a look at the queue now and then, and a clean host.

The look makes the broker a convenience: with Redis down or emptied, work goes on, only a few seconds later. What
a killed worker left on this host (containers, files), the next one removes.
"""

import logging
import platform
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

import nav_eval
from nav_eval_store import workers
from nav_eval_store.errors import NotFound
from nav_eval_worker.hands import Hands
from nav_eval_worker.workshop import Workshop, runs_folder

HEARTBEAT_SECONDS = 10.0
SWEEP_SECONDS = 600.0

log = logging.getLogger(__name__)


@contextmanager
def attending(shop: Workshop, hands: Hands) -> Iterator[None]:
    """Registered and alive while the block lasts; at its end, what is in hand is brought to its end."""
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
    chores = {hands.work: shop.settings.look_seconds, lambda: sweep(shop): SWEEP_SECONDS}
    due = dict.fromkeys(chores, 0.0)
    busy: list[threading.Thread] = []
    while True:
        _sign_of_life(shop)
        busy = [thread for thread in busy if thread.is_alive()]
        for chore, seconds in chores.items():
            if time.monotonic() >= due[chore]:
                due[chore] = time.monotonic() + seconds
                busy.append(threading.Thread(target=chore, name="hand", daemon=False))
                busy[-1].start()
        if over.wait(min(HEARTBEAT_SECONDS, shop.settings.look_seconds)):
            break
    for thread in busy:
        thread.join()


def _sign_of_life(shop: Workshop) -> None:
    try:
        shop.database.run(lambda session: workers.heartbeat(session, shop.settings.name))
    except NotFound:  # another database than the one we registered in: a backup was restored
        _register(shop)
    except DBAPIError as error:
        log.warning("No sign of life: %s", error.orig)


def sweep(shop: Workshop) -> int:
    """Remove what dead workers left on this host; how many runs there were."""
    try:
        files = {folder.name: folder for folder in runs_folder(shop).iterdir()}
        with shop.database.read() as session:
            active = {str(lease.id) for lease in workers.holding(session)}
        for run in files.keys() - active:
            shutil.rmtree(files[run], ignore_errors=True)
        return shop.runtime.sweep(lambda run: _is_active(shop, run))
    except Exception:  # the next one tries again
        log.exception("Sweeping failed")
        return 0


def _is_active(shop: Workshop, run: str) -> bool:
    with shop.database.read() as session:
        return any(str(lease.id) == run for lease in workers.holding(session))
