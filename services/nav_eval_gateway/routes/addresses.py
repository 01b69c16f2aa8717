"""E-mail addresses: asking for a link, following it; and an organiser's word where no mail comes."""

import smtplib
from collections.abc import Callable

from fastapi import APIRouter

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Parts, Services, Store, TeamManager
from nav_eval_gateway.errors import Unavailable, describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.schemas.organisers import Why
from nav_eval_gateway.schemas.people import EmailSecret, EmailSent, EmailWish, UserAnswer
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, OperatorError
from nav_eval_store.models import User
from nav_eval_store.notifications.sender import Letter, send_letter
from nav_eval_store.people import accounts, addresses
from nav_eval_store.people.addresses import ProofWithSecret

router = APIRouter(tags=["users"])
WriteLetter = Callable[[ProofWithSecret], tuple[str, str]]
"""Subject and text of the message that brings a secret."""


@router.post("/me/email", status_code=202, responses=describe_problems(401, 403, 409))
def ask_for_link(wish: EmailWish, caller: TeamManager, parts: Parts) -> EmailSent:
    """Have a link mailed to an address, yours or a new one; it becomes yours when you follow the link, logged in."""

    def write(issued: ProofWithSecret) -> tuple[str, str]:
        return "nav-eval: confirm your e-mail address", (
            f"{caller.user.name} says that this address is theirs. If that is you, send this secret to "
            f"POST /api/v1/me/email/confirm, or paste it on your account page, within a day:\n\n{issued.secret}\n\n"
            "If it is not, you need not do anything.\n"
        )

    return send_link(wish.email, caller, parts, write)


def send_link(email: str, caller: SignedIn, parts: Services, write: WriteLetter) -> EmailSent:
    """Send a message that proves an address; the row is there first, so that the limits hold whatever happens."""
    smtp = parts.settings.smtp
    if smtp is None:
        raise Conflict("This installation sends no e-mail; ask the organiser to confirm your address.")

    def ask(session: Session) -> ProofWithSecret:
        user = session.get_one(User, caller.user.id)
        return addresses.ask_for_proof(session, user, email, actor=caller.actor)

    issued = parts.database.run(ask)
    proof = issued.proof
    letter = Letter(proof.id, str(proof.email), *write(issued))
    try:
        with parts.mails:
            send_letter(smtp, letter, now=proof.created_at)
    except (smtplib.SMTPException, OSError, ValueError, OperatorError) as error:
        raise Unavailable("The message could not be sent; try again later, or ask the organiser.") from error
    return EmailSent(email=letter.to, expires_at=proof.expires_at)


@router.post("/me/email/confirm", responses=describe_problems(401, 403, 409))
def confirm_email(proof: EmailSecret, caller: TeamManager, store: Store) -> UserAnswer:
    """The address that the secret was mailed to is yours from now on."""

    def confirm(session: Session) -> UserAnswer:
        user = session.get_one(User, caller.user.id)
        return UserAnswer.from_row(addresses.confirm_email(session, proof.secret, user=user, actor=caller.actor))

    return store.run(confirm)


organiser_router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))


@organiser_router.post("/users/{user}/vouch", responses=describe_problems(409), summary="Vouch for an address")
def vouch_for_user(user: str, why: Why, caller: Organiser, store: Store) -> UserAnswer:
    """The e-mail address that a user named is theirs, by your word; for organisers of the installation."""

    def vouch(session: Session) -> UserAnswer:
        permissions.require_organiser(session, caller)
        found = accounts.get_user(session, user)
        return UserAnswer.from_row(addresses.vouch_for(session, found, actor=caller.actor, reason=why.reason))

    return store.run(vouch)
