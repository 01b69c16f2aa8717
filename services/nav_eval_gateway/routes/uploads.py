"""Uploads by tus 1.0: core, creation (with upload, with a deferred length), termination, expiration, checksum."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request, Response
from sqlalchemy import select
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from nav_eval_gateway import tus_protocol, upload_handler
from nav_eval_gateway.dependencies import Parts, Services, Store, Submitter
from nav_eval_gateway.errors import CHECKSUM_MISMATCH, describe_problems
from nav_eval_gateway.permissions import SignedIn
from nav_eval_gateway.schemas.submissions import UPLOADS
from nav_eval_gateway.tus_protocol import Checksum
from nav_eval_gateway.upload_handler import Announcement
from nav_eval_store.database import Database
from nav_eval_store.errors import Conflict, OffsetMismatch
from nav_eval_store.models import Phase, Upload
from nav_eval_store.uploads.records import GB

router = APIRouter(tags=["uploads"])


_SCHEMAS = {
    "Tus-Resumable": {"type": "string", "const": tus_protocol.VERSION},
    "Upload-Length": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "Upload-Offset": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "Upload-Defer-Length": {"type": "string", "const": "1"},
}
_REQUIRED = ("Tus-Resumable", "Upload-Offset")


def _describe_headers(**described: str) -> list[dict[str, Any]]:
    """tus' headers for the OpenAPI document; they are read by `nav_eval_gateway.tus_protocol`."""
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


_BYTES = {"content": {tus_protocol.CONTENT_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
_CHECKSUM = "`sha256 BASE64` or `sha1 BASE64` of this body; on a mismatch its bytes are thrown away."


@router.options("/uploads", status_code=204)
@router.options("/uploads/{upload_id}", status_code=204, include_in_schema=False)
def describe_uploads(store: Store) -> Response:
    """What this server can do, in tus' headers."""
    headers = {
        "Tus-Version": tus_protocol.VERSION,
        "Tus-Extension": tus_protocol.EXTENSIONS,
        "Tus-Checksum-Algorithm": ",".join(tus_protocol.ALGORITHMS),
        "Tus-Max-Size": str(_find_largest(store)),
    }
    return Response(status_code=204, headers=headers)


def _find_largest(store: Database) -> int:
    """What the most generous phase allows."""
    with store.read() as session:
        limits = [phase.config.limits.image_gb for phase in session.scalars(select(Phase))]
    return int(max(limits, default=0.0) * GB)


@router.post(
    "/uploads",
    status_code=201,
    response_class=Response,
    responses=describe_problems(401, 403, 404, 408, 409, 410, 412, 415, 423, CHECKSUM_MISMATCH, 507),
    openapi_extra={
        "parameters": _describe_headers(
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
    tus_protocol.refuse_other_versions(request.headers)
    announced = Announcement(
        length=tus_protocol.parse_length(request.headers), details=tus_protocol.parse_metadata(request.headers)
    )
    if brings_bytes := _has_body(request.headers):
        tus_protocol.refuse_other_content(request.headers)
    checksum = Checksum.of(request.headers)
    upload = await run_in_threadpool(upload_handler.create_upload, parts, caller, announced)
    offset = await run_in_threadpool(upload_handler.get_offset, parts, upload)
    if brings_bytes and offset == 0:
        offset = await _receive(request, caller, parts, upload, at=0, checksum=checksum)
    headers = {"Location": f"{UPLOADS}/{upload.id}", "Upload-Offset": str(offset)}
    return Response(
        status_code=201, headers={**headers, "Upload-Expires": tus_protocol.format_expires(upload.expires_at)}
    )


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


@router.head(
    "/uploads/{upload_id}",
    status_code=200,
    response_class=Response,
    responses=describe_problems(401, 403, 404, 410, 412),
    openapi_extra={"parameters": _describe_headers()},
)
async def show_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """How many bytes are safe: Upload-Offset. Go on from there."""
    tus_protocol.refuse_other_versions(request.headers)
    upload = await run_in_threadpool(upload_handler.find_upload, parts, caller, upload_id)
    upload_handler.refuse_ended(upload.submission)
    offset = await run_in_threadpool(upload_handler.get_offset, parts, upload)
    if offset == upload.length and upload.finished_at is None and upload_id not in parts.uploading:
        with upload_handler.lock_upload(parts, upload_id):  # the server went down just before it could finish it
            await run_in_threadpool(upload_handler.finish_upload, parts, caller, upload)
    length = {"Upload-Defer-Length": "1"} if upload.length is None else {"Upload-Length": str(upload.length)}
    headers = {"Upload-Offset": str(offset), "Upload-Expires": tus_protocol.format_expires(upload.expires_at), **length}
    return Response(headers={**headers, "Upload-Metadata": tus_protocol.encode_metadata(upload.details)})


@router.patch(
    "/uploads/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=describe_problems(401, 403, 404, 408, 409, 410, 412, 415, 423, CHECKSUM_MISMATCH, 507),
    openapi_extra={
        "parameters": _describe_headers(
            Upload_Offset="Where the bytes of this body belong: the offset that HEAD says.",
            Upload_Length="Once, where it was deferred.",
            Upload_Checksum=_CHECKSUM,
        ),
        "requestBody": {**_BYTES, "required": True},
    },
)
async def continue_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """More bytes. When the last one is here they are verified, and the submission is handed in."""
    tus_protocol.refuse_other_versions(request.headers)
    tus_protocol.refuse_other_content(request.headers)
    at, checksum = tus_protocol.parse_required_number(request.headers, "Upload-Offset"), Checksum.of(request.headers)
    length = tus_protocol.parse_number(request.headers, "Upload-Length")
    upload = await run_in_threadpool(upload_handler.find_open_upload, parts, caller, upload_id, length=length)
    if upload.finished_at is not None and at != upload.offset:
        raise OffsetMismatch("The upload is complete; it has {offset:,} bytes.", offset=upload.offset)
    if upload.finished_at is None:
        upload_handler.refuse_beyond(upload, at, tus_protocol.parse_number(request.headers, "Content-Length"))
        at = await _receive(request, caller, parts, upload, at=at, checksum=checksum)
    expires = tus_protocol.format_expires(upload.expires_at)
    return Response(status_code=204, headers={"Upload-Offset": str(at), "Upload-Expires": expires})


async def _receive(
    request: Request, caller: SignedIn, parts: Services, upload: Upload, *, at: int, checksum: Checksum | None
) -> int:
    arriving = tus_protocol.receive_pieces(request.receive, idle_seconds=parts.settings.upload_idle_seconds)
    with upload_handler.lock_upload(parts, upload.id):
        try:
            offset = await upload_handler.receive_body(parts, upload, arriving, at=at, checksum=checksum)
        except ClientDisconnect:  # nobody hears this; they ask for the offset when they come back
            raise Conflict("The connection was cut; ask for the offset and resume from there.") from None
        if offset == upload.length:
            await run_in_threadpool(upload_handler.finish_upload, parts, caller, upload)
    return offset


@router.delete(
    "/uploads/{upload_id}",
    status_code=204,
    response_class=Response,
    responses=describe_problems(401, 403, 404, 409, 412, 423),
    openapi_extra={"parameters": _describe_headers()},
)
async def remove_upload(upload_id: UUID, request: Request, caller: Submitter, parts: Parts) -> Response:
    """Give an unfinished upload up; another one may take its place."""
    tus_protocol.refuse_other_versions(request.headers)
    await run_in_threadpool(upload_handler.find_upload, parts, caller, upload_id)
    with upload_handler.lock_upload(parts, upload_id):
        await run_in_threadpool(upload_handler.terminate_upload, parts, caller, upload_id)
    return Response(status_code=204)
