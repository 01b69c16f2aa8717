"""What all tables share: names of constraints, and column types that mean the same on both databases."""

import json
import re
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any
from uuid import UUID, uuid4

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, Integer, MetaData, String, Uuid
from sqlalchemy import Enum as EnumColumn
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, mapped_column
from sqlalchemy.types import TypeDecorator

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class UtcDateTime(TypeDecorator[datetime]):
    """A moment. Goes in with any time zone, comes out in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        utc = value.astimezone(UTC)
        return utc if dialect.name == "postgresql" else utc.replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


_NUL_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
"""NUL as JSON writes it, which is not the text of a backslash and `u0000`."""


def clean_text(words: str) -> str:
    """Text that every database can keep: agents' logs hold NUL characters and halves of characters."""
    return words.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class CleanText(TypeDecorator[str]):
    """Any text, made keepable."""

    impl = String()
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else clean_text(value)


def clean_json(value: object) -> str:
    """JSON that every database can keep; NaN and infinite numbers are refused."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return clean_text(_NUL_ESCAPE.sub(r"\1\\ufffd", text))


DOCUMENT = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
"""Anything that JSON can say."""


class Base(DeclarativeBase):
    """All tables."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {  # noqa: RUF012
        datetime: UtcDateTime,
        UUID: Uuid(as_uuid=True),
        dict[str, Any]: DOCUMENT,
        list[Any]: DOCUMENT,
        str: CleanText,
    }


Id = Annotated[UUID, mapped_column(primary_key=True, default=uuid4)]
"""Nobody can guess the next one."""
Serial = Annotated[
    int, mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)
]
"""For lists that are read in order; never used twice, even after the last row is deleted."""


def make_enum_column(kind: type[Enum]) -> EnumColumn:
    """A column of the values of a StrEnum, kept as text."""
    return EnumColumn(
        kind, native_enum=False, length=40, validate_strings=True, values_callable=lambda kind: [m.value for m in kind]
    )
