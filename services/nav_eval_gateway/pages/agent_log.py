"""What an agent printed in an episode, line by line, each with the step that it belongs to.

Agents print what they like. A line that names a step ("step 12: I see a door", "[step=12]") begins that step; what
follows belongs to it until the next one.
"""

import re
from typing import NamedTuple

LONGEST = 60_000
"""Characters that a page shows: the end, which says why it stopped."""
_STEP = re.compile(r"\bstep\s*[=:#]?\s*(\d{1,6})\b", re.IGNORECASE)


class LogLine(NamedTuple):
    """A line, and the step it was printed at."""

    text: str
    step: int | None  #: None before the first step that is named
    begins: bool  #: this line names the step


def split_log(text: str, *, last_step: int) -> list[LogLine]:
    """The lines of a log; numbers that are no step of the episode name none."""
    lines, step = [], None
    for line in text[-LONGEST:].splitlines():
        found = _STEP.search(line)
        begins = found is not None and int(found[1]) <= last_step
        if found is not None and begins:
            step = int(found[1])
        lines.append(LogLine(line, step, begins))
    return lines
