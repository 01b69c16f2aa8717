"""Machine code that tests need of generated houses: made while packages come, not while four processes wait for it."""

import tempfile
from pathlib import Path

from nav_eval_worlds.episodes import generate_episodes
from nav_eval_worlds.generator import load_base_benchmark
from nav_eval_worlds.houses.house_files import get_house_file, write_houses

SEED = 1


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        houses = Path(scratch)
        list(write_houses(houses, count=1, seed=SEED, split="unseen", generator=2, template="flat_1"))
        rules, house = load_base_benchmark("vln", houses), get_house_file(SEED, "unseen", generator=2)
        generate_episodes(rules, [house], count=1, seed=SEED, generator=2, cache=houses / "cache")


if __name__ == "__main__":
    main()
