"""What somebody may have meant: the nearest name that there is."""

import difflib
from collections.abc import Iterable


def find_close_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that somebody may have meant, whatever its case."""
    spelled = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), spelled, n=1)
    return spelled[close[0]] if close else None


def suggest_close_match(wrong: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing."""
    close = find_close_name(wrong, known)
    return f" Did you mean {close!r}?" if close else ""


def suggest_known(wrong: str, known: Iterable[str]) -> str:
    """The nearest name that exists, or all of them when none is near."""
    known = sorted(known)
    return suggest_close_match(wrong, known) or f" Known: {', '.join(known) or 'none'}."
