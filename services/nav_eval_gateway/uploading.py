"""An upload from its announcement to its end: what tus asks for, done with the store and the blobs.

Everything here blocks and runs in threads, but for `receive`. A crash at any point loses nothing: bytes that were
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

from nav_eval_gateway import access, receiving
from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.errors import BadHeader, Gone, StorageFull
from nav_eval_gateway.services import Services
from nav_eval_gateway.tus import Checksum
from nav_eval_store import recovery, transitions, uploads
from nav_eval_store.database import Session
from nav_eval_store.errors import DigestMismatch, TooLarge, UploadBusy
from nav_eval_store.lifecycle import State
from nav_eval_store.models import Submission, Upload, UploadPurpose

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


def create(parts: Services, caller: SignedIn, announced: Announcement) -> Upload:
    """A new upload, or the one that was announced with the same words before."""
    return parts.database.run(lambda session: _create(session, caller, announced))


def _create(session: Session, caller: SignedIn, announced: Announcement) -> Upload:
    submission = transitions.locked(session, access.own_submission(session, caller, announced.submission_id).id)
    sha256 = announced.details.get("sha256") or _announced_digest(submission, announced.purpose)
    for known in uploads.uploads_of(session, submission):
        same = (known.purpose, known.length, known.sha256) == (announced.purpose, announced.length, sha256)
        if same and known.finished_at is None and submission.state is State.UPLOADING:
            return uploads.get(session, known.id)
    made = uploads.create(
        session,
        submission.id,
        actor=caller.actor,
        length=announced.length,
        sha256=sha256,
        purpose=announced.purpose,
        details=announced.details,
    )
    return uploads.get(session, made.id)


def _announced_digest(submission: Submission, purpose: UploadPurpose) -> str | None:
    return submission.announced_sha256 if purpose is UploadPurpose.IMAGE else None


def find(parts: Services, caller: SignedIn, upload_id: UUID) -> Upload:
    """An upload of the caller's team, as it stands."""
    with parts.database.read() as session:
        return access.upload(session, caller, upload_id)


def find_open(parts: Services, caller: SignedIn, upload_id: UUID, *, length: int | None) -> Upload:
    """An upload to write to; `length` is what tus calls the deferred length, made good on."""

    def look(session: Session) -> Upload:
        upload = access.upload(session, caller, upload_id)
        refuse_ended(upload.submission)
        if length is not None:
            uploads.set_length(session, upload, length)
        return upload

    if length is not None:
        return parts.database.run(look)
    with parts.database.read() as session:
        return look(session)


def refuse_ended(submission: Submission) -> None:
    if submission.state in (State.FAILED, State.CANCELLED):
        raise Gone("The submission is {state}; make a new one.", state=submission.state)


def offset(parts: Services, upload: Upload) -> int:
    """Bytes that are safe."""
    if upload.finished_at is not None:
        return upload.offset
    return parts.blobs.offset(upload.key)


@contextmanager
def alone(parts: Services, upload_id: UUID) -> Iterator[None]:
    """One request at a time; a second one is told to wait."""
    if upload_id in parts.uploading:
        raise UploadBusy
    parts.uploading.add(upload_id)
    try:
        yield
    finally:
        parts.uploading.discard(upload_id)


async def receive(
    parts: Services, upload: Upload, arriving: AsyncIterator[bytes], *, at: int, checksum: Checksum | None = None
) -> int:
    """Append a body; the new offset. However it ends, what is safe is written down."""
    limit = upload.length or uploads.largest(upload.submission)
    noticed = time.monotonic()

    async def notice(now_at: int) -> None:
        nonlocal noticed
        if time.monotonic() - noticed > NOTICE_SECONDS:
            noticed = time.monotonic()
            await run_in_threadpool(_still_wanted, parts, upload.id, now_at)

    try:
        appending = parts.blobs.append(upload.key, at, limit=limit)
        return await receiving.receive_into(appending, arriving, checksum=checksum, notice=notice)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull from error
        raise
    finally:
        upload.expires_at = await run_in_threadpool(_write_down, parts, upload)


def _still_wanted(parts: Services, upload_id: UUID, now_at: int) -> None:
    def look(session: Session) -> None:
        uploads.progressed(session, upload_id, now_at)
        refuse_ended(uploads.get(session, upload_id).submission)

    parts.database.run(look)


def _write_down(parts: Services, upload: Upload) -> datetime:
    """Until when the next byte must come."""
    safe = parts.blobs.offset(upload.key)
    return parts.database.run(lambda session: uploads.progressed(session, upload.id, safe)).expires_at


def refuse_beyond(upload: Upload, at: int, coming: int | None) -> None:
    """Refuse a body before it is read when it cannot fit."""
    limit = upload.length or uploads.largest(upload.submission)
    if coming is not None and at + coming > limit:
        raise TooLarge(
            "{length:,} bytes are more than the {limit:,} that were announced or are allowed.",
            length=at + coming,
            limit=limit,
        )


def finish(parts: Services, caller: SignedIn, upload: Upload) -> None:
    """All bytes are here: verify them, keep them, and hand the submission in when nothing else is awaited."""
    if upload.length is None:
        return
    try:
        info = parts.blobs.finalise(upload.key, FOLDERS[upload.purpose], length=upload.length, sha256=upload.sha256)
    except DigestMismatch:
        parts.database.run(lambda session: uploads.remove(session, upload.id, actor=caller.actor))
        parts.blobs.discard(upload.key)
        raise

    def keep(session: Session) -> list[recovery.Message]:
        digest = info.sha256 or ""
        uploads.finished(session, upload.id, blob_key=info.key, sha256=digest, length=info.size, actor=caller.actor)
        return _hand_in(session, caller, upload)

    messages = parts.database.run(keep)
    parts.blobs.discard(upload.key)
    parts.messenger.tell(messages)


def _hand_in(session: Session, caller: SignedIn, upload: Upload) -> list[recovery.Message]:
    """Unless the image is still awaited, or the team wants to say itself when it is complete."""
    if upload.details.get("submit") == "no":
        return []
    session.flush()
    if not uploads.is_complete(session, session.get_one(Submission, upload.submission_id)):
        return []
    uploads.submit(session, upload.submission_id, actor=caller.actor)
    return recovery.untold(session, upload.submission_id)


def give_up(parts: Services, caller: SignedIn, upload_id: UUID) -> None:
    """What tus calls termination."""

    def remove(session: Session) -> str:
        access.upload(session, caller, upload_id)
        return uploads.remove(session, upload_id, actor=caller.actor)

    parts.blobs.discard(parts.database.run(remove))
