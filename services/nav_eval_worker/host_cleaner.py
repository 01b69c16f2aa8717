"""A clean host: what a killed worker left here (containers, files) is removed soon after its leases have run out.

By itself when it is started again, or by another worker of the host.
"""

import logging
import shutil
import threading
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

from nav_eval_store.models import LeaseEnd, LeaseRow
from nav_eval_worker.context import WorkerContext, make_runs_folder

FILMING_TIME = timedelta(minutes=3)
"""A job that is done may still be making films: for so long, what it has started is left alone."""

log = logging.getLogger(__name__)


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
