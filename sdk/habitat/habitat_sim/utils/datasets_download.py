"""Habitat's downloader. Ours does not fetch other people's scenes; docs/data.md says where each comes from."""

from typing import Any, NoReturn

from nav_eval_habitat.scope import OutOfScope

data_sources: dict[str, Any] = {}
data_groups: dict[str, Any] = {}


def main(args: Any = None) -> NoReturn:
    raise OutOfScope("habitat_sim.utils.datasets_download")
