"""What to load: the plain question that a loader answers.

A configuration fills it in; so does a test, or a command line. It knows no YAML.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nav_eval.dataset.source import ReadLimits, SourceFile
from nav_eval.errors import DatasetError

EVERYTHING = "*"  # Habitat's word for "no filter"
_SUFFIXES = (".json.gz", ".json", ".jsonl.gz", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class DatasetRequest:
    """Which episodes of which file, in which format. A filter that is not given, or holds "*", lets all pass."""

    format: str  #: a name in `nav_eval.dataset.registry.DATASETS`
    path: Path  #: file or folder; `{split}` and `{role}` in it are filled in
    split: str | None = None
    episodes: int | None = None  #: at most so many, after all filters
    seed: int | None = None  #: with `episodes`: a fixed sample instead of the first ones
    episode_ids: Sequence[str] | None = None
    scenes: Sequence[str] | None = None  #: full scene ids, file names or their stems
    languages: Sequence[str] | None = None  #: as the file spells them: en-US, hi-IN, …
    roles: Sequence[str] | None = None  #: rxr: guide, follower; lhvln: lh, step
    gt_path: Path | None = None  #: r2r, rxr: expert paths; without it the file `…_gt.json.gz` beside the data
    limits: ReadLimits = field(default_factory=ReadLimits)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.episodes is not None and self.episodes < 1:
            raise DatasetError(f"episodes is {self.episodes}; give a number above 0, or null for all.")

    def fill(self, template: Path, *, role: str = "") -> Path:
        """A path with its placeholders replaced."""
        text = str(template).replace("{role}", role)
        if "{split}" in text and self.split is None:
            raise DatasetError(f"The path {template} contains {{split}}, but no split is given.")
        return Path(text.replace("{split}", self.split or ""))

    def source(self, path: Path) -> SourceFile:
        return SourceFile(path=path, limits=self.limits)

    def main_file(self, *, role: str = "") -> Path:
        """The data file: the path itself, or the split's file when the path is a folder."""
        path = self.fill(self.path, role=role)
        if not path.is_dir():
            return path
        candidates = self._candidates(path, role=role)
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        looked_for = ", ".join(str(candidate) for candidate in candidates) or "nothing, as no split is given"
        raise DatasetError(f"{path} is a folder without the split's file; looked for {looked_for}.")

    def _candidates(self, folder: Path, *, role: str) -> list[Path]:
        if self.split is None:
            return []
        name = f"{self.split}_{role}" if role else self.split
        return [place / f"{name}{suffix}" for place in (folder, folder / self.split) for suffix in _SUFFIXES]


def wanted(filter_values: Sequence[str] | None) -> frozenset[str] | None:
    """The values a filter lets pass, or None when it lets all pass."""
    return None if not filter_values or EVERYTHING in filter_values else frozenset(filter_values)


def stem(path: Path) -> str:
    """The file's name without any of its endings we know: `val_seen.json.gz` → `val_seen`."""
    for suffix in _SUFFIXES:
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    return path.stem
