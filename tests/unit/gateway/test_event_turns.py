"""A thousand subscribers are woken a few at a time, and a small answer does not look through every route of the API."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from uuid import uuid4

import pytest
from fastapi import APIRouter
from starlette.routing import Match

from nav_eval_gateway.app import PREFIX, ApiRouter
from nav_eval_gateway.server_sent_events import TURNS, EventBroadcaster, Subscription
from nav_eval_store.database import Database
from nav_eval_store.models import OutboxEvent


def test_subscribers_are_woken_a_few_at_a_time(tmp_path: Path) -> None:
    """Whoever else is at work in the loop goes in between."""

    async def wake() -> list[int]:
        broadcaster = EventBroadcaster(
            Database(f"sqlite:///{tmp_path / 'store.db'}"), poll_seconds=60, heartbeat_seconds=60
        )
        competition, woken, seen = uuid4(), [], []
        for _ in range(10 * TURNS):
            subscription = Subscription(competition_id=competition)
            subscription.notify = lambda: woken.append(1)  # type: ignore[method-assign]
            broadcaster._subscriptions.add(subscription)
        event = cast(OutboxEvent, SimpleNamespace(team_id=None, submission_id=None, competition_id=competition))
        waking = asyncio.create_task(broadcaster._notify([event]))
        while not waking.done():
            await asyncio.sleep(0)
            seen.append(len(woken))
        return seen

    seen = asyncio.run(wake())
    assert seen[-1] == 10 * TURNS
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= TURNS


@pytest.mark.parametrize(
    ("path", "match"), [("/healthz", Match.NONE), ("/competitions/x", Match.NONE), ("/api/v1/competitions", Match.FULL)]
)
def test_routes_of_the_api_are_looked_through_for_the_api_alone(
    path: str, match: Match, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(APIRouter, "matches", lambda self, scope: (Match.FULL, {}))  # were it asked
    assert ApiRouter(prefix=PREFIX).matches({"type": "http", "path": path, "method": "GET"})[0] is match
