"""What a worker is told about itself, from the environment and the command line."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from pathlib import Path

from nav_eval.cache import cache_folder
from nav_eval.errors import ConfigError
from nav_eval_store.lifecycle import Patience
from nav_eval_store.messages import Broker
from nav_eval_store.sending import SendingSettings
from nav_eval_store.settings import StoreSettings

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
    concurrency: int = 1  #: shards at the same time
    express: bool = True  #: one more hand, for checks, canaries and scores: they need not wait for a shard to end
    grace_seconds: float = 8.0  #: for an episode to end when the worker is told to stop
    look_seconds: float = 5.0  #: between two looks at the queue without being told
    films: int = 3  #: episodes of a scored submission that get a film for the replay page; 0 is none
    patience: Patience = field(default_factory=Patience)
    sending: SendingSettings = field(default_factory=SendingSettings)  #: webhooks and e-mail

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
            cache=cache_folder(),
            concurrency=_count(variables, "NAV_EVAL_WORKER_CONCURRENCY", default=1),
            express=variables.get("NAV_EVAL_WORKER_EXPRESS", "yes").lower() not in ("0", "no", "false", "off"),
            grace_seconds=float(_count(variables, "NAV_EVAL_WORKER_GRACE", default=8)),
            look_seconds=float(_count(variables, "NAV_EVAL_WORKER_LOOK", default=5)),
            films=_count(variables, "NAV_EVAL_FILMS", default=3, least=0),
            patience=patience_of(variables.get("NAV_EVAL_PATIENCE", "")),
            sending=SendingSettings.from_environment(variables),
        )


def patience_of(text: str) -> Patience:
    """How long each party may take, as `lease=30,backoff=10` in seconds; what is not named is as usual."""
    given = dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
    known = {entry.name for entry in fields(Patience)} - {"attempts"}
    seconds = {}
    for name, value in given.items():
        if name not in known or not _NUMBER.fullmatch(value):
            raise ConfigError(f"NAV_EVAL_PATIENCE has {name}={value}; it takes seconds for {', '.join(sorted(known))}.")
        seconds[name] = timedelta(seconds=float(value))
    return replace(Patience(), **seconds)  # type: ignore[arg-type]  # all of them are times


def _count(variables: Mapping[str, str], name: str, *, default: int, least: int = 1) -> int:
    text = variables.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise ConfigError(f"{name} is {text!r}; it must be a whole number of at least {least}.")
    return int(text)
