"""Sending webhooks and e-mails: `deliver` takes what is due, sends it, and writes down what became of it.

Deliveries go out side by side, so many to each receiver and of each owner, and each has a deadline for the whole of its
way; as soon as one has ended, the next one takes its place. So a receiver who takes its time costs the others nothing,
and receivers that failed before never take more than half of the places.

`NAV_EVAL_SMTP` is `smtps://user:password@host` or `smtp://host` (STARTTLS where the server has it; a
password is never sent without); `NAV_EVAL_MAIL_FROM` is the sender's address.
"""

import asyncio
import logging
import os
import smtplib
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit
from uuid import UUID

import msgspec

from nav_eval_store.database import Database, Session
from nav_eval_store.encryption import Keyring
from nav_eval_store.errors import OperatorError
from nav_eval_store.models import Competition, Submission
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.notifications.signatures import SIGNATURE, sign_body
from nav_eval_store.notifications.webhook_secrets import open_secret
from nav_eval_store.settings import read_flag, read_variable

if TYPE_CHECKING:
    from httpx import AsyncClient

log = logging.getLogger("nav_eval_store.notifications.sender")
SECONDS = 10.0
"""For the whole of one delivery, from its name to its answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SmtpSettings:
    """How e-mail leaves."""

    host: str
    port: int
    tls: bool  #: from the first byte; otherwise STARTTLS where there is one
    user: str | None = None
    password: str | None = None
    sender: str = "nav-eval@localhost"

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "SmtpSettings | None":
        """None where no e-mail is sent."""
        variables = os.environ if environ is None else environ
        url = read_variable(variables, "NAV_EVAL_SMTP")
        if not url:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
            raise OperatorError("NAV_EVAL_SMTP must be smtps://user:password@host or smtp://host.")
        tls = parts.scheme == "smtps"
        return cls(
            host=parts.hostname,
            port=parts.port or (465 if tls else 587),
            tls=tls,
            user=unquote(parts.username) if parts.username else None,
            password=unquote(parts.password) if parts.password else None,
            sender=variables.get("NAV_EVAL_MAIL_FROM") or f"nav-eval@{parts.hostname}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DeliverySettings:
    """How this installation sends."""

    smtp: SmtpSettings | None = None
    allow_private: bool = False  #: webhooks may point into the local network

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "DeliverySettings":
        variables = os.environ if environ is None else environ
        return cls(
            smtp=SmtpSettings.from_environment(variables),
            allow_private=read_flag(variables, "NAV_EVAL_ALLOW_PRIVATE_WEBHOOKS"),
        )


class PendingDelivery(NamedTuple):
    """A delivery that is on its way."""

    id: UUID
    url: str
    secret: str
    """Sealed, as it is kept."""
    body: dict[str, Any]
    about: str
    """What it is about, for the subject of an e-mail."""
    webhook_id: UUID
    owner_id: UUID
    """The team that hears of it, or the competition where organisers do."""
    is_retry: bool


class DeliveryOutcome(NamedTuple):
    """What became of it."""

    status: int | None
    error: str | None = None


PLACES = 40
"""Deliveries on their way at the same time."""
LOOK_SECONDS = 1.0
"""Between two looks for what became due meanwhile."""


def deliver(database: Database, settings: DeliverySettings, *, limit: int = PLACES) -> int:
    """Send what is due until nothing is; how many there were. Call it every few seconds: a beat does.

    A worker without keys (on a host that joined from outside) sends nothing: it leaves that to those who can sign.
    """
    if not database.keyring.read_keys():
        return 0
    with database.read() as session:
        if not webhooks.has_due(session):
            return 0
    return asyncio.run(Delivering(database, settings, places=limit).run())


class Delivering:
    """Deliveries under way."""

    def __init__(self, database: Database, settings: DeliverySettings, *, places: int = PLACES) -> None:
        self._database, self._settings, self._places = database, settings, places
        self._running: dict[asyncio.Task[None], PendingDelivery] = {}

    async def run(self) -> int:
        import httpx

        count = 0
        alone = httpx.Limits(max_keepalive_connections=0)  # two names at one number do not share a connection
        async with httpx.AsyncClient(follow_redirects=False, timeout=SECONDS, trust_env=False, limits=alone) as client:
            while True:
                taken = await self._take()
                count += len(taken)
                for parcel in taken:
                    self._running[asyncio.create_task(self._send(parcel, client))] = parcel
                if not self._running:
                    return count
                ended, _ = await asyncio.wait(self._running, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    del self._running[task]
                    task.result()

    async def _take(self) -> list["PendingDelivery"]:
        free = self._places - len(self._running)
        if free <= 0:
            return []
        busy = webhooks.Busy(
            Counter(parcel.webhook_id for parcel in self._running.values()),
            Counter(parcel.owner_id for parcel in self._running.values()),
        )
        retries = self._places // 2 - sum(parcel.is_retry for parcel in self._running.values())
        return await asyncio.to_thread(
            self._database.run, lambda session: _take_due(session, free, busy=busy, retries=retries)
        )

    async def _send(self, parcel: "PendingDelivery", client: "AsyncClient") -> None:
        outcome = await _send(parcel, client, self._settings, self._database)
        await asyncio.to_thread(self._database.run, lambda session: _record_outcome(session, parcel, outcome))


def _take_due(session: Session, limit: int, *, busy: webhooks.Busy, retries: int) -> list[PendingDelivery]:
    return [
        PendingDelivery(
            delivery.id,
            delivery.webhook.url,
            delivery.webhook.secret,
            delivery.body,
            _describe(session, delivery.body),
            delivery.webhook_id,
            delivery.webhook.team_id or delivery.webhook.competition_id,
            delivery.attempts > 1,
        )
        for delivery in webhooks.take_due(session, limit=limit, busy=busy, retries=retries)
        if not webhooks.drop_if_unread(session, delivery)
    ]


def _describe(session: Session, body: Mapping[str, Any]) -> str:
    competition = session.get(Competition, UUID(body["competition_id"])) if "competition_id" in body else None
    submission = session.get(Submission, UUID(body["submission_id"])) if "submission_id" in body else None
    title = competition.title if competition else "nav-eval"
    if submission is None:
        told = body["data"].get("title") if body["kind"] == events.MESSAGE else None
        return f"{title}: {told}" if told else title
    state = body["data"].get("to", "")
    return f"{title}: submission {submission.number} of {submission.team.name} {'is ' + state if state else ''}".strip()


async def _send(
    parcel: PendingDelivery, client: "AsyncClient", settings: DeliverySettings, database: Database
) -> DeliveryOutcome:
    """Whatever happens on the way is an outcome."""
    now = database.clock.now()
    try:
        async with asyncio.timeout(SECONDS):
            if parcel.url.startswith(webhooks.MAIL):
                return await asyncio.to_thread(_send_mail, parcel, settings.smtp, now)
            sign = partial(_sign, database.keyring, parcel, now=now)
            return await _post(parcel, client, allow_private=settings.allow_private, sign=sign)
    except OperatorError as error:  # ours: the receiver's owner reads outcomes
        log.error("delivery %s: %s", parcel.id, error)
        return DeliveryOutcome(None, "This installation cannot send just now; its organisers have to look at it.")
    except TimeoutError:
        return DeliveryOutcome(None, f"no answer within {SECONDS:g} s")
    except Exception as error:  # noqa: BLE001  whatever a receiver, a name server or a library comes up with
        return DeliveryOutcome(None, f"{type(error).__name__}: {error}")


async def _post(
    parcel: PendingDelivery, client: "AsyncClient", *, allow_private: bool, sign: Callable[[bytes], str]
) -> DeliveryOutcome:
    """To the number that was checked, under the name that was given."""
    number = await asyncio.to_thread(webhooks.resolve_target, parcel.url, allow_private=allow_private)
    parts = webhooks.parse_url(parcel.url)
    host = f"[{number}]" if ":" in number else number
    body = msgspec.json.encode(parcel.body)
    headers = {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "User-Agent": "nav-eval",
        "X-Nav-Eval-Delivery": str(parcel.id),
        "X-Nav-Eval-Event": str(parcel.body["kind"]),
        SIGNATURE: sign(body),
    }
    pinned = parts._replace(netloc=f"{host}:{webhooks.get_port(parts)}", fragment="").geturl()
    extensions = {"sni_hostname": parts.hostname}
    async with client.stream("POST", pinned, content=body, headers=headers, extensions=extensions) as answer:
        status = answer.status_code  # and nothing more: what they say is not read
    return DeliveryOutcome(status, None if 200 <= status < 300 else f"the receiver answered {status}")


def _sign(keyring: Keyring, parcel: PendingDelivery, body: bytes, *, now: datetime) -> str:
    return sign_body(open_secret(keyring, parcel.webhook_id, parcel.secret), body, now)


def _send_mail(parcel: PendingDelivery, smtp: SmtpSettings | None, now: datetime) -> DeliveryOutcome:
    if smtp is None:
        return DeliveryOutcome(None, "This installation sends no e-mail.")
    to = webhooks.get_mail_address(parcel.url)
    send_letter(smtp, Letter(parcel.id, to, parcel.about, _format_mail(parcel)), now=now)
    return DeliveryOutcome(250)


class Letter(NamedTuple):
    """An e-mail."""

    id: UUID
    to: str
    subject: str
    text: str


def send_letter(smtp: SmtpSettings, letter: Letter, *, now: datetime) -> None:
    """Send it at once; what goes wrong is raised as the library says it."""
    message = EmailMessage()
    message["From"], message["To"] = smtp.sender, letter.to
    message["Subject"], message["Date"] = " ".join(letter.subject.split()), format_datetime(now)
    message["Message-ID"] = f"<{letter.id}@nav-eval>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(letter.text)
    with _connect_smtp(smtp) as server:
        server.send_message(message)


def _format_mail(parcel: PendingDelivery) -> str:
    if parcel.body["kind"] == events.MESSAGE:
        return "\n".join([parcel.about, "", str(parcel.body["data"]["text"]), ""])
    facts = {key: text for key, text in parcel.body["data"].items() if text is not None}
    lines = [parcel.about, "", *(f"{key}: {text}" for key, text in facts.items())]
    return "\n".join([*lines, "", f"submission: {parcel.body.get('submission_id', '')}"])


def _connect_smtp(smtp: SmtpSettings) -> smtplib.SMTP:
    """A connection, logged in; never with a password in the clear."""
    context = ssl.create_default_context()
    if smtp.tls:
        server: smtplib.SMTP = smtplib.SMTP_SSL(smtp.host, smtp.port, timeout=SECONDS, context=context)
    else:
        server = smtplib.SMTP(smtp.host, smtp.port, timeout=SECONDS)
        server.ehlo()
        if server.has_extn("starttls"):
            server.starttls(context=context)
        elif smtp.password is not None:
            server.close()
            raise OperatorError(f"{smtp.host} offers no encryption; the password was not sent.")
    if smtp.user is not None and smtp.password is not None:
        server.login(smtp.user, smtp.password)
    return server


def _record_outcome(session: Session, parcel: PendingDelivery, outcome: DeliveryOutcome) -> None:
    if outcome.error is None:
        webhooks.record_success(session, parcel.id, status=outcome.status or 200)
    else:
        log.info("delivery %s failed: %s", parcel.id, outcome.error)
        webhooks.record_failure(session, parcel.id, error=outcome.error, status=outcome.status)
