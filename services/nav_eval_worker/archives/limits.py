"""How much an archive may ask of us, and the count of what it has asked so far."""

import time
from dataclasses import dataclass

from nav_eval_worker.archives.errors import ArchiveTooLarge

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
    layers: int = 125  #: what engines stack, their own two on top not counted
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
