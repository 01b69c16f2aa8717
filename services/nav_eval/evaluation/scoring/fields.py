"""What every scored number must satisfy. The limits are part of the types, so decoding checks them."""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, TypeAlias

import msgspec

from nav_eval.errors import RecordError

Metres: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
"""A distance; NaN, infinite and negative ones are refused. Null says that there is none."""
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


def require_unique_ids(ids: Iterable[str | int | None], *, path: object) -> None:
    """An episode that stands twice in a file would count twice."""
    known = [episode_id for episode_id in ids if episode_id is not None]
    if len(set(known)) == len(known):
        return
    twice, _ = Counter(known).most_common(1)[0]
    raise RecordError(f"{path}: episode {twice!r} occurs more than once; keep one line per episode.")
