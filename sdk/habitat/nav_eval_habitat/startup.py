"""What runs when Python starts (`nav_eval_habitat.pth`): almost nothing, until somebody imports habitat-lab.

habitat-lab 0.2.3 to 0.3.3 writes `field: Config = Config()` in dataclasses. From Python 3.11 on, a default whose class
cannot be hashed is refused there, and dataclasses that compare cannot be hashed. So dataclasses of habitat-lab, and
those that inherit from one of its, get a hash. Nobody ever asks for it.
"""

import dataclasses
import sys
from functools import wraps
from importlib.machinery import ModuleSpec
from typing import Any

_PACKAGES = ("habitat", "habitat_baselines", "habitat_extensions", "vlfm", "vlnce_baselines")
_FIRST_STRICT = (3, 11)


class LabFinder:
    """Waits on the import path for habitat-lab, makes dataclasses lenient, and leaves."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name.partition(".")[0] in _PACKAGES:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            allow_config_defaults()
        return None


def allow_config_defaults() -> None:
    """Wrap `dataclasses.dataclass`, once."""
    original: Any = dataclasses.dataclass
    if getattr(original, "allows_config_defaults", False):
        return

    @wraps(original)
    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        def make(made: type) -> Any:
            if _is_config(made) and options.get("eq", True) and not options.get("frozen"):
                return original(made, **{**options, "unsafe_hash": True})
            return original(made, **options)

        return make if cls is None else make(cls)

    dataclass.allows_config_defaults = True  # type: ignore[attr-defined]
    dataclasses.dataclass = dataclass


def _is_config(made: type) -> bool:
    return "__hash__" not in made.__dict__ and any(
        base.__module__.partition(".")[0] in _PACKAGES for base in made.__mro__
    )


def install() -> None:
    """Called once per process, from the start-up file."""
    if sys.version_info >= _FIRST_STRICT and not any(isinstance(finder, LabFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, LabFinder())
