"""Packages that cannot be in one environment with ours, refused by name before they are mixed up."""

from importlib.metadata import PackageNotFoundError, distribution

from nav_eval.errors import NavEvalError

_ADVICE = {
    "habitat-sim": (
        "The original habitat-sim is installed in this environment too, and both provide the package `habitat_sim`. "
        "Use a fresh environment for nav-eval-habitat, or remove one of them "
        "(conda remove habitat-sim, or pip uninstall nav-eval-habitat)."
    ),
    "magnum": (
        "OpenStack's `magnum` is installed in this environment; it has the import name of Magnum's bindings, "
        "which habitat-lab needs, but nothing to do with them. Remove it: pip uninstall magnum, "
        "then pip install --force-reinstall nav-eval-habitat."
    ),
}


class ConflictingPackage(NavEvalError, ImportError):
    """Another package provides the same modules as nav-eval-habitat."""


def find_conflicts() -> list[str]:
    """The names of what is installed beside us."""
    return [name for name in _ADVICE if _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def refuse_conflicts() -> None:
    for name in find_conflicts():
        raise ConflictingPackage(_ADVICE[name])
    import magnum

    if getattr(magnum, "BUILT_BY", None) != "nav-eval-habitat":
        raise ConflictingPackage(
            f"`magnum` comes from {magnum.__file__}, not from nav-eval-habitat. {_ADVICE['magnum']}"
        )
