"""What the doctor looks at: this installation's places, and the clock that others are compared with."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy.exc import ArgumentError

from nav_eval.cache import cache_folder
from nav_eval_store.clock import Clock, SystemClock
from nav_eval_store.database import normalised
from nav_eval_store.errors import StoreError
from nav_eval_store.messages import Broker
from nav_eval_store.settings import StoreSettings

GIGABYTE = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Needs:
    """Below the first number of a pair nav-eval works badly, below the second not at all."""

    disk_bytes: tuple[int, int] = (10 * GIGABYTE, GIGABYTE)
    inodes: tuple[int, int] = (100_000, 10_000)
    memory_bytes: tuple[int, int] = (2 * GIGABYTE, GIGABYTE // 2)
    open_files: tuple[int, int] = (1024, 256)
    shared_memory_bytes: int = 256 << 20  #: the ring of one episode, at most; smaller is slower, not wrong
    clock_seconds: tuple[float, float] = (2.0, 15.0)  #: half of a lease's patience


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """One installation, seen from one machine."""

    store: StoreSettings
    cache: Path  #: what can always be made again
    broker: Broker  #: how workers hear of work
    runtime: str = "process"  #: how workers run agents: process or docker
    environment: Mapping[str, str] = field(default_factory=dict)  #: for the programs that the doctor starts
    clock: Clock = field(default_factory=SystemClock)
    needs: Needs = field(default_factory=Needs)

    @classmethod
    def here(cls, environ: Mapping[str, str] | None = None) -> "Surroundings":
        """This installation, from the environment."""
        variables = os.environ if environ is None else environ
        return cls(
            store=StoreSettings.from_environment(variables),
            cache=cache_folder(variables),
            broker=Broker.from_environment(variables),
            runtime=variables.get("NAV_EVAL_RUNTIME", "process"),
            environment=variables,
        )

    @property
    def folders(self) -> dict[str, Path]:
        """Every local folder that this installation writes to."""
        places = {"cache": self.cache}
        if "://" not in self.store.blobs:
            places["blobs"] = Path(self.store.blobs)
        if self.broker.folder is not None:
            places["broker"] = self.broker.folder
        if (file := self.database_file) is not None:
            places["database"] = file.parent
        return places

    @property
    def database_file(self) -> Path | None:
        """The file of an SQLite database."""
        try:
            url = normalised(self.store.database)
        except (StoreError, ArgumentError):  # whoever opens it says what is wrong
            return None
        is_file = url.get_backend_name() == "sqlite" and url.database
        return Path(str(url.database)).absolute() if is_file else None
