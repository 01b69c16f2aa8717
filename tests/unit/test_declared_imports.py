"""Whoever installs an extra gets what its code imports: each package's imports against pyproject.toml."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from support.paths import ROOT

DISTRIBUTIONS = {"nav-eval": ROOT, "nav-eval-sdk": ROOT / "sdk", "nav-eval-habitat": ROOT / "sdk" / "habitat"}
OURS = {
    "habitat_sim",
    "magnum",
    "nav_eval",
    "nav_eval_demo",
    "nav_eval_gateway",
    "nav_eval_habitat",
    "nav_eval_sdk",
    "nav_eval_store",
    "nav_eval_worker",
    "nav_eval_worlds",
}
TYPING_ONLY = {"_typeshed"}
#: Who provides what may not be installed here and is not called like its distribution.
PROVIDERS = {"rerun": ["rerun-sdk"]}

#: Folder or file → its distribution and the extras that its code may count on; the longest match decides.
EXTRAS: dict[str, tuple[str, ...]] = {
    "services/nav_eval": ("nav-eval",),
    "services/nav_eval/dataset/trajectory_hdf5.py": ("nav-eval", "export"),
    "services/nav_eval/envs": ("nav-eval", "gym"),
    "services/nav_eval/evaluation/export": ("nav-eval", "export"),
    "services/nav_eval/evaluation/export/rerun.py": ("nav-eval", "rerun"),
    "services/nav_eval/replay/video.py": ("nav-eval", "video"),
    "services/nav_eval/scene/formats": ("nav-eval", "render"),
    "services/nav_eval/simulator/rendering": ("nav-eval", "render"),
    "services/nav_eval_demo": ("nav-eval",),
    "services/nav_eval_gateway": ("nav-eval", "gateway"),
    "services/nav_eval_store": ("nav-eval", "store"),
    "services/nav_eval_worker": ("nav-eval", "worker"),
    "services/nav_eval_worlds": ("nav-eval",),
    "sdk/habitat": ("nav-eval-habitat",),
    "sdk/habitat/habitat_sim/utils/viz_utils.py": ("nav-eval-habitat", "lab"),
    "sdk/nav_eval_sdk": ("nav-eval-sdk",),
    "sdk/nav_eval_sdk/json_messages.py": ("nav-eval-sdk", "websocket"),
    "sdk/nav_eval_sdk/arrays.py": ("nav-eval-sdk", "images"),
    "sdk/nav_eval_sdk/websocket_agent.py": ("nav-eval-sdk", "websocket"),
}


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def declared(distribution: str, *extras: str) -> frozenset[str]:
    """The names of all requirements, those of extras that an extra takes in included."""
    project = tomllib.loads((DISTRIBUTIONS[distribution] / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    names = set[str]()
    for line in lines:
        name, _, inner = re.match(r"([\w.-]+)(\[(.*)\])?", line).groups()
        names |= declared(distribution, *inner.split(",")) if name == distribution else {normalise(name)}
    return frozenset(names)


@cache
def list_providers() -> Mapping[str, list[str]]:
    """What is installed here; it takes a second to look."""
    return packages_distributions()


def imported(file: Path) -> Iterator[str]:
    """The top-level names of everything that a file imports from others, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        tops = {name.partition(".")[0] for name in names}
        yield from tops - OURS - TYPING_ONLY - sys.stdlib_module_names


def extras_of(file: Path) -> tuple[str, ...]:
    name = file.relative_to(ROOT).as_posix()
    matching = [place for place in EXTRAS if name == place or name.startswith(f"{place}/")]
    return EXTRAS[max(matching, key=len)]


@pytest.mark.parametrize("package", sorted(place for place in EXTRAS if place.count("/") == 1))
def test_every_import_is_declared(package: str) -> None:
    providers = PROVIDERS | list_providers()
    missing = {
        (file.relative_to(ROOT).as_posix(), name)
        for file in (ROOT / package).rglob("*.py")
        for name in imported(file)
        if not {normalise(provider) for provider in providers.get(name, [name])} & declared(*extras_of(file))
    }
    assert not missing, "declare these in pyproject.toml, or say here which extra the file belongs to"


def test_the_table_names_what_there_is() -> None:
    assert [place for place in EXTRAS if not (ROOT / place).exists()] == []
