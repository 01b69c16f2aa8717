"""Agents by the name of their class: `package.module:Class` or `path/agent.py:Class`."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from nav_eval.errors import NavEvalError


class NoSuchAgent(NavEvalError):
    """The agent cannot be loaded; the message names the module and the class."""


def load(name: str) -> Callable[[], Any]:
    """What makes the agent called `package.module:Class` or `path/agent.py:Class`."""
    source, _, attribute = name.rpartition(":")
    module = _from_file(Path(source)) if source.endswith(".py") else _from_path(source)
    try:
        found = getattr(module, attribute)
    except AttributeError:
        raise NoSuchAgent(f"{source} has no {attribute!r}.") from None
    if inspect.isclass(found) or not hasattr(found, "act"):
        make: Callable[[], Any] = found
        return make
    return lambda: found


def _from_path(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NoSuchAgent(f"Cannot import {name!r}: {error}. Run in its directory, or install it.") from error


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise NoSuchAgent(f"There is no file {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
