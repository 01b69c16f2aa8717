"""What the doctor looks at, and what a check says: this installation's places, the clock that others are compared
with, and findings with what follows from them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from sqlalchemy.exc import ArgumentError

from nav_eval.cache import get_cache_folder
from nav_eval_store.database import Clock, SystemClock, normalize_url
from nav_eval_store.errors import StoreError
from nav_eval_store.settings import StoreSettings
from nav_eval_store.work.broker import Broker


class Level(StrEnum):
    OK = "ok"  #: as it should be
    NOTE = "note"  #: absent, and not needed by an installation like this one
    WARN = "warn"  #: works, but not well, or not for long
    FAIL = "fail"  #: nav-eval cannot work like this


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    check: str  #: what was looked at
    level: Level
    found: str  #: what is there
    advice: str = ""  #: what to do next; empty when all is well


def confirm(check: str, found: str) -> Finding:
    return Finding(check=check, level=Level.OK, found=found)


def note(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.NOTE, found=found, advice=advice)


def warn(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.WARN, found=found, advice=advice)


def fail(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.FAIL, found=found, advice=advice)


GIGABYTE = 10**9


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirements:
    """Below the first number of a pair nav-eval works badly, below the second not at all."""

    disk_bytes: tuple[int, int] = (10 * GIGABYTE, GIGABYTE)
    inodes: tuple[int, int] = (100_000, 10_000)
    memory_bytes: tuple[int, int] = (2 * GIGABYTE, GIGABYTE // 2)
    open_files: tuple[int, int] = (1024, 256)
    shared_memory_bytes: int = 256 << 20  #: the ring of one episode, at most; smaller is slower, not wrong
    clock_seconds: tuple[float, float] = (2.0, 15.0)  #: half of a lease's patience


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """One installation, seen from one machine."""

    store: StoreSettings
    cache: Path  #: what can always be made again
    broker: Broker  #: how workers hear of work
    runtime: str = "process"  #: how workers run agents: process or docker
    environment: Mapping[str, str] = field(default_factory=dict)  #: for the programs that the doctor starts
    clock: Clock = field(default_factory=SystemClock)
    needs: Requirements = field(default_factory=Requirements)

    @classmethod
    def here(cls, environ: Mapping[str, str] | None = None) -> "Installation":
        """This installation, from the environment."""
        variables = os.environ if environ is None else environ
        return cls(
            store=StoreSettings.from_environment(variables),
            cache=get_cache_folder(variables),
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
            url = normalize_url(self.store.database)
        except (StoreError, ArgumentError):  # whoever opens it says what is wrong
            return None
        is_file = url.get_backend_name() == "sqlite" and url.database
        return Path(str(url.database)).absolute() if is_file else None
