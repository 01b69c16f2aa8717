"""What every job needs: settings, database, blobs, runtime; and a database that may be away for a while."""

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

from nav_eval.errors import ConfigError
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, Session
from nav_eval_store.migrations import runner
from nav_eval_store.submissions.lifecycle import Deadlines
from nav_eval_worker.dispatcher import Dispatcher
from nav_eval_worker.runtime.base import Runtime
from nav_eval_worker.runtime_health import RuntimeHealth
from nav_eval_worker.settings import WorkerSettings

T = TypeVar("T")
RETRY_SECONDS = 120.0
"""A result that took minutes to play is worth waiting for a database that restarts."""
PAUSE_SECONDS = 0.5

log = logging.getLogger(__name__)


@dataclass(kw_only=True, slots=True)
class StoreContext:
    """What is needed to look after the store: no engine, no runtime."""

    settings: WorkerSettings
    database: Database
    blobs: BlobStore
    dispatcher: Dispatcher
    stopping: threading.Event = field(default_factory=threading.Event)  #: take nothing new, come to an end

    @property
    def deadlines(self) -> Deadlines:
        return self.settings.deadlines


@dataclass(kw_only=True, slots=True)
class WorkerContext(StoreContext):
    """What one worker works with."""

    runtime: Runtime
    health: RuntimeHealth = field(init=False)  #: whether the runtime can run anything now

    def __post_init__(self) -> None:
        self.health = RuntimeHealth(self.runtime)

    def transact(self, work: Callable[[Session], T], *, seconds: float = RETRY_SECONDS) -> T:
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


def make_runs_folder(context: WorkerContext) -> Path:
    """Files of what is being done now, each in a folder with the name of its lease."""
    folder = context.settings.folder / "runs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def make_run_folder(context: WorkerContext, lease_id: UUID) -> Iterator[Path]:
    """An empty folder for a job; gone when the block ends, or with the next sweep if nobody was left to end it."""
    folder = make_runs_folder(context) / str(lease_id)
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


RUNTIMES = ("process", "docker", "kubernetes")


def open_context(settings: WorkerSettings) -> WorkerContext:
    """Everything that a worker needs; refused when the database has another version or nothing can be run."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    runtime = open_runtime(settings)
    runtime.check()
    runtime.probe()
    store = open_store_context(settings)
    return WorkerContext(
        settings=settings, database=store.database, blobs=store.blobs, runtime=runtime, dispatcher=store.dispatcher
    )


def open_store_context(settings: WorkerSettings) -> StoreContext:
    """Database, blobs and broker; refused when the database has another version."""
    database = settings.store.open_database()
    runner.check_revision(database)
    return StoreContext(
        settings=settings,
        database=database,
        blobs=settings.store.open_blobs(),
        dispatcher=Dispatcher(settings.broker, database, deadlines=settings.deadlines),
    )


def open_runtime(settings: WorkerSettings) -> Runtime:
    """The runtime by its name; only that one is imported."""
    match settings.runtime:
        case "process":
            from nav_eval_worker.runtime.process import ProcessRuntime

            return ProcessRuntime(settings.folder, cache=settings.cache)
        case "docker":
            from nav_eval_worker.runtime.docker import DockerRuntime

            return DockerRuntime(settings.folder)
        case "kubernetes":
            from nav_eval_worker.runtime.kubernetes import KubernetesRuntime

            return KubernetesRuntime(settings.folder)
    raise ConfigError(f"There is no runtime {settings.runtime!r}; there are {', '.join(RUNTIMES)}.")
