"""What a worker is told about itself, from the environment and the command line."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path

from nav_eval.cache import get_cache_folder
from nav_eval.errors import ConfigError
from nav_eval_store.notifications.sender import DeliverySettings
from nav_eval_store.retention import RetentionPolicy
from nav_eval_store.settings import StoreSettings
from nav_eval_store.submissions.lifecycle import Deadlines
from nav_eval_store.work.broker import Broker
from nav_eval_store.work.queues import JobQueue

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerSettings:
    """One worker process."""

    name: str  #: unlike that of every other worker
    store: StoreSettings
    broker: Broker
    runtime: str = "docker"  #: what runs agents; `process` only where everybody is trusted
    folder: Path  #: of this host: images and weights by digest, files of running pairs
    cache: Path  #: the engine's: whatever can be made again from scenes
    queues: tuple[JobQueue, ...] = tuple(JobQueue)  #: that it takes jobs from
    concurrency: int = 1  #: shards at the same time
    express: bool = True  #: one more slot, for the queue `quick` alone: a verdict need not wait for a shard to end
    beat: bool = False  #: also dispatches and recovers jobs, for all workers
    grace_seconds: float = 8.0  #: for an episode to end when the worker is told to stop
    poll_seconds: float = 5.0  #: between two looks at the database, in case that messages are lost
    films: int = 3  #: episodes of a scored submission that get a film for the replay page; 0 is none
    deadlines: Deadlines = field(default_factory=Deadlines)
    retention: RetentionPolicy = field(default_factory=RetentionPolicy)  #: how long things are kept
    sending: DeliverySettings = field(default_factory=DeliverySettings)  #: webhooks and e-mail

    @property
    def has_quick_slot(self) -> bool:
        """Whether a slot is kept for what is quick; a worker with one kind of work needs none."""
        is_mixed = JobQueue.QUICK in self.queues and any(queue.is_long for queue in self.queues)
        return self.express and is_mixed

    @property
    def slots(self) -> int:
        """Jobs at the same time: Celery's concurrency."""
        return self.concurrency + int(self.has_quick_slot)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "WorkerSettings":
        variables = os.environ if environ is None else environ
        home = Path(variables.get("NAV_EVAL_HOME", "var")).absolute()
        return cls(
            name=variables.get("NAV_EVAL_WORKER_NAME") or socket.gethostname(),
            store=StoreSettings.from_environment(variables),
            broker=Broker.from_environment(variables),
            runtime=variables.get("NAV_EVAL_RUNTIME", "docker"),
            folder=Path(variables.get("NAV_EVAL_WORKER_HOME") or home / "worker").absolute(),
            cache=get_cache_folder(),
            queues=_read_queues(variables),
            concurrency=_read_count(variables, "NAV_EVAL_WORKER_CONCURRENCY", default=1),
            express=_read_switch(variables, "NAV_EVAL_WORKER_EXPRESS", default="yes"),
            beat=_read_switch(variables, "NAV_EVAL_WORKER_BEAT", default="no"),
            grace_seconds=float(_read_count(variables, "NAV_EVAL_WORKER_GRACE", default=8)),
            poll_seconds=float(_read_count(variables, "NAV_EVAL_WORKER_LOOK", default=5)),
            films=_read_count(variables, "NAV_EVAL_FILMS", default=3, least=0),
            deadlines=parse_deadlines(variables.get("NAV_EVAL_PATIENCE", "")),
            retention=RetentionPolicy.from_environment(variables),
            sending=DeliverySettings.from_environment(variables),
        )


def parse_deadlines(text: str) -> Deadlines:
    """How long each party may take, as `lease=30,backoff=10` in seconds; what is not named is as usual."""
    given = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    known = {entry.name for entry in fields(Deadlines)} - {"attempts"}
    seconds = {}
    for name, value in given.items():
        if name not in known or not _NUMBER.fullmatch(value):
            raise ConfigError(f"NAV_EVAL_PATIENCE has {name}={value}; it takes seconds for {', '.join(sorted(known))}.")
        seconds[name] = timedelta(seconds=float(value))
    return replace(Deadlines(), **seconds)  # type: ignore[arg-type]  # all of them are times


def parse_queues(text: str) -> tuple[JobQueue, ...]:
    """Queues as they are named on the command line: `quick,shards`."""
    try:
        return tuple(dict.fromkeys(JobQueue(name.strip()) for name in text.split(",")))
    except ValueError:
        raise ConfigError(f"The queues are {text!r}; there are {', '.join(JobQueue)}.") from None


def _read_queues(variables: Mapping[str, str]) -> tuple[JobQueue, ...]:
    """All of them, but an engine that has no GPU to give leaves `gpu` to those that have."""
    if text := variables.get("NAV_EVAL_WORKER_QUEUES"):
        return parse_queues(text)
    has_none = variables.get("NAV_EVAL_RUNTIME", "docker") == "docker" and not variables.get("NAV_EVAL_DOCKER_GPUS")
    return tuple(queue for queue in JobQueue if not (has_none and queue is JobQueue.GPU))


def _read_switch(variables: Mapping[str, str], name: str, *, default: str) -> bool:
    return variables.get(name, default).lower() not in ("0", "no", "false", "off")


def _read_count(variables: Mapping[str, str], name: str, *, default: int, least: int = 1) -> int:
    text = variables.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{name} is {text!r}; it must be a whole number of at least {least}.")
    return int(text)
