"""Cross-site request forgery: a request that changes something came from a page of ours, in the same browser.

A form carries an HMAC over the cookie that the same browser sends (session, or a random visitor's number before there
is one). Both would have to be stolen to forge it. Where a request comes from, as far as the browser says, is asked too.
"""

import hmac
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nav_eval_gateway.pages.sessions import Cookies
from nav_eval_gateway.settings import GatewaySettings

CSRF_FIELD = "csrf_token"


def make_csrf_token(cookies: Cookies, holder: str) -> str:
    """What a form must carry that came from the browser with this session or visitor's number."""
    return cookies.sign("form", holder)


def has_csrf_token(cookies: Cookies, request: HTTPConnection, given: object) -> bool:
    """Whether what was given is the token of the browser that sends the request."""
    holder = cookies.session(request) or cookies.visitor(request)
    if holder is None or not isinstance(given, str):
        return False
    return hmac.compare_digest(make_csrf_token(cookies, holder).encode(), given.encode())


class CsrfToken:
    """The token of a page that is being made. A stranger gets a cookie for it, and only on a page that has a form."""

    def __init__(self, cookies: Cookies, *, holder: str | None, response: Response) -> None:
        self._cookies, self._holder, self._response = cookies, holder, response

    def __str__(self) -> str:
        self._holder = self._holder or self._cookies.add_visitor(self._response)
        return make_csrf_token(self._cookies, self._holder)


def is_same_origin(request: HTTPConnection, settings: GatewaySettings) -> bool:
    """Whether a page of ours sent it, as far as the browser says; the form's CSRF token decides the rest."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    claimed = request.headers.get("origin") or request.headers.get("referer")
    if claimed is None:
        return True
    ours = urlsplit(settings.base_url).netloc if settings.base_url else request.headers.get("host", "")
    return urlsplit(claimed).netloc.lower() == ours.lower() != ""


UPLOADS = "/api/v1/uploads"
CSRF_HEADER = "x-csrf-token"


class UploadBridge:
    """From a cookie to a header, for uploads: bytes do not fit into a form.

    Only for requests of tus that carry the page's CSRF token in a header, which no form and no other site can send.
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
        given = request.headers.get(CSRF_HEADER)
        return has_csrf_token(self._cookies, request, given) and is_same_origin(request, self._settings)
