"""Somebody looks at a page: who they are, in which language, and what they sent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from pydantic import BaseModel, TypeAdapter, ValidationError
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData

import nav_eval
from nav_eval_gateway.dependencies import Services, authenticate_caller
from nav_eval_gateway.errors import CsrfTokenInvalid, FormInvalid, LoginNeeded
from nav_eval_gateway.pages.csrf import CSRF_FIELD, CsrfToken, has_csrf_token, is_same_origin
from nav_eval_gateway.pages.jinja import render
from nav_eval_gateway.pages.sessions import NOTICE, Cookies, Notice
from nav_eval_gateway.pages.translations import LANGUAGES, Translator, choose_language, make_translator
from nav_eval_gateway.permissions import ANYBODY, Caller, SignedIn
from nav_eval_gateway.schemas.base import Line, Paragraph
from nav_eval_gateway.security_headers import PAGE_POLICY
from nav_eval_store.database import Database
from nav_eval_store.errors import BadCredentials
from nav_eval_store.models import Role
from nav_eval_store.people.accounts import Scope

M = TypeVar("M", bound=BaseModel)
THEMES = ("light", "dark")
_LINE, _PARAGRAPH = TypeAdapter(Line), TypeAdapter(Paragraph)
_CONTROL = re.compile(r"\r\n?")


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One look at a page."""

    request: Request
    services: Services
    cookies: Cookies
    caller: Caller
    t: Translator  #: texts in the reader's language
    theme: str  #: `light`, `dark`, or empty for what the system prefers
    organises: bool  #: some competition, or all; whether *this* one is decided in `permissions`
    here: str | None = None  #: where the reader is, without what means nothing in the address; None is as it was sent

    version = nav_eval.__version__
    languages = LANGUAGES

    @property
    def store(self) -> Database:
        return self.services.database

    @property
    def language(self) -> str:
        return self.t.language

    @property
    def path(self) -> str:
        """Where the reader is, with the query."""
        if self.here is not None:
            return self.here
        query = self.request.url.query
        return self.request.url.path + (f"?{query}" if query else "")

    @property
    def site(self) -> str:
        """Our public address, without a slash at its end."""
        return self.services.settings.base_url or str(self.request.base_url).rstrip("/")

    @property
    def path_after_login(self) -> str:
        return "/" if self.request.url.path in ("/login", "/register") else self.path

    @staticmethod
    def link(path: str, **parameters: object) -> str:
        return make_path(path, parameters)

    def require_user(self, scope: Scope = Scope.READ) -> SignedIn:
        """The reader as a user; others are asked to log in and come back."""
        if self.caller.user is None:
            raise LoginNeeded(next_path=self.path if self.request.method == "GET" else None)
        return self.caller.require_user(scope)

    def html(self, template: str, **context: Any) -> str:  # noqa: ANN401
        """A template without what only a whole page has."""
        return render(template, visit=self, t=self.t, **context)

    def page(self, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:  # noqa: ANN401
        """A whole page. Forms in it carry a CSRF token."""
        response = HTMLResponse("", status)
        notice = self.cookies.read_notice(self.request)
        if notice is not None:
            self.cookies.forget(response, NOTICE)
        if self.caller.user is None and self.cookies.session(self.request) is not None:
            self.cookies.end_session(response)  # it has ended; the API would refuse it on every request
        holder = self.cookies.session(self.request) if self.caller.user else self.cookies.visitor(self.request)
        csrf_token = CsrfToken(self.cookies, holder=holder, response=response)
        body = self.html(template, csrf_token=csrf_token, notice=notice, **context).encode()
        response.body = body
        response.headers["content-length"] = str(len(body))
        return add_security_headers(response)

    def go(self, path: str, notice: str | None = None, *, kind: str = "good") -> RedirectResponse:
        """Another page, after something was done."""
        response = RedirectResponse(path, 303)
        if notice is not None:
            self.cookies.set_notice(response, Notice(kind, notice))
        return response


def add_security_headers(response: HTMLResponse) -> HTMLResponse:
    """Scripts and styles from our own files only, no frames, nothing kept by others."""
    response.headers["Content-Security-Policy"] = PAGE_POLICY
    response.headers["Cache-Control"] = "private, no-store"
    return response


async def make_visit(request: Request) -> Visit:
    stranger = make_anonymous_visit(request)
    secret = stranger.cookies.session(request)
    if secret is None:
        return stranger
    caller, organises = await run_in_threadpool(_find_caller, stranger.services, secret)
    request.scope["nav_eval.user"] = caller.user
    return replace(stranger, caller=caller, organises=organises)


def make_anonymous_visit(request: Request) -> Visit:
    """Whoever it is: without a look at the database."""
    services: Services = request.app.state.services
    cookies = Cookies(services.settings)
    theme = cookies.theme(request)
    return Visit(
        request=request,
        services=services,
        cookies=cookies,
        caller=ANYBODY,
        organises=False,
        t=make_translator(choose_language(cookies.language(request), request.headers.get("accept-language", ""))),
        theme=theme if theme in THEMES else "",
    )


def _find_caller(services: Services, secret: str) -> tuple[Caller, bool]:
    """The user of the session; one that has ended is nobody, not an error."""
    try:
        caller = authenticate_caller(services.database, secret)
    except BadCredentials:
        return ANYBODY, False
    if caller.user is None or Scope.ORGANISE not in caller.scopes:
        return caller, False
    with services.database.read() as session:
        role = session.scalar(select(Role.id).where(Role.user_id == caller.user.id).limit(1))
    return caller, role is not None


Visiting = Annotated[Visit, Depends(make_visit)]


class PostedForm:
    """The fields of a form that came from a page of ours."""

    def __init__(self, fields: FormData, t: Translator) -> None:
        self._fields, self._t = fields, t

    def text(self, name: str) -> str:
        """A field as it came, e.g. a password."""
        value = self._fields.get(name, "")
        return value if isinstance(value, str) else ""

    def line(self, name: str, *, required: bool = True) -> str:
        return self._validate(_LINE, name, self.text(name), required=required)

    def paragraph(self, name: str, *, required: bool = True) -> str:
        return self._validate(_PARAGRAPH, name, _CONTROL.sub("\n", self.text(name)), required=required)

    def _validate(self, kind: TypeAdapter[str], name: str, value: str, *, required: bool) -> str:
        try:
            checked = kind.validate_python(value)
        except ValidationError as error:
            raise FormInvalid(format_mistake(self._t, self._label(name), error)) from error
        if required and not checked:
            raise FormInvalid(self._t("form.missing", field=self._label(name)))
        return checked

    def whole(self, name: str) -> int:
        try:
            return int(self.text(name))
        except ValueError:
            raise FormInvalid(self._t("form.number", field=self._label(name))) from None

    def all(self, name: str) -> list[str]:
        return [value for value in self._fields.getlist(name) if isinstance(value, str)]

    def confirm(self) -> None:
        """Refuse what was not confirmed."""
        if self.text("confirm") != "yes":
            raise FormInvalid(self._t("form.confirm"))

    def _label(self, name: str) -> str:
        return self._t.get(f"field.{name}", name)


async def read_form(request: Request, visiting: Visiting) -> PostedForm:
    """The form of a request, refused unless it came from a page of ours in the same browser."""
    fields = await request.form(max_files=0, max_fields=200)
    is_ours = has_csrf_token(visiting.cookies, request, fields.get(CSRF_FIELD))
    if not is_ours or not is_same_origin(request, visiting.services.settings):
        raise CsrfTokenInvalid
    return PostedForm(fields, visiting.t)


Form = Annotated[PostedForm, Depends(read_form)]


def require_confirmation(visit: Visit, form: PostedForm, scope: Scope) -> SignedIn:
    """The reader as a user who has confirmed what they do."""
    form.confirm()
    return visit.require_user(scope)


def validate_fields(model: type[M], t: Translator, **fields: Any) -> M:  # noqa: ANN401
    """What the API would be told, refused as the API would refuse it."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        name = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise FormInvalid(format_mistake(t, t.get(f"field.{name}", name), error)) from error


def format_mistake(t: Translator, label: str, error: ValidationError) -> str:
    """The first thing that is wrong with a form, by its kind where the language has a sentence for it."""
    first = error.errors()[0]
    known = t.get(f"form.{first['type']}", "")
    if not known:
        return f"{label}: {first['msg']}."
    return known.format(field=label, **{key: value for key, value in first.get("ctx", {}).items() if key != "field"})


def make_path(path: str, parameters: Mapping[str, object]) -> str:
    """A path with a query; what is empty is left out."""
    query = urlencode({key: str(value) for key, value in parameters.items() if value not in (None, "", False)})
    return f"{path}?{query}" if query else path
