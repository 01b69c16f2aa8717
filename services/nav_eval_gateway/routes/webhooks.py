"""Webhooks: of a team for its own submissions, of organisers for all in a competition."""

from collections.abc import Callable
from uuid import UUID

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from nav_eval_gateway import permissions
from nav_eval_gateway.dependencies import Organiser, Parts, Reader, Services, Store, TeamManager
from nav_eval_gateway.errors import describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.schemas.people import DeliveryAnswer, IssuedWebhook, NewWebhook, WebhookAnswer
from nav_eval_store import audit
from nav_eval_store.database import Session
from nav_eval_store.errors import NotAllowed, StoreError
from nav_eval_store.models import Competition, Team
from nav_eval_store.notifications import webhooks
from nav_eval_store.notifications.webhook_secrets import open_secret
from nav_eval_store.people import teams

router = APIRouter(tags=["webhooks"], responses=describe_problems(401, 403, 404))
Owner = Team | Competition


@router.get("/teams/{team_id}/webhooks")
def list_webhooks(team_id: UUID, caller: Reader, store: Store) -> list[WebhookAnswer]:
    """The team's webhooks."""
    with store.read() as session:
        team = permissions.get_team(session, caller, team_id).team
        return [WebhookAnswer.from_row(hook) for hook in webhooks.list_webhooks(session, team)]


@router.post("/teams/{team_id}/webhooks", status_code=201)
async def create_webhook(team_id: UUID, wanted: NewWebhook, caller: TeamManager, parts: Parts) -> IssuedWebhook:
    """Hear of the team's submissions; for captains. The secret is shown this once."""
    return await _create(
        parts, caller, wanted, lambda session: permissions.get_captained_team(session, caller, team_id)
    )


@router.delete("/teams/{team_id}/webhooks/{webhook_id}", status_code=204)
def remove_webhook(team_id: UUID, webhook_id: UUID, caller: TeamManager, store: Store) -> Response:
    """Hear no more; for captains."""

    def remove(session: Session) -> None:
        team = permissions.get_captained_team(session, caller, team_id)
        webhooks.remove_webhook(session, team, webhook_id, actor=caller.actor)

    store.run(remove)
    return Response(status_code=204)


@router.post("/teams/{team_id}/webhooks/{webhook_id}/test", status_code=202)
def try_webhook(team_id: UUID, webhook_id: UUID, caller: TeamManager, store: Store) -> DeliveryAnswer:
    """Send a message of the kind `webhook.test`; its deliveries say whether it arrived. For captains."""
    return store.run(
        lambda session: _try(session, permissions.get_captained_team(session, caller, team_id), webhook_id, caller)
    )


@router.get("/teams/{team_id}/webhooks/{webhook_id}/deliveries")
def list_deliveries(team_id: UUID, webhook_id: UUID, caller: Reader, store: Store) -> list[DeliveryAnswer]:
    """The last twenty messages, newest first, and what became of them."""
    with store.read() as session:
        return _list_recent(session, permissions.get_team(session, caller, team_id).team, webhook_id)


@router.get("/competitions/{competition}/webhooks")
def list_competition_webhooks(competition: str, caller: Organiser, store: Store) -> list[WebhookAnswer]:
    """The organisers' webhooks."""
    with store.read() as session:
        organised = permissions.get_organised_competition(session, caller, competition)
        return [WebhookAnswer.from_row(hook) for hook in webhooks.list_webhooks(session, organised)]


@router.post("/competitions/{competition}/webhooks", status_code=201)
async def create_competition_webhook(
    competition: str, wanted: NewWebhook, caller: Organiser, parts: Parts
) -> IssuedWebhook:
    """Hear of all submissions of a competition; for organisers."""
    return await _create(
        parts, caller, wanted, lambda session: permissions.get_organised_competition(session, caller, competition)
    )


@router.delete("/competitions/{competition}/webhooks/{webhook_id}", status_code=204)
def remove_competition_webhook(competition: str, webhook_id: UUID, caller: Organiser, store: Store) -> Response:
    """Hear no more; for organisers."""

    def remove(session: Session) -> None:
        organised = permissions.get_organised_competition(session, caller, competition)
        webhooks.remove_webhook(session, organised, webhook_id, actor=caller.actor)

    store.run(remove)
    return Response(status_code=204)


@router.post("/competitions/{competition}/webhooks/{webhook_id}/test", status_code=202)
def try_competition_webhook(competition: str, webhook_id: UUID, caller: Organiser, store: Store) -> DeliveryAnswer:
    """Send a message of the kind `webhook.test`; for organisers."""
    return store.run(
        lambda session: _try(
            session, permissions.get_organised_competition(session, caller, competition), webhook_id, caller
        )
    )


@router.get("/competitions/{competition}/webhooks/{webhook_id}/deliveries")
def list_competition_deliveries(
    competition: str, webhook_id: UUID, caller: Organiser, store: Store
) -> list[DeliveryAnswer]:
    """The last twenty messages, newest first; for organisers."""
    with store.read() as session:
        return _list_recent(session, permissions.get_organised_competition(session, caller, competition), webhook_id)


async def _create(
    parts: Services, caller: SignedIn, wanted: NewWebhook, owner_of: Callable[[Session], Owner]
) -> IssuedWebhook:
    is_mail = wanted.url.startswith(webhooks.MAIL)

    def create(session: Session) -> IssuedWebhook:
        owner = owner_of(session)
        if is_mail:
            _refuse_foreign_mail(session, owner, caller, wanted.url)
        kinds = [kind.value for kind in wanted.kinds]
        hook = webhooks.add_webhook(session, owner, wanted.url, actor=caller.actor, kinds=kinds)
        return IssuedWebhook.from_row(hook, secret=open_secret(session.keyring, hook.id, hook.secret))

    def refuse_strangers() -> None:
        with parts.database.read() as session:
            owner_of(session)

    await run_in_threadpool(refuse_strangers)  # nobody else makes us ask name servers
    if not is_mail:
        await parts.names.check_target(wanted.url, f"user {caller.user.id}", parts.limits.lookups)
    return await run_in_threadpool(parts.database.run, create)


def _refuse_foreign_mail(session: Session, owner: Owner, caller: SignedIn, url: str) -> None:
    """We write to those who have proved that the address is theirs, and to nobody else."""
    address = webhooks.get_mail_address(url)
    if "?" in url or not address.isprintable():
        raise StoreError("Write only the address after mailto:.")
    members = teams.list_members(session, owner) if isinstance(owner, Team) else ()
    people = [caller.user, *(member.user for member in members)]
    if address not in {person.email for person in people if person.email_verified}:
        raise NotAllowed(
            "E-mail is sent only to verified addresses of yourself or of team members; "
            "verify yours on your account page."
        )


def _try(session: Session, owner: Owner, webhook_id: UUID, caller: SignedIn) -> DeliveryAnswer:
    hook = webhooks.get_webhook(session, owner, webhook_id)
    audit.record(session, caller.actor, "webhook.test", audit.make_subject(owner), webhook=str(hook.id))
    return DeliveryAnswer.of(webhooks.enqueue_test(session, hook))


def _list_recent(session: Session, owner: Owner, webhook_id: UUID) -> list[DeliveryAnswer]:
    hook = webhooks.get_webhook(session, owner, webhook_id)
    return [DeliveryAnswer.of(delivery) for delivery in webhooks.list_recent_deliveries(session, hook)]
