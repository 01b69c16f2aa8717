"""What a check found, and what follows from it."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    OK = "ok"  #: as it should be
    NOTE = "note"  #: absent, and not needed by an installation like this one
    WARN = "warn"  #: works, but not well, or not for long
    FAIL = "fail"  #: nav-eval cannot work like this


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One line of the doctor's report."""

    check: str  #: what was looked at
    level: Level
    found: str  #: what is there
    advice: str = ""  #: what to do next; empty when all is well


def ok(check: str, found: str) -> Finding:
    return Finding(check=check, level=Level.OK, found=found)


def note(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.NOTE, found=found, advice=advice)


def warn(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.WARN, found=found, advice=advice)


def fail(check: str, found: str, advice: str) -> Finding:
    return Finding(check=check, level=Level.FAIL, found=found, advice=advice)
