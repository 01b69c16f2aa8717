"""The Celery application: `celery -A nav_eval_worker.app inspect active`, `… events`, Flower; and `nav-eval worker`.

There is one task for each kind of job, `nav_eval_worker.<kind>`, and a message makes the worker that gets it do the job
that it names. The database decides whether that is right (`leases.claim_dispatched_job`), so a message may come
twice, late or not at all. No result is kept anywhere, and only JSON is read.

Whatever starts this application as a worker, Celery's command line or ours, gets a `JobWorker` beside Celery's parts.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

from celery import Celery, bootsteps
from celery.signals import worker_shutting_down
from celery.worker.request import Request

from nav_eval.errors import ConfigError
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work.broker import Broker, make_task_name
from nav_eval_store.work.queues import JobQueue
from nav_eval_worker.settings import WorkerSettings

if TYPE_CHECKING:
    from celery import Task

    from nav_eval_worker.worker import JobWorker

POLL_SECONDS = 0.2
"""Between two looks into the folder of a broker that is made of files."""


def configure() -> dict[str, Any]:
    """Celery's settings; read when they are first needed, so that importing this module needs no environment."""
    broker = Broker.from_environment()
    transport = broker.configuration()
    if broker.folder is not None:
        transport["broker_transport_options"]["polling_interval"] = POLL_SECONDS
    settings = WorkerSettings.from_environment()
    return {
        **transport,
        "task_acks_late": True,  # so that no message waits behind a job of an hour: a worker reserves what it runs
        "worker_prefetch_multiplier": 1,
        "worker_pool": "threads",  # agents and simulators are processes of their own
        "worker_concurrency": settings.slots,
        "worker_send_task_events": True,
        "worker_hijack_root_logger": False,
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "result_backend": None,
    }


class JobWorkerStep(bootsteps.StartStopStep):
    """Opens what jobs need, and keeps the queues that are consumed in step with the slots that are free."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, controller: Any, **options: Any) -> None:  # noqa: ANN401 - Celery does not say more
        from nav_eval_worker.context import open_context  # here, because `celery inspect` needs nothing of it
        from nav_eval_worker.slots import QueueSubscription
        from nav_eval_worker.worker import JobWorker

        super().__init__(controller, **options)
        if controller.pool_cls.__module__ not in ("celery.concurrency.thread", "celery.concurrency.solo"):
            raise ConfigError("A worker waits for processes that it starts: its pool is `threads` (or `solo`).")
        self._worker = JobWorker(open_context(controller.app.find_settings(controller)))
        self._subscription = QueueSubscription(controller, self._worker.slots)
        self._worker.slots.on_change = self._subscription.update
        controller.app.worker = self._worker

    def start(self, controller: Any) -> None:  # noqa: ANN401
        self._worker.start()

    def stop(self, controller: Any) -> None:  # noqa: ANN401
        self._worker.stop()

    def terminate(self, parent: Any) -> None:  # noqa: ANN401
        """Somebody does not want to wait: the leases run out by themselves."""
        self._worker.context.stopping.set()


class ForgetfulChannelStep(bootsteps.StartStopStep):
    """Puts no message back into the queue when a connection is lost: the database has the job sent again.

    kombu would try to, over the connection that it has just closed, and the `AttributeError` would end the worker.
    """

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, consumer: Any) -> None:  # noqa: ANN401
        consumer.connection.default_channel.do_restore = False


class WorkerApp(Celery):
    """Celery, and the worker that its tasks are done by."""

    settings: WorkerSettings | None = None  #: as the command line has them; from the environment unless set
    worker: "JobWorker | None" = None  #: once this process is started as one

    def find_settings(self, controller: Any) -> WorkerSettings:  # noqa: ANN401
        """Those that were set, or the environment's with Celery's own options."""
        if self.settings is not None:
            return self.settings
        known, threads = WorkerSettings.from_environment(), int(controller.concurrency)
        name = controller.hostname.partition("@")[0]
        found = replace(
            known,
            name=known.name if name == "celery" else name,
            queues=tuple(queue for queue in JobQueue if queue.value in self.amqp.queues.consume_from),
            express=known.express and threads > 1,
        )
        return replace(found, concurrency=threads - int(found.has_quick_slot))


app = WorkerApp("nav_eval_worker", set_as_current=False)
app.add_defaults(configure)
app.steps["worker"].add(JobWorkerStep)
app.steps["consumer"].add(ForgetfulChannelStep)


class JobRequest(Request):
    """A message whose connection may be gone when its job is done.

    Redis was restarted meanwhile, say: kombu closed the channel, and acknowledging on it raises an `AttributeError`,
    which Celery takes for a bug and ends the worker. The message is lost then, and nobody needs it any more.
    """

    def __init__(self, message: Any, *, connection_errors: Sequence[type[Exception]] = (), **options: Any) -> None:  # noqa: ANN401
        super().__init__(message, connection_errors=(*connection_errors, AttributeError), **options)


def _add_task(kind: JobKind) -> None:
    default = JobQueue.SHARDS if kind is JobKind.SHARD else JobQueue.QUICK

    def run(task: "Task[Any, None]", job_id: str, submission_id: str) -> None:
        queue = (task.request.delivery_info or {}).get("routing_key")
        assert app.worker is not None
        app.worker.run_dispatched(UUID(job_id), JobQueue(queue) if queue in list(JobQueue) else default)

    run.__doc__ = f"Do the {kind} job JOB_ID of the submission SUBMISSION_ID."
    app.task(name=make_task_name(kind), bind=True, Request=JobRequest)(run)


for _kind in JobKind:
    _add_task(_kind)


@worker_shutting_down.connect(weak=False)
def _stop_at_once(**_: object) -> None:
    """The first SIGTERM (or Ctrl-C) is a warm one: nothing new is taken, and what runs ends with its episode."""
    if app.worker is not None:
        app.worker.context.stopping.set()
