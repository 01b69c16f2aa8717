"""Uploads, made safe: check a team's image archive, write it anew under our name, check and unpack its weights."""

from nav_eval_worker.archives.errors import (
    ArchiveDamaged,
    ArchiveInvalid,
    ArchiveTooLarge,
    ArchiveUnsafe,
    NotOneImage,
    WrongPlatform,
)
from nav_eval_worker.archives.images import inspect_archive, rewrite_archive
from nav_eval_worker.archives.layers import Layer
from nav_eval_worker.archives.limits import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits
from nav_eval_worker.archives.streams import Compression
from nav_eval_worker.archives.summary import ImageSummary, WeightsSummary
from nav_eval_worker.archives.weights import inspect_weights, unpack_weights
from nav_eval_worker.archives.writing import submission_name

__all__ = [
    "IMAGE_LIMITS",
    "WEIGHTS_LIMITS",
    "ArchiveDamaged",
    "ArchiveInvalid",
    "ArchiveLimits",
    "ArchiveTooLarge",
    "ArchiveUnsafe",
    "Compression",
    "ImageSummary",
    "Layer",
    "NotOneImage",
    "WeightsSummary",
    "WrongPlatform",
    "inspect_archive",
    "inspect_weights",
    "rewrite_archive",
    "submission_name",
    "unpack_weights",
]
