"""Names of blobs: `logs/0b5d…/ep_12.txt`. Checked before they come near a file system.

A key is a path of plain segments, never absolute and never upwards. Text from outside (an episode's
id) becomes a segment through `segment`, and two texts never become the same one.
"""

import hashlib
import re
from urllib.parse import quote

from nav_eval_store.errors import BadKey

_SEGMENT = r"[A-Za-z0-9_%=@+-][A-Za-z0-9_.%=@+-]{0,199}"
_KEY = re.compile(rf"{_SEGMENT}(/{_SEGMENT}){{0,9}}")
_PLAIN = re.compile(r"[A-Za-z0-9_=@+-][A-Za-z0-9_.=@+-]*")
LONGEST_SEGMENT = 150


def checked(key: str) -> str:
    """`key`, if it is one."""
    if not _KEY.fullmatch(key):
        raise BadKey(f"{key[:100]!r} cannot be the name of a blob: it must be segments of letters, digits and ._%=@+-.")
    return key


def join(*parts: object) -> str:
    """A key of these parts, whatever text they are."""
    return checked("/".join(segment(str(part)) for part in parts))


def segment(text: str) -> str:
    """`text` as one segment of a key."""
    plain = text if _PLAIN.fullmatch(text) else quote(text, safe="").replace("~", "%7E")
    if plain.startswith("."):
        plain = "%2E" + plain[1:]
    if 0 < len(plain) <= LONGEST_SEGMENT:
        return plain
    return f"%{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
