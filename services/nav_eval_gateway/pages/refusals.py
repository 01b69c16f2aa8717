"""How a refusal looks in a browser: as a page, or as a sentence above the form that was refused.

What handlers refuse is shown with the reader's own frame around it (`install`). What is refused before a handler is
reached, or after one has failed (too often, too large, a bug of ours), comes as a problem out of the layers around
the application; `ProblemPages` turns that into a plain page, without asking the database anything.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nav_eval_gateway.pages import origins
from nav_eval_gateway.pages.bridge import PROOF
from nav_eval_gateway.pages.errors import FormForged, LoginNeeded
from nav_eval_gateway.pages.visiting import Visit, address, strangers_visit, visit
from nav_eval_gateway.pages.words import USUAL, Words
from nav_eval_gateway.problems import MEDIA_TYPE, title_of
from nav_eval_store.errors import Refusal

Handler = Callable[[Request, Exception], Any]


def install(app: FastAPI) -> None:
    """Show refusals as pages to browsers, everywhere but under /api; what they say is decided by the API's handlers."""
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = _for_browsers(handler)


def _for_browsers(handler: Handler) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        said: Response = await handler(request, error)
        if _is_from_a_script_of_ours(request):
            return _in_its_language(request, error, said)
        return await _shown(request, error, said) if _wants_page(request) else said

    return handle


def _wants_page(request: Request) -> bool:
    inside = not request.url.path.startswith(("/api/", "/static/"))
    return inside and "text/html" in request.headers.get("accept", "")


def _is_from_a_script_of_ours(request: Request) -> bool:
    """Uploads are sent by a page, which shows what is refused."""
    return PROOF in request.headers


def _in_its_language(request: Request, error: Exception, said: Response) -> Response:
    """The problem as it was, but for its sentence."""
    problem = msgspec.json.decode(said.body)
    problem["detail"] = _detail(strangers_visit(request).t, error, said)
    headers = {name: value for name, value in said.headers.items() if name != "content-length"}
    return Response(msgspec.json.encode(problem), said.status_code, headers, MEDIA_TYPE)


def _detail(t: Words, error: Exception | None, said: Response) -> str:
    """The sentence in the reader's language: of what was refused, else of the kind of refusal."""
    if isinstance(error, Refusal):
        return t.refusal(error.pattern, error.values)
    return _by_status(t, said.status_code, said.headers, str(msgspec.json.decode(said.body)["detail"]))


def _by_status(t: Words, status: int, headers: Mapping[str, str], detail: str) -> str:
    """Where all that is known is a status; English readers get the sentence itself."""
    if t.language == USUAL:
        return detail
    known = t.get(f"refusal.about.{status}", t.get(f"refusal.about.{status // 100}xx", detail))
    return known.replace("{seconds}", headers.get("retry-after", "60"))


async def _shown(request: Request, error: Exception, said: Response) -> Response:
    if isinstance(error, LoginNeeded):
        return RedirectResponse(address("/login", {"next": error.next_path}), 303)
    visiting = await visit(request)
    detail = _detail(visiting.t, error, said)
    form = origins.path_of_referer(request, visiting.services.settings, otherwise="")
    if request.method == "POST" and said.status_code < 500 and form and not isinstance(error, FormForged):
        return visiting.go(form, detail, kind="bad")
    page = _page(visiting, said.status_code, detail)
    for name in ("retry-after", "allow"):
        if name in said.headers:
            page.headers[name] = said.headers[name]
    return page


def _page(visiting: Visit, status: int, detail: str) -> HTMLResponse:
    return visiting.page(
        "refusal.html.j2",
        status=status,
        title=title_of(status),
        code=status,
        detail=detail,
        request_id=visiting.request.scope.get("nav_eval.request_id"),
    )


class ProblemPages:
    """The outermost layer but one: problems that no handler has seen."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _wants_page(Request(scope)):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def send_page(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and _is_problem(message):
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    for shown in _problem_page(scope, start, body):
                        await send(shown)

        await self._app(scope, receive, send_page)


def _is_problem(start: Message) -> bool:
    return MutableHeaders(scope=start).get("content-type", "").startswith(MEDIA_TYPE)


def _problem_page(scope: Scope, start: Message, problem: bytes) -> tuple[Message, Message]:
    """The same answer, for people; its other headers stay."""
    visiting = strangers_visit(Request(scope))
    headers = MutableHeaders(scope=start)
    detail = str(msgspec.json.decode(problem)["detail"])
    page = _page(visiting, start["status"], _by_status(visiting.t, start["status"], headers, detail))
    for name in ("content-type", "content-length", "content-security-policy", "cache-control"):
        headers[name] = page.headers[name]
    return start, {"type": "http.response.body", "body": bytes(page.body)}
