"""Uploads: announced, continued, finished once, and tied to their submission."""

from datetime import timedelta
from uuid import UUID

import pytest

from nav_eval_store.errors import Conflict, NotFound, PhaseNotOpen, StoreError
from nav_eval_store.models import Team, UploadPurpose
from nav_eval_store.submissions import creation
from nav_eval_store.submissions.creation import Archive
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.uploads import records
from support.challenge import GENEROUS, TEST, Challenge, competition_config

pytestmark = pytest.mark.integration

SHA = "ab" * 32


def create(cup: Challenge, submission: UUID, **options) -> UUID:
    return cup.do(
        lambda session: records.create_upload(session, submission, actor=TEST, **{"length": 10, **options}).id
    )


def finish(cup: Challenge, upload: UUID, key: str = f"images/{SHA}") -> None:
    cup.do(lambda session: records.record_finish(session, upload, blob_key=key, sha256=SHA, length=10, actor=TEST))


def test_image_and_weights_make_a_submission(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    image = create(cup, submission, sha256=SHA)
    weights = create(cup, submission, purpose=UploadPurpose.WEIGHTS)
    assert cup.get(submission).state is SubmissionState.UPLOADING
    finish(cup, image)
    with pytest.raises(Conflict, match="0 bytes of its weights"):
        cup.do(lambda session: records.submit_uploaded(session, submission, actor=TEST))
    finish(cup, weights, f"weights/{SHA}")
    for _ in range(2):  # twice is once
        cup.do(lambda session: records.submit_uploaded(session, submission, actor=TEST))
    row = cup.get(submission)
    assert row.state is SubmissionState.VALIDATING
    assert (row.image_key, row.image_digest, row.image_bytes) == (f"images/{SHA}", f"sha256:{SHA}", 10)
    assert row.weights_key == f"weights/{SHA}"


def test_nothing_uploaded_cannot_be_submitted(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    with pytest.raises(Conflict, match="no image"):
        cup.do(lambda session: records.submit_uploaded(session, submission, actor=TEST))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1_000_000_001}, "more than the 1 GB"),
        ({"length": 0}, "at least one byte"),
        ({"length": -1}, "at least one byte"),
        ({"sha256": "XY"}, "64 hexadecimal"),
    ],
)
def test_announcements_that_are_refused(database, options: dict[str, object], message: str) -> None:
    cup = Challenge(database, competition_config({"limits": {"image_gb": 1.0}}))
    submission = cup.start(cup.team("Red"))
    with pytest.raises(StoreError, match=message):
        create(cup, submission, **options)
    assert cup.get(submission).state is SubmissionState.CREATED


def test_a_length_that_is_told_later_is_checked_too(database) -> None:
    cup = Challenge(database, competition_config({"limits": {"image_gb": 1.0}}))
    upload = create(cup, cup.start(cup.team("Red")), length=None)
    with pytest.raises(StoreError, match="1 GB"):
        cup.do(lambda session: records.set_length(session, records.get_upload(session, upload), 2_000_000_000))
    cup.do(lambda session: records.set_length(session, records.get_upload(session, upload), 500))
    with pytest.raises(Conflict, match="announced with 500"):
        cup.do(lambda session: records.set_length(session, records.get_upload(session, upload), 501))


def test_one_upload_of_a_kind_until_it_is_removed(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    first = create(cup, submission)
    with pytest.raises(Conflict, match="continue that one"):
        create(cup, submission)
    key = cup.do(lambda session: records.remove_upload(session, first, actor=TEST))
    assert key == f"uploads/{first}"
    with cup.database.read() as session, pytest.raises(NotFound):
        records.get_upload(session, first)
    create(cup, submission)


def test_progress_never_goes_back(cup: Challenge) -> None:
    upload = create(cup, cup.start(cup.team("Red")))
    for offset, expected in ((3, 3), (7, 7), (5, 7)):
        cup.do(lambda session: records.record_progress(session, upload, offset))  # noqa: B023
        with cup.database.read() as session:
            assert records.get_upload(session, upload).offset == expected


def test_finishing_twice_is_once_and_a_finished_one_stays(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    upload = create(cup, submission)
    finish(cup, upload)
    finish(cup, upload, "images/other")
    assert cup.get(submission).image_key == f"images/{SHA}"
    with pytest.raises(Conflict, match="finished"):
        cup.do(lambda session: records.remove_upload(session, upload, actor=TEST))


def test_a_cancelled_submission_takes_no_bytes(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    upload = create(cup, submission)
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="x"))
    with pytest.raises(Conflict, match="cancelled"):
        finish(cup, upload)
    with pytest.raises(Conflict, match="cancelled"):
        create(cup, submission, purpose=UploadPurpose.WEIGHTS)
    with pytest.raises(Conflict):
        cup.do(lambda session: records.submit_uploaded(session, submission, actor=TEST))


@pytest.mark.parametrize(
    ("announced", "told", "begun", "late", "taken"),
    [
        (None, None, "before", False, True),  # in time
        (None, None, "before", True, False),  # anything could have been sent meanwhile
        ("a", None, "after", True, True),  # what it is was told with the submission
        ("b", None, "after", True, False),  # and this is another one
        (None, "a", "before", True, True),  # or with the upload
        (None, "a", "after", True, False),
    ],
)
def test_what_arrives_after_the_phase_has_closed(
    database, clock, announced: str | None, told: str | None, begun: str, late: bool, taken: bool
) -> None:
    """A slot that was reserved in time is no licence to go on working."""
    closes = (clock.now() + timedelta(hours=2)).isoformat()
    cup = Challenge(database, competition_config({**GENEROUS, "closes": closes}))
    digest = announced and announced * 64
    red = cup.team("Red")
    with database.begin() as session:
        team = session.get_one(Team, red)
        submission = creation.start_submission(
            session, cup.phase(session), team, user=None, actor=TEST, archive=Archive(digest, 10)
        ).id
    if begun == "after":
        clock.advance(hours=3)
    with database.begin() as session:
        upload = records.create_upload(session, submission, actor=TEST, length=10, sha256=told and told * 64).id
    if late and begun == "before":
        clock.advance(hours=3)

    def finish() -> None:
        with database.begin() as session:
            records.record_finish(session, upload, blob_key="images/a", sha256="a" * 64, length=10, actor=TEST)

    if taken:
        finish()
    else:
        with pytest.raises(PhaseNotOpen, match="announced before"):
            finish()
