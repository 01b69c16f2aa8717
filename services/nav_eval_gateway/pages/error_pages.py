"""How a refusal looks in a browser: as a page, or as a sentence above the form that was refused.

What handlers refuse is shown with the reader's own frame around it (`install`). What is refused before a handler is
reached, or after one has failed (too often, too large, a bug of ours), comes as a problem out of the layers around
the application; `ProblemPages` turns that into a plain page, without asking the database anything.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

import msgspec
from anyio import to_thread
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nav_eval_gateway import permissions
from nav_eval_gateway.errors import MEDIA_TYPE, CsrfTokenInvalid, LoginNeeded, get_title
from nav_eval_gateway.pages.context import Visit, make_anonymous_visit, make_path, make_visit
from nav_eval_gateway.pages.csrf import CSRF_HEADER
from nav_eval_gateway.pages.redirects import get_referer_path
from nav_eval_gateway.pages.translations import USUAL, Translator
from nav_eval_store.errors import NotFound, Refusal
from nav_eval_store.submissions import queries

Handler = Callable[[Request, Exception], Any]


def install(app: FastAPI) -> None:
    """Show refusals as pages to browsers, everywhere but under /api; what they say is decided by the API's handlers."""
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = _wrap_handler(handler)


def _wrap_handler(handler: Handler) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        said: Response = await handler(request, error)
        if CSRF_HEADER in request.headers:
            return _translate_problem(request, error, said)
        return await _render_refusal(request, error, said) if _is_page_wanted(request) else said

    return handle


def _is_page_wanted(request: Request) -> bool:
    inside = not request.url.path.startswith(("/api/", "/static/"))
    return inside and "text/html" in request.headers.get("accept", "")


def _translate_problem(request: Request, error: Exception, said: Response) -> Response:
    """The problem as it was, but for its sentence."""
    problem = msgspec.json.decode(said.body)
    problem["detail"] = _translate_detail(make_anonymous_visit(request).t, error, said)
    headers = {name: value for name, value in said.headers.items() if name != "content-length"}
    return Response(msgspec.json.encode(problem), said.status_code, headers, MEDIA_TYPE)


def _translate_detail(t: Translator, error: Exception | None, said: Response) -> str:
    """The sentence in the reader's language: of what was refused, else of the kind of refusal."""
    if isinstance(error, Refusal):
        return t.refusal(error.pattern, error.values)
    if isinstance(error, RequestValidationError):  # pages have no fields that a reader could have known
        return t("refusal.address")
    return _translate_by_status(t, said.status_code, said.headers, str(msgspec.json.decode(said.body)["detail"]))


def _translate_by_status(t: Translator, status: int, headers: Mapping[str, str], detail: str) -> str:
    """Where all that is known is a status; English readers get the sentence itself."""
    if t.language == USUAL:
        return detail
    known = t.get(f"refusal.about.{status}", t.get(f"refusal.about.{status // 100}xx", detail))
    return known.replace("{seconds}", headers.get("retry-after", "60"))


async def _render_refusal(request: Request, error: Exception, said: Response) -> Response:
    if isinstance(error, LoginNeeded):
        return RedirectResponse(make_path("/login", {"next": error.next_path}), 303)
    visiting = await make_visit(request)
    if isinstance(error, NotFound) and (successor := await to_thread.run_sync(_find_successor, visiting)) is not None:
        return RedirectResponse(successor, 307)
    detail = _translate_detail(visiting.t, error, said)
    form = get_referer_path(request, visiting.services.settings, otherwise="")
    if request.method == "POST" and said.status_code < 500 and form and not isinstance(error, CsrfTokenInvalid):
        return visiting.go(form, detail, kind="bad")
    page = _render_page(visiting, said.status_code, detail)
    for name in ("retry-after", "allow"):
        if name in said.headers:
            page.headers[name] = said.headers[name]
    return page


def _find_successor(visiting: Visit) -> str | None:
    """The same page of the submission that replaced the one in the address, where it was evaluated again."""
    text = str(visiting.request.path_params.get("submission_id", ""))
    with suppress(ValueError, NotFound), visiting.store.read() as session:
        wanted = UUID(text)
        successor = queries.get_submission(session, wanted).superseded_by
        if successor is not None:
            permissions.get_submission(session, visiting.caller, successor)
            return str(visiting.request.url.path).replace(str(wanted), str(successor)) + _get_query(visiting)
    return None


def _get_query(visiting: Visit) -> str:
    return f"?{visiting.request.url.query}" if visiting.request.url.query else ""


def _render_page(visiting: Visit, status: int, detail: str) -> HTMLResponse:
    return visiting.page(
        "refusal.html.j2",
        status=status,
        title=get_title(status),
        code=status,
        detail=detail,
        request_id=visiting.request.scope.get("nav_eval.request_id"),
    )


class ProblemPages:
    """The outermost layer but one: problems that no handler has seen."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_page_wanted(Request(scope)):
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
                    for shown in _render_problem(scope, start, body):
                        await send(shown)

        await self._app(scope, receive, send_page)


def _is_problem(start: Message) -> bool:
    return MutableHeaders(scope=start).get("content-type", "").startswith(MEDIA_TYPE)


def _render_problem(scope: Scope, start: Message, problem: bytes) -> tuple[Message, Message]:
    """The same answer, for people; its other headers stay."""
    visiting = make_anonymous_visit(Request(scope))
    headers = MutableHeaders(scope=start)
    detail = str(msgspec.json.decode(problem)["detail"])
    page = _render_page(visiting, start["status"], _translate_by_status(visiting.t, start["status"], headers, detail))
    for name in ("content-type", "content-length", "content-security-policy", "cache-control"):
        headers[name] = page.headers[name]
    return start, {"type": "http.response.body", "body": bytes(page.body)}
