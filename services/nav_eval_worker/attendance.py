"""A worker's presence: its row in the list of workers, a look at the queue now and then, and a clean host.

The look makes the broker a convenience: with Redis down or emptied, work goes on, only a few seconds later. What
a killed worker left on this host (containers, files) is removed soon after its leases have run out, by itself
when it is started again or by another one.
"""

import logging
import platform
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

import nav_eval
from nav_eval_store import workers
from nav_eval_store.errors import NotFound
from nav_eval_store.models import LeaseEnd, LeaseRow
from nav_eval_worker.hands import Hands
from nav_eval_worker.workshop import Workshop, runs_folder

HEARTBEAT_SECONDS = 10.0
ALIVE = "alive"
AFTERWORK = timedelta(minutes=3)
"""A job that is done may still be making films: for so long, what it has started is left alone."""

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
    broom = Broom(shop)
    chores = {hands.work: shop.settings.look_seconds, broom.sweep: shop.patience.lease.total_seconds() / 3}
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
    """In the database, and in a file for those who watch over this process."""
    try:
        shop.database.run(lambda session: workers.heartbeat(session, shop.settings.name))
        mark = shop.settings.folder / ALIVE / shop.settings.name
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except NotFound:  # another database than the one we registered in: a backup was restored
        _register(shop)
    except DBAPIError as error:
        log.warning("No sign of life: %s", error.orig)


class Broom:
    """Keeps this host clean."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._busy = threading.Lock()

    def sweep(self) -> int:
        """Remove what dead workers left on this host; how many runs. One at a time: an engine may be slow."""
        if not self._busy.acquire(blocking=False):
            return 0
        try:
            return self._sweep()
        except DBAPIError as error:
            log.warning("Not swept: %s", error.orig)
        except Exception:  # the next one tries again
            log.exception("Sweeping failed")
        finally:
            self._busy.release()
        return 0

    def _sweep(self) -> int:
        """List first and ask then: a run is active before anything of it is there."""
        files = {folder.name: folder for folder in runs_folder(self._shop).iterdir()}
        active = self._active()
        for run in files.keys() - active:
            shutil.rmtree(files[run], ignore_errors=True)
        swept = self._shop.runtime.sweep(lambda run: run in self._active())
        if swept:
            log.info("Removed what %d dead runs had left", swept)
        return swept

    def _active(self) -> set[str]:
        with self._shop.database.read() as session:
            lately = (LeaseRow.end == LeaseEnd.DONE) & (LeaseRow.released_at > session.now() - AFTERWORK)
            held = select(LeaseRow.id).where(LeaseRow.released_at.is_(None) | lately)
            return {str(lease) for lease in session.scalars(held)}
