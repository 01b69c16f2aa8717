"""The headers of tus 1.0, read and written. The protocol: https://tus.io/protocols/resumable-upload."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Any

from starlette.datastructures import Headers

from nav_eval_gateway.errors import BadHeader, UnsupportedContent, UnsupportedVersion

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


def number(headers: Headers, name: str) -> int | None:
    """A header that holds a number of bytes."""
    text = headers.get(name)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadHeader(f"{name} must be a number of bytes.")
    return int(text)


def required_number(headers: Headers, name: str) -> int:
    found = number(headers, name)
    if found is None:
        raise BadHeader(f"{name} is missing.")
    return found


def length(headers: Headers) -> int | None:
    """What an upload will have; None is to be told later."""
    known = number(headers, "Upload-Length")
    deferred = headers.get("upload-defer-length")
    if (known is None) != (deferred == "1") or deferred not in (None, "1"):
        raise BadHeader("Send Upload-Length, or `Upload-Defer-Length: 1` if it is not known yet.")
    return known


def metadata(headers: Headers) -> dict[str, str]:
    """Upload-Metadata: `filename aW1hZ2UudGFy,sha256 …`."""
    text = headers.get("upload-metadata", "")
    if len(text) > LONGEST_METADATA:
        raise BadHeader(f"Upload-Metadata is longer than {LONGEST_METADATA} characters.")
    pairs = [part.strip().partition(" ") for part in text.split(",") if part.strip()]
    return {_key(key): _decoded(value) for key, _, value in pairs}


def _key(key: str) -> str:
    if not _KEY.fullmatch(key):
        raise BadHeader("Upload-Metadata is `key base64,key base64`, keys in ASCII.")
    return key


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value.strip(), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise BadHeader("Upload-Metadata has a value that is not UTF-8 in Base64.") from error


def encoded(details: Mapping[str, str]) -> str:
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


def expires(moment: datetime) -> str:
    """Upload-Expires, as HTTP writes times."""
    return format_datetime(moment, usegmt=True)
