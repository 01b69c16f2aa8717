"""What this package leaves out: it imports, and says so when it is used."""

from collections.abc import Callable
from typing import Any, NoReturn

from nav_eval.errors import NavEvalError


class OutOfScope(NavEvalError, NotImplementedError):
    """Physics, rearrangement, audio and GPU-to-GPU transfer are not part of nav-eval-habitat."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is not part of nav-eval-habitat, which simulates navigation without physics and sound. "
            "docs/moving_from_habitat.md lists what there is."
        )


class AbsentName(OutOfScope, AttributeError):
    """Something of a class that is left out; to `hasattr` it is not there."""


class _Placeholder(type):
    """Static functions and constants of a class that is left out say so, too."""

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AbsentName(f"{cls.__name__}.{name}")


def make_placeholder(name: str, *, package: str = "habitat_sim") -> type:
    """A class that may be named, subclassed and annotated with, but not made."""

    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise OutOfScope(f"{package}'s {name}")

    return _Placeholder(
        name, (), {"__init__": refuse, "__doc__": f"Only a name: {name} is out of scope.", "__module__": __name__}
    )


def make_refusal(name: str) -> Callable[..., NoReturn]:
    """A method that can be found, and says that it is left out when it is called."""

    def refuse(self: object, *_: object, **__: object) -> NoReturn:
        raise OutOfScope(name)

    refuse.__name__ = name
    return refuse


class AbsentManager:
    """Stands where Habitat has a manager of objects or templates: it holds nothing, and refuses to add anything."""

    def __init__(self, what: str) -> None:
        self._what = what

    def load_configs(self, path: str, save_as_defaults: bool = False) -> list[int]:
        """habitat-lab calls this for every extra path, whether or not anything is there."""
        return []

    def get_num_templates(self) -> int:
        return 0

    def get_num_objects(self) -> int:
        return 0

    def get_template_handles(self, search: str = "", contains: bool = True) -> list[str]:
        return []

    def get_object_handles(self, search: str = "", contains: bool = True) -> list[str]:
        return []

    def remove_all_objects(self) -> None:
        """There are none."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise OutOfScope(f"{self._what}.{name}")
