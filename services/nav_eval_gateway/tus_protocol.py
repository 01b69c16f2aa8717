"""tus 1.0 on the wire: its headers, read and written, and the bytes of a request on their way into a blob.

The protocol: https://tus.io/protocols/resumable-upload. Of a body
never more than a few blocks are in memory: while a thread writes (and hashes) one, the next one arrives. What came
before a cut stays, so that the upload goes on from there.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from nav_eval_gateway.errors import BadHeader, ChecksumMismatch, TooSlow, UnsupportedContent, UnsupportedVersion
from nav_eval_store.uploads.storage import Appender

VERSION = "1.0.0"
EXTENSIONS = "creation,creation-with-upload,creation-defer-length,termination,expiration,checksum"
ALGORITHMS = ("sha256", "sha1")
CONTENT_TYPE = "application/offset+octet-stream"
LONGEST_METADATA = 8192
_NUMBER = re.compile(r"\d{1,18}")
_KEY = re.compile(r"[!-+\--~]{1,100}")
"""Visible ASCII without the comma."""


def refuse_other_versions(headers: Headers) -> None:
    if headers.get("tus-resumable") != VERSION:
        raise UnsupportedVersion(headers={"Tus-Version": VERSION})


def refuse_other_content(headers: Headers) -> None:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != CONTENT_TYPE:
        raise UnsupportedContent(f"Bytes of an upload have the content type {CONTENT_TYPE}.")


def parse_number(headers: Headers, name: str) -> int | None:
    """A header that holds a number of bytes."""
    text = headers.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadHeader(f"{name} must be a number of bytes.")
    return int(text)


def parse_required_number(headers: Headers, name: str) -> int:
    found = parse_number(headers, name)
    if found is None:
        raise BadHeader(f"{name} is missing.")
    return found


def parse_length(headers: Headers) -> int | None:
    """What an upload will have; None is to be told later."""
    known = parse_number(headers, "Upload-Length")
    deferred = headers.get("upload-defer-length")
    if (known is None) != (deferred == "1") or deferred not in (None, "1"):
        raise BadHeader("Send Upload-Length, or `Upload-Defer-Length: 1` if it is not known yet.")
    return known


def parse_metadata(headers: Headers) -> dict[str, str]:
    """Upload-Metadata: `filename aW1hZ2UudGFy,sha256 …`."""
    text = headers.get("upload-metadata", "")
    if len(text) > LONGEST_METADATA:
        raise BadHeader(f"Upload-Metadata is longer than {LONGEST_METADATA} characters.")
    pairs = [part.strip().partition(" ") for part in text.split(",") if part.strip()]
    return {_check_metadata_key(key): _decode_value(value) for key, _, value in pairs}


def _check_metadata_key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise BadHeader("Upload-Metadata is `key base64,key base64`, keys in ASCII.")
    return key


def _decode_value(value: str) -> str:
    try:
        return base64.b64decode(value.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise BadHeader("Upload-Metadata has a value that is not UTF-8 in Base64.") from error


def encode_metadata(details: Mapping[str, str]) -> str:
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}".strip() for key, value in details.items())


@dataclass(frozen=True, slots=True)
class Checksum:
    """What the bytes of one request must add up to."""

    expected: bytes
    seen: Any = field(compare=False)  #: a hash from hashlib

    @classmethod
    def of(cls, headers: Headers) -> "Checksum | None":
        text = headers.get("upload-checksum")
        if text is None:
            return None
        algorithm, _, value = text.partition(" ")
        if algorithm not in ALGORITHMS:
            raise BadHeader(f"Upload-Checksum must be one of {', '.join(ALGORITHMS)}.")
        try:
            expected = base64.b64decode(value, validate=True)
        except binascii.Error as error:
            raise BadHeader("Upload-Checksum is `algorithm base64`.") from error
        return cls(expected, hashlib.new(algorithm, usedforsecurity=False))

    @property
    def holds(self) -> bool:
        return hmac.compare_digest(self.seen.digest(), self.expected)


def format_expires(moment: datetime) -> str:
    """Upload-Expires, as HTTP writes times."""
    return format_datetime(moment, usegmt=True)


T = TypeVar("T")
BLOCK = 4 << 20
"""Bytes that are written at once."""

Block = list[bytes]
Notice = Callable[[int], Awaitable[None]]


async def receive_pieces(receive: Receive, *, idle_seconds: float) -> AsyncIterator[bytes]:
    """The body as it comes. A client that goes away, or falls silent, is told from one that is done."""
    more = True
    while more:
        try:
            async with asyncio.timeout(idle_seconds):
                message = await receive()
        except TimeoutError:
            raise TooSlow(
                "No data arrived for {idle_seconds:g} s; what came before is kept, resume from there.",
                idle_seconds=idle_seconds,
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        if body := message.get("body", b""):
            yield body


async def receive_into(
    appending: AbstractContextManager[Appender],
    arriving: AsyncIterator[bytes],
    *,
    checksum: Checksum | None = None,
    notice: Notice | None = None,
) -> int:
    """Append what arrives; the new offset. `notice` hears the offset after every block."""
    async with _run_in_threads(appending) as appender:
        try:
            await _write_all(appender, arriving, checksum, notice)
        except BaseException:
            if checksum is not None:  # it cannot hold for a part of the bytes
                appender.undo()
            raise
        if checksum is not None and not checksum.holds:
            appender.undo()
            raise ChecksumMismatch
        return appender.offset


async def _write_all(
    appender: Appender, arriving: AsyncIterator[bytes], checksum: Checksum | None, notice: Notice | None
) -> None:
    """One block is being written while the next one is received."""
    writing: asyncio.Task[None] | None = None
    block: Block = []
    size = 0
    try:
        async for piece in arriving:
            block.append(piece)
            size += len(piece)
            if size >= BLOCK:
                if writing is not None:
                    await writing
                    if notice is not None:
                        await notice(appender.offset)
                writing = asyncio.create_task(run_in_threadpool(_write, appender, block, checksum))
                block, size = [], 0
    finally:  # the rest, also of a body that was cut
        if writing is not None:
            await writing
        if block:
            await run_in_threadpool(_write, appender, block, checksum)


def _write(appender: Appender, block: Block, checksum: Checksum | None) -> None:
    for piece in block:
        appender.write(piece)
        if checksum is not None:
            checksum.seen.update(piece)


@asynccontextmanager
async def _run_in_threads(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """A context whose beginning and end take time: locks, and bytes on their way to the disk."""
    entered = await run_in_threadpool(manager.__enter__)
    try:
        yield entered
    except BaseException as error:
        await run_in_threadpool(manager.__exit__, type(error), error, error.__traceback__)
        raise
    else:
        await run_in_threadpool(manager.__exit__, None, None, None)
