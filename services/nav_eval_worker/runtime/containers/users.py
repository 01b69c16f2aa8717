"""Who runs in a cell: a user of its own for every run.

The kernel counts some things per user and not per container: watches on files, pseudo-terminals, timers, pages in
pipes. Agents of two teams with the same user could starve each other. Agent and simulator of one run share theirs, so
that the simulator may connect to a socket whose server left it at mode 755; they share nothing else.
"""

import hashlib
import re

from nav_eval.errors import ConfigError

GROUP = 10001
"""The same for all: what an image gives to this group, its agent may read."""
USER = f"10001:{GROUP}"
"""Of simulators without an agent, and of what they keep for others."""
_RANGE = re.compile(r"([1-9][0-9]{2,9})-([1-9][0-9]{2,9})")


def parse_uids(text: str, *, variable: str) -> range:
    """`20000-59999` as numbers; empty is one user for all."""
    if not text:
        return range(10001, 10002)
    match = _RANGE.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]) or int(match[2]) >= 2**32 - 1:
        raise ConfigError(f"{variable}={text!r} is no range of user ids such as 20000-59999.")
    return range(int(match[1]), int(match[2]) + 1)


def choose_user(run: str, uids: range) -> str:
    """The user of a run, as `uid:gid`: drawn from its id, so that whoever asks gets the same."""
    draw = int.from_bytes(hashlib.sha256(run.encode()).digest()[:8], "big")
    return f"{uids[draw % len(uids)]}:{GROUP}"
