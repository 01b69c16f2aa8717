"""How a refusal looks in a browser: as a page, or as a sentence above the form that was refused."""

from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from nav_eval_gateway.pages import origins
from nav_eval_gateway.pages.errors import FormForged, LoginNeeded
from nav_eval_gateway.pages.visiting import address, visit
from nav_eval_gateway.problems import title_of

Handler = Callable[[Request, Exception], Any]


def install(app: FastAPI) -> None:
    """Show refusals as pages to browsers, everywhere but under /api; what they say is decided by the API's handlers."""
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = _for_browsers(handler)


def _for_browsers(handler: Handler) -> Handler:
    async def handle(request: Request, error: Exception) -> Response:
        said: Response = await handler(request, error)
        return await _shown(request, error, said) if _wants_page(request) else said

    return handle


def _wants_page(request: Request) -> bool:
    inside = not request.url.path.startswith(("/api/", "/static/"))
    return inside and "text/html" in request.headers.get("accept", "")


async def _shown(request: Request, error: Exception, said: Response) -> Response:
    if isinstance(error, LoginNeeded):
        return RedirectResponse(address("/login", {"next": error.next_path}), 303)
    visiting = await visit(request)
    detail = str(msgspec.json.decode(said.body)["detail"])
    form = origins.path_of_referer(request, visiting.services.settings, otherwise="")
    if request.method == "POST" and said.status_code < 500 and form and not isinstance(error, FormForged):
        return visiting.go(form, detail, kind="bad")
    page = visiting.page(
        "refusal.html.j2",
        status=said.status_code,
        title=title_of(said.status_code),
        code=said.status_code,
        detail=detail,
        request_id=request.scope.get("nav_eval.request_id"),
    )
    for name in ("retry-after", "allow"):
        if name in said.headers:
            page.headers[name] = said.headers[name]
    return page
