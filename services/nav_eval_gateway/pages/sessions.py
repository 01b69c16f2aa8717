"""What a browser keeps for us, the proofs that go with it, and where a request comes from and may be sent on to.

The session cookie holds the secret of a token of kind `session`: the server keeps its digest, its end and whether it
was revoked, so logging out works everywhere at once. Over https the name begins with `__Host-`: no neighbour on another
sub-domain or on plain http can plant one.

A form proves that it came from a page of ours by an HMAC over the cookie that the same browser sends (session, or a
random visitor's number before there is one). Both would have to be stolen to forge it.
"""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nav_eval_gateway.settings import GatewaySettings

VISITOR, LANGUAGE, THEME, NOTICE = "nav_eval_visitor", "nav_eval_language", "nav_eval_theme", "nav_eval_notice"
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

    def greet(self, response: Response) -> str:
        """Give a stranger a number, so that their forms can be told from forged ones."""
        number = secrets.token_urlsafe(24)
        self._set(response, self._name(VISITOR), number, seconds=None)
        return number

    def prefer(self, response: Response, name: str, value: str) -> None:
        """Remember how pages should look."""
        if value:
            self._set(response, name, value, seconds=A_YEAR)
        else:
            self._drop(response, name)

    def proof(self, holder: str) -> str:
        """What a form must carry that came from the browser with this session or visitor's number."""
        return hmac.new(self._key, b"form\0" + holder.encode(), hashlib.sha256).hexdigest()

    def is_proved(self, request: HTTPConnection, given: str) -> bool:
        holder = self.session(request) or self.visitor(request)
        return holder is not None and hmac.compare_digest(self.proof(holder).encode(), given.encode())

    def say(self, response: Response, notice: Notice) -> None:
        """Show a sentence on the next page."""
        body = base64.urlsafe_b64encode(json.dumps([notice.kind, notice.text[:LONGEST_NOTICE]]).encode()).decode()
        self._set(response, NOTICE, f"{body}.{self._seal(body)}", seconds=60)

    def said(self, request: HTTPConnection) -> Notice | None:
        """The sentence for this page, if it is one of ours."""
        body, _, seal = request.cookies.get(NOTICE, "").partition(".")
        if not body or not hmac.compare_digest(self._seal(body).encode(), seal.encode()):
            return None
        try:
            kind, text = json.loads(base64.urlsafe_b64decode(body))
        except (ValueError, binascii.Error):
            return None
        return Notice(str(kind), str(text))

    def forget_notice(self, response: Response) -> None:
        self._drop(response, NOTICE)

    def _seal(self, body: str) -> str:
        return hmac.new(self._key, b"notice\0" + body.encode(), hashlib.sha256).hexdigest()[:32]

    def _set(self, response: Response, name: str, value: str, *, seconds: int | None) -> None:
        response.set_cookie(
            name, value, max_age=seconds, path="/", secure=self._https, httponly=True, samesite="lax"
        )  # fmt: skip

    def _drop(self, response: Response, name: str) -> None:
        response.delete_cookie(name, path="/", secure=self._https, httponly=True, samesite="lax")


HOME = "/"


def is_same_origin(request: HTTPConnection, settings: GatewaySettings) -> bool:
    """Whether a page of ours sent it, as far as the browser says; the form's proof decides the rest."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    claimed = request.headers.get("origin") or request.headers.get("referer")
    if claimed is None:
        return True
    ours = urlsplit(settings.base_url).netloc if settings.base_url else request.headers.get("host", "")
    return urlsplit(claimed).netloc.lower() == ours.lower() != ""


def clean_path(wanted: str | None, *, otherwise: str = HOME) -> str:
    """A path on this site, for `Location`; anything that a browser could take for another site is refused."""
    if wanted is None or not wanted.startswith("/") or not wanted.isprintable() or len(wanted) > 2000:
        return otherwise
    if wanted.startswith(("//", "/\\")) or "\\" in wanted:
        return otherwise
    try:
        parts = urlsplit(wanted)
    except ValueError:
        return otherwise
    return otherwise if parts.scheme or parts.netloc else wanted


def get_referer_path(request: HTTPConnection, settings: GatewaySettings, *, otherwise: str = HOME) -> str:
    """The page of ours that a form stood on."""
    referer = request.headers.get("referer")
    if referer is None or not is_same_origin(request, settings):
        return otherwise
    parts = urlsplit(referer)
    return clean_path(parts.path + (f"?{parts.query}" if parts.query else ""), otherwise=otherwise)


UPLOADS = "/api/v1/uploads"
PROOF = "x-nav-eval-proof"


class UploadBridge:
    """From a cookie to a header, for uploads: bytes do not fit into a form.

    Only for requests of tus that carry the page's proof in a header, which no form and no other site can send.
    What the token may do is decided where it always is.
    """

    def __init__(self, app: ASGIApp, *, settings: GatewaySettings) -> None:
        self._app, self._settings = app, settings
        self._cookies = Cookies(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (scope["path"] == UPLOADS or scope["path"].startswith(f"{UPLOADS}/")):
            request = Request(scope)
            secret = self._cookies.session(request)
            if secret is not None and "authorization" not in request.headers and self._is_ours(request):
                scope = {**scope, "headers": list(scope["headers"])}
                MutableHeaders(scope=scope)["Authorization"] = f"Bearer {secret}"
        await self._app(scope, receive, send)

    def _is_ours(self, request: Request) -> bool:
        proved = self._cookies.is_proved(request, request.headers.get(PROOF, ""))
        return proved and is_same_origin(request, self._settings)
