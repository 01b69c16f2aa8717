"""What a check has to say."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    MISSING = "missing"  #: an evaluation would look for it in vain
    CORRUPT = "corrupt"  #: it is there, but cannot be used
    NOTE = "note"  #: worth knowing; nothing is wrong


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One sentence about one file or folder."""

    kind: Kind
    path: str
    text: str


@dataclass(kw_only=True, slots=True)
class Collection:
    """One dataset that was recognised, and what was found in it."""

    name: str  #: HM3D, R2R-CE, …
    root: Path
    counts: dict[str, int] = field(default_factory=dict)  #: what there is of what
    findings: list[Finding] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return all(finding.kind is Kind.NOTE for finding in self.findings)

    def missing(self, path: Path, text: str) -> None:
        self._add(Kind.MISSING, path, text)

    def corrupt(self, path: Path, text: str) -> None:
        self._add(Kind.CORRUPT, path, text)

    def note(self, path: Path, text: str) -> None:
        self._add(Kind.NOTE, path, text)

    def count(self, what: str, number: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + number

    def as_dict(self) -> dict[str, object]:
        return {
            "dataset": self.name,
            "root": str(self.root),
            "sound": self.sound,
            "counts": self.counts,
            "findings": [{"kind": f.kind.value, "path": f.path, "text": f.text} for f in self.findings],
        }

    def _add(self, kind: Kind, path: Path, text: str) -> None:
        self.findings.append(Finding(kind=kind, path=str(path), text=text))
