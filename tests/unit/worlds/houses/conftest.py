"""Houses are made once per test run."""

from collections.abc import Callable
from functools import cache

import pytest

from nav_eval_worlds.houses import GeneratedHouse, generate_house


@cache
def _house(seed: int, template: str | None, split: str) -> GeneratedHouse:
    return generate_house(seed, template=template, split=split)


@pytest.fixture(scope="session")
def house() -> Callable[..., GeneratedHouse]:
    """`house(seed, template, split)`, shared by all tests."""

    def get(seed: int = 1, template: str | None = "flat_1", split: str = "seen") -> GeneratedHouse:
        return _house(seed, template, split)

    return get
