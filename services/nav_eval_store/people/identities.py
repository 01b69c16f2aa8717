"""Identities: who a user is at an OpenID provider.

A person is known by the provider and the subject, the provider's own lasting name for them. Nobody becomes a user of
ours because they have the same e-mail address: addresses are given to somebody else, and some providers let everybody
write what they like. Whoever wants to log in to an account that is there already links it from inside.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import joinedload

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, Conflict, NotFound
from nav_eval_store.models import Identity, Proof, ProofKind, User
from nav_eval_store.people.accounts import create_user, hash_secret
from nav_eval_store.people.addresses import find_email_holder, find_mailbox_owners, refuse_second_account, take_email


class ProvedPerson(NamedTuple):
    """Somebody, as a provider has told us just now."""

    issuer: str
    subject: str
    title: str
    """What the provider calls them."""
    email: str | None
    """Only an address that the provider has verified."""


def find_user(session: Session, person: ProvedPerson) -> User | None:
    """The account that is bound to them."""
    identity = _find(session, person)
    return None if identity is None else identity.user


def _find(session: Session, person: ProvedPerson) -> Identity | None:
    query = select(Identity).where(Identity.issuer == person.issuer, Identity.subject == person.subject)
    return session.scalar(query.options(joinedload(Identity.user)))


def enter(session: Session, person: ProvedPerson, *, state: str, lifetime: timedelta) -> User | None:
    """The account that they log in to, None where there is none; an answer of the provider works once."""
    identity = _find(session, person)
    if identity is None:
        return None
    if identity.user.disabled_at is not None:
        raise BadCredentials("This account is closed; ask the organiser.")
    use_answer(session, identity.user, state=state, lifetime=lifetime)
    identity.used_at = session.now()
    _keep_email(session, identity.user, person)
    return identity.user


def use_answer(session: Session, user: User, *, state: str, lifetime: timedelta) -> None:
    """The answer to `state` is used up, for as long as anybody could bring it again."""
    now = session.now()
    proof = Proof(
        kind=ProofKind.LOGIN, user_id=user.id, digest=hash_secret(state), created_at=now, expires_at=now + lifetime
    )
    proof.used_at = now
    session.insert(proof, otherwise=BadCredentials("This login has already been used; log in again."))


def _keep_email(session: Session, user: User, person: ProvedPerson) -> None:
    """Their own address is proved when the provider says so; another one is not taken over."""
    if person.email is None or person.email != user.email or user.verified_at is not None:
        return
    if not find_mailbox_owners(session, person.email):
        user.verified_at = session.now()


def create_user_of(session: Session, person: ProvedPerson, name: str) -> User:
    """A new user for them. Their address goes with them, unless it is proved to be that of another account."""
    actor = Actor(f"user:{name}")
    if person.email is not None:
        refuse_second_account(session, person.email)
    if (holder := find_email_holder(session, person.email)) is not None:
        take_email(session, holder, actor=actor)
    user = create_user(session, name, actor=actor, email=person.email)
    if person.email is not None:
        user.verified_at = session.now()
    link_identity(session, user, person, actor=actor)
    return user


def link_identity(session: Session, user: User, person: ProvedPerson, *, actor: Actor) -> Identity:
    """From now on they can log in to this account; twice is once."""
    other = Conflict("This login already belongs to another account here.")
    if (known := _find(session, person)) is not None:
        if known.user_id != user.id:
            raise other
        return known
    identity = Identity(
        user_id=user.id,
        issuer=person.issuer,
        subject=person.subject,
        title=person.title[:200],
        created_at=session.now(),
    )
    session.insert(identity, otherwise=other)
    _keep_email(session, user, person)
    audit.record(session, actor, "identity.link", user=user.name, issuer=person.issuer, known_as=person.subject)
    return identity


def list_identities(session: Session, user: User) -> Sequence[Identity]:
    return session.scalars(select(Identity).where(Identity.user_id == user.id).order_by(Identity.created_at)).all()


def remove_identity(session: Session, user: User, identity_id: UUID, *, actor: Actor) -> None:
    """They log in that way no longer; the last way in stays."""
    mine = list_identities(session, user)
    identity = next((each for each in mine if each.id == identity_id), None)
    if identity is None:
        raise NotFound("There is no such login.")
    if user.password is None and len(mine) == 1:
        raise Conflict("This is the only way into your account; choose a password first.")
    session.delete(identity)
    audit.record(session, actor, "identity.unlink", user=user.name, issuer=identity.issuer, known_as=identity.subject)
