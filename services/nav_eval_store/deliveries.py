"""Webhooks: who wants to hear of a submission's state changes, and what is still on its way to them.

A delivery is a row made in the transaction of its event, so none is forgotten; it is sent at least
once. Whoever sends takes due rows for a while (`take_due`), then reports (`succeeded`, `failed`).
"""

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from sqlalchemy import Select, or_, select

from nav_eval_store import audit
from nav_eval_store.actors import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound, StoreError
from nav_eval_store.models import Competition, Delivery, Event, Team, Webhook

SENDING = timedelta(minutes=2)
"""How long a sender may take before somebody else tries."""
PAUSES = tuple(timedelta(seconds=s) for s in (10, 60, 600, 3600, 6 * 3600, 24 * 3600))
"""Between attempts; after the last one the delivery is given up."""
SCHEMES = ("https", "http", "mailto")
MOST_PER_TEAM = 10
TEST_KIND = "webhook.test"


def add_webhook(
    session: Session,
    owner: Team | Competition,
    url: str,
    *,
    actor: Actor,
    kinds: Sequence[str] = ("submission.state",),
) -> Webhook:
    """Send word of a team's submissions (or, for organisers, of all in a competition) to `url`."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.path) or len(url) > 2000:
        raise StoreError("A webhook needs an address that begins with {schemes}.", schemes=", ".join(SCHEMES))
    team = owner if isinstance(owner, Team) else None
    if len(webhooks(session, owner)) >= MOST_PER_TEAM:
        raise StoreError("There are {most} webhooks already; remove one first.", most=MOST_PER_TEAM)
    hook = Webhook(
        competition_id=team.competition_id if team else owner.id,
        team_id=team.id if team else None,
        url=url,
        secret=secrets.token_urlsafe(32),
        kinds=list(kinds),
        created_at=session.now(),
    )
    session.add(hook)
    session.flush()
    audit.record(session, actor, "webhook.add", audit.about(owner), webhook=str(hook.id), url=url)
    return hook


def webhooks(session: Session, owner: Team | Competition) -> Sequence[Webhook]:
    """Those of a team, or those of a competition's organisers."""
    query = select(Webhook).where(Webhook.disabled_at.is_(None)).order_by(Webhook.created_at)
    if isinstance(owner, Team):
        return session.scalars(query.where(Webhook.team_id == owner.id)).all()
    return session.scalars(query.where(Webhook.competition_id == owner.id, Webhook.team_id.is_(None))).all()


def remove_webhook(session: Session, owner: Team | Competition, webhook_id: UUID, *, actor: Actor) -> None:
    hook = webhook(session, owner, webhook_id)
    hook.disabled_at, hook.disabled_reason = session.now(), "removed"
    audit.record(session, actor, "webhook.remove", audit.about(owner), webhook=str(webhook_id))


def listeners(session: Session, events: Sequence[Event]) -> Sequence[Webhook]:
    """Every webhook that may want one of `events`."""
    teams = {event.team_id for event in events if event.team_id is not None}
    competitions = {event.competition_id for event in events if event.competition_id is not None}
    theirs = Webhook.team_id.in_(teams)
    organisers = Webhook.team_id.is_(None) & Webhook.competition_id.in_(competitions)
    return session.scalars(select(Webhook).where(Webhook.disabled_at.is_(None), or_(theirs, organisers))).all()


def enqueue(session: Session, events: Sequence[Event], hooks: Sequence[Webhook]) -> None:
    """A delivery for each webhook that wants an event."""
    session.add_all(
        Delivery(webhook_id=hook.id, event_id=event.id, body=body(event), due_at=event.at)
        for event in events
        for hook in hooks
        if _wants(hook, event)
    )


def webhook(session: Session, owner: Team | Competition, webhook_id: UUID) -> Webhook:
    """One of an owner's webhooks."""
    hook = next((hook for hook in webhooks(session, owner) if hook.id == webhook_id), None)
    if hook is None:
        raise NotFound("There is no such webhook.")
    return hook


def enqueue_test(session: Session, hook: Webhook) -> Delivery:
    """A delivery that shows its owner whether it arrives; sent once, like any other."""
    now = session.now()
    said = {"id": 0, "kind": TEST_KIND, "at": now.isoformat(), "competition_id": str(hook.competition_id), "data": {}}
    delivery = Delivery(webhook_id=hook.id, event_id=0, body=said, due_at=now, attempts=0)
    session.add(delivery)
    session.flush()
    return delivery


def recent(session: Session, hook: Webhook, *, limit: int = 20) -> Sequence[Delivery]:
    """The last deliveries of a webhook, newest first."""
    query = select(Delivery).where(Delivery.webhook_id == hook.id)
    return session.scalars(query.order_by(Delivery.due_at.desc(), Delivery.id).limit(limit)).all()


def _wants(hook: Webhook, event: Event) -> bool:
    kinds = hook.kinds or ["submission.state"]
    concerned = hook.team_id == event.team_id if hook.team_id else hook.competition_id == event.competition_id
    return concerned and event.kind in kinds


def body(event: Event) -> dict[str, Any]:
    """What a receiver gets; the gateway's live events have the same form."""
    ids = {
        name: str(value)
        for name in ("competition_id", "phase_id", "team_id", "submission_id")
        if (value := getattr(event, name)) is not None
    }
    return {"id": event.id, "kind": event.kind, "at": event.at.isoformat(), **ids, "data": event.payload}


def _due(session: Session, limit: int) -> Select[Delivery]:
    return (
        select(Delivery)
        .join(Delivery.webhook)
        .where(
            Delivery.delivered_at.is_(None),
            Delivery.given_up_at.is_(None),
            Delivery.due_at <= session.now(),
            Webhook.disabled_at.is_(None),
        )
        .order_by(Delivery.due_at)
        .limit(limit)
    )


def any_due(session: Session) -> bool:
    """Whether there is something to send."""
    return session.scalar(_due(session, 1)) is not None


def take_due(session: Session, *, limit: int = 20) -> Sequence[Delivery]:
    """Deliveries to send now; nobody else gets them for a while."""
    due = session.scalars(_due(session, limit).with_for_update(skip_locked=True, of=Delivery)).all()
    for delivery in due:
        delivery.due_at = session.now() + SENDING
        delivery.attempts += 1
    return due


def succeeded(session: Session, delivery_id: UUID, *, status: int) -> None:
    delivery = session.get_one(Delivery, delivery_id)
    delivery.delivered_at, delivery.status, delivery.error = session.now(), status, None


def failed(session: Session, delivery_id: UUID, *, error: str, status: int | None = None) -> None:
    """Try again later, until it is no use."""
    delivery = session.get_one(Delivery, delivery_id)
    delivery.status, delivery.error = status, error[:500]
    if delivery.attempts > len(PAUSES):
        delivery.given_up_at = session.now()
    else:
        delivery.due_at = session.now() + PAUSES[delivery.attempts - 1]
