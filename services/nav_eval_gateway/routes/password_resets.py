"""A forgotten password: a link by mail, or one that an organiser hands over. Nobody learns who has an account."""

import logging
import smtplib
from collections.abc import Callable

from fastapi import APIRouter, BackgroundTasks

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Parts, Services, Store
from nav_eval_gateway.errors import TooManyRequests, Unavailable, describe_problems
from nav_eval_gateway.schemas.organisers import Why
from nav_eval_gateway.schemas.people import HandedReset, PasswordReset, ResetWish
from nav_eval_store.audit import make_system_actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, OperatorError
from nav_eval_store.notifications.sender import Letter, send_letter
from nav_eval_store.people import accounts, password_resets

log = logging.getLogger("nav_eval_gateway.password_resets")
router = APIRouter(tags=["users"])
WriteLetter = Callable[[str], tuple[str, str]]
"""Subject and text of the message that brings a secret."""
WEB = make_system_actor("web")


@router.post("/password-reset", status_code=204, responses=describe_problems(409))
def ask_for_reset(wish: ResetWish, parts: Parts, later: BackgroundTasks) -> None:
    """Have a link mailed to the account's verified address; the answer is the same whether there is such an account."""

    def write(secret: str) -> tuple[str, str]:
        return "nav-eval: a new password", (
            "Somebody asked for a new password for your account. If it was you, send this secret and the new password "
            f"to POST /api/v1/password-reset/confirm within an hour:\n\n{secret}\n\n"
            "If it was not, you need not do anything.\n"
        )

    refuse_without_mail(parts)
    later.add_task(send_reset, parts, wish.name, write)


def refuse_without_mail(parts: Services) -> None:
    if parts.settings.smtp is None:
        raise Conflict("This installation sends no e-mail; ask the organiser for a new password.")


def send_reset(parts: Services, name: str, write: WriteLetter) -> None:
    """After the answer, so that how long it takes tells nothing either."""
    issued = parts.database.run(lambda session: password_resets.ask_for_reset(session, name, actor=WEB))
    smtp = parts.settings.smtp
    if issued is None or smtp is None:
        return
    letter = Letter(issued.proof.id, str(issued.proof.email), *write(issued.secret))
    try:
        with parts.mails:
            send_letter(smtp, letter, now=issued.proof.created_at)
    except (smtplib.SMTPException, OSError, ValueError, OperatorError, Unavailable, TooManyRequests) as error:
        log.warning("the message of a forgotten password could not be sent: %s", error)


@router.post("/password-reset/confirm", status_code=204, responses=describe_problems(401))
def reset_password(wanted: PasswordReset, parts: Parts) -> None:
    """Another password by the secret of the message; every session and token of before ends."""
    with parts.database.begin() as session:
        password_resets.refuse_bad_secret(session, wanted.secret)
    with parts.passwords:
        kept = accounts.hash_password(wanted.new)
    parts.database.run(lambda session: password_resets.reset_password(session, wanted.secret, kept))


organiser_router = APIRouter(tags=["organising"], responses=describe_problems(401, 403, 404))


@organiser_router.post("/users/{user}/password-reset", status_code=201, summary="Hand over a new password")
def issue_reset(user: str, why: Why, caller: Organiser, store: Store) -> HandedReset:
    """A secret with which a user who forgot their password sets a new one; for organisers of the installation."""

    def issue(session: Session) -> HandedReset:
        permissions.require_organiser(session, caller)
        found = accounts.get_user(session, user)
        issued = password_resets.issue_reset(session, found, actor=caller.actor, reason=why.reason)
        return HandedReset(secret=issued.secret, expires_at=issued.proof.expires_at)

    return store.run(issue)
