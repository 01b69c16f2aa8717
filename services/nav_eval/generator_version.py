"""Which generator made a house or an episode.

Seeds are published and runs are kept, so the same seed must give the same bytes for ever: what changes them is a new
version, beside the older ones. Where nothing names one (older files, benchmarks, run
folders), the first is meant.
"""

from typing import Literal, get_args

from nav_eval.errors import UnknownName

GeneratorVersion = Literal[1, 2]

FIRST_GENERATOR: GeneratorVersion = 1  #: that of nav-eval 0.1
LATEST_GENERATOR: GeneratorVersion = 2  #: what the commands use for new data


def check_generator(number: int) -> GeneratorVersion:
    for version in get_args(GeneratorVersion):
        if version == number:
            return version  # type: ignore[no-any-return]
    known = ", ".join(map(str, get_args(GeneratorVersion)))
    raise UnknownName(f"There is no generator {number}. Known: {known}.")
