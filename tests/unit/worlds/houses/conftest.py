"""Houses are made once per test run."""

from collections.abc import Callable
from functools import cache

import pytest

from nav_eval.generator_version import GeneratorVersion
from nav_eval_worlds.houses import GeneratedHouse, generate_house


@cache
def _house(seed: int, template: str | None, split: str, generator: GeneratorVersion) -> GeneratedHouse:
    return generate_house(seed, template=template, split=split, generator=generator)


@pytest.fixture(scope="session")
def house() -> Callable[..., GeneratedHouse]:
    """`house(seed, template, split, generator)`, shared by all tests."""

    def get(
        seed: int = 1, template: str | None = "flat_1", split: str = "seen", generator: GeneratorVersion = 1
    ) -> GeneratedHouse:
        return _house(seed, template, split, generator)

    return get
