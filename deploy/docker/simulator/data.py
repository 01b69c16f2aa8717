"""Houses and episodes of benchmarks that say how to make them, below the current folder; what is there stays.

usage: data.py BENCHMARK…
"""

import sys

from nav_eval.config import load_benchmark
from nav_eval.generators import ensure_generated


def main(names: list[str]) -> None:
    for name in filter(None, names):  # Compose passes an empty name where nothing is to be made
        made = ensure_generated(load_benchmark(name), say=print)
        print(f"{name}: {'made' if made else 'is there'}")


if __name__ == "__main__":
    main(sys.argv[1:])
