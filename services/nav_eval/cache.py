"""Where things are kept that can always be made again."""

import os
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """`$NAV_EVAL_CACHE`, or nav-eval's folder below the user's cache."""
    variables = os.environ if environ is None else environ
    chosen = variables.get("NAV_EVAL_CACHE")
    if chosen:
        return Path(chosen)
    return Path(variables.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nav-eval"
