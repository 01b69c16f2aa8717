"""Statements that are compiled once in a process.

SQLAlchemy keeps them per engine. A gateway has one engine and a test one of its own: compiling was a third of what
tests of the store cost.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Engine, util
from sqlalchemy.dialects.postgresql.psycopg2 import PGDialect_psycopg2
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine import Dialect

import nav_eval_store.database

SETTINGS = ("server_version_info", "paramstyle", "_json_serializer", "_json_deserializer")
MOST = 4000  #: statements of all tests of a process


@contextmanager
def compiled_once() -> Iterator[None]:
    """Engines of our databases share what they compiled."""
    shared = {dialect.name: util.LRUCache(MOST) for dialect in (PGDialect_psycopg2, SQLiteDialect_pysqlite)}
    make = nav_eval_store.database.sqlalchemy_engine

    def make_engine(*arguments: object, **options: object) -> Engine:
        engine = make(*arguments, **options)
        engine._compiled_cache = shared[engine.dialect.name]
        return engine

    with pytest.MonkeyPatch.context() as patch:
        for dialect in (PGDialect_psycopg2, SQLiteDialect_pysqlite):  # part of the key of each statement
            patch.setattr(dialect, "__eq__", _are_alike)
            patch.setattr(dialect, "__hash__", lambda self: hash(type(self)))
        patch.setattr(nav_eval_store.database, "sqlalchemy_engine", make_engine)
        yield


def _are_alike(one: Dialect, other: object) -> bool:
    """Whether they say the same in the same words."""
    if one is other:
        return True
    return type(one) is type(other) and _list_settings(one) == _list_settings(other)


def _list_settings(dialect: object) -> list[object]:
    return [getattr(dialect, name, None) for name in SETTINGS]
