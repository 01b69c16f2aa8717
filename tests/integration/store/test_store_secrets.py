"""Secrets of webhooks are nowhere in the database but sealed; keys change, backups need them."""

import logging
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import select, text

from nav_eval_store import backup
from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database
from nav_eval_store.encryption import Keyring, get_key_id, is_sealed
from nav_eval_store.errors import KeyMissing
from nav_eval_store.migrations import runner
from nav_eval_store.models import Delivery, Team, Webhook
from nav_eval_store.notifications import sender, webhook_secrets, webhooks
from support.challenge import KEYRING, TEST, Challenge
from support.gateway import gateway_settings, serving

pytestmark = pytest.mark.integration

BACKENDS = pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
OLD, NEW = KEYRING.keys, "0b" * 32


def reopen(database: Database, keys: str | None) -> Database:
    """The same database with other keys."""
    return Database(database.url, clock=database.clock, keyring=Keyring(keys=keys))


def add_hook(cup: Challenge) -> tuple[UUID, str]:
    team = cup.team("Ants")
    with cup.database.begin() as session:
        hook = webhooks.add_webhook(session, session.get_one(Team, team), "http://127.0.0.1:9/", actor=TEST)
        return hook.id, webhook_secrets.open_secret(session.keyring, hook.id, hook.secret)


def test_the_row_is_sealed(cup: Challenge, tmp_path: Path) -> None:
    hook, secret = add_hook(cup)
    with cup.database.read() as session:
        kept = session.get_one(Webhook, hook).secret
        rows = (
            session.execute(text("SELECT * FROM webhooks")).all()
            + session.execute(text("SELECT * FROM audit_events")).all()
        )
    assert is_sealed(kept)
    assert secret not in str(rows)
    if cup.database.is_sqlite:
        assert not contains_text(tmp_path, secret)


def contains_text(folder: Path, words: str) -> bool:
    """Anywhere in the database's files and their logs, as `strings` would find it."""
    return any(words.encode() in file.read_bytes() for file in folder.glob("*.db*"))


@BACKENDS
def test_a_migration_seals_what_was_there(new_database, backend: str, tmp_path: Path, caplog) -> None:
    database: Database = new_database(backend)
    runner.upgrade(database, "0007")
    secret, hook, cup = "clear-as-day-clear-as-day-0123", uuid4(), uuid4()
    moment = "2026-01-01 00:00:00"
    rows = {
        "competitions": {
            "id": cup,
            "name": "cup",
            "title": "Cup",
            "settings": "{}",
            "digest": "",
            "updated_at": moment,
        },
        "webhooks": {"id": hook, "competition_id": cup, "url": "https://x.org", "secret": secret, "kinds": "[]"},
    }
    with database.engine.begin() as connection:
        for table, row in rows.items():
            values = {key: keep(value, backend) for key, value in row.items()} | {"created_at": moment}
            marks = ", ".join(f":{name}" for name in values)
            connection.execute(text(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"), values)
    if backend == "sqlite":
        assert contains_text(tmp_path, secret)
    with pytest.raises(KeyMissing, match="NAV_EVAL_ENCRYPTION_KEYS"):
        runner.upgrade(reopen(database, None))
    assert runner.get_current_revision(database) == "0007"
    assert runner.upgrade(database) == runner.get_head_revision()
    assert "VACUUM" not in caplog.text
    with database.read() as session:
        kept = session.get_one(Webhook, hook)
        assert webhook_secrets.open_secret(KEYRING, hook, kept.secret) == secret
        webhook_secrets.check_keys(session)
    if backend == "sqlite":
        assert not contains_text(tmp_path, secret)
    runner.downgrade(database, "0007")
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT secret FROM webhooks")).scalar_one() == secret


def keep(value: str | UUID, backend: str) -> str:
    return value.hex if isinstance(value, UUID) and backend == "sqlite" else str(value)


def test_keys_change_while_old_ones_still_open(cup: Challenge) -> None:
    hook, secret = add_hook(cup)
    both = reopen(cup.database, f"{NEW} {OLD}")
    with both.begin() as session:
        assert webhook_secrets.renew_seals(session) == 1
        assert webhook_secrets.renew_seals(session) == 0
    with reopen(cup.database, NEW).read() as session:
        webhook_secrets.check_keys(session)
        assert webhook_secrets.open_secret(session.keyring, hook, session.get_one(Webhook, hook).secret) == secret
    with cup.database.read() as session, pytest.raises(KeyMissing, match="which is not here"):
        webhook_secrets.check_keys(session)


def test_a_backup_stays_sealed_and_needs_the_key(cup: Challenge, new_database, tmp_path: Path) -> None:
    hook, secret = add_hook(cup)
    blobs, folder = BlobStore(tmp_path / "blobs"), tmp_path / "backup"
    manifest = backup.write_backup(cup.database, blobs, folder)
    with cup.database.read() as session:
        assert manifest.keys == [get_key_id(session.get_one(Webhook, hook).secret)]
    assert secret not in (folder / "tables" / "webhooks.jsonl").read_text()
    other: Database = new_database("sqlite")
    with pytest.raises(KeyMissing, match=f"{manifest.keys[0]}, which is not here"):
        backup.restore_backup(reopen(other, NEW), blobs, folder)
    assert runner.get_current_revision(other) is None  # nothing was written
    backup.restore_backup(other, blobs, folder)
    with other.read() as session:
        assert webhook_secrets.open_secret(KEYRING, hook, session.get_one(Webhook, hook).secret) == secret
    lost: Database = reopen(new_database("sqlite"), NEW)
    backup.restore_backup(lost, blobs, folder, without_keys=True)


def test_nothing_is_sent_unsigned(cup: Challenge, caplog: pytest.LogCaptureFixture) -> None:
    """Who has no key leaves deliveries to others; with a wrong one they wait, and the log alone says why."""
    hook, _ = add_hook(cup)
    with cup.database.begin() as session:
        webhooks.enqueue_test(session, session.get_one(Webhook, hook))
    settings = sender.DeliverySettings(allow_private=True)
    assert sender.deliver(reopen(cup.database, None), settings) == 0
    with caplog.at_level(logging.ERROR):
        assert sender.deliver(reopen(cup.database, NEW), settings) == 1
    assert "which is not here" in caplog.text
    with cup.database.read() as session:
        waiting = session.scalars(select(Delivery)).one()
        assert waiting.given_up_at is None
        assert "organisers have to look" in (waiting.error or "")


def test_a_gateway_shows_the_secret_once_and_keeps_it_sealed(tmp_path: Path) -> None:
    settings = gateway_settings(tmp_path, allow_private_webhooks=True)
    with serving(settings) as gateway:
        Challenge(gateway.database)
        with gateway.captain("ada") as ada:
            team = ada.get("/me").json()["teams"][0]["team_id"]
            issued = ada.post(f"/teams/{team}/webhooks", json={"url": "http://127.0.0.1:9/"}).json()
        assert len(issued["secret"]) > 30
        with gateway.database.read() as session:
            kept = session.get_one(Webhook, UUID(issued["id"])).secret
        assert webhook_secrets.open_secret(KEYRING, UUID(issued["id"]), kept) == issued["secret"]
        assert not contains_text(tmp_path, issued["secret"])
