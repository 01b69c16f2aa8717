"""Where things are kept that can always be made again."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$NAV_EVAL_CACHE`, or nav-eval's folder below the user's cache."""
    chosen = os.environ.get("NAV_EVAL_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nav-eval"
