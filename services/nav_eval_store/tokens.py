"""Tokens: secrets that stand for a user. Shown once, kept as a digest, good until they end or are revoked.

nve_k3v9q2ma_Jx…   `nve_`, eight characters for display and look-up, 32 random bytes
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_store import audit
from nav_eval_store.actors import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, NotFound
from nav_eval_store.models import Token, TokenKind, User

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


EVERYTHING = tuple(Scope)


class Issued(NamedTuple):
    """A new token, and the only time its secret is seen."""

    token: Token
    secret: str


def issue(
    session: Session,
    user: User,
    name: str,
    *,
    actor: Actor,
    scopes: Iterable[Scope] = (Scope.READ, Scope.SUBMIT, Scope.TEAM),
    lifetime: timedelta | None = None,
    kind: TokenKind = TokenKind.API,
) -> Issued:
    """A token for `user`, called `name`."""
    prefix = "".join(secrets.choice(_LETTERS) for _ in range(8))
    secret = f"nve_{prefix}_{secrets.token_urlsafe(32)}"
    now = session.now()
    token = Token(
        user_id=user.id,
        kind=kind,
        name=name[:100],
        prefix=prefix,
        digest=_digest(secret),
        scopes=[Scope(scope).value for scope in scopes],
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
    )
    session.add(token)
    session.flush()
    audit.record(session, actor, f"token.issue.{kind}", user=user.name, token=prefix, scopes=token.scopes)
    return Issued(token, secret)


def verify(session: Session, secret: str) -> Token:
    """The token that `secret` is, with its user; anything else is refused in the same words."""
    form = _FORM.fullmatch(secret)
    token = _by_prefix(session, form[1]) if form else None
    if token is None or not hmac.compare_digest(_digest(secret), token.digest) or not _is_good(session, token):
        raise BadCredentials("This token is not valid, or no longer; make a new one.")
    return token


def _by_prefix(session: Session, prefix: str) -> Token | None:
    return session.scalar(select(Token).where(Token.prefix == prefix).options(joinedload(Token.user)))


def _is_good(session: Session, token: Token) -> bool:
    ended = token.expires_at is not None and token.expires_at <= session.now()
    return not ended and token.revoked_at is None and token.user.disabled_at is None


def needs_touch(session: Session, token: Token) -> bool:
    """Whether the last use that is written down is old."""
    return token.used_at is None or token.used_at + USED_AGAIN <= session.now()


def touch(session: Session, token_id: UUID) -> None:
    """Write down that a token was used just now."""
    token = session.get(Token, token_id)
    if token is not None and needs_touch(session, token):
        token.used_at = session.now()


def tokens_of(session: Session, user: User, *, kind: TokenKind = TokenKind.API) -> Sequence[Token]:
    """Those that still work, newest first."""
    query = select(Token).where(Token.user_id == user.id, Token.kind == kind, Token.revoked_at.is_(None))
    tokens = session.scalars(query.order_by(Token.created_at.desc())).all()
    return [token for token in tokens if _is_good(session, token)]


def revoke(session: Session, user: User, token_id: UUID, *, actor: Actor) -> None:
    """It works no longer. Another user's token is not found."""
    token = session.get(Token, token_id)
    if token is None or token.user_id != user.id:
        raise NotFound("There is no such token.")
    if token.revoked_at is None:
        token.revoked_at = session.now()
        audit.record(session, actor, "token.revoke", user=user.name, token=token.prefix)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
