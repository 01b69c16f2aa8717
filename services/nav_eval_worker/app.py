"""The Celery application: where messages arrive.

A message is a hint that a job waits, and names it; whoever gets it does the job whose turn it is, by the
database's rule, and goes on while there are jobs. So nothing depends on a message coming once, or coming at
all: a worker also looks by itself every few seconds (`attendance`). No result is kept anywhere, and only JSON is read.
"""

from collections.abc import Callable

from celery import Celery
from celery.signals import setup_logging, worker_shutting_down

from nav_eval_store.lifecycle import JobKind
from nav_eval_store.messages import Broker, task_name
from nav_eval_worker.beat import BEAT_SECONDS, Beat
from nav_eval_worker.hands import Hands
from nav_eval_worker.workshop import Workshop

RECOVER = "nav_eval_worker.recover"
POLL_SECONDS = 0.2
"""Between two looks into the folder of a broker that is made of files."""


def create_app(broker: Broker, shop: Workshop, hands: Hands) -> Celery:
    """The application of one worker."""
    app = Celery("nav_eval_worker", set_as_current=False)
    app.conf.update(
        broker.configuration(),
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        result_backend=None,
        beat_schedule={"recover": {"task": RECOVER, "schedule": BEAT_SECONDS}},
    )
    if broker.folder is not None:
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, "polling_interval": POLL_SECONDS}
    for kind in JobKind:
        app.task(name=task_name(kind))(_ring(hands))
    app.task(name=RECOVER)(Beat(shop).round)
    return app


def _ring(hands: Hands) -> Callable[[str], None]:
    def ring(job_id: str) -> None:
        """Job JOB_ID waits, or another one does."""
        hands.work()

    return ring


def _as_it_is(**_: object) -> None:
    """Who listens to this signal keeps Celery from changing what is logged, and how."""


def serve(app: Celery, shop: Workshop, hands: Hands) -> int:
    """Take messages until a signal ends the worker; its exit code.

    The first SIGTERM (or Ctrl-C) is a warm one: nothing new is taken, and what runs ends with its episode.
    """

    def stop(**_: object) -> None:
        shop.stopping.set()

    worker_shutting_down.connect(stop, weak=False)
    setup_logging.connect(_as_it_is, weak=False)
    try:
        worker = app.Worker(
            hostname=f"{shop.settings.name}@nav-eval",
            pool_cls="threads",
            concurrency=hands.count + 1,  # one more, to hear messages while all hands are busy
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
            quiet=True,
        )
        worker.start()
    finally:
        worker_shutting_down.disconnect(stop)
        shop.stopping.set()
    return int(worker.exitcode or 0)
