"""What an image has to install: the dependencies of some extras of pyproject.toml, one per line.

Dependencies are a layer of their own, which a change of our code leaves alone. Parts that an image never loads
stay out: the gateway and the worker compile nothing, so they do without numba's compiler (200 MB).

usage: requirements.py PYPROJECT EXTRA… [--with NAME…] [--without NAME…]
"""

import argparse
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

_OURS = re.compile(r"nav-eval\[([\w,-]+)\]")


def requirements(project: Mapping[str, object], extras: Sequence[str]) -> Iterator[str]:
    """The project's own dependencies and those of the extras, each once."""
    optional: Mapping[str, Sequence[str]] = project.get("optional-dependencies", {})  # type: ignore[assignment]
    wanted: list[str] = list(project["dependencies"])  # type: ignore[call-overload]
    for extra in extras:
        wanted += optional[extra]
    seen = set()
    while wanted:
        requirement = wanted.pop(0)
        if (ours := _OURS.fullmatch(requirement)) and optional.keys() >= set(ours[1].split(",")):
            wanted += [part for extra in ours[1].split(",") for part in optional[extra]]
        elif requirement not in seen:
            seen.add(requirement)
            yield requirement


def name_of(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pyproject", type=Path)
    parser.add_argument("extras", nargs="*")
    parser.add_argument("--with", nargs="*", default=[], dest="more")
    parser.add_argument("--without", nargs="*", default=[])
    given = parser.parse_args()
    project = tomllib.loads(given.pyproject.read_text())["project"]
    without = {name.lower() for name in given.without}
    for requirement in [*requirements(project, given.extras), *given.more]:
        if name_of(requirement) not in without:
            print(requirement)


if __name__ == "__main__":
    main()
