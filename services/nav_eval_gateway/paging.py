"""Lists in pages: `?limit=50&cursor=…`; each page says under `next` where the following one begins."""

from collections.abc import Callable
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query
from pydantic import BaseModel

from nav_eval_store.paging import LARGEST_PAGE
from nav_eval_store.paging import Page as StoredPage

T = TypeVar("T")
R = TypeVar("R")


class Page(BaseModel, Generic[T]):
    """A part of a list."""

    items: list[T]
    next: str | None = None
    """Ask for the following page with `cursor=` this; null is the end."""

    @classmethod
    def of(cls, stored: StoredPage[R], show: Callable[[R], T]) -> "Page[T]":
        return cls(items=[show(row) for row in stored.items], next=stored.next)


class Paging(BaseModel):
    """Which part of a list is wanted."""

    limit: int = 50
    cursor: str | None = None


def paging(
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items in the page, at most.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=500, description="The `next` of the page before; begin without it.")
    ] = None,
) -> Paging:
    return Paging(limit=limit, cursor=cursor)


Paged = Annotated[Paging, Depends(paging)]
