"""What every job needs at hand, and a database that may be away for a while."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from sqlalchemy.exc import DBAPIError

from nav_eval_store import recovery
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.lifecycle import Patience
from nav_eval_worker.bell import Bell
from nav_eval_worker.runtime.base import Runtime
from nav_eval_worker.settings import WorkerSettings

T = TypeVar("T")
INSIST_SECONDS = 120.0
"""A result that took minutes to play is worth waiting for a database that restarts."""
PAUSE_SECONDS = 0.5

log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class Workshop:
    """One worker's tools."""

    settings: WorkerSettings
    database: Database
    blobs: BlobStore
    runtime: Runtime
    bell: Bell
    stopping: threading.Event = field(default_factory=threading.Event)  #: take nothing new, come to an end

    @property
    def patience(self) -> Patience:
        return self.settings.patience

    def insist(self, work: Callable[[Session], T], *, seconds: float = INSIST_SECONDS) -> T:
        """`work` in a transaction, tried again while the database is away."""
        last = time.monotonic() + seconds
        while True:
            try:
                return self.database.run(work)
            except DBAPIError as error:
                if not _is_away(error) or time.monotonic() > last:
                    raise
                log.warning("The database does not answer; trying again: %s", error.orig)
                time.sleep(PAUSE_SECONDS)

    def tell(self, submission_id: UUID) -> None:
        """Tell the other workers about the jobs that a submission has now."""
        self.bell.ring(self.insist(lambda session: recovery.untold(session, submission_id)))


def runs_folder(shop: Workshop) -> Path:
    """Files of what is being done now, each in a folder with the name of its lease."""
    folder = shop.settings.folder / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def run_folder(shop: Workshop, lease_id: UUID) -> Iterator[Path]:
    """An empty folder for a job; gone when the block ends, or with the next sweep if nobody was left to end it."""
    folder = runs_folder(shop) / str(lease_id)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _is_away(error: DBAPIError) -> bool:
    """Whether it is the connection that failed, not what was asked."""
    if error.connection_invalidated:
        return True
    return type(error).__name__ in ("OperationalError", "InterfaceError")
