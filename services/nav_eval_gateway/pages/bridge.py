"""Pages may upload: a browser's session stands for a token where nobody else could have sent the request.

With a cookie alone the API can only be read; forms of pages do the rest, but bytes do not fit into a form. So requests
of tus may come with the session, if they carry the page's proof in a header, which no form and no other site can
send. All that happens here is that the cookie's secret becomes the header `Authorization`; what the token may do is
decided where it always is.
"""

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from nav_eval_gateway.pages import origins
from nav_eval_gateway.pages.cookies import Cookies
from nav_eval_gateway.settings import GatewaySettings

UPLOADS = "/api/v1/uploads"
PROOF = "x-nav-eval-proof"


class UploadBridge:
    """From a cookie to a header, for uploads."""

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
        return proved and origins.is_same_origin(request, self._settings)
