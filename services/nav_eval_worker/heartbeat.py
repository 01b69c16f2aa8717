"""A worker's presence: its row in the list of workers, kept fresh."""

import logging
import platform

from sqlalchemy.exc import DBAPIError

import nav_eval
from nav_eval_store.errors import NotFound
from nav_eval_store.work import workers
from nav_eval_worker.context import WorkerContext

HEARTBEAT_SECONDS = 10.0
ALIVE, READY = "alive", "ready"

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
    """In the database, and in files for those who watch over this process; True when the worker is to drain."""
    is_draining = False
    try:
        is_draining = context.database.run(lambda session: workers.record_heartbeat(session, context.settings.name))
        _touch_mark(context, ALIVE)
        if context.health.is_well:
            _touch_mark(context, READY)
    except NotFound:  # another database than the one we registered in: a backup was restored
        register(context)
    except DBAPIError as error:
        log.warning("No heartbeat: %s", error.orig)
    return is_draining


def _touch_mark(context: WorkerContext, kind: str) -> None:
    mark = context.settings.folder / kind / context.settings.name
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
