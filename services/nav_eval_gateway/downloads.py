"""Files of a submission: what they are called, who may have them, and parts of them.

Files come from workers, and in the end from teams: nothing is ever shown by a browser as a page of ours.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from starlette.responses import StreamingResponse

from nav_eval_gateway.errors import BadRange
from nav_eval_store.blobs import BlobStore
from nav_eval_store.viewing import Part

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
SCORED = re.compile(r"episodes\.jsonl|report\.(json|html)")
"""Files that hold scores, episode by episode."""
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


def content_type(name: str) -> str:
    return CONTENT_TYPES.get(name.rpartition(".")[2].lower(), BYTES)


def needed_parts(name: str) -> tuple[Part, ...]:
    """What somebody must be allowed to see to get this file."""
    if SCORED.fullmatch(name):
        return ("scores", "episodes")
    return ("logs",) if name.startswith("usage/") else ("replays",)


class Span(NamedTuple):
    """A part of a file, `stop` excluded."""

    start: int
    stop: int


def wanted_span(header: str | None, size: int) -> Span | None:
    """The part that a Range header asks for; None is all, also for what we do not understand."""
    match = _RANGE.fullmatch((header or "").strip())
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last so many bytes
        span = Span(max(0, size - int(match[2])), size)
    else:
        span = Span(int(match[1]), min(size, int(match[2]) + 1) if match[2] else size)
    if span.start >= span.stop:
        raise BadRange("The file has {size:,} bytes.", size=size, headers={"Content-Range": f"bytes */{size}"})
    return span


def file_response(blobs: BlobStore, key: str, name: str, *, wanted: str | None) -> StreamingResponse:
    """A blob as a file to keep: all of it, or the range that is `wanted`."""
    size = blobs.size(key)
    span = wanted_span(wanted, size)
    headers = {
        "Accept-Ranges": "bytes",
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(_file_name(name), safe='')}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    start, stop = span or Span(0, size)
    headers["Content-Length"] = str(stop - start)
    if span is not None:
        headers["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    body: Iterator[bytes] = blobs.stream(key, start=start, stop=stop)
    return StreamingResponse(body, 206 if span else 200, headers=headers, media_type=content_type(name))


def _file_name(name: str) -> str:
    """The last part of a name, without what a file system would not like."""
    last = unquote(name.rpartition("/")[2])
    return "".join(c if c.isprintable() and c not in '/\\:*?"<>|' else "_" for c in last) or "file"
