"""One PostgreSQL server per process, for all folders but those whose tests crash theirs."""

from support.postgres import postgres_server

__all__ = ["postgres_server"]
