"""Which generation of habitat-sim we behave like.

The installed habitat-lab decides; `NAV_EVAL_HABITAT_API` (such as `0.2.4`) overrules it; without both, the newest.
"""

import os
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

NEWEST = (0, 3, 4)
_LAB_NAMES = ("habitat-lab", "habitat")  #: up to 0.2.2 the distribution had the shorter name

#: releases carry their date where a patch number would be; the date of 0.3.4 is the first that is newer
_FIRST_DAYS = ((20260101, (0, 3, 4)), (20250101, (0, 3, 3)), (20240701, (0, 3, 2)), (20231001, (0, 3, 0)))


class ApiLevel(NamedTuple):
    """What differs between generations, by name."""

    release: tuple[int, int, int]

    @property
    def gives_vectors(self) -> bool:
        """Points are `Vector3` from 0.3.3 on, float32 arrays before."""
        return self.release >= (0, 3, 3)

    @property
    def builds_mesh_for_agent(self) -> bool:
        """Up to 0.2.4, a mesh that does not fit the default agent is built anew without being asked to."""
        return self.release <= (0, 2, 4)


def parse_release(text: str) -> tuple[int, int, int]:
    """0.3.320260507 is 0.3.4, 0.2.520230802 is 0.2.5: the day follows the patch number without a dot."""
    major, minor, patch = (*text.split("+", maxsplit=1)[0].split(".")[:3], "0")[:3]
    digits = "".join(character for character in patch if character.isdigit())
    if len(digits) <= 2:
        return int(major), int(minor), int(digits or 0)
    day, number = int(digits[-8:]), digits[:-8]
    if (int(major), int(minor)) == (0, 3):
        return next((release for first, release in _FIRST_DAYS if day >= first), (0, 3, 0))
    return int(major), int(minor), int(number or 0)


def find_api_level() -> ApiLevel:
    chosen = os.environ.get("NAV_EVAL_HABITAT_API")
    if chosen:
        return ApiLevel(parse_release(chosen))
    for name in _LAB_NAMES:
        with suppress(PackageNotFoundError):
            return ApiLevel(parse_release(version(name)))
    return ApiLevel(NEWEST)


LEVEL = find_api_level()
