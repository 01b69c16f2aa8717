"""Logging in and out, registering, and what belongs to a user alone: tokens, password, how pages look."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway.pages import origins
from nav_eval_gateway.pages.cookies import LANGUAGE, THEME
from nav_eval_gateway.pages.errors import FormInvalid
from nav_eval_gateway.pages.visiting import THEMES, Form, Posted, Visit, Visiting, checked
from nav_eval_gateway.pages.words import LANGUAGES
from nav_eval_gateway.routes import users as users_api
from nav_eval_gateway.schemas.people import Registration
from nav_eval_gateway.services import Services
from nav_eval_store import competitions, teams, tokens, users
from nav_eval_store.actors import user_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, StoreError
from nav_eval_store.models import TokenKind, User
from nav_eval_store.tokens import EVERYTHING, Scope

router = APIRouter(include_in_schema=False)
LIFETIMES = {"30": timedelta(days=30), "90": timedelta(days=90), "365": timedelta(days=365), "": None}
"""Days that a new token may live; empty is without end."""


@router.get("/login")
def show_login(visit: Visiting, next: str = "/") -> Response:
    """By password, or by a token that somebody has already."""
    if visit.caller.user is not None:
        return visit.go(origins.safe_path(next))
    return visit.page("login.html.j2", next=origins.safe_path(next), name="", by="password", problem=None)


@router.post("/login")
def log_in(visit: Visiting, form: Form) -> Response:
    """A new session, whatever cookies the browser had before."""
    next_path, by = origins.safe_path(form.text("next")), form.text("by")
    try:
        secret, lifetime = _session_for(visit, form, by=by)
    except BadCredentials as error:
        name = form.text("name")[:200]
        return visit.page("login.html.j2", status=401, next=next_path, name=name, by=by, problem=str(error))
    _end_session(visit)
    response = visit.go(next_path)
    visit.cookies.begin_session(response, secret, lifetime)
    return response


def _session_for(visit: Visit, form: Posted, *, by: str) -> tuple[str, timedelta]:
    if by == "token":
        return _session_by_token(visit.services, form.text("token").strip())
    return _session_by_password(visit.services, form.text("name").strip(), form.text("password"))


def _session_by_password(services: Services, name: str, password: str) -> tuple[str, timedelta]:
    with services.passwords, services.database.read() as session:
        user = users.authenticate(session, name, password)
    return _session_of(services, user, scopes=EVERYTHING, lifetime=services.settings.session_lifetime)


def _session_by_token(services: Services, secret: str) -> tuple[str, timedelta]:
    """A session that may do what the token may, and ends no later."""
    with services.database.read() as session:
        token = tokens.verify(session, secret)
        left = services.settings.session_lifetime
        if token.expires_at is not None:
            left = min(left, token.expires_at - session.now())
    return _session_of(services, token.user, scopes=tuple(Scope(scope) for scope in token.scopes), lifetime=left)


def _session_of(
    services: Services, user: User, *, scopes: tuple[Scope, ...], lifetime: timedelta
) -> tuple[str, timedelta]:
    def issue(session: Session) -> str:
        issued = tokens.issue(
            session,
            user,
            "browser",
            actor=user_actor(user),
            scopes=scopes,
            lifetime=lifetime,
            kind=TokenKind.SESSION,
        )
        return issued.secret

    return services.database.run(issue), lifetime


@router.post("/logout")
def log_out(visit: Visiting, form: Form) -> Response:
    """The session ends on the server; the cookie is worth nothing any more."""
    del form  # it proves where the request came from
    response = visit.go("/", visit.t("login.out"))
    visit.cookies.end_session(response)
    _end_session(visit)
    return response


def _end_session(visit: Visit) -> None:
    """The one that the browser has now."""
    user, token_id = visit.caller.user, visit.caller.token_id
    if user is not None and token_id is not None:
        visit.services.database.run(lambda session: tokens.revoke(session, user, token_id, actor=user_actor(user)))


@router.get("/register")
def show_register(visit: Visiting, next: str = "/") -> Response:
    if visit.caller.user is not None:
        return visit.go(origins.safe_path(next))
    return visit.page("register.html.j2", next=origins.safe_path(next), name="", email="", problem=None)


@router.post("/register")
def register(visit: Visiting, form: Form) -> Response:
    """A new user, who is logged in at once."""
    next_path, name, email = origins.safe_path(form.text("next")), form.text("name").strip(), form.text("email").strip()
    try:
        secret, lifetime = _register(visit, name, email, form.text("password"))
    except StoreError as error:
        shown = {
            "next": next_path,
            "name": name[:200],
            "email": email[:200],
            "problem": visit.t.refusal(error.pattern, error.values),
        }
        return visit.page("register.html.j2", status=422, **shown)
    response = visit.go(next_path, visit.t("register.done", name=name))
    visit.cookies.begin_session(response, secret, lifetime)
    return response


def _register(visit: Visit, name: str, email: str, password: str) -> tuple[str, timedelta]:
    services = visit.services
    wish = checked(Registration, visit.t, name=name, email=email or None, password=password)
    users_api.register(wish, services.database, services)
    with services.database.read() as session:
        user = users.user_named(session, name)
    return _session_of(services, user, scopes=EVERYTHING, lifetime=services.settings.session_lifetime)


@router.get("/preferences")
def prefer(visit: Visiting, next: str = "/", language: str | None = None, theme: str | None = None) -> Response:
    """How pages look from now on; links, so that they work without a script."""
    response = visit.go(origins.safe_path(next))
    if language is not None and language in LANGUAGES:
        visit.cookies.prefer(response, LANGUAGE, language)
    if theme is not None and theme in (*THEMES, "auto"):
        visit.cookies.prefer(response, THEME, "" if theme == "auto" else theme)
    return response


@router.get("/account")
def show_account(visit: Visiting) -> Response:
    """A user's teams, tokens and sessions."""
    return _account(visit)


def _account(visit: Visit, *, secret: str | None = None) -> Response:
    user = visit.signed_in().user
    with visit.services.database.read() as session:
        mine = [
            (competition, member.team)
            for competition in competitions.listing(session)
            if (member := teams.team_of(session, user.id, competition)) is not None
        ]
        return visit.page(
            "account.html.j2",
            user=user,
            teams=mine,
            tokens=tokens.tokens_of(session, user),
            sessions=tokens.tokens_of(session, user, kind=TokenKind.SESSION),
            current=visit.caller.token_id,
            scopes=[scope for scope in Scope if scope in visit.caller.scopes],
            secret=secret,
            server=visit.services.settings.base_url or str(visit.request.base_url).rstrip("/"),
        )


@router.post("/account/tokens")
def make_token(visit: Visiting, form: Form) -> Response:
    """A token for scripts and the SDK; this page shows it once. It may do no more than the session may."""
    user = visit.signed_in(Scope.TEAM).user
    scopes = tuple(Scope(scope) for scope in form.all("scopes") if scope in visit.caller.scopes)
    if not scopes:
        raise FormInvalid(visit.t("account.no_scope"))
    name, lifetime = form.line("name"), LIFETIMES.get(form.text("days"), LIFETIMES["90"])
    issued = visit.services.database.run(
        lambda session: tokens.issue(session, user, name, actor=user_actor(user), scopes=scopes, lifetime=lifetime)
    )
    return _account(visit, secret=issued.secret)


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(token_id: UUID, visit: Visiting, form: Form) -> Response:
    """End a token, or another browser's session."""
    form.confirm()
    user = visit.signed_in(Scope.TEAM).user
    visit.services.database.run(lambda session: tokens.revoke(session, user, token_id, actor=user_actor(user)))
    return visit.go("/account", visit.t("account.revoked"))


@router.post("/account/password")
def change_password(visit: Visiting, form: Form) -> Response:
    """Another password; every other session ends."""
    caller = visit.signed_in(Scope.TEAM)
    services, actor = visit.services, caller.actor
    with services.passwords, services.database.begin() as session:
        user = users.user_named(session, caller.user.name)
        if user.password is not None:
            users.authenticate(session, user.name, form.text("password"))
        users.set_password(session, user, form.text("new_password"), actor=actor)
        for token in tokens.tokens_of(session, user, kind=TokenKind.SESSION):
            if token.id != caller.token_id:
                tokens.revoke(session, user, token.id, actor=actor)
    return visit.go("/account", visit.t("account.password_changed"))
