import pytest

from nav_eval.simulator.rendering import Device


@pytest.fixture(scope="session")
def device() -> Device:
    return Device.open()
