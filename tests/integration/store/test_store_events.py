"""The outbox: written with the deed, in the order of the commits; and webhooks that miss nothing."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from nav_eval_store import audit
from nav_eval_store.audit import Subject
from nav_eval_store.errors import NotFound, StoreError
from nav_eval_store.models import Delivery, OutboxEvent, Team
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.submissions import creation
from support.challenge import TEST, Challenge

pytestmark = pytest.mark.integration


def test_a_life_is_told_in_order(cup: Challenge) -> None:
    submission = cup.complete(cup.team("Red"))
    with cup.database.read() as session:
        told = events.read_events_after(
            session, 0, subject=Subject(submission_id=submission), kinds=[events.STATE_CHANGED]
        )
    assert [event.payload["to"] for event in told] == [
        "uploading",
        "validating",
        "queued",
        "running",
        "scoring",
        "completed",
    ]
    assert [event.id for event in told] == sorted(event.id for event in told)
    with cup.database.read() as session:
        assert events.read_events_after(session, events.get_latest_id(session)) == []
        rest = events.read_events_after(
            session, told[2].id, subject=Subject(submission_id=submission), kinds=[events.STATE_CHANGED]
        )
        assert [event.id for event in rest] == [event.id for event in told[3:]]


def test_what_is_undone_is_not_told(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    with cup.database.read() as session:
        before = events.get_latest_id(session)

    def undone() -> None:
        with cup.database.begin() as session:
            creation.cancel_open_submission(session, submission, actor=TEST, reason="no")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        undone()
    with cup.database.begin() as session:
        creation.cancel_open_submission(session, submission, actor=TEST, reason="no")
        session.rollback()
    with cup.database.read() as session:
        assert events.get_latest_id(session) == before
        assert "cancelled" not in [event.details.get("to") for event in audit.list_audit_events(session).items]
    assert cup.get(submission).state == "created"


def test_a_reader_that_follows_the_ids_misses_nothing(cup: Challenge) -> None:
    """Many writers commit in whatever order; who reads `id > last` sees each event exactly once, in order."""
    total, writers = 120, 6
    seen: list[int] = []
    done = threading.Event()

    def write(number: int) -> None:
        with cup.database.begin() as session:
            events.emit(session, "test", Subject(), number=number)
            audit.record(session, TEST, "test", number=number)
            session.flush()

    def read() -> None:
        last = 0
        while True:
            finished = done.is_set()
            with cup.database.read() as session:
                news = events.read_events_after(session, last, kinds=["test"], limit=7)
            seen.extend(event.payload["number"] for event in news)
            last = news[-1].id if news else last
            if finished and not news:
                return

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(total)))
    done.set()
    reader.join(timeout=60)
    assert sorted(seen) == list(range(total))


def test_events_are_pruned_by_age(cup: Challenge, clock) -> None:
    cup.start(cup.team("Red"))
    cup.submit(cup.team("Blue"))
    clock.advance(days=3)
    later = cup.submit(cup.team("Green"))
    with cup.database.begin() as session:
        assert events.prune_events(session, before=clock.now()) == 2
        assert {event.submission_id for event in session.scalars(select(OutboxEvent))} == {later}


def deliveries_of(cup: Challenge) -> list[Delivery]:
    with cup.database.read() as session:
        return list(session.scalars(select(Delivery).order_by(Delivery.event_id)))


def test_webhooks_hear_of_their_own_teams_only(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    with cup.database.begin() as session:
        ours = webhooks.add_webhook(session, session.get_one(Team, red), "https://example.org/hook", actor=TEST)
        all_ = webhooks.add_webhook(session, cup.competition(session), "mailto:org@example.org", actor=TEST)
    cup.submit(red)
    cup.submit(blue)
    by_hook = {
        hook: [d.body["team_id"] for d in deliveries_of(cup) if d.webhook_id == hook] for hook in (ours.id, all_.id)
    }
    assert by_hook == {ours.id: [str(red)] * 2, all_.id: [str(red)] * 2 + [str(blue)] * 2}
    body = deliveries_of(cup)[0].body
    assert body["kind"] == "submission.state"
    assert body["data"]["to"] == "uploading"
    assert set(body) == {"id", "kind", "at", "competition_id", "phase_id", "team_id", "submission_id", "data"}


def test_a_delivery_is_tried_until_it_arrives_or_is_hopeless(cup: Challenge, clock) -> None:
    red = cup.team("Red")
    with cup.database.begin() as session:
        webhooks.add_webhook(session, session.get_one(Team, red), "https://example.org/hook", actor=TEST)
    submission = cup.start(red)
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="x"))
    attempts = 0
    for _ in range(20):
        with cup.database.begin() as session:
            due = webhooks.take_due(session)
            assert webhooks.take_due(session) == [], "nobody else gets it meanwhile"
        for delivery in due:
            attempts += 1
            cup.do(lambda session: webhooks.record_failure(session, delivery.id, error="refused", status=502))  # noqa: B023
        clock.advance(days=1, minutes=5)
    assert attempts == len(webhooks.PAUSES) + 1
    (given_up,) = deliveries_of(cup)
    assert given_up.given_up_at is not None
    assert (given_up.status, given_up.error) == (502, "refused")


def test_a_sender_that_died_is_replaced(cup: Challenge, clock) -> None:
    red = cup.team("Red")
    with cup.database.begin() as session:
        webhooks.add_webhook(session, session.get_one(Team, red), "https://example.org/hook", actor=TEST)
    cup.submit(red)
    assert len(cup.do(lambda session: webhooks.take_due(session, limit=1))) == 1
    assert len(cup.do(webhooks.take_due)) == 1, "the other one"
    clock.advance(minutes=2)
    again = cup.do(webhooks.take_due)
    assert len(again) == 2
    for delivery in again:
        cup.do(lambda session: webhooks.record_success(session, delivery.id, status=204))  # noqa: B023
    clock.advance(days=3)
    assert cup.do(webhooks.take_due) == []


def test_a_removed_webhook_gets_nothing_more(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    with cup.database.begin() as session:
        hook = webhooks.add_webhook(session, session.get_one(Team, red), "https://example.org/hook", actor=TEST)
    cup.start(red)
    with cup.database.begin() as session:
        with pytest.raises(NotFound):
            webhooks.remove_webhook(session, session.get_one(Team, blue), hook.id, actor=TEST)
        webhooks.remove_webhook(session, session.get_one(Team, red), hook.id, actor=TEST)
    cup.submit(red)
    assert cup.do(webhooks.take_due) == []


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "javascript:alert(1)", "https://", "file:///etc/passwd", "https:" + "x" * 3000]
)
def test_addresses_that_are_refused(cup: Challenge, url: str) -> None:
    red = cup.team("Red")
    with pytest.raises(StoreError, match="address"), cup.database.begin() as session:
        webhooks.add_webhook(session, session.get_one(Team, red), url, actor=TEST)
