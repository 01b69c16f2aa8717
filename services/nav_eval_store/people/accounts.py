"""Users: passwords, roles, and the tokens that stand for them.

A token is a secret, shown once, kept as a digest, good until it ends or is revoked:

nve_k3v9q2ma_Jx…   `nve_`, eight characters for display and look-up, 32 random bytes
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import joinedload

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, NameInUse, NotFound, StoreError
from nav_eval_store.models import Competition, Role, RoleName, Token, TokenKind, User
from nav_eval_store.people.mailboxes import make_mailbox, normalize_email
from nav_eval_store.people.names import make_name_key

USER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,38}")
SHORTEST_PASSWORD = 10
UNMATCHABLE = f"scrypt${'00' * 16}${'00' * 64}"
"""A hash that nothing matches, so that an unknown name takes as long as a wrong password."""
_SCRYPT = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}


def create_user(
    session: Session, name: str, *, actor: Actor, email: str | None = None, password: str | None = None
) -> User:
    """A new user; a name or address that somebody has, or a name that looks like somebody's, is refused."""
    refuse_bad_name(name)
    email = None if email is None else normalize_email(email)
    refuse_taken(session, name)
    refuse_look_alike(session, name)
    user = User(name=name, name_key=make_name_key(name), created_at=session.now())
    set_email(user, email)
    if password is not None:
        user.password = hash_password(password)
    taken = NameInUse("The user name {name!r} or the e-mail address is taken; choose another one.", name=name)
    session.insert(user, otherwise=taken)
    audit.record(session, actor, "user.create", user=name)
    return user


def set_email(user: User, email: str | None) -> None:
    """An address, or none; whether it is proved is for the caller to say."""
    user.email, user.mailbox = email, None if email is None else make_mailbox(email)


def refuse_bad_name(name: str) -> None:
    if not USER_NAME.fullmatch(name):
        raise StoreError("A user's name has 1 to 39 lower-case letters, digits, dots, dashes or underscores.")


def refuse_taken(session: Session, name: str) -> None:
    if session.scalar(select(User.id).where(User.name == name)) is not None:
        raise NameInUse("The user name {name!r} is taken; choose another one.", name=name)


def refuse_look_alike(session: Session, name: str) -> None:
    """Refuse a name that is not taken, but could be mistaken for one that is."""
    query = select(User.name).where(User.name_key == make_name_key(name), User.name != name)
    if (other := session.scalar(query.limit(1))) is not None:
        raise NameInUse("The user name {name!r} looks like {other!r}; choose another one.", name=name, other=other)


def get_user(session: Session, name: str) -> User:
    user = session.scalar(select(User).where(User.name == name))
    if user is None:
        raise NotFound("There is no user {name!r}.", name=name)
    return user


def disable_user(session: Session, user: User, *, actor: Actor, reason: str) -> None:
    """Nothing works for them from now on: no password, no token, no login elsewhere. Twice is once."""
    if user.disabled_at is None:
        user.disabled_at = session.now()
        audit.record(session, actor, "user.disable", reason=reason, user=user.name)


def enable_user(session: Session, user: User, *, actor: Actor, reason: str) -> None:
    """They may log in again; sessions and tokens of before are not good any more."""
    if user.disabled_at is None:
        return
    user.disabled_at = None
    audit.record(session, actor, "user.enable", reason=reason, user=user.name)
    revoke_all_tokens(session, user, actor=actor)


def revoke_all_tokens(session: Session, user: User, *, actor: Actor, spare: UUID | None = None) -> None:
    """End all sessions and tokens of a user but `spare`."""
    for kind in TokenKind:
        for token in list_tokens(session, user, kind=kind):
            if token.id != spare:
                revoke_token(session, user, token.id, actor=actor)


def set_password(session: Session, user: User, password: str, *, actor: Actor, spare: UUID | None = None) -> None:
    keep_password(session, user, hash_password(password), actor=actor, spare=spare)


def keep_password(session: Session, user: User, kept: str, *, actor: Actor, spare: UUID | None = None) -> None:
    """A password that `hash_password` was given before, so that nobody waits for that.

    People change it because somebody else may know it, so whatever was got by the old one ends: all sessions and all
    tokens but `spare`, the one that asks for it.
    """
    user.password = kept
    audit.record(session, actor, "user.password", user=user.name)
    revoke_all_tokens(session, user, actor=actor, spare=spare)


def authenticate(session: Session, name: str, password: str) -> User:
    """The user whose name (or e-mail) and password these are."""
    user = session.scalar(select(User).where(or_(User.name == name, User.email == name.lower())))
    known = user.password if user is not None and user.password is not None else UNMATCHABLE
    if not is_password_correct(password, known) or user is None or user.disabled_at is not None:
        raise BadCredentials("The name or the password is wrong.")
    return user


def hash_password(password: str) -> str:
    """What is kept of a password."""
    if not SHORTEST_PASSWORD <= len(password) <= 1000:
        raise StoreError("A password has at least {least} characters.", least=SHORTEST_PASSWORD)
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_derive_key(password, salt).hex()}"


def is_password_correct(password: str, kept: str) -> bool:
    """Whether `kept` was made of `password`; takes as long either way."""
    _, salt, digest = kept.split("$")
    return hmac.compare_digest(_derive_key(password[:1000], bytes.fromhex(salt)).hex(), digest)


def _derive_key(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, **_SCRYPT)


def grant_organiser(session: Session, user: User, *, actor: Actor, competition: Competition | None = None) -> None:
    """May do everything: in one competition, or in all. Twice is once."""
    if user.id in {role.user_id for role in _list_organiser_roles(session, competition, exactly=True)}:
        return
    session.add(
        Role(
            user_id=user.id,
            competition_id=competition.id if competition else None,
            name=RoleName.ORGANISER,
            granted_at=session.now(),
        )
    )
    audit.record(session, actor, "role.grant", audit.make_subject(competition), user=user.name, role=RoleName.ORGANISER)


def revoke_organiser(session: Session, user: User, *, actor: Actor, competition: Competition | None = None) -> None:
    for role in _list_organiser_roles(session, competition, exactly=True):
        if role.user_id == user.id:
            session.delete(role)
            audit.record(session, actor, "role.revoke", audit.make_subject(competition), user=user.name, role=role.name)


def is_organiser(session: Session, user_id: UUID, competition: Competition | None = None) -> bool:
    """Whether a user organises this competition (None: the whole installation)."""
    return any(role.user_id == user_id for role in _list_organiser_roles(session, competition))


def _list_organiser_roles(
    session: Session, competition: Competition | None, *, exactly: bool = False
) -> Sequence[Role]:
    query = select(Role).where(Role.name == RoleName.ORGANISER)
    if competition is None:
        return session.scalars(query.where(Role.competition_id.is_(None))).all()
    here = Role.competition_id == competition.id
    return session.scalars(query.where(here if exactly else or_(here, Role.competition_id.is_(None)))).all()


_FORM = re.compile(r"nve_([a-z2-7]{8})_([A-Za-z0-9_-]{43})")
_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
USED_AGAIN = timedelta(minutes=1)
"""A use sooner than this after the last one is not written down."""


class Scope(StrEnum):
    """What a token may be used for, within what its user may do."""

    READ = "read"  #: see what the user sees
    SUBMIT = "submit"  #: create, upload, cancel
    TEAM = "team"  #: invite, remove, tokens, webhooks
    ORGANISE = "organise"  #: the organiser's verbs


ALL_SCOPES = tuple(Scope)


class TokenWithSecret(NamedTuple):
    """A new token, and the only time its secret is seen."""

    token: Token
    secret: str


def issue_token(
    session: Session,
    user: User,
    name: str,
    *,
    actor: Actor,
    scopes: Iterable[Scope] = (Scope.READ, Scope.SUBMIT, Scope.TEAM),
    lifetime: timedelta | None = None,
    kind: TokenKind = TokenKind.API,
    issued_with: UUID | None = None,
) -> TokenWithSecret:
    """A token for `user`, called `name`; it ends no later than what is issued with the token `issued_with` may."""
    last = _find_last_moment(session, issued_with)
    prefix = "".join(secrets.choice(_LETTERS) for _ in range(8))
    secret = f"nve_{prefix}_{secrets.token_urlsafe(32)}"
    now = session.now()
    token = Token(
        user_id=user.id,
        kind=kind,
        name=name[:100],
        prefix=prefix,
        digest=hash_secret(secret),
        scopes=[Scope(scope).value for scope in scopes],
        created_at=now,
        expires_at=_find_earlier(None if lifetime is None else now + lifetime, last),
    )
    token.heirs_until = token.expires_at if kind is TokenKind.API else last
    session.add(token)
    session.flush()
    audit.record(session, actor, f"token.issue.{kind}", user=user.name, token=prefix, scopes=token.scopes)
    return TokenWithSecret(token, secret)


def _find_last_moment(session: Session, issued_with: UUID | None) -> datetime | None:
    """A token begets none that outlives it, nor does a session that it began; who gave a password may say how long."""
    parent = None if issued_with is None else session.get(Token, issued_with)
    if parent is None:
        return None
    return _find_earlier(parent.expires_at if parent.kind is TokenKind.API else None, parent.heirs_until)


def _find_earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((moment for moment in (one, other) if moment is not None), default=None)


def verify_token(session: Session, secret: str) -> Token:
    """The token that `secret` is, with its user; anything else is refused in the same words."""
    form = _FORM.fullmatch(secret)
    token = _find_by_prefix(session, form[1]) if form else None
    if token is None or not hmac.compare_digest(hash_secret(secret), token.digest) or not _is_valid(session, token):
        raise BadCredentials("This token is invalid or has expired; create a new one.")
    return token


def _find_by_prefix(session: Session, prefix: str) -> Token | None:
    return session.scalar(select(Token).where(Token.prefix == prefix).options(joinedload(Token.user)))


def _is_valid(session: Session, token: Token) -> bool:
    ended = token.expires_at is not None and token.expires_at <= session.now()
    return not ended and token.revoked_at is None and token.user.disabled_at is None


def is_token_good(session: Session, token_id: UUID) -> bool:
    """Whether a token that was shown before may still be used."""
    token = session.get(Token, token_id, options=[joinedload(Token.user)])
    return token is not None and _is_valid(session, token)


def is_touch_due(session: Session, token: Token) -> bool:
    """Whether the last use that is written down is old."""
    return token.used_at is None or token.used_at + USED_AGAIN <= session.now()


def touch_token(session: Session, token_id: UUID) -> None:
    """Write down that a token was used just now."""
    token = session.get(Token, token_id)
    if token is not None and is_touch_due(session, token):
        token.used_at = session.now()


def list_tokens(session: Session, user: User, *, kind: TokenKind = TokenKind.API) -> Sequence[Token]:
    """Those that still work, newest first."""
    query = select(Token).where(Token.user_id == user.id, Token.kind == kind, Token.revoked_at.is_(None))
    tokens = session.scalars(query.order_by(Token.created_at.desc())).all()
    return [token for token in tokens if _is_valid(session, token)]


def revoke_token(session: Session, user: User, token_id: UUID, *, actor: Actor) -> None:
    """It works no longer. Another user's token is not found."""
    token = session.get(Token, token_id)
    if token is None or token.user_id != user.id:
        raise NotFound("There is no such token.")
    if token.revoked_at is None:
        token.revoked_at = session.now()
        audit.record(session, actor, "token.revoke", user=user.name, token=token.prefix)


def hash_secret(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
