"""What the web refuses beyond what the store refuses, one leaf per kind of answer; and how every refusal is told.

That is `application/problem+json` (RFC 9457): a status, and one sentence that says what to do. A route names the
statuses that it can answer (`responses=describe_problems(404, 409)`), so that the OpenAPI document has no surprises.
"""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.responses import Response

from nav_eval.errors import NavEvalError
from nav_eval_store import errors as store
from nav_eval_store.errors import NotAllowed, Refusal, StoreError


class GatewayError(Refusal):
    """The request cannot be answered; the message says why."""

    def __init__(
        self, message: str | None = None, /, *, headers: Mapping[str, str] | None = None, **values: object
    ) -> None:
        super().__init__(message, **values)
        self.headers = dict(headers or {})  #: of the answer


class NotSignedIn(GatewayError):
    """This needs a token: send `Authorization: Bearer nve_…`."""


class ScopeMissing(GatewayError):
    """The token does not allow this; create one with the scope that the message names."""


class UnsupportedVersion(GatewayError):
    """We speak tus 1.0.0: send `Tus-Resumable: 1.0.0`."""


class UnsupportedContent(GatewayError):
    """The body has a content type that this address does not take; the message names the right one."""

    is_translated = False


class BadHeader(GatewayError):
    """A header of the request has no meaning; the message names it."""

    is_translated = False


class ChecksumMismatch(GatewayError):
    """The data does not match its Upload-Checksum and was discarded; send it again."""


class BadRange(GatewayError):
    """The range is outside of the file."""


class Gone(GatewayError):
    """This no longer exists; the message says why."""


class TooSlow(GatewayError):
    """The request did not arrive in time; send it again."""


class StorageFull(GatewayError):
    """There is no storage left; tell the organiser, and try again later."""


class TooManyRequests(GatewayError):
    """Too many requests; wait for as long as Retry-After says."""


class Unavailable(GatewayError):
    """The server cannot answer just now; try again in a moment."""


class LoginNeeded(NotSignedIn):
    """Log in first."""

    def __init__(self, *, next_path: str | None = None) -> None:
        super().__init__()
        self.next_path = next_path  #: where to go on afterwards


class CsrfTokenInvalid(NotAllowed):
    """This form did not come from this site, or its page has expired; reload the page and try again."""


class FormInvalid(StoreError):
    """A field of the form is not filled in as it should be; the message names it."""


class TextInvalid(StoreError):
    """The text of the competition is not right; the message names the line."""

    is_translated = False


log = logging.getLogger("nav_eval_gateway")
MEDIA_TYPE = "application/problem+json"
CHECKSUM_MISMATCH = 460
"""tus' own status, which the registry of HTTP does not have."""
TITLES = {CHECKSUM_MISMATCH: "Checksum Mismatch"}

STATUS: Mapping[type[NavEvalError], int] = {
    store.BadCredentials: 401,
    store.BadInvitation: 404,
    store.BadKey: 404,
    store.NotAllowed: 403,
    store.NotFound: 404,
    store.Conflict: 409,
    store.PhaseNotOpen: 409,
    store.QuotaExceeded: 429,
    store.UploadTooLarge: 413,
    store.UploadBusy: 423,
    store.DigestMismatch: 422,
    store.SchemaOutdated: 503,
    store.KeyMissing: 503,
    store.SecretDamaged: 503,
    store.StoreError: 422,
    NotSignedIn: 401,
    ScopeMissing: 403,
    UnsupportedVersion: 412,
    UnsupportedContent: 415,
    BadHeader: 400,
    ChecksumMismatch: CHECKSUM_MISMATCH,
    BadRange: 416,
    Gone: 410,
    TooSlow: 408,
    StorageFull: 507,
    TooManyRequests: 429,
    Unavailable: 503,
}
"""The nearest ancestor in this table decides; what is not in it is a bug of ours, and answers 500."""

COMMON = (400, 408, 413, 422, 429, 503)
"""Statuses that any route may answer: a body or parameter that is no good, limits, slowness, and bad days."""


class FieldProblem(BaseModel):
    """What is wrong with one field."""

    field: str
    """Where: `body.name`, `query.limit`."""
    detail: str


class Problem(BaseModel):
    """A refusal."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "There is no competition 'cup'.",
                    "request_id": "9f2b6c1d5e7a4c08",
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """One sentence that says what happened and what to do."""
    request_id: str | None = None
    """Tell it to the organiser when you report a problem."""
    errors: list[FieldProblem] | None = None


def describe_problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for its `responses=`."""
    return {
        status: {
            "description": get_title(status),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in sorted(statuses)
    }


def get_title(status: int) -> str:
    return TITLES.get(status) or HTTPStatus(status).phrase


def make_problem_response(
    request: Request | None,
    status: int,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[FieldProblem] | None = None,
) -> Response:
    """The answer that says no."""
    problem = Problem(
        title=get_title(status),
        status=status,
        detail=detail,
        request_id=None if request is None else request.scope.get("nav_eval.request_id"),
        errors=list(errors) if errors else None,
    )
    content = problem.model_dump(exclude_none=True)
    return JSONResponse(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def get_status(error: NavEvalError) -> int:
    """By the nearest ancestor in the table."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def add_problem_schema(app: FastAPI) -> None:
    """Let the OpenAPI document of `app` say what a problem is; a `model` would promise plain JSON, too."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        known = generate()
        template = "#/components/schemas/{model}"
        schema = Problem.model_json_schema(ref_template=template)
        known.setdefault("components", {}).setdefault("schemas", {}).update({**schema.pop("$defs"), "Problem": schema})
        return known

    app.openapi = openapi  # type: ignore[method-assign]


def install(app: FastAPI) -> None:
    """Let `app` answer with problems whatever is raised."""
    add_problem_schema(app)
    app.add_exception_handler(NavEvalError, _answer_refusal)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http_error)
    for kind in (OperationalError, InterfaceError, PoolTimeout, DBAPIError):
        app.add_exception_handler(kind, _answer_database_error)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, NavEvalError)
    status = get_status(error)
    if status >= 500 and not isinstance(error, Unavailable):
        log.error("refused with %d: %s", status, error, exc_info=error)
    headers = {**_make_usual_headers(status, error), **getattr(error, "headers", {})}
    return make_problem_response(request, status, str(error), headers=headers)


def _make_usual_headers(status: int, error: NavEvalError) -> dict[str, str]:
    if status == 401:
        return {"WWW-Authenticate": 'Bearer realm="nav-eval"'}
    if status == 429 and isinstance(error, store.QuotaExceeded) and error.retry_seconds is not None:
        return {"Retry-After": str(error.retry_seconds)}
    return {"Retry-After": "5"} if status == 503 else {}


async def _answer_invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = [_make_field_problem(entry) for entry in error.errors()[:20]]
    detail = "; ".join(f"{entry.field}: {entry.detail}" for entry in found[:3])
    return make_problem_response(request, 422, f"The request is not valid: {detail}.", errors=found)


def _make_field_problem(entry: Mapping[str, Any]) -> FieldProblem:
    """Without the value: it may be a password, or a megabyte."""
    place = ".".join(str(part) for part in entry["loc"])
    return FieldProblem(field=_make_printable(place), detail=_make_printable(str(entry["msg"])))


def _make_printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\ufffd" for c in text[:200])


async def _answer_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = error.detail if error.detail != get_title(error.status_code) else None
    detail = said or _SENTENCES.get(error.status_code) or f"{get_title(error.status_code)}."
    return make_problem_response(request, error.status_code, detail, headers=error.headers)


_SENTENCES = {
    404: "There is nothing at this address; /api/v1/openapi.json lists all that there is.",
    405: "This address does not take this method; the header Allow lists those it takes.",
}


async def _answer_database_error(request: Request, error: Exception) -> Response:
    """A database that is away for a moment is no bug; anything else from it is."""
    if isinstance(error, PoolTimeout | OperationalError | InterfaceError) or _is_connection_lost(error):
        log.warning("the database does not answer: %s", error.__class__.__name__, exc_info=error)
        return make_problem_response(request, 503, Unavailable.__doc__ or "", headers={"Retry-After": "5"})
    return answer_unexpected(request, error)


def _is_connection_lost(error: Exception) -> bool:
    return isinstance(error, DBAPIError) and error.connection_invalidated


def answer_unexpected(request: Request | None, error: Exception) -> Response:
    """A bug of ours: in the log with everything, in the answer with nothing."""
    request_id = None if request is None else request.scope.get("nav_eval.request_id")
    log.error("request %s failed", request_id, exc_info=error)
    detail = "Something went wrong on our side; try again, and if it stays so report the request_id to the organiser."
    return make_problem_response(request, 500, detail)
