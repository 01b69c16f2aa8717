"""Lists in pages: each page says where the next one begins, so that new rows never shift old ones.

A cursor is the sort key of the last row, opaque to those who pass it back.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, and_, or_
from sqlalchemy.orm import InstrumentedAttribute

from nav_eval_store.errors import StoreError

T = TypeVar("T")
LARGEST_PAGE = 500

Key = tuple[datetime | int | str | UUID, ...]


class Page(NamedTuple, Generic[T]):
    """A part of a list."""

    items: Sequence[T]
    next: str | None
    """Ask for the following page with this; None is the end."""


def page(rows: Sequence[T], limit: int, key: Callable[[T], Key]) -> Page[T]:
    """The first `limit` of `rows`, which were asked for with one row more to see whether there is more."""
    more = len(rows) > limit
    return Page(rows[:limit], cursor(key(rows[limit - 1])) if more else None)


def page_size(limit: int) -> int:
    return max(1, min(limit, LARGEST_PAGE))


def follows(columns: Sequence[InstrumentedAttribute[Any]], key: Sequence[Any]) -> ColumnElement[bool]:
    """Rows that come after the one with `key` where the columns are sorted downwards."""
    conditions = [
        and_(*(earlier == value for earlier, value in zip(columns[:index], key, strict=False)), column < key[index])
        for index, column in enumerate(columns)
    ]
    return or_(*conditions)


def cursor(key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode().rstrip("=")


def position(text: str | None, kind: type[T]) -> T | None:
    """The sort key inside a cursor; nonsense is refused."""
    if text is None:
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        key = msgspec.json.decode(data, type=kind)
        _refuse_strange(key)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise StoreError("This cursor is not one of ours; begin again without it.") from error
    return key


def _refuse_strange(key: object) -> None:
    """Refuse what no column could hold."""
    for part in key if isinstance(key, tuple) else (key,):
        if (isinstance(part, int) and abs(part) >= 1 << 63) or (isinstance(part, datetime) and part.tzinfo is None):
            raise ValueError
