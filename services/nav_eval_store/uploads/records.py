"""Uploads in the tus 1.0 sense: announced, continued where they broke off, verified, or given up.

The blob store holds the bytes and knows how many there are; the row here says whose they are and
until when we wait for more. One upload of each purpose per submission is enough.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import joinedload

from nav_eval_store import audit
from nav_eval_store.audit import Actor
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, NotFound, PhaseNotOpen, StoreError, UploadTooLarge
from nav_eval_store.models import Phase, QuotaShare, Submission, Upload, UploadPurpose
from nav_eval_store.people import teams
from nav_eval_store.submissions import creation, quota, transitions
from nav_eval_store.submissions.lifecycle import Deadlines, SubmissionState

SHA256 = re.compile(r"[0-9a-f]{64}")
GB = 1_000_000_000


def create_upload(
    session: Session,
    submission_id: UUID,
    *,
    actor: Actor,
    length: int | None = None,
    sha256: str | None = None,
    purpose: UploadPurpose = UploadPurpose.IMAGE,
    details: Mapping[str, str] | None = None,
    deadlines: Deadlines | None = None,
    team_bytes: int | None = None,
) -> Upload:
    """Announce an upload; refused when the phase's limit is smaller, or one of this purpose is there.

    `team_bytes` is what a team may hold of all its archives together.
    """
    submission = transitions.lock_submission(session, submission_id)
    if submission.state not in (SubmissionState.CREATED, SubmissionState.UPLOADING):
        raise Conflict("The submission is {state}; it no longer accepts uploads.", state=submission.state)
    refuse_length(submission.phase, length)
    if team_bytes is not None:
        _refuse_full(session, submission, length or get_length_limit(submission), team_bytes)
    if sha256 is not None and not SHA256.fullmatch(sha256):
        raise StoreError("A sha256 is 64 hexadecimal digits, in lower case.")
    if any(upload.purpose is purpose for upload in list_uploads(session, submission)):
        raise Conflict(
            "The submission already has an upload of its {purpose}; continue that one, or remove it.", purpose=purpose
        )
    upload_id = uuid4()
    upload = Upload(
        id=upload_id,
        key=f"uploads/{upload_id}",
        submission_id=submission.id,
        purpose=purpose,
        length=length,
        sha256=sha256,
        details=dict(details or {}),
        created_at=session.now(),
        expires_at=session.now() + (deadlines or Deadlines()).upload_pause,
    )
    session.add(upload)
    session.flush()
    if submission.state is SubmissionState.CREATED:
        transitions.move_to_state(session, submission, SubmissionState.UPLOADING, actor=actor)
    submission.active_at = session.now()
    audit.record(session, actor, "upload.create", audit.make_subject(submission), upload=str(upload.id), length=length)
    return upload


def _refuse_full(session: Session, submission: Submission, length: int, most: int) -> None:
    """Archives of one team fill no disk; those of submissions that failed or were cancelled go after some days.

    What a person uploaded goes with them to another team. One at a time: many requests at once get what is left.
    """
    teams.lock_team(session, submission.team_id)
    held = max(
        measure_team_bytes(session, submission.team_id),
        *(_measure_persons_bytes(session, submission, user_id) for user_id in quota.list_sharers(session, submission)),
        0,
    )
    if held + length > most:
        raise UploadTooLarge(
            "Your team's images and weights take up {held:,} of {most:,} bytes; "
            "use an image you have already uploaded, or ask the organiser for more.",
            held=held,
            most=most,
        )


def measure_team_bytes(session: Session, team_id: UUID) -> int:
    """Bytes of archives that a team holds or has announced; one image counts once."""
    return _measure_bytes(session, Submission.team_id == team_id)


def _measure_persons_bytes(session: Session, submission: Submission, user_id: UUID) -> int:
    """Of a person in the same competition, in whichever team they were."""
    theirs = select(QuotaShare.submission_id).where(QuotaShare.user_id == user_id)
    here = Submission.competition_id == submission.competition_id
    return _measure_bytes(session, here, Submission.id.in_(theirs))


def _measure_bytes(session: Session, *which: ColumnElement[bool]) -> int:
    held = or_(Upload.blob_key == Submission.image_key, Upload.blob_key == Submission.weights_key)
    rows = session.execute(
        select(Upload.blob_key, Upload.id, func.coalesce(Upload.length, Upload.offset))
        .join(Upload.submission)
        .where(*which, Upload.removed_at.is_(None), or_(held, Upload.finished_at.is_(None)))
    )
    return sum({key or str(upload): size for key, upload, size in rows}.values())


def refuse_length(phase: Phase, length: int | None) -> None:
    """Refuse more bytes than the phase allows."""
    limit = phase.config.limits.image_gb
    if length is not None and length > limit * GB:
        raise UploadTooLarge(
            "{length:,} bytes are more than the {limit:g} GB that this phase allows.", length=length, limit=limit
        )
    if length is not None and length < 1:
        raise StoreError("An upload has at least one byte.")


def get_length_limit(submission: Submission) -> int:
    """How many bytes an upload may have."""
    return int(submission.phase.config.limits.image_gb * GB)


def get_upload(session: Session, upload_id: UUID) -> Upload:
    """An upload that can be continued or was finished, with its submission."""
    query = select(Upload).where(Upload.id == upload_id, Upload.removed_at.is_(None))
    upload = session.scalar(query.options(joinedload(Upload.submission).joinedload(Submission.phase)))
    if upload is None:
        raise NotFound("There is no such upload, or it has expired.")
    return upload


def list_uploads(session: Session, submission: Submission) -> Sequence[Upload]:
    query = select(Upload).where(Upload.submission_id == submission.id, Upload.removed_at.is_(None))
    return session.scalars(query.order_by(Upload.created_at)).all()


def set_length(session: Session, upload: Upload, length: int) -> None:
    """What tus calls Upload-Defer-Length, made good on; once only."""
    refuse_length(upload.submission.phase, length)
    if upload.length not in (None, length):
        raise Conflict("The upload was announced with {length:,} bytes.", length=upload.length)
    upload.length = length


def record_progress(session: Session, upload_id: UUID, offset: int, *, deadlines: Deadlines | None = None) -> Upload:
    """So many bytes are safe; the team is alive."""
    submission = transitions.lock_submission(session, get_upload(session, upload_id).submission_id)
    upload = session.get_one(Upload, upload_id, populate_existing=True)
    upload.offset = max(upload.offset, offset)
    upload.expires_at = session.now() + (deadlines or Deadlines()).upload_pause
    submission.active_at = session.now()
    return upload


def record_finish(
    session: Session, upload_id: UUID, *, blob_key: str, sha256: str, length: int, actor: Actor
) -> Upload:
    """All bytes are here and verified, at `blob_key`. Twice is once."""
    submission = transitions.lock_submission(session, get_upload(session, upload_id).submission_id)
    upload = session.get_one(Upload, upload_id, populate_existing=True)
    if upload.finished_at is not None:
        return upload
    if submission.state is not SubmissionState.UPLOADING:
        raise Conflict("The submission is {state}; it no longer accepts uploads.", state=submission.state)
    _refuse_late(session, submission, upload, sha256)
    upload.offset = upload.length = length
    upload.finished_at, upload.blob_key, upload.sha256 = session.now(), blob_key, sha256
    submission.active_at = session.now()
    if upload.purpose is UploadPurpose.IMAGE:
        submission.image_key, submission.image_digest, submission.image_bytes = blob_key, f"sha256:{sha256}", length
    else:
        submission.weights_key, submission.weights_digest = blob_key, f"sha256:{sha256}"
    audit.record(session, actor, "upload.finish", audit.make_subject(submission), upload=str(upload.id), sha256=sha256)
    return upload


def _refuse_late(session: Session, submission: Submission, upload: Upload, sha256: str) -> None:
    """Refuse what arrives after the phase has closed, unless its digest was told before: nobody works on meanwhile."""
    closes_at = submission.phase.closes_at
    if closes_at is None or session.now() < closes_at:
        return
    told = {submission.announced_sha256, upload.sha256 if upload.created_at < closes_at else None}
    if sha256 not in told:
        raise PhaseNotOpen(
            "The phase closed at {closes_at:%Y-%m-%d %H:%M} UTC; only an archive whose sha256 was announced before "
            "may arrive later.",
            closes_at=closes_at,
        )


def remove_upload(session: Session, upload_id: UUID, *, actor: Actor) -> str:
    """Give an unfinished upload up (tus termination); returns the blob to delete."""
    upload = get_upload(session, upload_id)
    if upload.finished_at is not None:
        raise Conflict("The upload is finished; cancel the submission instead.")
    upload.removed_at = session.now()
    audit.record(session, actor, "upload.remove", audit.make_subject(upload.submission), upload=str(upload.id))
    return upload.key


def submit_uploaded(session: Session, submission_id: UUID, *, actor: Actor) -> Submission:
    """Everything is uploaded: check and evaluate it. Twice is once."""
    submission = transitions.lock_submission(session, submission_id)
    if submission.submitted_at is not None:
        return submission
    pending = _list_pending(session, submission)
    if submission.image_key is None or pending:
        what = f"{pending[0].offset:,} bytes of its {pending[0].purpose} have arrived" if pending else "it has no image"
        raise Conflict("The submission is not complete: {what}. Finish the upload first.", what=what)
    creation.begin_validation(session, submission, actor=actor)
    return submission


def _list_pending(session: Session, submission: Submission) -> list[Upload]:
    return [upload for upload in list_uploads(session, submission) if upload.finished_at is None]


def is_complete(session: Session, submission: Submission) -> bool:
    """Whether everything that was announced has been uploaded, an image at least."""
    return submission.image_key is not None and not _list_pending(session, submission)


def list_expired_uploads(session: Session, now: datetime | None = None) -> Sequence[Upload]:
    """Uploads whose bytes can go: nobody came back for them, or their submission ended without them."""
    moment = now or session.now()
    query = (
        select(Upload)
        .join(Upload.submission)
        .where(
            Upload.finished_at.is_(None),
            Upload.removed_at.is_(None),
            (Upload.expires_at <= moment) | Submission.state.in_((SubmissionState.FAILED, SubmissionState.CANCELLED)),
        )
    )
    return session.scalars(query).all()
