"""Where an installation keeps its things, from the environment.

`NAV_EVAL_HOME` (a folder, `./var` unless set) holds everything of a small installation. A larger one
names its database and its blobs: `NAV_EVAL_DATABASE=postgresql://…`, `NAV_EVAL_BLOBS=s3://…`. A
secret may stand in a file instead: `NAV_EVAL_DATABASE_FILE=/run/secrets/database`.

With SQLite the key that secrets are kept with is made in that folder; with Postgres, which several hosts share,
`NAV_EVAL_ENCRYPTION_KEYS` gives it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Clock, Database
from nav_eval_store.encryption import Keyring
from nav_eval_store.errors import OperatorError


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreSettings:
    """Two addresses, and the keys."""

    database: str  #: URL of the database
    blobs: str  #: URL or folder of the blobs
    keyring: Keyring = field(default_factory=Keyring)  #: opens what is kept sealed

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "StoreSettings":
        variables = os.environ if environ is None else environ
        home = Path(variables.get("NAV_EVAL_HOME", "var")).absolute()
        database = read_variable(variables, "NAV_EVAL_DATABASE") or f"sqlite:///{home / 'nav-eval.db'}"
        keys = read_variable(variables, "NAV_EVAL_ENCRYPTION_KEYS") or None
        own = home / "encryption-keys" if keys is None and database.startswith("sqlite") else None
        return cls(
            database=database,
            keyring=Keyring(keys=keys, file=own),
            blobs=read_variable(variables, "NAV_EVAL_BLOBS") or str(home / "blobs"),
        )

    def open_database(self, *, clock: Clock | None = None) -> Database:
        return Database(self.database, clock=clock, keyring=self.keyring)

    def open_blobs(self) -> BlobStore:
        return BlobStore(self.blobs)


def read_variable(variables: Mapping[str, str], name: str) -> str | None:
    """The variable, or the content of the file that `NAME_FILE` names."""
    file = variables.get(f"{name}_FILE")
    if file is None:
        return variables.get(name)
    try:
        return Path(file).read_text().strip()
    except OSError as error:
        raise OperatorError(f"{name}_FILE: cannot read {file}: {error.strerror}.") from error


_FLAGS = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}


def read_flag(variables: Mapping[str, str], name: str) -> bool:
    """A variable that says yes or no; not set is no."""
    text = variables.get(name, "")
    if text.lower() not in _FLAGS:
        raise OperatorError(f"{name} is {text!r}; it must be yes or no.")
    return _FLAGS[text.lower()]
