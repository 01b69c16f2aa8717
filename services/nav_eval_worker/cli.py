"""`nav-eval worker`: takes jobs and does them."""

import faulthandler
import logging
import threading
from dataclasses import replace
from typing import Annotated

import typer

from nav_eval_worker.settings import WorkerSettings

CHATTY = {
    "alembic": logging.ERROR,
    "kombu.connection": logging.ERROR,
    "celery": logging.WARNING,
    "py.warnings": logging.ERROR,
}


def worker(
    name: Annotated[str | None, typer.Option(help="Unlike every other worker's; the host's name unless given.")] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="Shards at the same time.")] = None,
    runtime: Annotated[
        str | None, typer.Option(help="docker, or process where everybody is trusted (nothing is isolated).")
    ] = None,
    beat: Annotated[bool, typer.Option("--beat", help="Also look after the queue: at least one worker must.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Do what there is to do, then end.")] = False,
) -> None:
    """Validate, run and score submissions."""
    faulthandler.enable()  # a crash in a library names the line that led to it
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty, level in CHATTY.items():
        logging.getLogger(chatty).setLevel(level)
    known = WorkerSettings.from_environment()
    settings = replace(
        known,
        name=name or known.name,
        concurrency=concurrency or known.concurrency,
        runtime=runtime or known.runtime,
    )
    raise typer.Exit(run(settings, beat=beat, once=once))


def run(settings: WorkerSettings, *, beat: bool = False, once: bool = False) -> int:
    """The life of a worker; its exit code."""
    from nav_eval_worker.app import create_app, serve
    from nav_eval_worker.attendance import attending
    from nav_eval_worker.beat import Beat
    from nav_eval_worker.hands import Hands
    from nav_eval_worker.opening import open_workshop

    shop = open_workshop(settings)
    hands = Hands(shop)
    if once:
        while Beat(shop).round() + hands.work():
            pass
        return 0
    with attending(shop, hands):
        if beat:
            threading.Thread(target=Beat(shop).forever, name="beat", daemon=True).start()
        return serve(create_app(settings.broker, shop, hands), shop, hands)
