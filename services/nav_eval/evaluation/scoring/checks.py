"""What every scored number must satisfy."""

import math
from collections.abc import Iterable

from nav_eval.errors import RecordError


def require_finite(values: Iterable[float | None], *, field: str, where: str, unknown: str) -> None:
    """Refuse NaN, infinite and negative numbers; `unknown` says how to write "there is none"."""
    for value in values:
        if value is None:
            continue
        if not math.isfinite(value):
            raise RecordError(f"{where}: {field} is {value}; it must be a finite number. {unknown}")
        if value < 0:
            raise RecordError(f"{where}: {field} is {value}; it cannot be negative.")


def require_unique_ids(ids: Iterable[str | None], *, path: object) -> None:
    """An episode that stands twice in a file would count twice."""
    seen: set[str] = set()
    for episode_id in ids:
        if episode_id is None:
            continue
        if episode_id in seen:
            raise RecordError(f"{path}: episode {episode_id!r} occurs more than once; keep one line per episode.")
        seen.add(episode_id)
