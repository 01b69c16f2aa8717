"""HEAD on pages: the same answer without its body, for those who only check a link.

The API names its methods in its document and keeps to them; a stream has no end to wait for.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENDLESS = "/live"


class HeadOfPages:
    """GET, but for the bytes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or scope["method"] != "HEAD" or path.startswith("/api/") or path.endswith(ENDLESS):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await self._app({**scope, "method": "GET"}, receive, send_head)
