"""A whole installation goes into a folder and comes back, on the other database, too."""

import errno
import json
from pathlib import Path

import pytest
from sqlalchemy import select

from nav_eval.records.results import ResultLine
from nav_eval_store import backup
from nav_eval_store.blobs import BlobInfo, BlobStore
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions import export, moderation
from nav_eval_store.database import Database
from nav_eval_store.errors import BackupError
from nav_eval_store.migrations import runner
from nav_eval_store.models import AuditEvent, Base, Team
from nav_eval_store.notifications import webhooks
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions import queries
from nav_eval_store.work import jobs
from support.challenge import GENEROUS, TEST, Challenge, competition_config, line, result, user

pytestmark = pytest.mark.integration


def lived_in(database: Database, blobs: BlobStore) -> Challenge:
    """An installation with a bit of everything."""
    cup = Challenge(database, competition_config({**GENEROUS, "baselines": [{"name": "Random", "agent": "b:r"}]}))
    red, blue = cup.team("Red"), cup.team("Blue")
    with database.begin() as session:
        teams.rename_team(session, session.get_one(Team, blue), "Blue \u2603", actor=TEST)
    first = cup.complete(red, {"tar": 0.5, "isr": 0.25, "csr": 0.1, "cgt": 1 / 3})
    cup.complete(blue)
    cup.do(lambda session: moderation.hide_submission(session, first, actor=TEST, reason="why not"))
    running = cup.queue(red, shards=[["a", "b"], ["c", "d"]])
    lease = cup.claim_of(running)
    cup.do(lambda session: jobs.record_episode(session, lease, result("a"), replay_key=f"replays/{running}/a.json"))
    blobs.put(f"replays/{running}/a.json", line("a", actions=["stop"]))
    blobs.put("images/x", b"\x00\xff" * 1000)
    with database.begin() as session:
        webhooks.add_webhook(session, session.get_one(Team, red), "https://example.org", actor=TEST)
        accounts.issue_token(session, user(session, "ada"), "laptop", actor=TEST)
        again = moderation.reevaluate_all(session, cup.phase(session), actor=TEST, reason="to be sure")
        assert again
    cup.start(red)
    with database.read() as session:
        phase = cup.phase(session).id
    ranking.update_ranks(database, phase)
    return cup


def contents(database: Database) -> dict[str, list[object]]:
    with database.read() as session:
        return {
            table.name: [tuple(row) for row in session.execute(select(table).order_by(*table.primary_key.columns))]
            for table in Base.metadata.sorted_tables
        }


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_everything_comes_back(database, new_database, target: str, tmp_path: Path) -> None:
    blobs, other_blobs = BlobStore(tmp_path / "blobs"), BlobStore(tmp_path / "other")
    cup = lived_in(database, blobs)
    written = backup.write_backup(database, blobs, tmp_path / "backup")
    assert written.blobs == 2
    assert written.tables["submissions"].rows == 6
    other = new_database(target)
    backup.restore_backup(other, other_blobs, tmp_path / "backup")
    assert contents(other) == contents(database)
    assert {(b.key, b.size) for b in other_blobs.list()} == {(b.key, b.size) for b in blobs.list()}
    assert other_blobs.get("images/x") == b"\x00\xff" * 1000
    assert runner.find_differences(other) == []
    life_goes_on(cup, other)


def life_goes_on(cup: Challenge, database: Database) -> None:
    """New rows follow the restored ones: numbers continue, leases hold, boards are the same."""
    cup.database = database
    with database.read() as session:
        board = leaderboard.build_board(session, cup.phase(session))
        assert [row.team for row in board.rows] == ["Blue \u2603"]
        newest = session.scalars(select(AuditEvent.id).order_by(AuditEvent.id.desc())).first()
    green = cup.team("Green")
    cup.complete(green, {"tar": 1.0, "isr": 1.0, "csr": 1.0, "cgt": 1.0})
    with database.read() as session:
        assert (session.scalars(select(AuditEvent.id).order_by(AuditEvent.id.desc())).first() or 0) > (newest or 0)
        assert leaderboard.build_board(session, cup.phase(session)).rows[0].team == "Green"


def test_the_folder_is_for_its_owner_only(database, tmp_path: Path) -> None:
    backup.write_backup(database, BlobStore(tmp_path / "blobs"), tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_mode & 0o077 == 0


def test_a_database_in_use_is_not_overwritten(database, tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    lived_in(database, blobs)
    backup.write_backup(database, blobs, tmp_path / "backup")
    before = contents(database)
    with pytest.raises(BackupError, match="in use"):
        backup.restore_backup(database, blobs, tmp_path / "backup")
    with pytest.raises(BackupError, match="not empty"):
        backup.write_backup(database, blobs, tmp_path / "backup")
    assert contents(database) == before


def damage_row(folder: Path) -> None:
    file = folder / "tables" / "teams.jsonl"
    file.write_text(file.read_text().replace("Red", "Rad"))


def damage_missing(folder: Path) -> None:
    (folder / "tables" / "teams.jsonl").unlink()


def damage_version(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"revision": "0000"}))


def damage_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_row, "not as it was written"),
        (damage_missing, "not a whole backup"),
        (damage_version, "version 0000"),
        (damage_manifest, "manifest.json"),
    ],
)
def test_a_damaged_backup_changes_nothing(new_database, tmp_path: Path, damage, message: str) -> None:
    source, blobs = new_database("sqlite"), BlobStore(tmp_path / "blobs")
    runner.upgrade(source)
    lived_in(source, blobs)
    backup.write_backup(source, blobs, tmp_path / "backup")
    damage(tmp_path / "backup")
    target = new_database("sqlite")
    with pytest.raises(BackupError, match=message):
        backup.restore_backup(target, blobs, tmp_path / "backup")
    if runner.get_current_revision(target):
        assert all(not rows for rows in contents(target).values())


@pytest.fixture
def written(new_database, tmp_path: Path) -> tuple[Path, BlobStore]:
    database, blobs = new_database("sqlite"), BlobStore(tmp_path / "blobs")
    runner.upgrade(database)
    lived_in(database, blobs)
    backup.write_backup(database, blobs, tmp_path / "backup")
    return tmp_path / "backup", blobs


def flip_byte(folder: Path) -> None:
    blob = folder / "blobs/images/x"
    blob.write_bytes(b"\x01" + blob.read_bytes()[1:])


def remove_blob(folder: Path) -> None:
    (folder / "blobs/images/x").unlink()


def shorten_list(folder: Path) -> None:
    file = folder / "blobs.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))


def remove_list(folder: Path) -> None:
    (folder / "blobs.jsonl").unlink()


@pytest.mark.parametrize("damage", [flip_byte, remove_blob, shorten_list, remove_list])
def test_damaged_blobs_are_refused_before_anything_is_written(written, new_database, tmp_path: Path, damage) -> None:
    """A flipped byte and a missing blob were accepted."""
    folder, _ = written
    damage(folder)
    other, empty = new_database("sqlite"), BlobStore(tmp_path / "other")
    with pytest.raises(BackupError):
        backup.restore_backup(other, empty, folder)
    assert list(empty.list()) == []
    assert runner.get_current_revision(other) is None, "not even a table"


def test_a_backup_of_before_is_counted(written, new_database, tmp_path: Path) -> None:
    folder, _ = written
    manifest = json.loads((folder / "manifest.json").read_text())
    former = {key: value for key, value in manifest.items() if key not in ("blob_list", "vanished")}
    (folder / "manifest.json").write_text(json.dumps(former))
    (folder / "blobs.jsonl").unlink()
    backup.restore_backup(new_database("sqlite"), BlobStore(tmp_path / "other"), folder)
    remove_blob(folder)
    with pytest.raises(BackupError, match="damaged"):
        backup.restore_backup(new_database("sqlite"), BlobStore(tmp_path / "third"), folder)


def test_a_restore_that_ran_out_of_room_is_completed_by_another_try(
    written, new_database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows were committed before blobs: the database refused a second try, and the blobs were not there."""
    folder, blobs = written
    other, target = new_database("sqlite"), BlobStore(tmp_path / "other")
    real, done = BlobStore.put, []

    def run_out(self: BlobStore, key: str, source: object) -> object:
        if done:
            raise OSError(errno.ENOSPC, "No space left on device")
        done.append(key)
        return real(self, key, source)  # type: ignore[arg-type]

    monkeypatch.setattr(BlobStore, "put", run_out)
    with pytest.raises(BackupError, match="No space left"):
        backup.restore_backup(other, target, folder)
    monkeypatch.undo()
    copied = []
    monkeypatch.setattr(BlobStore, "put", lambda self, key, source: copied.append(key) or real(self, key, source))
    backup.restore_backup(other, target, folder)
    assert len(copied) == 1, "what was there was not copied again"
    assert {(b.key, b.size) for b in target.list()} == {(b.key, b.size) for b in blobs.list()}
    with other.read() as session:
        assert session.query(Team).count() > 0


def test_a_backup_that_ran_out_of_room_is_completed_by_another_try(
    database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    lived_in(database, blobs)

    def run_out(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(BlobStore, "put", run_out)
    with pytest.raises(BackupError, match="do it again"):
        backup.write_backup(database, blobs, tmp_path / "backup")
    with pytest.raises(BackupError, match="broke off"):
        backup.restore_backup(database, blobs, tmp_path / "backup")
    monkeypatch.undo()
    assert backup.write_backup(database, blobs, tmp_path / "backup").blobs == 2


def test_a_blob_that_vanishes_meanwhile_is_named_and_nothing_else_is_lost(
    database, new_database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    lived_in(database, blobs)
    real = BlobStore.list
    monkeypatch.setattr(BlobStore, "list", lambda self, prefix="": [*real(self, prefix), BlobInfo("films/gone", 7)])
    written = backup.write_backup(database, blobs, tmp_path / "backup")
    monkeypatch.undo()
    assert (written.blobs, written.vanished) == (2, ["films/gone"])
    backup.restore_backup(new_database("sqlite"), BlobStore(tmp_path / "other"), tmp_path / "backup")


def test_a_competition_is_exported_with_every_number(database, tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path / "blobs")
    cup = Challenge(database)
    red = cup.team("Red")
    with database.begin() as session:
        user(session, "eve", email="eve@example.org")
    submission = cup.queue(red)
    lease = cup.claim_of(submission)
    whole = line("a", actions=["stop"], trajectory=[[0, 0, 0]])
    key = blobs.put(f"replays/{submission}/a.json", whole + b"\n").key
    cup.do(lambda session: jobs.record_episode(session, lease, ResultLine.from_bytes(whole), replay_key=key))
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    cup.score(submission)
    with database.snapshot() as session:
        files = {
            file.path: b"".join(file.chunks)
            for file in export.export_competition(session, cup.competition(session), blobs)
        }
    assert set(files) == {
        "competition.json",
        "phases/dev/board.json",
        "phases/dev/board.csv",
        "teams.jsonl",
        "submissions.jsonl",
        "ledger.jsonl",
        "audit.jsonl",
        f"episodes/{submission}.jsonl",
    }
    assert json.loads(files["competition.json"])["name"] == "cup"
    episodes = [json.loads(text) for text in files[f"episodes/{submission}.jsonl"].splitlines()]
    assert [episode["episode_id"] for episode in episodes] == ["a", "b", "c", "d"]
    assert episodes[0] == json.loads(whole), "with its actions, for replay"
    assert json.loads(files["phases/dev/board.json"])["rows"][0]["team"] == "Red"
    assert b"eve@example.org" not in b"".join(files.values())


def test_exported_episodes_give_the_same_scores(database, tmp_path: Path) -> None:
    """Anybody can recompute a row: the engine reads the exported lines and gets the board's numbers."""
    from nav_eval.evaluation.aggregation import FinalAggregator
    from nav_eval.records.results import EpisodeOutcome, read_results

    cup = Challenge(database)
    values = {"a": 0.123456789, "b": 1 / 3, "c": 0.0, "d": 0.9}
    submission = cup.complete(
        cup.team("Red"), lambda episode: {"tar": values[episode], "isr": 1.0, "csr": 0.5, "cgt": 0.1}
    )
    with database.snapshot() as session:
        files = {f.path: b"".join(f.chunks) for f in export.export_competition(session, cup.competition(session))}
        expected = leaderboard.read_scores(
            session, queries.get_submission(session, submission), leaderboard.Audience.ORGANISER
        )
    (tmp_path / "episodes.jsonl").write_bytes(files[f"episodes/{submission}.jsonl"])
    engine = FinalAggregator().aggregate(read_results(tmp_path / "episodes.jsonl", EpisodeOutcome)).metrics
    assert expected is not None
    for name, statistics in engine.items():
        assert expected[name].mean == statistics.mean
