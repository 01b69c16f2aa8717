"""A gateway on SQLite for quick tests; `cup` is its competition."""

from collections.abc import Iterator

import pytest

from support.challenge import GENEROUS, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of this folder: each makes its own users and teams."""
    settings = gateway_settings(tmp_path_factory.mktemp("gateway"), heartbeat_seconds=0.5)
    with serving(settings) as server:
        yield server


@pytest.fixture(scope="session")
def cup(gateway: Server) -> Challenge:
    return Challenge(gateway.database, competition_config(GENEROUS))
