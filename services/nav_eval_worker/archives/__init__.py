"""Uploads, made safe: check a team's image archive, write it anew under our name, check and unpack its weights."""

from nav_eval_worker.archives.errors import (
    ArchiveDamaged,
    ArchiveInvalid,
    ArchiveTooLarge,
    ArchiveUnsafe,
    NotOneImage,
    WrongPlatform,
)
from nav_eval_worker.archives.images import (
    ImageSummary,
    WeightsSummary,
    inspect_archive,
    make_submission_name,
    rewrite_archive,
)
from nav_eval_worker.archives.layers import ImageLayer
from nav_eval_worker.archives.limits import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits
from nav_eval_worker.archives.streams import Compression
from nav_eval_worker.archives.weights import inspect_weights, unpack_weights

__all__ = [
    "IMAGE_LIMITS",
    "WEIGHTS_LIMITS",
    "ArchiveDamaged",
    "ArchiveInvalid",
    "ArchiveLimits",
    "ArchiveTooLarge",
    "ArchiveUnsafe",
    "Compression",
    "ImageLayer",
    "ImageSummary",
    "NotOneImage",
    "WeightsSummary",
    "WrongPlatform",
    "inspect_archive",
    "inspect_weights",
    "make_submission_name",
    "rewrite_archive",
    "unpack_weights",
]
