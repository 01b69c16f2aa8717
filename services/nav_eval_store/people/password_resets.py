"""A way back for those who forgot their password: a secret that works once, within an hour.

It is mailed to an address that was proved, because an address that was only named may be somebody else's; or an
organiser hands it over, who knows the person. Whoever asks learns nothing about who has an account.
"""

import secrets
from datetime import timedelta

from sqlalchemy import func, or_, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, NotAllowed
from nav_eval_store.models import Proof, ProofKind, Role, User
from nav_eval_store.people.accounts import hash_secret, keep_password
from nav_eval_store.people.addresses import ProofWithSecret

LIFETIME = timedelta(hours=1)
HANDED_LIFETIME = timedelta(days=1)
"""Of a secret that an organiser hands over."""
MAILS_PER_DAY = 5
"""To one account, whoever asks."""
DAY = timedelta(days=1)
_NO_GOOD = "This link has expired; ask for a new one."


def ask_for_reset(session: Session, name: str, *, actor: Actor) -> ProofWithSecret | None:
    """A secret to be mailed to the user with this name or address; None where nothing is to be mailed."""
    user = session.scalar(select(User).where(or_(User.name == name, User.email == name.lower())))
    if user is None or not user.email_verified or user.disabled_at is not None:
        return None
    session.get_one(User, user.id, with_for_update={"key_share": True})  # so that they are counted one at a time
    sent = select(func.count()).where(
        Proof.kind == ProofKind.RESET, Proof.user_id == user.id, Proof.created_at > session.now() - DAY
    )
    if (session.scalar(sent) or 0) >= MAILS_PER_DAY:
        return None
    audit.record(session, actor, "user.reset_asked", user=user.name)
    return _issue(session, user, lifetime=LIFETIME, email=user.email)


def issue_reset(session: Session, user: User, *, actor: Actor, reason: str) -> ProofWithSecret:
    """A secret for somebody whom an organiser knows. The accounts of organisers are not given away like this."""
    if session.scalar(select(Role.id).where(Role.user_id == user.id).limit(1)) is not None:
        raise NotAllowed("{name} is an organiser: their password is reset by mail, or on the server.", name=user.name)
    if user.disabled_at is not None:
        raise NotAllowed("The account of {name} is closed; a new password would not reopen it.", name=user.name)
    audit.record(session, actor, "user.reset_handed", reason=reason, user=user.name)
    return _issue(session, user, lifetime=HANDED_LIFETIME, email=None)


def _issue(session: Session, user: User, *, lifetime: timedelta, email: str | None) -> ProofWithSecret:
    secret, now = f"nvr_{secrets.token_urlsafe(32)}", session.now()
    proof = Proof(
        kind=ProofKind.RESET,
        user_id=user.id,
        digest=hash_secret(secret),
        email=email,
        created_at=now,
        expires_at=now + lifetime,
    )
    session.add(proof)
    session.flush()
    return ProofWithSecret(proof, secret)


def refuse_bad_secret(session: Session, secret: str) -> None:
    """Refuse a secret that is not good, before anything costly is done for it."""
    _find_proof(session, secret)


def reset_password(session: Session, secret: str, kept: str) -> User:
    """Another password, as `hash_password` gave it; every session and token of before ends, and so do other links."""
    proof = _find_proof(session, secret)
    user = session.get_one(User, proof.user_id)
    if user.disabled_at is not None:
        raise BadCredentials(_NO_GOOD)
    others = select(Proof).where(Proof.user_id == user.id, Proof.kind == ProofKind.RESET, Proof.used_at.is_(None))
    for other in session.scalars(others):
        other.used_at = session.now()
    keep_password(session, user, kept, actor=audit.make_user_actor(user))
    return user


def _find_proof(session: Session, secret: str) -> Proof:
    query = select(Proof).where(Proof.digest == hash_secret(secret), Proof.kind == ProofKind.RESET)
    proof = session.scalar(query.with_for_update(key_share=True))
    if proof is None or proof.used_at is not None or proof.expires_at <= session.now():
        raise BadCredentials(_NO_GOOD)
    return proof
