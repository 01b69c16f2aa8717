"""Where configurations with a name live: `./configs`, then those that come with nav-eval."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import nav_eval
from nav_eval.config.kinds import KINDS, Kind
from nav_eval.config.origin import Origin
from nav_eval.config.schema.base import suggestion
from nav_eval.errors import ConfigError

SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*(/[A-Za-z0-9_][A-Za-z0-9_.@-]*)*\Z")


@dataclass(frozen=True, slots=True)
class Library:
    """Configuration roots, the first one that has a name wins."""

    roots: tuple[Path, ...]

    @classmethod
    def default(cls, search: Sequence[Path | str] | None = None) -> "Library":
        """The roots in `search`, or `./configs`; and always those that come with nav-eval."""
        own = [Path("configs")] if search is None else [Path(root) for root in search]
        return cls(tuple(_distinct([*own, shipped_configs()])))

    def find(
        self,
        kind: Kind,
        reference: str,
        *,
        near: Path | None = None,
        sibling: bool = False,
        origin: Origin | None = None,
    ) -> Path:
        """The file that `reference` means: a path, or a name.

        Names are looked up around the file that uses them (`near`; a `sibling` is of the same kind, so in
        the same folder), then in the roots.
        """
        where = f"{origin}: " if origin else ""
        if reference.endswith(SUFFIXES):
            path = Path(reference) if near is None else near.parent / reference
            if not path.is_file() and near is not None and Path(reference).is_file():
                path = Path(reference)
            if not path.exists():
                raise ConfigError(f"{where}the {kind.name} file {reference} does not exist.")
            return path
        if not _NAME.match(reference):
            raise ConfigError(f"{where}{reference!r} is neither the name of a {kind.name} nor a path to a YAML file.")
        for folder in self._folders(kind, near, sibling=sibling):
            for suffix in SUFFIXES:
                if (path := folder / f"{reference}{suffix}").is_file():
                    return path
        raise ConfigError(f"{where}there is no {kind.name} {reference!r}.{suggestion(reference, self.names(kind))}")

    def names(self, kind: Kind) -> list[str]:
        """Every name of a kind, over all roots."""
        folders = [root / kind.folder for root in self.roots]
        return sorted({path.stem for folder in folders for path in folder.glob("*") if path.suffix in SUFFIXES})

    def kinds_with(self, name: str) -> list[Kind]:
        """The kinds that have a configuration of this name."""
        return [kind for kind in KINDS.values() if name in self.names(kind)]

    def _folders(self, kind: Kind, near: Path | None, *, sibling: bool) -> list[Path]:
        around = [] if near is None else [near.parent / kind.folder, near.parent.parent / kind.folder]
        beside = [near.parent] if near is not None and sibling else []
        return [*beside, *around, *(root / kind.folder for root in self.roots)]


def shipped_configs() -> Path:
    """The configurations of this installation: inside the wheel, or at the top of a checkout."""
    package = Path(nav_eval.__file__).parent
    in_wheel = package / "_configs"
    return in_wheel if in_wheel.is_dir() else package.parent.parent / "configs"


def _distinct(roots: list[Path]) -> list[Path]:
    return list({root.resolve(): root for root in reversed(roots)}.values())[::-1]
