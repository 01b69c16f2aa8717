"""The broker that carries messages to workers: each one makes the worker that gets it do the job that it names.

Gateway and worker share this module so that both mean the same: the Celery task `nav_eval_worker.<kind>` with `job_id`
and `submission_id`, in one of the queues of `nav_eval_store.work.queues`. Which jobs wait is in the database, so a
message that is lost costs a minute (`dispatch`) and one that comes twice costs nothing (the lease decides).

`NAV_EVAL_BROKER` is `redis://…` or `filesystem://FOLDER`; the folder `$NAV_EVAL_HOME/broker` unless set.
"""

import os
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nav_eval_store.errors import OperatorError
from nav_eval_store.settings import read_variable
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work.queues import JobMessage, JobQueue

if TYPE_CHECKING:
    from celery import Celery

EXCHANGE = "nav_eval"
FILES = "filesystem://"
REDIS = ("redis://", "rediss://", "redis+socket://", "sentinel://")
_TIMES = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
KEEPALIVE = {getattr(socket, name): value for name, value in _TIMES.items() if hasattr(socket, name)}
"""One who listens notices within half a minute that the broker's network is gone; not every system has all of these."""
STALE_SECONDS = 86_400.0
ANSWER_SECONDS = 2.0
"""How long one who only sends waits for the broker."""


def make_task_name(kind: JobKind) -> str:
    """The Celery task that does jobs of this kind."""
    return f"nav_eval_worker.{kind.value}"


@dataclass(frozen=True, slots=True)
class Broker:
    """Where messages go."""

    url: str  #: `redis://…`, or `filesystem://FOLDER`

    def __post_init__(self) -> None:
        if not self.url.startswith((FILES, *REDIS)) or self.url == FILES:
            scheme = self.url.partition("://")[0]
            raise OperatorError(f"NAV_EVAL_BROKER is {scheme}://…; it must be redis://HOST or filesystem://FOLDER.")

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "Broker":
        variables = os.environ if environ is None else environ
        home = Path(variables.get("NAV_EVAL_HOME", "var")).absolute()
        return cls(read_variable(variables, "NAV_EVAL_BROKER") or f"{FILES}{home / 'broker'}")

    @property
    def folder(self) -> Path | None:
        """Of a broker that is made of files."""
        return Path(self.url.removeprefix(FILES)).absolute() if self.url.startswith(FILES) else None

    def remove_stale_messages(self) -> None:
        """Drop messages that lie in a broker of files for a day, as those for a `celery events` that was killed."""
        for file in (self.folder / "queue").glob("*.msg") if self.folder is not None else ():
            with suppress(FileNotFoundError):
                if time.time() - file.stat().st_mtime > STALE_SECONDS:
                    file.unlink()

    def configuration(self, *, impatient: bool = False) -> dict[str, Any]:
        """Celery's settings for this broker; `impatient` is for those who must not wait for it."""
        from kombu import Exchange, Queue

        from nav_eval_store.work.file_transport import SCHEME

        settings: dict[str, Any] = {
            "broker_url": self.url if self.folder is None else f"{SCHEME}://",
            "broker_transport_options": self._transport_options(impatient=impatient),
            "task_queues": [Queue(name, Exchange(EXCHANGE), routing_key=name) for name in JobQueue],
            "task_default_queue": JobQueue.QUICK.value,
            "task_default_exchange": EXCHANGE,
            "task_default_routing_key": JobQueue.QUICK.value,
            "task_ignore_result": True,
            "task_serializer": "json",
            "accept_content": ["json"],
        }
        if impatient:
            settings |= {"broker_connection_timeout": ANSWER_SECONDS, "broker_connection_retry": False}
        return settings

    def _transport_options(self, *, impatient: bool) -> dict[str, Any]:
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "queue").mkdir(exist_ok=True)
            queue, control = str(self.folder / "queue"), str(self.folder / "control")
            return {"data_folder_in": queue, "data_folder_out": queue, "control_folder": control}
        if not impatient:
            return {"socket_keepalive": True, "socket_keepalive_options": KEEPALIVE}
        times = {"socket_connect_timeout": ANSWER_SECONDS, "socket_timeout": ANSWER_SECONDS}
        return {**times, "retry_on_timeout": False, "max_retries": 0}


def make_sender(broker: Broker) -> "Celery":
    """A Celery application that can only send, and gives up soon."""
    from celery import Celery

    app = Celery("nav_eval_messages", set_as_current=False)
    app.conf.update(broker.configuration(impatient=True))
    return app


def send_messages(app: "Celery", messages: Iterable[JobMessage]) -> None:
    """Raises what the broker raises: callers who must go on catch and log."""
    for message in messages:
        app.send_task(
            make_task_name(message.kind),
            kwargs={"job_id": str(message.job_id), "submission_id": str(message.submission_id)},
            queue=message.queue.value,
            ignore_result=True,
            retry=False,
        )
