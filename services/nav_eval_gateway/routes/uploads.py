"""Uploads by tus 1.0: core, creation (with upload, with a deferred length), termination, expiration, checksum."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from nav_eval_gateway import receiving, tus, uploading
from nav_eval_gateway.access import SignedIn
from nav_eval_gateway.dependencies import Parts, Store, Submitter
from nav_eval_gateway.problems import CHECKSUM_MISMATCH, problems
from nav_eval_gateway.schemas.submissions import UPLOADS
from nav_eval_gateway.services import Services
from nav_eval_gateway.tus import Checksum
from nav_eval_gateway.uploading import Announcement
from nav_eval_store.database import Database
from nav_eval_store.errors import Conflict, OffsetMismatch
from nav_eval_store.models import Phase, Upload
from nav_eval_store.uploads import GB

router = APIRouter(tags=["uploads"])


_SCHEMAS = {
    "Tus-Resumable": {"type": "string", "const": tus.VERSION},
    "Upload-Length": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "Upload-Offset": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "Upload-Defer-Length": {"type": "string", "const": "1"},
}
_REQUIRED = ("Tus-Resumable", "Upload-Offset")


def _headers(**described: str) -> list[dict[str, Any]]:
    """tus' headers for the OpenAPI document; they are read by `nav_eval_gateway.tus`."""
    words = {"Tus-Resumable": "The version.", **{name.replace("_", "-"): text for name, text in described.items()}}
    return [
        {
            "in": "header",
            "name": name,
            "required": name in _REQUIRED,
            "description": text,
            "schema": _SCHEMAS.get(name, {"type": "string"}),
        }
        for name, text in words.items()
    ]


_BYTES = {"content": {tus.CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
_CHECKSUM = "`sha256 BASE64` or `sha1 BASE64` of this body; on a mismatch its bytes are thrown away."


@router.options("/uploads", status_code=204)
@router.options("/uploads/{upload_id}", status_code=204, include_in_schema=False)
def describe_uploads(store: Store) -> Response:
    """What this server can do, in tus' headers."""
    headers = {
        "Tus-Version": tus.VERSION,
        "Tus-Extension": tus.EXTENSIONS,
        "Tus-Checksum-Algorithm": ",".join(tus.ALGORITHMS),
        "Tus-Max-Size": str(_largest(store)),
    }
    return Response(status_code=204, headers=headers)


def _largest(store: Database) -> int:
    """What the most generous phase allows."""
    with store.read() as session:
        limits = [phase.config.limits.image_gb for phase in session.scalars(select(Phase))]
    return int(max(limits, default=0.0) * GB)


@router.post(
    "/uploads",
    status_code=201,
    response_class=Response,
    responses=problems(401, 403, 404, 408, 409, 410, 412, 415, 423, CHECKSUM_MISMATCH, 507),
    openapi_extra={
        "parameters": _headers(
            Upload_Length="Bytes of the archive.",
            Upload_Defer_Length="`1` where the length is told later.",
            Upload_Metadata="`submission_id BASE64`, and as wanted `sha256`, `filename`, `purpose` (image or weights), "
            "`submit` (`no`: wait for POST …/submit).",
            Upload_Checksum=_CHECKSUM,
        ),
        "requestBody": {**_BYTES, "description": "The first bytes, if you like."},
    },
)
async def create_upload(request: Request, caller: Submitter, parts: Parts) -> Response:
    """Announce an upload; where it goes is in Location. The same announcement twice is one upload."""
    tus.refuse_other_versions(request.headers)
    announced = Announcement(length=tus.length(request.headers), details=tus.metadata(request.headers))
    if brings_bytes := _brings_bytes(request.headers):
        tus.refuse_other_content(request.headers)
    checksum = Checksum.of(request.headers)
    upload = await run_in_threadpool(uploading.create, parts, caller, announced)
    offset = await run_in_threadpool(uploading.offset, parts, upload)
    if brings_bytes and offset == 0:
        offset = await _receive(request, caller, parts, upload, at=0, checksum=checksum)
    headers = {"Location": f"{UPLOADS}/{upload.id}", "Upload-Offset": str(offset)}
    return Response(status_code=201, headers={**headers, "Upload-Expires": tus.expires(upload.expires_at)})


def _brings_bytes(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


@router.head(
    "/uploads/{upload_id}",
    status_code=200,
    response_class=Response,
    responses=problems(401, 403, 404, 410, 412),
    openapi_extra={"parameters": _headers()},
)
async def show_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """How many bytes are safe: Upload-Offset. Go on from there."""
    tus.refuse_other_versions(request.headers)
    upload = await run_in_threadpool(uploading.find, parts, caller, upload_id)
    uploading.refuse_ended(upload.submission)
    offset = await run_in_threadpool(uploading.offset, parts, upload)
    if offset == upload.length and upload.finished_at is None and upload_id not in parts.uploading:
        with uploading.alone(parts, upload_id):  # the server went down just before it could finish it
            await run_in_threadpool(uploading.finish, parts, caller, upload)
    length = {"Upload-Defer-Length": "1"} if upload.length is None else {"Upload-Length": str(upload.length)}
    headers = {"Upload-Offset": str(offset), "Upload-Expires": tus.expires(upload.expires_at), **length}
    return Response(headers={**headers, "Upload-Metadata": tus.encoded(upload.details)})


@router.patch(
    "/uploads/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=problems(401, 403, 404, 408, 409, 410, 412, 415, 423, CHECKSUM_MISMATCH, 507),
    openapi_extra={
        "parameters": _headers(
            Upload_Offset="Where the bytes of this body belong: the offset that HEAD says.",
            Upload_Length="Once, where it was deferred.",
            Upload_Checksum=_CHECKSUM,
        ),
        "requestBody": {**_BYTES, "required": True},
    },
)
async def continue_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """More bytes. When the last one is here they are verified, and the submission is handed in."""
    tus.refuse_other_versions(request.headers)
    tus.refuse_other_content(request.headers)
    at, checksum = tus.required_number(request.headers, "Upload-Offset"), Checksum.of(request.headers)
    length = tus.number(request.headers, "Upload-Length")
    upload = await run_in_threadpool(uploading.find_open, parts, caller, upload_id, length=length)
    if upload.finished_at is not None and at != upload.offset:
        raise OffsetMismatch("The upload is complete; it has {offset:,} bytes.", offset=upload.offset)
    if upload.finished_at is None:
        uploading.refuse_beyond(upload, at, tus.number(request.headers, "Content-Length"))
        at = await _receive(request, caller, parts, upload, at=at, checksum=checksum)
    expires = tus.expires(upload.expires_at)
    return Response(status_code=204, headers={"Upload-Offset": str(at), "Upload-Expires": expires})


async def _receive(
    request: Request, caller: SignedIn, parts: Services, upload: Upload, *, at: int, checksum: Checksum | None
) -> int:
    arriving = receiving.pieces(request.receive, idle_seconds=parts.settings.upload_idle_seconds)
    with uploading.alone(parts, upload.id):
        try:
            offset = await uploading.receive(parts, upload, arriving, at=at, checksum=checksum)
        except ClientDisconnect:  # nobody hears this; they ask for the offset when they come back
            raise Conflict("The connection was cut; ask for the offset and go on from there.") from None
        if offset == upload.length:
            await run_in_threadpool(uploading.finish, parts, caller, upload)
    return offset


@router.delete(
    "/uploads/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=problems(401, 403, 404, 409, 412, 423),
    openapi_extra={"parameters": _headers()},
)
async def remove_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """Give an unfinished upload up; another one may take its place."""
    tus.refuse_other_versions(request.headers)
    await run_in_threadpool(uploading.find, parts, caller, upload_id)
    with uploading.alone(parts, upload_id):
        await run_in_threadpool(uploading.give_up, parts, caller, upload_id)
    return Response(status_code=204)
