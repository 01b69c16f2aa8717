"""Users, passwords and roles."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError

from nav_eval_store import audit
from nav_eval_store.actors import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, NameInUse, NotFound, StoreError
from nav_eval_store.models import Competition, Role, RoleName, User

USER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,38}")
EMAIL = re.compile(r"[^@\s,<>\"]{1,64}@[^@\s,<>\"]{1,190}")
SHORTEST_PASSWORD = 10
_SCRYPT = {"n": 2**15, "r": 8, "p": 1, "maxmem": 2**26}


def create_user(
    session: Session, name: str, *, actor: Actor, email: str | None = None, password: str | None = None
) -> User:
    """A new user; a name or address that somebody has is refused."""
    if not USER_NAME.fullmatch(name):
        raise StoreError("A user's name has 1 to 39 lower-case letters, digits, dots, dashes or underscores.")
    if email is not None and not EMAIL.fullmatch(email):
        raise StoreError("{email!r} is not an e-mail address.", email=email)
    user = User(name=name, email=email and email.lower(), created_at=session.now())
    if password is not None:
        user.password = hashed(password)
    _insert(session, user, "The user name {name!r} or the e-mail address is taken; choose another one.", name=name)
    audit.record(session, actor, "user.create", user=name)
    return user


def _insert(session: Session, row: object, refusal: str, **values: object) -> None:
    session.add(row)
    try:
        session.flush()
    except IntegrityError as error:
        raise NameInUse(refusal, **values) from error


def user_named(session: Session, name: str) -> User:
    user = session.scalar(select(User).where(User.name == name))
    if user is None:
        raise NotFound("There is no user {name!r}.", name=name)
    return user


def disable_user(session: Session, user: User, *, actor: Actor, reason: str) -> None:
    """Nothing works for them from now on: no password, no token."""
    user.disabled_at = session.now()
    audit.record(session, actor, "user.disable", reason=reason, user=user.name)


def set_password(session: Session, user: User, password: str, *, actor: Actor) -> None:
    keep_password(session, user, hashed(password), actor=actor)


def keep_password(session: Session, user: User, kept: str, *, actor: Actor) -> None:
    """A password that was `hashed` before, so that nobody waits for that."""
    user.password = kept
    audit.record(session, actor, "user.password", user=user.name)


def authenticate(session: Session, name: str, password: str) -> User:
    """The user whose name (or e-mail) and password these are."""
    user = session.scalar(select(User).where(or_(User.name == name, User.email == name.lower())))
    known = user.password if user is not None and user.password is not None else _nobody()
    if not matches(password, known) or user is None or user.disabled_at is not None:
        raise BadCredentials("The name or the password is wrong.")
    return user


def hashed(password: str) -> str:
    """What is kept of a password."""
    if not SHORTEST_PASSWORD <= len(password) <= 1000:
        raise StoreError("A password has at least {least} characters.", least=SHORTEST_PASSWORD)
    salt = secrets.token_bytes(16)
    return f"scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def matches(password: str, kept: str) -> bool:
    """Whether `kept` was made of `password`; takes as long either way."""
    _, salt, digest = kept.split("$")
    return hmac.compare_digest(_scrypt(password[:1000], bytes.fromhex(salt)).hex(), digest)


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, **_SCRYPT)


def _nobody() -> str:
    """A hash that nothing matches, so that an unknown name takes as long as a wrong password."""
    return f"scrypt${'00' * 16}${'00' * 64}"


def make_organiser(session: Session, user: User, *, actor: Actor, competition: Competition | None = None) -> None:
    """May do everything: in one competition, or in all. Twice is once."""
    if user.id in {role.user_id for role in _organisers(session, competition, exactly=True)}:
        return
    session.add(
        Role(
            user_id=user.id,
            competition_id=competition.id if competition else None,
            name=RoleName.ORGANISER,
            granted_at=session.now(),
        )
    )
    audit.record(session, actor, "role.grant", audit.about(competition), user=user.name, role=RoleName.ORGANISER)


def unmake_organiser(session: Session, user: User, *, actor: Actor, competition: Competition | None = None) -> None:
    for role in _organisers(session, competition, exactly=True):
        if role.user_id == user.id:
            session.delete(role)
            audit.record(session, actor, "role.revoke", audit.about(competition), user=user.name, role=role.name)


def is_organiser(session: Session, user_id: UUID, competition: Competition | None = None) -> bool:
    """Whether a user organises this competition (None: the whole installation)."""
    return any(role.user_id == user_id for role in _organisers(session, competition))


def _organisers(session: Session, competition: Competition | None, *, exactly: bool = False) -> Sequence[Role]:
    query = select(Role).where(Role.name == RoleName.ORGANISER)
    if competition is None:
        return session.scalars(query.where(Role.competition_id.is_(None))).all()
    here = Role.competition_id == competition.id
    return session.scalars(query.where(here if exactly else or_(here, Role.competition_id.is_(None)))).all()
