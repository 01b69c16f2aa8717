"""What a browser keeps for us: cookies of sessions, preferences and notices.

The session cookie holds the secret of a token of kind `session`: the server keeps its digest, its end and whether it
was revoked, so logging out works everywhere at once. Over https the name begins with `__Host-`: no neighbour on another
sub-domain or on plain http can plant one.
"""

import base64
import hashlib
import hmac
import json
import secrets
from datetime import timedelta
from typing import Any, NamedTuple

from starlette.requests import HTTPConnection
from starlette.responses import Response

from nav_eval_gateway.settings import GatewaySettings

VISITOR, LANGUAGE, THEME, NOTICE = "nav_eval_visitor", "nav_eval_language", "nav_eval_theme", "nav_eval_notice"
LOGIN, NEWCOMER = "nav_eval_login", "nav_eval_newcomer"
A_YEAR = 365 * 24 * 3600
LONGEST_NOTICE = 600


class Notice(NamedTuple):
    """A sentence for the next page."""

    kind: str
    """`good` or `bad`."""
    text: str


class Cookies:
    """The cookies of one installation."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._https = settings.is_https
        self._key = settings.secret_key.encode()
        self.session_name = settings.session_cookie

    def _name(self, name: str) -> str:
        return f"__Host-{name}" if self._https else name

    def session(self, request: HTTPConnection) -> str | None:
        """The secret of the browser's session, good or not."""
        return request.cookies.get(self.session_name) or None

    def visitor(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(self._name(VISITOR)) or None

    def language(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(LANGUAGE)

    def theme(self, request: HTTPConnection) -> str | None:
        return request.cookies.get(THEME)

    def begin_session(self, response: Response, secret: str, lifetime: timedelta) -> None:
        """From now on the browser is a user; what it was before is forgotten."""
        self._set(response, self.session_name, secret, seconds=int(lifetime.total_seconds()))
        self._drop(response, self._name(VISITOR))

    def end_session(self, response: Response) -> None:
        self._drop(response, self.session_name)

    def add_visitor(self, response: Response) -> str:
        """Give a stranger a number, that the CSRF tokens of their forms belong to."""
        number = secrets.token_urlsafe(24)
        self._set(response, self._name(VISITOR), number, seconds=None)
        return number

    def prefer(self, response: Response, name: str, value: str) -> None:
        """Remember how pages should look."""
        if value:
            self._set(response, name, value, seconds=A_YEAR)
        else:
            self._drop(response, name)

    def set_notice(self, response: Response, notice: Notice) -> None:
        """Show a sentence on the next page."""
        self.set_sealed(response, NOTICE, (notice.kind, notice.text[:LONGEST_NOTICE]), seconds=60)

    def read_notice(self, request: HTTPConnection) -> Notice | None:
        """The sentence for this page, if it is one of ours."""
        kept = self.read_sealed(request, NOTICE)
        return None if kept is None else Notice(*kept)

    def set_sealed(self, response: Response, name: str, values: tuple[Any, ...], *, seconds: int) -> None:
        """Let the browser keep something that nobody but us can have written; it can read it."""
        body = base64.urlsafe_b64encode(json.dumps(values).encode()).decode()
        self._set(response, self._name(name), f"{body}.{self.sign(name, body)}", seconds=seconds)

    def read_sealed(self, request: HTTPConnection, name: str) -> list[Any] | None:
        """What was kept, if it is ours."""
        body, _, seal = request.cookies.get(self._name(name), "").partition(".")
        if not body or not hmac.compare_digest(self.sign(name, body).encode(), seal.encode()):
            return None
        kept: list[Any] = json.loads(base64.urlsafe_b64decode(body))
        return kept

    def forget(self, response: Response, name: str) -> None:
        self._drop(response, self._name(name))

    def sign(self, purpose: str, body: str) -> str:
        """What only this installation can have written under BODY."""
        return hmac.new(self._key, f"{purpose}\0{body}".encode(), hashlib.sha256).hexdigest()

    def _set(self, response: Response, name: str, value: str, *, seconds: int | None) -> None:
        response.set_cookie(
            name, value, max_age=seconds, path="/", secure=self._https, httponly=True, samesite="lax"
        )  # fmt: skip

    def _drop(self, response: Response, name: str) -> None:
        response.delete_cookie(name, path="/", secure=self._https, httponly=True, samesite="lax")
