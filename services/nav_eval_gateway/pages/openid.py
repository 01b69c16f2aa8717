"""Logging in by an OpenID provider, the first time under a name of one's own; linking that login to an account.

The button is a link, and so is all that leads to another site: pages let forms go to ourselves only. Linking begins
with a form, which only a page of ours can send, so that nobody's account is linked to a login of somebody else.
"""

import hmac
import re
from collections.abc import Callable
from datetime import timedelta
from time import time
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import RedirectResponse, Response

from nav_eval_gateway.openid_attempt import LOGIN_SECONDS, LoginAttempt, suggest_name
from nav_eval_gateway.pages.context import Form, Visit, Visiting, require_confirmation
from nav_eval_gateway.pages.people import begin_session
from nav_eval_gateway.pages.redirects import clean_path
from nav_eval_gateway.pages.sessions import LOGIN, NEWCOMER
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, NameInUse, NotAllowed, NotFound, Refusal, StoreError
from nav_eval_store.models import User
from nav_eval_store.people import accounts, addresses, identities
from nav_eval_store.people.accounts import Scope
from nav_eval_store.people.identities import ProvedPerson

if TYPE_CHECKING:
    from nav_eval_gateway.openid import OpenIdProvider

router = APIRouter(include_in_schema=False)
LIFETIME = timedelta(seconds=LOGIN_SECONDS)
_WORD = re.compile(r"[a-z_]{1,40}")


class Newcomer(NamedTuple):
    """Somebody whom the provider has proved and who has no account yet; the browser keeps it, signed by us."""

    person: ProvedPerson
    state: str
    next_path: str
    until: float


def get_provider(visit: Visit) -> "OpenIdProvider":
    if visit.services.openid is None:
        raise NotFound("There is no login by a provider here.")
    return visit.services.openid


def make_redirect_uri(visit: Visit) -> str:
    return f"{visit.site}/login/openid/callback"


@router.get("/login/openid")
def begin_login(visit: Visiting, next: str = "/") -> Response:
    """To the provider, and back to the page that was wanted."""
    attempt = LoginAttempt.begin(clean_path(next))
    response = RedirectResponse(get_provider(visit).make_login_url(attempt, make_redirect_uri(visit)), 303)
    visit.cookies.set_sealed(response, LOGIN, attempt, seconds=LOGIN_SECONDS)
    return response


@router.post("/account/identities")
def begin_link(visit: Visiting, form: Form) -> Response:
    """The same, to link the login to the account of whoever is logged in."""
    del form  # it proves where the request came from
    caller = visit.require_user(Scope.TEAM)
    provider = get_provider(visit)
    attempt = LoginAttempt.begin("/account", session_id=str(caller.token_id))
    response = visit.page("onward.html.j2", url=provider.make_login_url(attempt, make_redirect_uri(visit)))
    visit.cookies.set_sealed(response, LOGIN, attempt, seconds=LOGIN_SECONDS)
    return response


@router.get("/login/openid/callback")
def end_login(visit: Visiting, state: str = "", code: str = "", error: str = "", iss: str = "") -> Response:
    """The provider's answer. It is good once, and in the browser that asked for it."""
    attempt = _read_attempt(visit, state)
    try:
        if attempt is None:
            raise BadCredentials("This login was started in another browser, or too long ago; log in again.")
        if error or not code:
            word = error if _WORD.fullmatch(error) else "no answer"
            raise BadCredentials("The provider did not log you in ({word}); try again.", word=word)
        provider = get_provider(visit)
        if iss and iss != provider.settings.issuer:  # RFC 9207: an answer of another provider
            raise BadCredentials("The login provider's answer is not valid; log in again.")
        person = provider.identify(attempt, code, make_redirect_uri(visit))
        go_on = _link if attempt.session_id is not None else _log_in
        response = go_on(visit, attempt, person)
    except Refusal as refusal:
        there = "/login" if visit.caller.user is None else "/account"
        response = visit.go(there, visit.t.refusal(refusal.pattern, refusal.values), kind="bad")
    visit.cookies.forget(response, LOGIN)
    return response


def _read_attempt(visit: Visit, state: str) -> LoginAttempt | None:
    kept = visit.cookies.read_sealed(visit.request, LOGIN)
    attempt = None if kept is None else LoginAttempt(*kept)
    if attempt is None or attempt.until < time() or not hmac.compare_digest(attempt.state.encode(), state.encode()):
        return None
    return attempt


def _link(visit: Visit, attempt: LoginAttempt, person: ProvedPerson) -> Response:
    caller = visit.require_user(Scope.TEAM)
    if str(caller.token_id) != attempt.session_id:
        raise BadCredentials("This login was started in another browser, or too long ago; log in again.")

    def link(session: Session) -> None:
        user = session.get_one(User, caller.user.id)
        identities.use_answer(session, user, state=attempt.state, lifetime=LIFETIME)
        identities.link_identity(session, user, person, actor=caller.actor)

    visit.store.run(link)
    return visit.go("/account", visit.t("openid.linked"))


def _log_in(visit: Visit, attempt: LoginAttempt, person: ProvedPerson) -> Response:
    user = visit.store.run(lambda session: identities.enter(session, person, state=attempt.state, lifetime=LIFETIME))
    if user is not None:
        return begin_session(visit, user, attempt.next_path, by="openid")
    if not get_provider(visit).settings.makes_accounts:
        raise NotAllowed(
            "No account here is linked to this login. Log in with your password and link it on your account page, "
            "or ask the organiser for an account."
        )
    newcomer = Newcomer(person, attempt.state, attempt.next_path, time() + LOGIN_SECONDS)
    name = suggest_name(person.title)
    if name != person.title.lower() or _find_doubts(visit, person, name):
        response = visit.go("/login/openid/name")
        visit.cookies.set_sealed(response, NEWCOMER, newcomer, seconds=LOGIN_SECONDS)
        return response
    return _create_account(visit, newcomer, name)


def _find_doubts(visit: Visit, person: ProvedPerson, name: str) -> list[str]:
    """What the newcomer should be asked about, in their language."""
    doubts = []
    with visit.store.read() as session:
        for check in _list_checks(session, person, name):
            try:
                check()
            except StoreError as doubt:
                doubts.append(visit.t.refusal(doubt.pattern, doubt.values))
    return doubts


def _list_checks(session: Session, person: ProvedPerson, name: str) -> list[Callable[[], None]]:
    return [
        lambda: accounts.refuse_bad_name(name),
        lambda: accounts.refuse_taken(session, name),
        lambda: accounts.refuse_look_alike(session, name),
        lambda: _refuse_known_email(session, person),
    ]


def _refuse_known_email(session: Session, person: ProvedPerson) -> None:
    if person.email is None:
        return
    known = addresses.find_email_holder(session, person.email) is not None
    if known or addresses.find_mailbox_owners(session, person.email):
        raise NameInUse(
            "An account here has your e-mail address {email}. If it is yours, log in to it with your password and "
            "link this login on your account page, instead of making a second account.",
            email=person.email,
        )


def _read_newcomer(visit: Visit) -> Newcomer:
    kept = visit.cookies.read_sealed(visit.request, NEWCOMER)
    if kept is None or kept[-1] < time():
        raise BadCredentials("This login was started in another browser, or too long ago; log in again.")
    person, *rest = kept
    return Newcomer(ProvedPerson(*person), *rest)


@router.get("/login/openid/name")
def show_name(visit: Visiting) -> Response:
    """Where a newcomer chooses a name: theirs is taken, looks like another one, or cannot be a name here."""
    newcomer = _read_newcomer(visit)
    name = suggest_name(newcomer.person.title)
    doubts = _find_doubts(visit, newcomer.person, name)
    return visit.page("newcomer.html.j2", person=newcomer.person, name=name, doubts=doubts)


@router.post("/login/openid/name")
def choose_name(visit: Visiting, form: Form) -> Response:
    newcomer, name = _read_newcomer(visit), form.text("name").strip()
    try:
        response = _create_account(visit, newcomer, name)
    except StoreError as refusal:
        doubts = [visit.t.refusal(refusal.pattern, refusal.values)]
        return visit.page("newcomer.html.j2", status=422, person=newcomer.person, name=name[:200], doubts=doubts)
    visit.cookies.forget(response, NEWCOMER)
    return response


def _create_account(visit: Visit, newcomer: Newcomer, name: str) -> Response:
    def create(session: Session) -> User:
        user = identities.create_user_of(session, newcomer.person, name)
        identities.use_answer(session, user, state=newcomer.state, lifetime=LIFETIME)
        return user

    user = visit.store.run(create)
    return begin_session(visit, user, newcomer.next_path, by="openid", notice=visit.t("register.done", name=name))


@router.post("/account/identities/{identity_id}/remove")
def remove_link(identity_id: UUID, visit: Visiting, form: Form) -> Response:
    caller = require_confirmation(visit, form, Scope.TEAM)

    def unlink(session: Session) -> None:
        identities.remove_identity(session, session.get_one(User, caller.user.id), identity_id, actor=caller.actor)

    visit.store.run(unlink)
    return visit.go("/account", visit.t("openid.unlinked"))
