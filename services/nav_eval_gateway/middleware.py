"""What holds for every request, as plain ASGI so that streams stay streams."""

import asyncio
import re
import secrets
import time
from collections.abc import Iterable

from fastapi import HTTPException, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nav_eval_gateway import errors, tus_protocol
from nav_eval_gateway.security_headers import STRICT_TRANSPORT, USUAL_HEADERS

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")


class RequestBoundary:
    """The outermost layer: a number for every request, safe headers, and no traceback for anybody."""

    def __init__(self, app: ASGIApp, *, https: bool = False) -> None:
        self._app = app
        self._headers = {**USUAL_HEADERS, **(STRICT_TRANSPORT if https else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["nav_eval.request_id"] = _get_request_id(scope)
        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = request_id
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_safely)
        except Exception as error:  # the boundary of the process
            response = errors.answer_unexpected(Request(scope), error)
            if started:  # half an answer cannot be taken back; cut it, so that nobody takes it for whole
                raise
            await response(scope, receive, send_safely)


def _get_request_id(scope: Scope) -> str:
    """The one that a proxy gave, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and REQUEST_ID.fullmatch(given := value.decode("latin-1")):
            return str(given)
    return secrets.token_hex(8)


class BodyLimit:
    """Bodies are small and come soon, except where uploads go: those have limits of their own."""

    def __init__(self, app: ASGIApp, *, most: int, seconds: float, except_under: Iterable[str] = ()) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds
        self._except_under = tuple(except_under)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(self._except_under):
            await self._app(scope, receive, send)
            return
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not announced.isdigit() or int(announced) > self._most:
            response = errors.make_problem_response(
                Request(scope), 413, self._refusal(), headers={"Connection": "close"}
            )
            await response(scope, receive, send)
            return
        await self._app(scope, self._limit(receive), send)

    def _refusal(self) -> str:
        return f"The body is larger than the {self._most >> 10:,} kB that this address takes."

    def _limit(self, receive: Receive) -> Receive:
        size, last, whole = 0, time.monotonic() + self._seconds, False

        async def receive_limited() -> Message:
            nonlocal size, whole
            if whole:  # what comes now is the end of the connection, for which there is no limit
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, last - time.monotonic()))
            except TimeoutError:
                raise HTTPException(408, "The request did not arrive in time; send it again.") from None
            size += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if size > self._most:
                raise HTTPException(413, self._refusal())
            return message

        return receive_limited


class TusHeaders:
    """What tus asks of every answer; and for clients that cannot say PATCH, the method in a header."""

    def __init__(self, app: ASGIApp, *, under: str) -> None:
        self._app = app
        self._under = under

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(self._under):
            await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope).get("x-http-method-override", "").upper()
        if scope["method"] == "POST" and asked in ("PATCH", "HEAD", "DELETE"):
            scope = {**scope, "method": asked}

        async def send_with_version(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Tus-Resumable"] = tus_protocol.VERSION
            await send(message)

        await self._app(scope, receive, send_with_version)


ENDLESS = "/live"


class HeadAsGet:
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
