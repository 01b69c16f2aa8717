"""Webhooks: who wants to hear of a submission's state changes, and what is still on its way to them.

A delivery is a row made in the transaction of its event, so none is forgotten; it is sent at least
once. Whoever sends takes due rows for a while (`take_due`), then reports (`record_success`, `record_failure`).

A webhook may reach public addresses only, unless the organiser says otherwise. A team chooses the address, and we are
the ones who call it: without this check it could make us call our own database, the cloud's metadata service, or a
neighbour. The check is made on the numbers that the name stands for, and the call then goes to exactly these numbers,
so that a name which changes its meaning in between gains nothing.
"""

import math
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Select, and_, func, or_, select

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import NotFound, QuotaExceeded, StoreError
from nav_eval_store.models import Competition, Delivery, OutboxEvent, Team, TeamMember, User, Webhook
from nav_eval_store.notifications.webhook_secrets import seal_secret
from nav_eval_store.people import accounts

SENDING = timedelta(minutes=2)
"""How long a sender may take before somebody else tries."""
HOUR = timedelta(hours=1)
PAUSES = tuple(timedelta(seconds=s) for s in (10, 60, 600, 3600, 6 * 3600, 24 * 3600))
"""Between attempts; after the last one the delivery is given up."""
SCHEMES = ("https", "http", "mailto")
MOST_PER_TEAM = 10
TEST_KIND = "webhook.test"
TESTS_PER_HOUR = 5
"""Of one receiver, whoever asks: an address may be somebody else's."""
TESTS_OF_OWNER_PER_HOUR = 20


def add_webhook(
    session: Session, owner: Team | Competition, url: str, *, actor: Actor, kinds: Sequence[str] = ("submission.state",)
) -> Webhook:
    """Send word of a team's submissions (or, for organisers, of all in a competition) to `url`."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.path) or len(url) > 2000:
        raise StoreError("A webhook needs an address that begins with {schemes}.", schemes=", ".join(SCHEMES))
    team = owner if isinstance(owner, Team) else None
    if len(list_webhooks(session, owner)) >= MOST_PER_TEAM:
        raise StoreError("There are already {most} webhooks; remove one first.", most=MOST_PER_TEAM)
    hook_id = uuid4()
    hook = Webhook(
        id=hook_id,
        competition_id=team.competition_id if team else owner.id,
        team_id=team.id if team else None,
        url=url,
        secret=seal_secret(session.keyring, hook_id, secrets.token_urlsafe(32)),
        kinds=list(kinds),
        created_at=session.now(),
    )
    session.add(hook)
    session.flush()
    audit.record(session, actor, "webhook.add", audit.make_subject(owner), webhook=str(hook.id), url=url)
    return hook


def list_webhooks(session: Session, owner: Team | Competition) -> Sequence[Webhook]:
    """Those of a team, or those of a competition's organisers."""
    query = select(Webhook).where(Webhook.disabled_at.is_(None)).order_by(Webhook.created_at)
    if isinstance(owner, Team):
        return session.scalars(query.where(Webhook.team_id == owner.id)).all()
    return session.scalars(query.where(Webhook.competition_id == owner.id, Webhook.team_id.is_(None))).all()


def remove_webhook(session: Session, owner: Team | Competition, webhook_id: UUID, *, actor: Actor) -> None:
    hook = get_webhook(session, owner, webhook_id)
    hook.disabled_at, hook.disabled_reason = session.now(), "removed"
    audit.record(session, actor, "webhook.remove", audit.make_subject(owner), webhook=str(webhook_id))


def find_listeners(session: Session, events: Sequence[OutboxEvent]) -> Sequence[Webhook]:
    """Every webhook that may want one of `events`."""
    teams = {event.team_id for event in events if event.team_id is not None}
    competitions = {event.competition_id for event in events if event.competition_id is not None}
    theirs = Webhook.team_id.in_(teams)
    organisers = Webhook.team_id.is_(None) & Webhook.competition_id.in_(competitions)
    return session.scalars(select(Webhook).where(Webhook.disabled_at.is_(None), or_(theirs, organisers))).all()


def enqueue_deliveries(session: Session, events: Sequence[OutboxEvent], hooks: Sequence[Webhook]) -> None:
    """A delivery for each webhook that wants an event."""
    session.add_all(
        Delivery(webhook_id=hook.id, event_id=event.id, body=make_body(event), due_at=event.at, created_at=event.at)
        for event in events
        for hook in hooks
        if _is_wanted(hook, event)
    )


def get_webhook(session: Session, owner: Team | Competition, webhook_id: UUID) -> Webhook:
    """One of an owner's webhooks."""
    hook = next((hook for hook in list_webhooks(session, owner) if hook.id == webhook_id), None)
    if hook is None:
        raise NotFound("There is no such webhook.")
    return hook


def enqueue_test(session: Session, hook: Webhook) -> Delivery:
    """A delivery that shows its owner whether it arrives; sent once, like any other. So many in an hour."""
    now = session.now()
    of_owner = Webhook.team_id == hook.team_id if hook.team_id else Webhook.competition_id == hook.competition_id
    for which, most in ((Webhook.url == hook.url, TESTS_PER_HOUR), (of_owner, TESTS_OF_OWNER_PER_HOUR)):
        if (wait := _find_test_pause(session, which, most)) is not None:
            raise QuotaExceeded(
                "There were {most} tests in the last hour; wait before sending another.", most=most, retry_seconds=wait
            )
    said = {"id": 0, "kind": TEST_KIND, "at": now.isoformat(), "competition_id": str(hook.competition_id), "data": {}}
    delivery = Delivery(webhook_id=hook.id, event_id=0, body=said, due_at=now, created_at=now, attempts=0)
    session.add(delivery)
    session.flush()
    return delivery


def _find_test_pause(session: Session, which: ColumnElement[bool], most: int) -> int | None:
    """Seconds until one more test is possible; webhooks that were removed count, too."""
    query = (
        select(Delivery.created_at)
        .join(Delivery.webhook)
        .where(which, Delivery.event_id == 0, Delivery.created_at > session.now() - HOUR)
        .order_by(Delivery.created_at.desc())
        .limit(most)
    )
    made = session.scalars(query).all()
    return None if len(made) < most else max(1, math.ceil((made[-1] + HOUR - session.now()).total_seconds()))


def list_recent_deliveries(session: Session, hook: Webhook, *, limit: int = 20) -> Sequence[Delivery]:
    """The last deliveries of a webhook, newest first."""
    query = select(Delivery).where(Delivery.webhook_id == hook.id)
    return session.scalars(query.order_by(Delivery.due_at.desc(), Delivery.id).limit(limit)).all()


def _is_wanted(hook: Webhook, event: OutboxEvent) -> bool:
    kinds = hook.kinds or ["submission.state"]
    concerned = hook.team_id == event.team_id if hook.team_id else hook.competition_id == event.competition_id
    return concerned and event.kind in kinds


def make_body(event: OutboxEvent) -> dict[str, Any]:
    """What a receiver gets; the gateway's live events have the same form."""
    ids = {
        name: str(value)
        for name in ("competition_id", "phase_id", "team_id", "submission_id")
        if (value := getattr(event, name)) is not None
    }
    return {"id": event.id, "kind": event.kind, "at": event.at.isoformat(), **ids, "data": event.payload}


PER_RECEIVER = 2
"""Deliveries to one webhook at a time: who is slow keeps others waiting with no more than these."""
PER_OWNER = 6
"""Deliveries of one team, or of a competition's organisers, at a time."""


class Busy(NamedTuple):
    """What is on its way already."""

    receivers: Mapping[UUID, int]
    """Deliveries by webhook."""
    owners: Mapping[UUID, int]
    """Deliveries by team, or competition where organisers listen."""


IDLE = Busy({}, {})


def _make_due_condition(session: Session) -> ColumnElement[bool]:
    return and_(
        Delivery.delivered_at.is_(None),
        Delivery.given_up_at.is_(None),
        Delivery.due_at <= session.now(),
        Webhook.disabled_at.is_(None),
    )


def has_due(session: Session) -> bool:
    """Whether there is something to send."""
    query = select(Delivery.id).join(Delivery.webhook).where(_make_due_condition(session)).limit(1)
    return session.scalar(query) is not None


def take_due(session: Session, *, limit: int = 20, busy: Busy = IDLE, retries: int | None = None) -> Sequence[Delivery]:
    """Deliveries to send now; nobody else gets them for a while.

    The oldest of each receiver first, so many of each receiver and owner, and of those that failed before no more than
    `retries`: a receiver that is slow or dead takes no place of another one.
    """
    wanted = _choose_due(session, limit=limit, busy=busy, retries=limit if retries is None else retries)
    locked = select(Delivery).where(Delivery.id.in_(wanted), Delivery.due_at <= session.now())
    due = session.scalars(locked.order_by(Delivery.due_at).with_for_update(skip_locked=True, of=Delivery)).all()
    for delivery in due:
        delivery.due_at = session.now() + SENDING
        delivery.attempts += 1
    return due


def _choose_due(session: Session, *, limit: int, busy: Busy, retries: int) -> list[UUID]:
    chosen: list[UUID] = []
    receivers, owners = Counter(busy.receivers), Counter(busy.owners)
    for delivery_id, webhook_id, owner_id, attempts in session.execute(_select_candidates(session)):
        full = receivers[webhook_id] >= PER_RECEIVER or owners[owner_id] >= PER_OWNER
        if full or (attempts and retries <= 0) or len(chosen) >= limit:
            continue
        retries -= 1 if attempts else 0
        receivers[webhook_id] += 1
        owners[owner_id] += 1
        chosen.append(delivery_id)
    return chosen


def _select_candidates(session: Session) -> Select[Any]:
    """The next few of every receiver, the longest due first."""
    place = func.row_number().over(partition_by=Delivery.webhook_id, order_by=(Delivery.due_at, Delivery.id))
    due = (
        select(
            Delivery.id,
            Delivery.webhook_id,
            func.coalesce(Webhook.team_id, Webhook.competition_id).label("owner_id"),
            Delivery.attempts,
            Delivery.due_at,
            place.label("place"),
        )
        .join(Delivery.webhook)
        .where(_make_due_condition(session))
        .subquery()
    )
    first = select(due.c.id, due.c.webhook_id, due.c.owner_id, due.c.attempts).where(due.c.place <= PER_RECEIVER)
    return first.order_by(due.c.place, due.c.due_at)


MAIL = "mailto:"
NO_READER = "The address is no longer a verified one of the team or its organisers."


def get_mail_address(url: str) -> str:
    """To whom a `mailto:` webhook writes."""
    return unquote(url.removeprefix(MAIL).partition("?")[0]).lower()


def drop_if_unread(session: Session, delivery: Delivery) -> bool:
    """Whether nobody may read this mail any more: then its webhook ends, and nothing is sent.

    Who has left a team, lost the address or been shut out hears nothing more of it, as on pages and streams.
    """
    hook = delivery.webhook
    if not hook.url.startswith(MAIL) or _has_reader(session, hook):
        return False
    delivery.given_up_at, delivery.error = session.now(), NO_READER
    hook.disabled_at, hook.disabled_reason = session.now(), NO_READER
    return True


def _has_reader(session: Session, hook: Webhook) -> bool:
    """Whether somebody has proved the address who is in the team, or organises the competition."""
    query = select(User).where(
        User.email == get_mail_address(hook.url), User.verified_at.is_not(None), User.disabled_at.is_(None)
    )
    reader = session.scalar(query)
    if reader is None:
        return False
    if hook.team_id is not None and session.get(TeamMember, (hook.team_id, reader.id)) is not None:
        return True
    return accounts.is_organiser(session, reader.id, session.get(Competition, hook.competition_id))


def record_success(session: Session, delivery_id: UUID, *, status: int) -> None:
    delivery = session.get_one(Delivery, delivery_id)
    delivery.delivered_at, delivery.status, delivery.error = session.now(), status, None


def record_failure(session: Session, delivery_id: UUID, *, error: str, status: int | None = None) -> None:
    """Try again later, until it is no use."""
    delivery = session.get_one(Delivery, delivery_id)
    delivery.status, delivery.error = status, error[:500]
    if delivery.attempts > len(PAUSES):
        delivery.given_up_at = session.now()
    else:
        delivery.due_at = session.now() + PAUSES[delivery.attempts - 1]


Resolve = Callable[[str, int], Sequence[str]]
_NAT64 = IPv6Address("64:ff9b::")
_PORTS = {"http": 80, "https": 443}


class ForbiddenAddress(StoreError):
    """A webhook may not point into a private network."""


def parse_url(url: str) -> SplitResult:
    """The parts of an http(s) address without tricks in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise StoreError("This is not an address; write https://host/path.") from error
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise StoreError("This is not an address; write https://host/path.")
    if parts.username is not None or parts.password is not None:
        raise StoreError("A webhook's address has no user name or password in it: check our signature instead.")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise StoreError("An address has only ASCII characters and no spaces; encode others with %.")
    return parts


def get_port(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def resolve(host: str, port: int) -> Sequence[str]:
    """The numbers that a name stands for."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StoreError("There is no host {host!r}.", host=host) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def resolve_target(url: str, *, allow_private: bool = False, resolve: Resolve = resolve) -> str:
    """The number to call for `url`; refused if any of its numbers is not public."""
    parts = parse_url(url)
    numbers = resolve(parts.hostname or "", get_port(parts))
    if not allow_private and not all(is_public(number) for number in numbers):
        raise ForbiddenAddress(
            "{hostname} is in a private network; a webhook needs a public address.", hostname=parts.hostname
        )
    return numbers[0]


def is_public(number: str) -> bool:
    """Whether an address belongs to the open network, also when it is wrapped in another one."""
    try:
        address = ip_address(number.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and (inner := _unwrap_address(address)) is not None:
        return is_public(str(inner))
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _unwrap_address(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries."""
    if int(address) >> 32 == int(_NAT64) >> 32:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
