"""Logging in and out, registering, a user's own tokens and password; a team's own page, and the way into a team."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Services
from nav_eval_gateway.errors import FormInvalid, Unavailable
from nav_eval_gateway.pages.context import (
    THEMES,
    Form,
    PostedForm,
    Visit,
    Visiting,
    require_confirmation,
    validate_fields,
)
from nav_eval_gateway.pages.redirects import clean_path
from nav_eval_gateway.pages.sessions import LANGUAGE, THEME
from nav_eval_gateway.pages.team_history import list_histories
from nav_eval_gateway.pages.translations import LANGUAGES
from nav_eval_gateway.rate_limit import get_address
from nav_eval_gateway.routes import people as people_api
from nav_eval_gateway.schemas.people import Acceptance, NewInvitation, NewRole, Registration, TeamName
from nav_eval_store.audit import make_user_actor
from nav_eval_store.boards.leaderboard import find_scores
from nav_eval_store.competitions import configuration
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, StoreError
from nav_eval_store.models import MemberRole, Team, Token, TokenKind, User
from nav_eval_store.notifications import messages
from nav_eval_store.people import accounts, identities, teams
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from nav_eval_store.submissions import queries, quota

router = APIRouter(include_in_schema=False)
LIFETIMES = {"30": timedelta(days=30), "90": timedelta(days=90), "365": timedelta(days=365), "": None}
"""Days that a new token may live; empty is without end."""


@router.get("/login")
def show_login(visit: Visiting, next: str = "/") -> Response:
    """By password, or by a token that somebody has already."""
    if visit.caller.user is not None:
        return visit.go(clean_path(next))
    return visit.page("login.html.j2", next=clean_path(next), name="", by="password", problem=None)


@router.post("/login")
def log_in(visit: Visiting, form: Form) -> Response:
    """A new session, whatever cookies the browser had before."""
    next_path, by = clean_path(form.text("next")), form.text("by")
    try:
        secret, lifetime = _begin_session(visit, form, by=by)
    except BadCredentials as error:
        name = form.text("name")[:200]
        return visit.page("login.html.j2", status=401, next=next_path, name=name, by=by, problem=str(error))
    return _enter(visit, secret, lifetime, next_path)


def begin_session(visit: Visit, user: User, next_path: str, *, by: str, notice: str | None = None) -> Response:
    """The user is logged in, in a session that nobody knows of yet; the browser goes on."""
    lifetime = visit.services.settings.session_lifetime
    secret, _ = _issue_session(visit.services, user, name=by, scopes=ALL_SCOPES, lifetime=lifetime)
    return _enter(visit, secret, lifetime, next_path, notice)


def _enter(visit: Visit, secret: str, lifetime: timedelta, next_path: str, notice: str | None = None) -> Response:
    _end_session(visit)
    response = visit.go(next_path, notice)
    visit.cookies.begin_session(response, secret, lifetime)
    return response


def _begin_session(visit: Visit, form: PostedForm, *, by: str) -> tuple[str, timedelta]:
    if by == "token":
        return _begin_session_by_token(visit.services, form.text("token").strip())
    name = form.text("name").strip()
    with visit.services.limits.passwords.guard(name, get_address(visit.request.scope)):
        return _begin_session_by_password(visit.services, name, form.text("password"))


def _begin_session_by_password(services: Services, name: str, password: str) -> tuple[str, timedelta]:
    with services.passwords, services.database.read() as session:
        user = accounts.authenticate(session, name, password)
    return _issue_session(services, user, scopes=ALL_SCOPES, lifetime=services.settings.session_lifetime)


def _begin_session_by_token(services: Services, secret: str) -> tuple[str, timedelta]:
    """A session that may do what the token may, and ends no later."""
    with services.database.read() as session:
        token = accounts.verify_token(session, secret)
        left = services.settings.session_lifetime
        if token.expires_at is not None:
            left = min(left, token.expires_at - session.now())
    scopes = tuple(Scope(scope) for scope in token.scopes)
    return _issue_session(services, token.user, scopes=scopes, lifetime=left, issued_with=token.id)


def _issue_session(
    services: Services,
    user: User,
    *,
    scopes: tuple[Scope, ...],
    lifetime: timedelta,
    name: str = "browser",
    issued_with: UUID | None = None,
) -> tuple[str, timedelta]:
    def issue(session: Session) -> str:
        issued = accounts.issue_token(
            session,
            user,
            name,
            actor=make_user_actor(user),
            scopes=scopes,
            lifetime=lifetime,
            kind=TokenKind.SESSION,
            issued_with=issued_with,
        )
        return issued.secret

    return services.database.run(issue), lifetime


@router.post("/logout")
def log_out(visit: Visiting, form: Form) -> Response:
    """The session ends on the server; the cookie is worth nothing any more."""
    del form  # it proves where the request came from
    url = _find_provider_logout(visit)
    response = visit.go("/", visit.t("login.out")) if url is None else visit.page("onward.html.j2", url=url)
    visit.cookies.end_session(response)
    _end_session(visit)
    return response


def _find_provider_logout(visit: Visit) -> str | None:
    """Where a session that was begun at the provider ends there, too."""
    provider, token_id = visit.services.openid, visit.caller.token_id
    if provider is None or token_id is None or not provider.settings.ends_session:
        return None
    with visit.store.read() as session:
        if session.get_one(Token, token_id).name != "openid":
            return None
    try:
        return provider.make_logout_url(f"{visit.site}/")
    except Unavailable:  # ours ends all the same
        return None


def _end_session(visit: Visit) -> None:
    """The one that the browser has now."""
    user, token_id = visit.caller.user, visit.caller.token_id
    if user is not None and token_id is not None:
        visit.store.run(lambda session: accounts.revoke_token(session, user, token_id, actor=make_user_actor(user)))


@router.get("/register")
def show_register(visit: Visiting, next: str = "/") -> Response:
    if visit.caller.user is not None:
        return visit.go(clean_path(next))
    return visit.page("register.html.j2", next=clean_path(next), name="", email="", problem=None)


@router.post("/register")
def register(visit: Visiting, form: Form) -> Response:
    """A new user, who is logged in at once."""
    next_path = clean_path(form.text("next"))
    name, email = form.text("name").strip(), form.text("email").strip()
    try:
        secret, lifetime = _register(visit, name, email, form.text("password"))
    except StoreError as error:
        shown = {"next": next_path, "name": name[:200], "email": email[:200]}
        problem = visit.t.refusal(error.pattern, error.values)
        return visit.page("register.html.j2", status=422, problem=problem, **shown)
    response = visit.go(next_path, visit.t("register.done", name=name))
    visit.cookies.begin_session(response, secret, lifetime)
    return response


def _register(visit: Visit, name: str, email: str, password: str) -> tuple[str, timedelta]:
    services = visit.services
    wish = validate_fields(Registration, visit.t, name=name, email=email or None, password=password)
    people_api.register(wish, services.database, services)
    with services.database.read() as session:
        user = accounts.get_user(session, name)
    return _issue_session(services, user, scopes=ALL_SCOPES, lifetime=services.settings.session_lifetime)


@router.get("/preferences")
def prefer(visit: Visiting, next: str = "/", language: str | None = None, theme: str | None = None) -> Response:
    """How pages look from now on; links, so that they work without a script."""
    response = visit.go(clean_path(next))
    if language is not None and language in LANGUAGES:
        visit.cookies.prefer(response, LANGUAGE, language)
    if theme is not None and theme in (*THEMES, "auto"):
        visit.cookies.prefer(response, THEME, "" if theme == "auto" else theme)
    return response


@router.get("/account")
def show_account(visit: Visiting) -> Response:
    """A user's teams, tokens and sessions."""
    return _render_account(visit)


def _render_account(visit: Visit, *, secret: str | None = None) -> Response:
    user = visit.require_user().user
    with visit.store.read() as session:
        mine = [
            (competition, member.team)
            for competition in configuration.list_competitions(session)
            if (member := teams.find_member_of_competition(session, user.id, competition)) is not None
        ]
        return visit.page(
            "account.html.j2",
            user=user,
            teams=mine,
            tokens=accounts.list_tokens(session, user),
            sessions=accounts.list_tokens(session, user, kind=TokenKind.SESSION),
            current=visit.caller.token_id,
            scopes=[scope for scope in Scope if scope in visit.caller.scopes],
            secret=secret,
            server=visit.site,
            identities=identities.list_identities(session, user),
        )


@router.post("/account/tokens")
def make_token(visit: Visiting, form: Form) -> Response:
    """A token for scripts and the SDK; this page shows it once. It may do no more than the session may."""
    user = visit.require_user(Scope.TEAM).user
    scopes = tuple(Scope(scope) for scope in form.all("scopes") if scope in visit.caller.scopes)
    if not scopes:
        raise FormInvalid(visit.t("account.no_scope"))
    name, lifetime = form.line("name"), LIFETIMES.get(form.text("days"), LIFETIMES["90"])
    issued = visit.store.run(
        lambda session: accounts.issue_token(
            session,
            user,
            name,
            actor=make_user_actor(user),
            scopes=scopes,
            lifetime=lifetime,
            issued_with=visit.caller.token_id,
        )
    )
    return _render_account(visit, secret=issued.secret)


@router.post("/account/tokens/{token_id}/revoke")
def revoke_token(token_id: UUID, visit: Visiting, form: Form) -> Response:
    """End a token, or another browser's session."""
    user = require_confirmation(visit, form, Scope.TEAM).user
    visit.store.run(lambda session: accounts.revoke_token(session, user, token_id, actor=make_user_actor(user)))
    return visit.go("/account", visit.t("account.revoked"))


@router.post("/account/password")
def change_password(visit: Visiting, form: Form) -> Response:
    """Another password; every other session and every token ends."""
    caller = visit.require_user(Scope.TEAM)
    services, actor = visit.services, caller.actor
    failures = services.limits.passwords.guard(caller.user.name, get_address(visit.request.scope))
    with failures, services.passwords, services.database.begin() as session:
        user = accounts.get_user(session, caller.user.name)
        if user.password is not None:
            accounts.authenticate(session, user.name, form.text("password"))
        accounts.set_password(session, user, form.text("new_password"), actor=actor, spare=caller.token_id)
    return visit.go("/account", visit.t("account.password_changed"))


@router.get("/competitions/{name}/team")
def show_own_team(name: str, visit: Visiting) -> Response:
    """The reader's team, or the ways to get one."""
    user = visit.require_user().user
    with visit.store.read() as session:
        competition = configuration.get_competition(session, name)
        member = teams.find_member_of_competition(session, user.id, competition)
        if member is None:
            return visit.page("no_team.html.j2", competition=competition)
        team_id = member.team_id
    return _render_team(visit, team_id)


@router.get("/teams/{team_id}")
def show_team(team_id: UUID, visit: Visiting, after: str | None = None) -> Response:
    """A team, for its members and for organisers."""
    return _render_team(visit, team_id, after=after)


def _render_team(visit: Visit, team_id: UUID, *, secret: str | None = None, after: str | None = None) -> Response:
    caller = visit.require_user()
    with visit.store.read() as session:
        team, member, organises = permissions.get_team(session, caller, team_id)
        is_captain = organises or (member is not None and member.role is MemberRole.CAPTAIN)
        phases = [phase for phase in team.competition.phases if phase.archived_at is None]
        listed = queries.list_submissions(session, team=team, limit=50, after=after)
        return visit.page(
            "team.html.j2",
            team=team,
            competition=team.competition,
            members=teams.list_members(session, team),
            me=caller.user.name,
            is_member=member is not None,
            is_captain=is_captain,
            is_organiser=organises,
            vouches=permissions.is_organiser(session, caller),
            invitations=teams.list_invitations(session, team) if is_captain else [],
            secret=secret,
            join_url=f"{visit.site}/join",
            messages=messages.list_messages(session, team.competition, team),
            histories=list_histories(session, phases, team),
            quotas=[(phase, quota.compute_allowance(session, phase, team)) for phase in phases],
            submissions=listed,
            scores=find_scores(session, listed.items, Audience.ORGANISER if organises else Audience.TEAM),
        )


@router.post("/competitions/{name}/team")
def create_team(name: str, visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.TEAM)
    wanted = validate_fields(TeamName, visit.t, name=form.line("name"))
    team = people_api.create_team(name, wanted, caller, visit.store)
    return visit.go(f"/competitions/{name}/team", visit.t("team.founded", name=team.name))


@router.get("/join")
def show_join(visit: Visiting) -> Response:
    """Where an invitation is accepted. The secret is typed in, so that it stands in no log of addresses."""
    visit.require_user()
    return visit.page("join.html.j2")


@router.post("/join")
def join_team(visit: Visiting, form: Form) -> Response:
    caller = visit.require_user(Scope.TEAM)
    wanted = validate_fields(Acceptance, visit.t, secret=form.text("secret").strip())
    team = people_api.accept_invitation(wanted, caller, visit.store)
    return visit.go(f"/teams/{team.id}", visit.t("team.joined", name=team.name))


@router.post("/teams/{team_id}/name")
def rename_team(team_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)
    people_api.rename_team(team_id, validate_fields(TeamName, visit.t, name=form.line("name")), caller, visit.store)
    return visit.go(f"/teams/{team_id}", visit.t("team.renamed"))


@router.post("/teams/{team_id}/invitations")
def invite(team_id: UUID, visit: Visiting, form: Form) -> Response:
    """A new invitation; this page shows its secret once."""
    caller = visit.require_user(Scope.TEAM)
    wanted = validate_fields(NewInvitation, visit.t, email=form.line("email", required=False) or None)
    issued = people_api.create_invitation(team_id, wanted, caller, visit.store)
    return _render_team(visit, team_id, secret=issued.secret)


@router.post("/teams/{team_id}/invitations/{invitation_id}/revoke")
def revoke_invitation(team_id: UUID, invitation_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)
    people_api.revoke_invitation(team_id, invitation_id, caller, visit.store)
    return visit.go(f"/teams/{team_id}", visit.t("team.uninvited"))


@router.post("/teams/{team_id}/members/{user}/remove")
def remove_member(team_id: UUID, user: str, visit: Visiting, form: Form) -> Response:
    """Send a member away, or leave."""
    caller = require_confirmation(visit, form, Scope.TEAM)
    with visit.store.read() as session:
        back = f"/competitions/{session.get_one(Team, team_id).competition.name}/team"
    people_api.remove_member(team_id, user, caller, visit.store)
    there = back if user == caller.user.name else f"/teams/{team_id}"
    return visit.go(there, visit.t("team.removed", name=user))


@router.post("/teams/{team_id}/members/{user}/role")
def set_role(team_id: UUID, user: str, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)
    wanted = validate_fields(NewRole, visit.t, role=form.text("role"))
    people_api.set_role(team_id, user, wanted, caller, visit.store)
    return visit.go(f"/teams/{team_id}", visit.t("team.role_changed", name=user))
