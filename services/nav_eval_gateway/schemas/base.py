"""What all models share: requests refuse keys that they do not know, and text that plays tricks.

Lists come in pages, `?limit=50&cursor=…`; each page says under `next` where the following one begins.
"""

from collections.abc import Callable
from typing import Annotated, Any, Generic, Self, TypeVar

from fastapi import Depends, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from nav_eval_store.database import LARGEST_PAGE
from nav_eval_store.database import Page as StoredPage


class Answer(BaseModel):
    """Something that we say."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def from_row(cls, row: object, **others: Any) -> Self:  # noqa: ANN401
        """What `row` has under the names of the fields; `others` stand beside it, or for it."""
        taken = {name: getattr(row, name) for name in cls.model_fields.keys() - others.keys()}
        return cls.model_validate({**taken, **others}, from_attributes=True)


class Request(BaseModel):
    """Something that we are told."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def make_example(**fields: Any) -> ConfigDict:  # noqa: ANN401
    """An example for the OpenAPI document: `model_config = example(name="ada")`."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def _check_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line of printable characters")
    return text


def _check_paragraph(text: str) -> str:
    if not all(c.isprintable() or c in "\n\t" for c in text):
        raise ValueError("must be printable characters")
    return text


Line = Annotated[str, StringConstraints(max_length=200, strip_whitespace=True), AfterValidator(_check_line)]
"""One line that a page can show."""
FilledLine = Annotated[Line, Field(min_length=1)]
Paragraph = Annotated[str, StringConstraints(max_length=4000, strip_whitespace=True), AfterValidator(_check_paragraph)]
Reason = Annotated[Paragraph, Field(min_length=1, max_length=1000)]
"""Why an organiser does something; it is kept in the audit log."""


T = TypeVar("T")
R = TypeVar("R")


class PageAnswer(BaseModel, Generic[T]):
    """A part of a list."""

    items: list[T]
    next: str | None = None
    """Ask for the following page with `cursor=` this; null is the end."""

    @classmethod
    def of(cls, stored: StoredPage[R], show: Callable[[R], T]) -> "PageAnswer[T]":
        return cls(items=[show(row) for row in stored.items], next=stored.next)


class Paging(BaseModel):
    """Which part of a list is wanted."""

    limit: int = 50
    cursor: str | None = None


def get_paging(
    limit: Annotated[int, Query(ge=1, le=LARGEST_PAGE, description="Items in the page, at most.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=500, description="The `next` of the page before; begin without it.")
    ] = None,
) -> Paging:
    return Paging(limit=limit, cursor=cursor)


Paged = Annotated[Paging, Depends(get_paging)]
