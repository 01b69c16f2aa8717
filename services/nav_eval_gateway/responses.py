"""What a client can read, and what it has already: Accept, Accept-Encoding, If-None-Match."""

import io
import re
import time
import zipfile
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.datastructures import Headers
from starlette.responses import StreamingResponse

from nav_eval_gateway.errors import BadRange
from nav_eval_gateway.security_headers import FILE_POLICY
from nav_eval_store.blobs import BlobStore
from nav_eval_store.competitions.export import ExportFile
from nav_eval_store.competitions.visibility import Part


def is_csv_preferred(headers: Headers) -> bool:
    """Whether a table is wanted rather than JSON."""
    wanted = parse_qualities(headers.get("accept", ""))
    json = max(wanted.get(kind, 0.0) for kind in ("application/json", "application/*", "*/*"))
    return wanted.get("text/csv", wanted.get("text/*", 0.0)) > json


def is_gzip_accepted(headers: Headers) -> bool:
    codings = parse_qualities(headers.get("accept-encoding", ""))
    return codings.get("gzip", codings.get("*", 0.0)) > 0


def has_already(headers: Headers, etag: str) -> bool:
    """Whether If-None-Match names this answer, compressed or not."""
    given = headers.get("if-none-match", "")
    tags = {_strip_tag(tag.strip()) for tag in given.split(",")}
    return given.strip() == "*" or _strip_tag(etag) in tags


def _strip_tag(tag: str) -> str:
    return tag.removeprefix("W/").strip('"').removesuffix("-gzip")


def parse_qualities(header: str) -> dict[str, float]:
    """`text/csv;q=0.5, */*` as numbers."""
    found: dict[str, float] = {}
    for entry in header.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        quality = next((p.removeprefix("q=") for p in parameters if p.startswith("q=")), "1")
        found[name] = _parse_quality(quality)
    return found


def _parse_quality(text: str) -> float:
    try:
        return max(0.0, min(1.0, float(text)))
    except ValueError:
        return 0.0


CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "gif": "image/gif",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "mp4": "video/mp4",
    "png": "image/png",
    "txt": "text/plain; charset=utf-8",
    "webm": "video/webm",
    "webp": "image/webp",
}
"""Types that cannot run anything; all others are bytes."""
BYTES = "application/octet-stream"
PICTURES = ("gif", "jpeg", "jpg", "mp4", "png", "webm", "webp")
"""Endings of what replays consist of. Any other file may hold scores, episode by episode."""
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def get_content_type(name: str) -> str:
    return CONTENT_TYPES.get(name.rpartition(".")[2].lower(), BYTES)


def get_needed_parts(name: str) -> tuple[Part, ...]:
    """What somebody must be allowed to see to get this file."""
    if name.startswith("usage/"):
        return ("logs",)
    return ("replays",) if name.rpartition(".")[2].lower() in PICTURES else ("scores", "episodes")


class ByteRange(NamedTuple):
    """A part of a file, `stop` excluded."""

    start: int
    stop: int


def parse_range(header: str | None, size: int) -> ByteRange | None:
    """The part that a Range header asks for; None is all, also for what we do not understand."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last so many bytes
        span = ByteRange(max(0, size - int(match[2])), size)
    else:
        span = ByteRange(int(match[1]), min(size, int(match[2]) + 1) if match[2] else size)
    if span.start >= span.stop:
        raise BadRange("The file has {size:,} bytes.", size=size, headers={"Content-Range": f"bytes */{size}"})
    return span


def make_file_response(blobs: BlobStore, key: str, name: str, *, wanted: str | None) -> StreamingResponse:
    """A blob as a file to keep: all of it, or the range that is `wanted`."""
    size = blobs.size(key)
    span = parse_range(wanted, size)
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(_clean_file_name(name), safe='')}",
        "Content-Security-Policy": FILE_POLICY,
    }
    start, stop = span or ByteRange(0, size)
    headers["Content-Length"] = str(stop - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    body: Iterator[bytes] = blobs.stream(key, start=start, stop=stop)
    return StreamingResponse(body, 206 if span else 200, headers=headers, media_type=get_content_type(name))


def _clean_file_name(name: str) -> str:
    """The last part of a name, without what a file system would not like."""
    last = unquote(name.rpartition("/")[2])
    return "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in last) or "file"


ENOUGH = 1 << 16
"""Bytes that are worth sending."""


class _Pipe(io.RawIOBase):
    """Takes what the archive writes until somebody collects it. It cannot be sought in, and says so."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.waiting = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        part = bytes(data)  # type: ignore[call-overload]
        self._parts.append(part)
        self.waiting += len(part)
        return len(part)

    def collect(self) -> bytes:
        collected = b"".join(self._parts)
        self._parts, self.waiting = [], 0
        return collected


def stream_zip(files: Iterable[ExportFile]) -> Iterator[bytes]:
    """The archive of `files`, piece by piece."""
    pipe = _Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            info = zipfile.ZipInfo(file.path, date_time=time.gmtime()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            with archive.open(info, "w", force_zip64=True) as entry:
                for chunk in file.chunks:
                    entry.write(chunk)
                    if pipe.waiting >= ENOUGH:
                        yield pipe.collect()
    yield pipe.collect()
