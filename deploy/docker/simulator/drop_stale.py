"""Remove machine code of other versions of our source from numba's cache: each file names the package that it is of."""

import os
from pathlib import Path

import nav_eval
from nav_eval.compilation import hash_package


def main() -> None:
    packages = {file.parent for file in Path(nav_eval.__file__).parents[1].glob("nav_eval*/**/*.py")}
    current = {hash_package(package) for package in packages}
    for file in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*"):
        if file.is_file() and not any(digest in file.name for digest in current):
            file.unlink()


if __name__ == "__main__":
    main()
