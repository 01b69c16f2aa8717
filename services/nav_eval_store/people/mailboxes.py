"""E-mail addresses as text: their form, and which of them lead to the same mailbox.

`ada+1@example.org` and `ada+2@example.org` are two addresses and one mailbox: whoever reads one reads the other, so it
proves one person. What a mail host ignores beyond that is known for the largest hosts only, and whoever has a domain
has as many mailboxes as they like: a list of allowed addresses is for competitions to which that matters.
"""

import re
import unicodedata

from nav_eval_store.errors import StoreError

EMAIL = re.compile(r"[^@\s,<>\"]{1,64}@[^@\s,<>\"]{1,190}")
_SAME_HOST = {"googlemail.com": "gmail.com", "protonmail.com": "proton.me", "pm.me": "proton.me"}
_IGNORED = {"gmail.com": ".", "proton.me": "._-"}


def normalize_email(email: str) -> str:
    """An address as it is kept."""
    if not EMAIL.fullmatch(email):
        raise StoreError("{email!r} is not an e-mail address.", email=email)
    return email.lower()


def make_mailbox(email: str) -> str:
    """Equal for addresses that lead to the same mailbox."""
    name, _, host = unicodedata.normalize("NFKC", email).casefold().rpartition("@")
    host = _encode_host(host.rstrip("."))
    host = _SAME_HOST.get(host, host)
    name = name.split("+", 1)[0] or name
    bare = name.translate(str.maketrans("", "", _IGNORED.get(host, "")))
    return f"{bare or name}@{host}"


def _encode_host(host: str) -> str:
    """A host's name as the network spells it: `bücher.example` is `xn--bcher-kva.example`."""
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:  # no name of a host: nobody gets mail there
        return host
