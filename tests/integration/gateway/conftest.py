"""A gateway with real HTTP, on each database; `cup` is its competition."""

from collections.abc import Callable, Iterator

import pytest

from nav_eval_store.people import accounts
from support.challenge import GENEROUS, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving


@pytest.fixture(scope="module", autouse=True)
def cheap_passwords() -> Iterator[None]:
    """Hundreds of people log in here; that a guess costs what it should is for `tests/unit/store/test_passwords.py`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(accounts._SCRYPT, "n", 2**8)
        yield


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Makes empty databases, once of each kind."""
    if request.param == "sqlite":
        return lambda: f"sqlite:///{tmp_path_factory.mktemp('store') / 'store.db'}"
    create: Callable[[], str] = request.getfixturevalue("postgres_server").create_database
    return create


@pytest.fixture(scope="session")
def gateway(new_url: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests of this folder: each makes its own users and teams."""
    settings = gateway_settings(tmp_path_factory.mktemp("gateway"), database=new_url(), heartbeat_seconds=0.5)
    with serving(settings) as server:
        yield server


@pytest.fixture(scope="session")
def cup(gateway: Server) -> Challenge:
    return Challenge(gateway.database, competition_config(GENEROUS))
