"""E-mail addresses: whose they are, what proves it, and who may submit by theirs.

Anybody can name an address; it is proved by a link that was mailed to it and is followed by the account that asked for
it, by an OpenID provider, or by an organiser who vouches for it. Who has proved an address has it: an account
that had only named it loses it. A mailbox proves one person, whichever of its addresses they name.
"""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import func, select

from nav_eval.config.schema.competition import EligibilityConfig
from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import BadCredentials, Conflict, NotAllowed, QuotaExceeded
from nav_eval_store.models import Competition, Proof, ProofKind, Team, TeamMember, User
from nav_eval_store.people.accounts import hash_secret, set_email
from nav_eval_store.people.mailboxes import make_mailbox, normalize_email

LINK_LIFETIME = timedelta(hours=24)
LINKS_PER_USER = 5
"""In an hour."""
LINKS_PER_MAILBOX = 5
"""In a day, whoever asks and however they write the address: it may be somebody else's."""
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class ProofWithSecret(NamedTuple):
    """A link to be mailed, and the only time its secret is seen."""

    proof: Proof
    secret: str


def ask_for_proof(session: Session, user: User, email: str, *, actor: Actor) -> ProofWithSecret:
    """A secret that proves, mailed to the address and brought back by the same user, that it is theirs."""
    email = normalize_email(email)
    session.get_one(User, user.id, with_for_update={"key_share": True})  # so that the links are counted one at a time
    for limit, match, period in (
        (LINKS_PER_USER, Proof.user_id == user.id, HOUR),
        (LINKS_PER_MAILBOX, Proof.mailbox == make_mailbox(email), DAY),
    ):
        since = session.now() - period
        sent = select(func.count()).where(Proof.kind == ProofKind.EMAIL, match, Proof.created_at > since)
        if (session.scalar(sent) or 0) >= limit:
            raise QuotaExceeded(
                "Too many messages have been sent already; look for one of them, or try again later.",
                retry_seconds=int(period.total_seconds()),
            )
    secret, now = f"nvp_{secrets.token_urlsafe(32)}", session.now()
    proof = Proof(
        kind=ProofKind.EMAIL,
        user_id=user.id,
        digest=hash_secret(secret),
        email=email,
        mailbox=make_mailbox(email),
        created_at=now,
        expires_at=now + LINK_LIFETIME,
    )
    session.add(proof)
    session.flush()
    audit.record(session, actor, "user.email_asked", user=user.name, email=email)
    return ProofWithSecret(proof, secret)


def confirm_email(session: Session, secret: str, *, user: User, actor: Actor) -> User:
    """The address is theirs. Nobody else can confirm it: who was mailed by mistake may not help a stranger."""
    query = select(Proof).where(Proof.digest == hash_secret(secret), Proof.kind == ProofKind.EMAIL)
    proof = session.scalar(query.with_for_update(key_share=True))
    if (
        proof is None
        or proof.email is None
        or proof.user_id != user.id
        or proof.used_at is not None
        or proof.expires_at <= session.now()
    ):
        raise BadCredentials("This link is for another account or has expired; ask for a new one.")
    proof.used_at = session.now()
    return give_email(session, user, proof.email, actor=actor)


def vouch_for(session: Session, user: User, *, actor: Actor, reason: str, email: str | None = None) -> User:
    """An organiser knows the person: the address that they named, or this one, is theirs."""
    wanted = user.email if email is None else normalize_email(email)
    if wanted is None:
        raise Conflict("{name} has not given an e-mail address yet.", name=user.name)
    audit.record(session, actor, "user.vouch", reason=reason, user=user.name, email=wanted)
    return give_email(session, user, wanted, actor=actor)


def give_email(session: Session, user: User, email: str, *, actor: Actor) -> User:
    """An address that was proved."""
    refuse_second_account(session, email, user=user)
    holder = find_email_holder(session, email)
    if holder is not None and holder.id != user.id:
        take_email(session, holder, actor=actor)
    set_email(user, email)
    user.verified_at = session.now()
    session.flush()
    audit.record(session, actor, "user.email_verified", user=user.name, email=email)
    return user


def find_email_holder(session: Session, email: str | None) -> User | None:
    return None if email is None else session.scalar(select(User).where(User.email == email))


def refuse_second_account(session: Session, email: str, *, user: User | None = None) -> None:
    """Refuse to prove a second person by one mailbox, whichever of its addresses they name."""
    if any(user is None or owner.id != user.id for owner in find_mailbox_owners(session, email)):
        raise Conflict(
            "Another account has verified {email}, or another address of the same mailbox; log in to that one.",
            email=email,
        )


def find_mailbox_owners(session: Session, email: str) -> Sequence[User]:
    """Accounts that have proved that the mailbox is theirs, the oldest proof first."""
    query = select(User).where(User.mailbox == make_mailbox(email), User.verified_at.is_not(None))
    return session.scalars(query.order_by(User.verified_at, User.id)).all()


def take_email(session: Session, holder: User, *, actor: Actor) -> None:
    """Somebody has proved that an address is theirs: an account that only named it has none any more."""
    audit.record(session, actor, "user.email_lost", user=holder.name, email=holder.email)
    set_email(holder, None)
    session.flush()


def refuse_ineligible_team(session: Session, team: Team, *, user: User | None) -> None:
    """Refuse a team of which somebody may not submit: who takes part is not only who presses the button.

    As people are now: what a request was told of them may be older.
    """
    members = select(TeamMember.user_id).where(TeamMember.team_id == team.id)
    people = {person.id: person for person in session.scalars(select(User).where(User.id.in_(members)))}
    if user is not None:
        refuse_ineligible(session, team.competition, session.get_one(User, user.id))
        people.pop(user.id, None)
    for person in people.values():
        try:
            refuse_ineligible(session, team.competition, person)
        except NotAllowed as error:
            raise NotAllowed(
                "{name} is in your team and may not submit to {title}: they must verify an eligible e-mail "
                "address on their account page, or leave the team.",
                name=person.name,
                title=team.competition.title,
            ) from error


def refuse_ineligible(session: Session, competition: Competition, user: User) -> None:
    """Refuse a person who may not submit to the competition, by its configuration."""
    rules = competition.config.eligibility
    if not rules.needs_email:
        return
    if user.email is None or user.verified_at is None:
        raise NotAllowed(
            "Before you submit to {title}, confirm your e-mail address on your account page; "
            "if no message comes, ask the organiser to confirm it.",
            title=competition.title,
        )
    if rules.allow and not is_allowed(user.email, rules):
        raise NotAllowed(
            "Your e-mail address {email} is not among those that may submit to {title}; "
            "confirm another one on your account page, or ask the organiser.",
            email=user.email,
            title=competition.title,
        )
    if find_mailbox_owners(session, user.email)[0].id != user.id:
        raise NotAllowed(
            "Another account has already verified the mailbox of {email}; submit with that one.", email=user.email
        )


def is_allowed(email: str, rules: EligibilityConfig) -> bool:
    """Whether an address, or its domain, is in the list."""
    return email in rules.allow or f"@{email.rpartition('@')[2]}" in rules.allow
