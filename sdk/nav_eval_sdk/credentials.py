"""Which server, and by whose right: the environment, or what `login` wrote down for this user alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from nav_eval_sdk.errors import SdkError

SERVER_VARIABLE = "NAV_EVAL_SERVER"
TOKEN_VARIABLE = "NAV_EVAL_TOKEN"  # noqa: S105 (the name of a variable)


class Credentials(NamedTuple):
    server: str
    token: str


def config_dir() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "nav-eval"


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nav-eval"


def save(server: str, token: str) -> Path:
    """Remember the token for this server, which is used from now on."""
    file = config_dir() / "credentials.json"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = _read(file)
    tokens = {**known.get("tokens", {}), server: token}
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        json.dump({"server": server, "tokens": tokens}, stream, indent=2)
    return file


def load(server: str | None = None) -> Credentials:
    known = _read(config_dir() / "credentials.json")
    chosen = server or os.environ.get(SERVER_VARIABLE) or known.get("server")
    if not chosen:
        raise SdkError("Which server? Give --server https://…, or log in once: nav-eval-sdk login https://…")
    return Credentials(chosen, os.environ.get(TOKEN_VARIABLE) or known.get("tokens", {}).get(chosen, ""))


def _read(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
