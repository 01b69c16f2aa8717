"""A worker's presence: its row in the list of workers, kept fresh; and a clean host.

What a killed worker left on this host (containers, files) is removed soon after its leases have run out, by itself
when it is started again or by another one.
"""

import logging
import platform
import shutil
import threading
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

import nav_eval
from nav_eval_store.errors import NotFound
from nav_eval_store.models import LeaseEnd, LeaseRow
from nav_eval_store.work import workers
from nav_eval_worker.context import WorkerContext, make_runs_folder

HEARTBEAT_SECONDS = 10.0
ALIVE = "alive"
FILMING_TIME = timedelta(minutes=3)
"""A job that is done may still be making films: for so long, what it has started is left alone."""

log = logging.getLogger(__name__)


def register(context: WorkerContext) -> None:
    """Enter the list of workers."""
    settings = context.settings
    abilities = {
        "runtime": settings.runtime,
        "express": settings.has_quick_slot,
        "queues": [queue.value for queue in settings.queues],
    }
    context.transact(
        lambda session: workers.register_worker(
            session,
            settings.name,
            host=platform.node(),
            version=nav_eval.__version__,
            slots=settings.concurrency,
            abilities=abilities,
        )
    )


def unregister(context: WorkerContext) -> None:
    """The worker has ended in good order."""
    context.transact(lambda session: workers.mark_stopped(session, context.settings.name), seconds=5.0)


def send_heartbeat(context: WorkerContext) -> bool:
    """In the database, and in a file for those who watch over this process; True when the worker is to drain."""
    is_draining = False
    try:
        is_draining = context.database.run(lambda session: workers.record_heartbeat(session, context.settings.name))
        mark = context.settings.folder / ALIVE / context.settings.name
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except NotFound:  # another database than the one we registered in: a backup was restored
        register(context)
    except DBAPIError as error:
        log.warning("No heartbeat: %s", error.orig)
    return is_draining


class HostCleaner:
    """Removes what dead workers left on this host."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._busy = threading.Lock()

    def clean(self) -> int:
        """How many runs were removed. One at a time: an engine may be slow."""
        if not self._busy.acquire(blocking=False):
            return 0
        try:
            return self._clean()
        except DBAPIError as error:
            log.warning("Not cleaned: %s", error.orig)
        except Exception:  # the next one tries again
            log.exception("Cleaning failed")
        finally:
            self._busy.release()
        return 0

    def _clean(self) -> int:
        """List first and ask then: a run is active before anything of it is there."""
        files = {folder.name: folder for folder in make_runs_folder(self._context).iterdir()}
        active = self._list_active_runs()
        for run in files.keys() - active:
            shutil.rmtree(files[run], ignore_errors=True)
        removed = self._context.runtime.sweep(lambda run: run in self._list_active_runs())
        if removed:
            log.info("Removed what %d dead runs had left", removed)
        return removed

    def _list_active_runs(self) -> set[str]:
        with self._context.database.read() as session:
            lately = (LeaseRow.end == LeaseEnd.DONE) & (LeaseRow.released_at > session.now() - FILMING_TIME)
            held = select(LeaseRow.id).where(LeaseRow.released_at.is_(None) | lately)
            return {str(lease) for lease in session.scalars(held)}
