"""Going on where one was interrupted: the same submission, and bytes that are taken back."""

import hashlib

import pytest

from nav_eval_store.blobs import BlobStore
from nav_eval_store.database import Database, decode_cursor, encode_cursor
from nav_eval_store.errors import StoreError
from nav_eval_store.migrations import runner
from nav_eval_store.models import Team
from nav_eval_store.submissions import creation
from nav_eval_store.submissions.creation import Archive
from support.challenge import TEST, Challenge, competition_config


@pytest.fixture
def cup(tmp_path) -> Challenge:
    database = Database(f"sqlite:///{tmp_path / 'store.db'}")
    runner.upgrade(database)
    yield Challenge(database, competition_config({"quota": {"per_day": 5, "concurrent": 2}}))
    database.dispose()


def test_a_submission_that_waits_for_the_same_archive_is_continued(cup: Challenge) -> None:
    team = cup.team("Ants")

    def start(digest: str) -> object:
        with cup.database.begin() as session:
            phase, row = cup.phase(session), session.get_one(Team, team)
            archive = Archive(digest, 10)
            return creation.start_submission(session, phase, row, user=None, actor=TEST, note="n", archive=archive).id

    first = start("a" * 64)
    assert start("a" * 64) == first
    second = start("b" * 64)
    assert second != first
    with cup.database.begin() as session:
        creation.cancel_open_submission(session, first, actor=TEST, reason="enough")
    assert start("a" * 64) != first
    assert cup.get(first).note == "n"


@pytest.mark.parametrize("scheme", ["file", "memory"])
def test_bytes_with_a_wrong_checksum_are_taken_back(tmp_path, scheme: str) -> None:
    blobs = BlobStore(tmp_path if scheme == "file" else f"memory://{tmp_path.name}")
    for offset, data, wrong in ((0, b"one", False), (3, b"XXXX", True), (3, b"two", False)):
        with blobs.append("uploads/u", offset) as upload:
            upload.write(data)
            if wrong:
                upload.undo()
    assert blobs.offset("uploads/u") == 6
    digest = hashlib.sha256(b"onetwo").hexdigest()
    assert blobs.finalise("uploads/u", "images", length=6, sha256=digest).sha256 == digest


@pytest.mark.parametrize("key", [(10**30,), (-(10**30),)])
def test_cursors_that_no_column_could_hold_are_refused(key: tuple[int]) -> None:
    with pytest.raises(StoreError, match="cursor"):
        decode_cursor(encode_cursor(key), tuple[int])
