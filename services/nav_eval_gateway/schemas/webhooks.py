"""Webhooks and what was sent to them."""
# ruff: noqa: S106 (examples for the OpenAPI document)

from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field

from nav_eval_gateway.schemas.base import Answer, Request, example
from nav_eval_store import events
from nav_eval_store.models import Delivery, Webhook


class EventKind(StrEnum):
    """What one can hear about."""

    STATE = events.STATE_CHANGED
    CANARY = events.VERDICT
    PROGRESS = events.PROGRESS
    BOARD = events.BOARD_CHANGED
    PHASE = events.PHASE_CHANGED


class NewWebhook(Request):
    """Somebody who wants to hear."""

    model_config = example(url="https://hooks.example.org/nav-eval", kinds=["submission.state"])

    url: Annotated[str, Field(min_length=1, max_length=2000)]
    """`https://…`, or `mailto:` with the e-mail address of a member."""
    kinds: Annotated[tuple[EventKind, ...], Field(min_length=1, max_length=5)] = (EventKind.STATE,)


class WebhookAnswer(Answer):
    """A webhook without its secret."""

    id: UUID
    url: str
    kinds: list[str]
    created_at: datetime

    @classmethod
    def of(cls, hook: Webhook) -> "WebhookAnswer":
        return cls(id=hook.id, url=hook.url, kinds=hook.kinds, created_at=hook.created_at)


class IssuedWebhook(WebhookAnswer):
    """A new webhook. The secret that signs what it gets is shown this once."""

    model_config = example(
        id="0b5d7c1e-8f8c-4b4f-9a53-0e6b5f2e9f11",
        url="https://hooks.example.org/nav-eval",
        kinds=["submission.state"],
        created_at="2026-09-01T12:00:00Z",
        secret="Jx3…",
    )

    secret: str

    @classmethod
    def issued(cls, hook: Webhook) -> "IssuedWebhook":
        return cls(**WebhookAnswer.of(hook).model_dump(), secret=hook.secret)


class DeliveryAnswer(Answer):
    """One message on its way to a webhook."""

    id: UUID
    kind: str
    attempts: int
    delivered_at: datetime | None
    next_at: datetime | None
    """When it is tried next; null when it arrived or was given up."""
    given_up_at: datetime | None
    status: int | None
    """Of the last answer."""
    error: str | None

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryAnswer":
        is_open = delivery.delivered_at is None and delivery.given_up_at is None
        return cls(
            id=delivery.id,
            kind=delivery.body["kind"],
            attempts=delivery.attempts,
            delivered_at=delivery.delivered_at,
            next_at=delivery.due_at if is_open else None,
            given_up_at=delivery.given_up_at,
            status=delivery.status,
            error=delivery.error,
        )
