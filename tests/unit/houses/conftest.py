"""Houses are made once per test run."""

from collections.abc import Callable
from functools import cache

import pytest

from nav_eval.scene.houses import House, generate_house


@cache
def _house(seed: int, template: str | None, split: str) -> House:
    return generate_house(seed, template=template, split=split)


@pytest.fixture(scope="session")
def house() -> Callable[..., House]:
    """`house(seed, template, split)`, shared by all tests."""

    def get(seed: int = 1, template: str | None = "flat_1", split: str = "seen") -> House:
        return _house(seed, template, split)

    return get
