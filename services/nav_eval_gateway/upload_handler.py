"""An upload from its announcement to its end: what tus asks for, done with the store and the blobs.

Everything here blocks and runs in threads, but for `receive_body`. A crash at any point loses nothing: bytes that were
written stay, and an upload that is complete but was not finished is finished when somebody asks for it.
"""

import errno
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from starlette.concurrency import run_in_threadpool

from nav_eval_gateway import permissions, tus_protocol
from nav_eval_gateway.dependencies import Services
from nav_eval_gateway.errors import BadHeader, Gone, StorageFull
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.tus_protocol import Checksum
from nav_eval_store.database import Session
from nav_eval_store.errors import DigestMismatch, UploadBusy, UploadTooLarge
from nav_eval_store.models import Submission, Upload, UploadPurpose
from nav_eval_store.submissions import transitions
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.uploads import records
from nav_eval_store.work import dispatch
from nav_eval_store.work.queues import JobMessage

NOTICE_SECONDS = 20.0
"""So often a long request writes down that it is alive, and looks whether it is still wanted."""
FOLDERS = {UploadPurpose.IMAGE: "images", UploadPurpose.WEIGHTS: "weights"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """What the headers of a creation say."""

    length: int | None
    details: Mapping[str, str]  #: Upload-Metadata

    @property
    def submission_id(self) -> UUID:
        try:
            return UUID(self.details.get("submission_id", ""))
        except ValueError as error:
            raise BadHeader("Upload-Metadata must name the submission_id: create a submission first.") from error

    @property
    def purpose(self) -> UploadPurpose:
        try:
            return UploadPurpose(self.details.get("purpose", UploadPurpose.IMAGE))
        except ValueError as error:
            raise BadHeader("The purpose in Upload-Metadata is image or weights.") from error


def create_upload(parts: Services, caller: SignedIn, announced: Announcement) -> Upload:
    """A new upload, or the one that was announced with the same words before."""
    return parts.database.run(lambda session: _find_or_create(session, caller, announced, parts.settings.team_bytes))


def _find_or_create(session: Session, caller: SignedIn, announced: Announcement, team_bytes: int | None) -> Upload:
    submission = transitions.lock_submission(
        session, permissions.get_own_submission(session, caller, announced.submission_id).id
    )
    sha256 = announced.details.get("sha256") or _find_announced_digest(submission, announced.purpose)
    for known in records.list_uploads(session, submission):
        same = (known.purpose, known.length, known.sha256) == (announced.purpose, announced.length, sha256)
        if same and known.finished_at is None and submission.state is SubmissionState.UPLOADING:
            return records.get_upload(session, known.id)
    made = records.create_upload(
        session,
        submission.id,
        actor=caller.actor,
        length=announced.length,
        sha256=sha256,
        purpose=announced.purpose,
        details=announced.details,
        team_bytes=team_bytes,
    )
    return records.get_upload(session, made.id)


def _find_announced_digest(submission: Submission, purpose: UploadPurpose) -> str | None:
    return submission.announced_sha256 if purpose is UploadPurpose.IMAGE else None


def find_upload(parts: Services, caller: SignedIn, upload_id: UUID) -> Upload:
    """An upload of the caller's team, as it stands."""
    with parts.database.read() as session:
        return permissions.get_upload(session, caller, upload_id)


def find_open_upload(parts: Services, caller: SignedIn, upload_id: UUID, *, length: int | None) -> Upload:
    """An upload to write to; `length` is what tus calls the deferred length, made good on."""

    def look(session: Session) -> Upload:
        upload = permissions.get_upload(session, caller, upload_id)
        refuse_ended(upload.submission)
        if length is not None:
            records.set_length(session, upload, length)
        return upload

    if length is not None:
        return parts.database.run(look)
    with parts.database.read() as session:
        return look(session)


def refuse_ended(submission: Submission) -> None:
    if submission.state in (SubmissionState.FAILED, SubmissionState.CANCELLED):
        raise Gone("The submission is {state}; create a new one.", state=submission.state)


def get_offset(parts: Services, upload: Upload) -> int:
    """Bytes that are safe."""
    if upload.finished_at is not None:
        return upload.offset
    return parts.blobs.offset(upload.key)


@contextmanager
def lock_upload(parts: Services, upload_id: UUID) -> Iterator[None]:
    """One request at a time; a second one is told to wait."""
    if upload_id in parts.uploading:
        raise UploadBusy
    parts.uploading.add(upload_id)
    try:
        yield
    finally:
        parts.uploading.discard(upload_id)


async def receive_body(
    parts: Services, upload: Upload, arriving: AsyncIterator[bytes], *, at: int, checksum: Checksum | None = None
) -> int:
    """Append a body; the new offset. However it ends, what is safe is written down."""
    limit = upload.length or records.get_length_limit(upload.submission)
    noticed = time.monotonic()

    async def notice(now_at: int) -> None:
        nonlocal noticed
        if time.monotonic() - noticed > NOTICE_SECONDS:
            noticed = time.monotonic()
            await run_in_threadpool(_check_still_wanted, parts, upload.id, now_at)

    try:
        appending = parts.blobs.append(upload.key, at, limit=limit)
        return await tus_protocol.receive_into(appending, arriving, checksum=checksum, notice=notice)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull from error
        raise
    finally:
        upload.expires_at = await run_in_threadpool(_record_offset, parts, upload)


def _check_still_wanted(parts: Services, upload_id: UUID, now_at: int) -> None:
    def look(session: Session) -> None:
        records.record_progress(session, upload_id, now_at)
        refuse_ended(records.get_upload(session, upload_id).submission)

    parts.database.run(look)


def _record_offset(parts: Services, upload: Upload) -> datetime:
    """Until when the next byte must come."""
    safe = parts.blobs.offset(upload.key)
    return parts.database.run(lambda session: records.record_progress(session, upload.id, safe)).expires_at


def refuse_beyond(upload: Upload, at: int, coming: int | None) -> None:
    """Refuse a body before it is read when it cannot fit."""
    limit = upload.length or records.get_length_limit(upload.submission)
    if coming is not None and at + coming > limit:
        raise UploadTooLarge(
            "{length:,} bytes are more than the {limit:,} that were announced or are allowed.",
            length=at + coming,
            limit=limit,
        )


def finish_upload(parts: Services, caller: SignedIn, upload: Upload) -> None:
    """All bytes are here: verify them, keep them, and hand the submission in when nothing else is awaited."""
    if upload.length is None:
        return
    try:
        info = parts.blobs.finalise(upload.key, FOLDERS[upload.purpose], length=upload.length, sha256=upload.sha256)
    except DigestMismatch:
        parts.database.run(lambda session: records.remove_upload(session, upload.id, actor=caller.actor))
        parts.blobs.discard(upload.key)
        raise

    def keep(session: Session) -> list[JobMessage]:
        digest = info.sha256 or ""
        records.record_finish(
            session, upload.id, blob_key=info.key, sha256=digest, length=info.size, actor=caller.actor
        )
        return _submit_when_complete(session, caller, upload)

    messages = parts.database.run(keep)
    if not parts.blobs.exists(info.key):  # it was taken for forgotten just before its row was written
        parts.blobs.finalise(upload.key, FOLDERS[upload.purpose], length=upload.length)
    parts.blobs.discard(upload.key)
    parts.publisher.publish(messages)


def _submit_when_complete(session: Session, caller: SignedIn, upload: Upload) -> list[JobMessage]:
    """Unless the image is still awaited, or the team wants to say itself when it is complete."""
    if upload.details.get("submit") == "no":
        return []
    session.flush()
    if not records.is_complete(session, session.get_one(Submission, upload.submission_id)):
        return []
    records.submit_uploaded(session, upload.submission_id, actor=caller.actor)
    return dispatch.dispatch_jobs(session)


def terminate_upload(parts: Services, caller: SignedIn, upload_id: UUID) -> None:
    """What tus calls termination."""

    def remove(session: Session) -> str:
        permissions.get_upload(session, caller, upload_id)
        return records.remove_upload(session, upload_id, actor=caller.actor)

    parts.blobs.discard(parts.database.run(remove))
