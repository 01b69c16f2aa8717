"""How much an archive may ask of us, and the count of what it has asked so far; and which names a member may have:
nothing that leads out, nothing that two readers read differently.
"""

import time
from dataclasses import dataclass

from nav_eval_worker.archives.errors import ArchiveTooLarge, ArchiveUnsafe, quote

MIB = 1024**2
GIB = 1024**3


@dataclass(frozen=True, kw_only=True, slots=True)
class ArchiveLimits:
    """What one archive may use at most."""

    compressed_bytes: int = 16 * GIB  #: the upload as it arrives
    archive_bytes: int = 32 * GIB  #: the upload without its outer compression
    layer_bytes: int = 32 * GIB  #: all layers together, without their compression
    ratio: int = 200  #: bytes out per byte in, once `ratio_from` bytes are out
    ratio_from: int = 64 * MIB  #: small archives of zeros hurt nobody
    members: int = 2_000  #: headers of the outer archive, extension headers included
    layers: int = 127  #: what the engine's overlay file system can stack
    layer_files: int = 500_000  #: headers in all layers together, extension headers included
    file_bytes: int = 16 * GIB  #: one file inside a layer
    path_bytes: int = 1_024  #: one path
    path_depth: int = 64  #: folders in one path
    document_bytes: int = 4 * MIB  #: one JSON document
    documents_bytes: int = 16 * MIB  #: all JSON documents together
    header_bytes: int = 64 * 1024  #: one PAX or GNU extension header
    seconds: float = 900.0  #: wall clock for the whole archive


IMAGE_LIMITS = ArchiveLimits()
WEIGHTS_LIMITS = ArchiveLimits(members=100_000, compressed_bytes=64 * GIB, archive_bytes=64 * GIB, file_bytes=32 * GIB)

_SMALLER = "leave caches, build tools and data sets out of the image (a multi-stage build helps)"
_ONE_IMAGE = "save one image with `docker save` (a file system from `docker export` is no image)"
_SENTENCES = {
    "compressed_bytes": ("The upload has more than {} bytes", _SMALLER),
    "archive_bytes": ("The archive unpacks to more than {} bytes", _SMALLER),
    "layer_bytes": ("The image's layers unpack to more than {} bytes", _SMALLER),
    "members": ("The archive has more than {} members", _ONE_IMAGE),
    "layer_files": (
        "The image's layers have more than {} files",
        "remove package caches, or pack small files together",
    ),
    "documents_bytes": ("The archive's JSON documents have more than {} bytes", _ONE_IMAGE),
}


class Budget:
    """What one archive has used up so far."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.limits = limits
        self.spent = dict.fromkeys(_SENTENCES, 0)
        self._deadline = time.monotonic() + limits.seconds

    def spend(self, what: str, amount: int = 1) -> None:
        """Count; the first one too many raises."""
        self.spent[what] += amount
        limit = getattr(self.limits, what)
        if self.spent[what] > limit:
            sentence, advice = _SENTENCES[what]
            raise ArchiveTooLarge(f"{sentence.format(limit)}: {advice}.")

    def check_time(self) -> None:
        """Raise once the archive has had its time."""
        if time.monotonic() > self._deadline:
            raise ArchiveTooLarge(
                f"Checking the archive takes longer than {self.limits.seconds:g} s: "
                "make the image smaller, with fewer files."
            )

    def check_ratio(self, *, packed: int, unpacked: int) -> None:
        """Raise when so much comes out of so little that it can only be a bomb."""
        if unpacked > max(self.limits.ratio_from, self.limits.ratio * packed):
            raise ArchiveTooLarge(
                f"{packed} compressed bytes unpack to more than {unpacked - 1}, beyond {self.limits.ratio} to one: "
                "remove the large empty files from the image."
            )


_COMPONENT_BYTES = 255  # what Linux file systems take
_SHORT = _COMPONENT_BYTES // 4  # characters that cannot be more bytes than that


def clean_path(raw: str, *, where: str, limits: ArchiveLimits, backslashes: bool = False) -> str:
    """RAW as `a/b/c`; the root itself is ``""``.

    Backslashes are refused except in layers: systemd ships units with one in their names.
    """
    if raw.startswith("/"):
        raise ArchiveUnsafe(f"{where} has the absolute path {quote(raw)}: store paths relative to the archive's root.")
    if "\0" in raw or ("\\" in raw and not backslashes):
        raise ArchiveUnsafe(f"{where} has a path with a forbidden character, {quote(raw)}: rename that file.")
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ArchiveUnsafe(f"{where} has the path {quote(raw)}, which climbs out by `..`: store plain paths.")
    _check_size(raw, parts, where=where, limits=limits)
    return "/".join(parts)


def _check_size(raw: str, parts: list[str], *, where: str, limits: ArchiveLimits) -> None:
    if len(parts) > limits.path_depth:
        raise ArchiveTooLarge(f"{where} has a path deeper than {limits.path_depth} folders, {quote(raw)}: flatten it.")
    if len(raw) <= _SHORT <= limits.path_bytes // 4:
        return
    longest = max((len(part.encode("utf-8", "surrogateescape")) for part in parts), default=0)
    if len(raw.encode("utf-8", "surrogateescape")) > limits.path_bytes or longest > _COMPONENT_BYTES:
        raise ArchiveTooLarge(
            f"{where} has a path beyond {limits.path_bytes} bytes ({_COMPONENT_BYTES} per part), {quote(raw)}: "
            "shorten it."
        )


def resolve_link(path: str, target: str, *, where: str, limits: ArchiveLimits) -> str:
    """Where the symlink PATH leads, inside the archive or not at all."""
    if target.startswith("/"):
        raise ArchiveUnsafe(f"{where} has a link to the absolute path {quote(target)}: save it with `docker save`.")
    parts = path.split("/")[:-1]
    for part in target.split("/"):
        if part == ".." and not parts:
            raise ArchiveUnsafe(f"{where} has a link that leads out, to {quote(target)}: save it with `docker save`.")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return clean_path("/".join(parts), where=where, limits=limits)
