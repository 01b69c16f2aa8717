"""`nav-eval worker`: a Celery worker that takes jobs and does them."""

import faulthandler
import logging
import platform
import signal
from dataclasses import replace
from typing import Annotated

import typer

from nav_eval_worker.settings import WorkerSettings, parse_queues

QUIETER = {
    "alembic": logging.ERROR,
    "kombu.connection": logging.ERROR,
    "celery": logging.WARNING,
    "py.warnings": logging.ERROR,
}


def run_worker(
    name: Annotated[str | None, typer.Option(help="Unlike every other worker's; the host's name unless given.")] = None,
    queues: Annotated[
        str | None, typer.Option("--queues", "-Q", help="Take jobs from these alone: quick, shards, gpu.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option("--concurrency", "-c", min=1, help="Shards at a time.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="docker, or process where everybody is trusted (nothing is isolated).")
    ] = None,
    beat: Annotated[bool, typer.Option("--beat", help="Also look after the queue: at least one worker must.")] = False,
    beat_only: Annotated[
        bool,
        typer.Option("--beat-only", help="Look after queue, boards, messages and disk; take no job, need no engine."),
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Do what there is to do, then end.")] = False,
) -> None:
    """Validate, run and score submissions."""
    faulthandler.enable()  # a crash in a library names the line that led to it
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy, level in QUIETER.items():
        logging.getLogger(noisy).setLevel(level)
    known = WorkerSettings.from_environment()
    settings = replace(
        known,
        name=name or known.name,
        queues=known.queues if queues is None else parse_queues(queues),
        concurrency=concurrency or known.concurrency,
        runtime=runtime or known.runtime,
        beat=beat or known.beat,
    )
    if beat_only:
        raise typer.Exit(look_after(settings, once=once))
    raise typer.Exit(run_once(settings) if once else serve(settings))


def look_after(settings: WorkerSettings, *, once: bool) -> int:
    """What a beat does and no more, until a signal ends it: for a hub whose jobs are done elsewhere."""
    from nav_eval_worker.context import open_store_context
    from nav_eval_worker.maintenance import Maintenance

    context = open_store_context(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: context.stopping.set())
    maintenance = Maintenance(context)
    if once:
        maintenance.run_round()
    else:
        maintenance.run_forever()
    maintenance.wait_for_deliveries()
    return 0


def run_once(settings: WorkerSettings) -> int:
    """Do what there is to do now; the exit code."""
    from nav_eval_worker.context import open_context
    from nav_eval_worker.worker import JobWorker

    JobWorker(open_context(settings)).run_once()
    return 0


def serve(settings: WorkerSettings) -> int:
    """Take messages until a signal ends the worker; its exit code."""
    from celery.signals import setup_logging

    from nav_eval_worker.app import app

    setup_logging.connect(_keep_logging, weak=False)
    app.settings = settings
    celery_worker = app.Worker(
        hostname=f"{settings.name}@{platform.node()}",
        queues=[queue.value for queue in settings.queues],
        concurrency=settings.slots,
        without_gossip=True,
        without_mingle=True,
        quiet=True,
    )
    celery_worker.start()
    return int(celery_worker.exitcode or 0)


def _keep_logging(**_: object) -> None:
    """Who listens to this signal keeps Celery from changing what is logged, and how."""
