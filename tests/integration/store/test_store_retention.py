"""What is kept for how long, who holds how much, and that nothing goes which somebody needs."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from uuid import UUID, uuid4

import pytest

from nav_eval_store import blob_keys, retention
from nav_eval_store.blobs import BlobStore
from nav_eval_store.errors import OperatorError, UploadTooLarge
from nav_eval_store.models import AuditEvent, Delivery, OutboxEvent, Proof, Team, Token
from nav_eval_store.notifications import webhooks
from nav_eval_store.people import accounts, addresses, identities, teams
from nav_eval_store.retention import RetentionPolicy
from nav_eval_store.submissions import creation
from nav_eval_store.uploads import records
from support.challenge import TEST, Challenge, user

pytestmark = pytest.mark.integration


@pytest.fixture
def blobs(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path / "blobs")


def age(blobs: BlobStore, cup: Challenge, key: str, **ago: float) -> None:
    """Let a blob be as old as if it had been written then, by the challenge's clock."""
    moment = (cup.database.clock.now() - timedelta(**ago)).timestamp()
    os.utime(Path(blobs.url) / key, (moment, moment))


def upload(cup: Challenge, blobs: BlobStore, team: UUID, content: bytes) -> tuple[UUID, str]:
    """An image that is uploaded and not handed in."""
    submission = cup.start(team)
    with cup.database.begin() as session:
        made = records.create_upload(session, submission, actor=TEST, length=len(content))
    with blobs.append(made.key, 0) as appender:
        appender.write(content)
    info = blobs.finalise(made.key, "images", length=len(content))
    age(blobs, cup, info.key)
    with cup.database.begin() as session:
        records.record_finish(
            session, made.id, blob_key=info.key, sha256=info.sha256 or "", length=len(content), actor=TEST
        )
    blobs.discard(made.key)
    return submission, info.key


def cancel(cup: Challenge, submission: UUID) -> None:
    with cup.database.begin() as session:
        creation.cancel_open_submission(session, submission, actor=TEST, reason="enough")


def tidy(cup: Challenge, blobs: BlobStore, policy: RetentionPolicy | None = None) -> None:
    """Two rounds: what the first lets go of, the second deletes."""
    for _ in range(2):
        retention.tidy(cup.database, blobs, policy)


def test_uploaded_cancelled_and_repeated_fills_no_disk(cup: Challenge, blobs: BlobStore, clock) -> None:
    """The blob stayed for ever."""
    team = cup.team("Ants")
    for number in range(3):
        submission, _ = upload(cup, blobs, team, b"image %d" % number)
        cancel(cup, submission)
    assert len(list(blobs.list())) == 3
    tidy(cup, blobs)
    assert len(list(blobs.list())) == 3, "a team may still run it again"
    clock.advance(days=8)
    tidy(cup, blobs)
    assert list(blobs.list()) == []


def test_what_another_submission_needs_stays(cup: Challenge, blobs: BlobStore, clock) -> None:
    one, key = upload(cup, blobs, cup.team("Ants"), b"the same")
    cancel(cup, one)
    clock.advance(days=8)
    _, same = upload(cup, blobs, cup.team("Bees"), b"the same")
    assert same == key
    age(blobs, cup, key, days=30)
    tidy(cup, blobs)
    assert blobs.exists(key)


def test_a_blob_that_somebody_is_about_to_name_stays(cup: Challenge, blobs: BlobStore, clock) -> None:
    """Between the bytes and the row, also when the bytes were there before."""
    submission, key = upload(cup, blobs, cup.team("Ants"), b"again")
    cancel(cup, submission)
    clock.advance(days=8)
    tidy(cup, blobs, RetentionPolicy(unused_images=0))
    with cup.database.begin() as session:
        retention.release_expired(session, RetentionPolicy())
    with blobs.append("uploads/x", 0) as appender:
        appender.write(b"again")
    clock.time = datetime.now(UTC)  # the time of the disk
    assert blobs.finalise("uploads/x", "images", length=5).key == key
    tidy(cup, blobs)
    assert blobs.exists(key), "finalising made it young"
    assert blobs.exists("uploads/x"), "and so is what arrives"


def test_what_belongs_to_nobody_goes_and_what_is_foreign_stays(cup: Challenge, blobs: BlobStore, clock) -> None:
    submission = cup.complete(cup.team("Ants"))
    kept = blob_keys.make_replay_key(submission, "ep_1"), blob_keys.make_agent_log_key(submission), "notes/mine"
    gone = blob_keys.make_replay_key(uuid4(), "ep_1"), "images/nobody", f"uploads/{uuid4()}"
    for key in (*kept, *gone):
        blobs.put(key, b"x")
        age(blobs, cup, key, days=2)
    tidy(cup, blobs)
    assert {blob.key for blob in blobs.list()} == set(kept)


def test_films_end_by_their_own_age_and_replays_with_their_submission(cup: Challenge, blobs: BlobStore, clock) -> None:
    submission = cup.complete(cup.team("Ants"))
    film, replay = (make(submission, "ep_1") for make in (blob_keys.make_film_key, blob_keys.make_replay_key))
    for key in (film, replay):
        blobs.put(key, b"x")
        age(blobs, cup, key)
    clock.advance(days=91)
    tidy(cup, blobs)
    assert {blob.key for blob in blobs.list()} == {replay}
    clock.advance(days=700)
    tidy(cup, blobs)
    assert list(blobs.list()) == []


def test_rows_end(cup: Challenge, blobs: BlobStore, clock) -> None:
    with cup.database.begin() as session:
        ada = user(session, "ada")
        for lifetime in (timedelta(days=1), None):
            accounts.issue_token(session, ada, "x", actor=TEST, lifetime=lifetime)
        addresses.ask_for_proof(session, ada, "ada@example.org", actor=TEST)
        identities.use_answer(session, ada, state="s", lifetime=timedelta(minutes=10))
    team = cup.team("Ants")
    with cup.database.begin() as session:
        hook = webhooks.add_webhook(session, session.get_one(Team, team), "https://example.org", actor=TEST)
        webhooks.record_success(session, webhooks.enqueue_test(session, hook).id, status=200)
        waiting = webhooks.enqueue_test(session, hook)
    clock.advance(days=100)
    tidy(cup, blobs)
    with cup.database.read() as session:
        assert [token.expires_at for token in session.query(Token).filter_by(user_id=ada.id)] == [None]
        assert [delivery.id for delivery in session.query(Delivery)] == [waiting.id]
        assert session.query(Proof).count() == 0
        assert session.query(OutboxEvent).count() == 0
        assert session.query(AuditEvent).count() > 0
    clock.advance(days=2000)
    tidy(cup, blobs)
    with cup.database.read() as session:
        assert session.query(AuditEvent).count() == 0


def test_a_team_holds_so_much(cup: Challenge, blobs: BlobStore, clock) -> None:
    team = cup.team("Ants")
    submission, _ = upload(cup, blobs, team, b"x" * 600)
    other = cup.start(team)
    with cup.database.begin() as session, pytest.raises(UploadTooLarge, match="600"):
        records.create_upload(session, other, actor=TEST, length=500, team_bytes=1000)
    cancel(cup, submission)
    clock.advance(days=8)
    tidy(cup, blobs)
    other = cup.start(team)
    with cup.database.begin() as session:
        records.create_upload(session, other, actor=TEST, length=500, team_bytes=1000)
        assert records.measure_team_bytes(session, team) == 500


def test_what_a_person_uploaded_goes_with_them(cup: Challenge, blobs: BlobStore) -> None:
    """Upload, cancel, found another team, repeat: it fills no disk."""
    team, held = cup.team("Ants"), 0
    for number in range(4):
        with suppress(UploadTooLarge):
            submission = cup.start(team)
            with cup.database.begin() as session:
                records.create_upload(session, submission, actor=TEST, length=400, team_bytes=1000)
            held += 400
        with cup.database.begin() as session:
            ada = accounts.get_user(session, "ants")
            teams.remove_member(session, session.get_one(Team, team), ada, actor=TEST)
            again = teams.create_team(session, cup.competition(session), f"Ants {number}", captain=ada, actor=TEST)
            team = again.id
    assert held == 800


def test_many_uploads_at_once_get_what_is_left(cup: Challenge) -> None:
    team = cup.team("Ants")
    submissions = [cup.start(team) for _ in range(8)]
    together = Barrier(len(submissions))

    def announce(submission: UUID) -> bool:
        together.wait()
        try:
            with cup.database.begin() as session:
                records.create_upload(session, submission, actor=TEST, length=400, team_bytes=1000)
        except UploadTooLarge:
            return False
        return True

    with ThreadPoolExecutor(len(submissions)) as pool:
        assert sum(pool.map(announce, submissions)) == 2


def test_who_holds_what(cup: Challenge, blobs: BlobStore) -> None:
    for name, content in (("Ants", b"image"), ("Bees", b"a larger image")):
        submission, _ = upload(cup, blobs, cup.team(name), content)
        blobs.put(blob_keys.make_agent_log_key(submission), b"log")
    blobs.put("images/nobody", b"?")
    found = {holding.team: dict(holding.bytes) for holding in retention.measure_holdings(cup.database, blobs)}
    assert found == {"Bees": {"images": 14, "logs": 3}, "Ants": {"images": 5, "logs": 3}, "": {"images": 1}}


def test_days_come_from_the_environment() -> None:
    policy = RetentionPolicy.from_environment({"NAV_EVAL_KEEP_FILMS_DAYS": "0", "NAV_EVAL_KEEP_AUDIT_DAYS": "30"})
    assert (policy.films, policy.audit, policy.images) == (0, 30, RetentionPolicy().images)
    with pytest.raises(OperatorError, match="NAV_EVAL_KEEP_TOKENS_DAYS"):
        RetentionPolicy.from_environment({"NAV_EVAL_KEEP_TOKENS_DAYS": "a year"})
