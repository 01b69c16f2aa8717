"""A login by OpenID Connect as the browser keeps it between two visits of ours; who checks it loads `openid`."""

import re
import secrets
import unicodedata
from time import time
from typing import NamedTuple

LOGIN_SECONDS = 600
"""From the button to the answer."""


class LoginAttempt(NamedTuple):
    """A login that has begun; the browser keeps it, signed by us."""

    state: str
    nonce: str
    verifier: str
    next_path: str
    until: float
    session_id: str | None = None
    """Of whoever links the login to their account; None logs in."""

    @classmethod
    def begin(cls, next_path: str, *, session_id: str | None = None) -> "LoginAttempt":
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, next_path, time() + LOGIN_SECONDS, session_id)


def suggest_name(title: str) -> str:
    """A user's name out of what a provider calls them: `Ada@lab.example` is `ada`."""
    plain = unicodedata.normalize("NFKD", title.partition("@")[0]).lower()
    ascii_only = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9._-]+", "-", ascii_only).lstrip("._-").rstrip("-")[:39]
