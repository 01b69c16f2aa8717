"""Which OpenID provider people may log in by, from the environment; without one there are local accounts alone.

| variable | default | |
|---|---|---|
| `NAV_EVAL_OIDC_ISSUER` | no such login | the provider, e.g. `https://login.example.org`; needs `NAV_EVAL_URL` |
| `NAV_EVAL_OIDC_CLIENT_ID` | | what the provider calls us |
| `NAV_EVAL_OIDC_CLIENT_SECRET` | a public client | or `…_FILE` |
| `NAV_EVAL_OIDC_SCOPES` | `openid profile email` | what we ask for |
| `NAV_EVAL_OIDC_TITLE` | the issuer's host | on the button: "Log in with TITLE" |
| `NAV_EVAL_OIDC_NAME_CLAIM` | `preferred_username` | what becomes a new user's name |
| `NAV_EVAL_OIDC_DOMAINS` | any, or none | who is let in: addresses of these domains, verified by the provider |
| `NAV_EVAL_OIDC_ACCOUNTS` | yes | whether a first login makes an account; otherwise accounts are linked only |
| `NAV_EVAL_OIDC_LOGOUT` | no | logging out here also ends the provider's session |
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from nav_eval_store.errors import OperatorError
from nav_eval_store.settings import read_flag, read_variable


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenIdSettings:
    """A provider, and whom we let in by it."""

    issuer: str
    client_id: str
    client_secret: str | None = None  #: None is a public client
    scopes: str = "openid profile email"
    title: str = ""  #: of the button
    name_claim: str = "preferred_username"
    domains: frozenset[str] = frozenset()  #: empty is any
    makes_accounts: bool = True  #: at a first login
    ends_session: bool = False  #: also the provider's, at logout

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> "OpenIdSettings | None":
        issuer = variables.get("NAV_EVAL_OIDC_ISSUER", "").strip()
        if not issuer:
            return None
        client_id = variables.get("NAV_EVAL_OIDC_CLIENT_ID", "")
        if not client_id or not variables.get("NAV_EVAL_URL"):
            raise OperatorError("NAV_EVAL_OIDC_ISSUER needs NAV_EVAL_OIDC_CLIENT_ID and NAV_EVAL_URL.")
        scopes = variables.get("NAV_EVAL_OIDC_SCOPES") or "openid profile email"
        if not is_safe(issuer) or "openid" not in scopes.split():
            raise OperatorError("NAV_EVAL_OIDC_ISSUER must begin with https://, and the scopes must have `openid`.")
        return cls(
            issuer=issuer,
            client_id=client_id,
            client_secret=read_variable(variables, "NAV_EVAL_OIDC_CLIENT_SECRET") or None,
            scopes=scopes,
            title=variables.get("NAV_EVAL_OIDC_TITLE") or urlsplit(issuer).hostname or issuer,
            name_claim=variables.get("NAV_EVAL_OIDC_NAME_CLAIM") or "preferred_username",
            domains=frozenset(re.split(r"[\s,]+", variables.get("NAV_EVAL_OIDC_DOMAINS", "").lower())) - {""},
            makes_accounts=not variables.get("NAV_EVAL_OIDC_ACCOUNTS")
            or read_flag(variables, "NAV_EVAL_OIDC_ACCOUNTS"),
            ends_session=read_flag(variables, "NAV_EVAL_OIDC_LOGOUT"),
        )


def is_safe(address: object) -> bool:
    """Over https, or on this very machine."""
    if not isinstance(address, str):
        return False
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"))
