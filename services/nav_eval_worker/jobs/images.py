"""The image and the weights of a submission on this host: from the shelf, or from the blobs through every check."""

from dataclasses import replace
from typing import cast

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.jobs.briefing import Brief
from nav_eval_worker.runtime.base import Image, Weights
from nav_eval_worker.workshop import Workshop


def image_of(shop: Workshop, brief: Brief) -> Image | None:
    """None for an organiser's agent, which needs none."""
    if brief.image_key is None:
        return None
    known = None if brief.image_id is None else shop.runtime.find(brief.image_id)
    return known or admitted(shop, brief)


def admitted(shop: Workshop, brief: Brief) -> Image:
    """The image after every check, whether or not it was here before."""
    assert brief.image_key is not None
    with shop.blobs.open(brief.image_key) as archive:
        return shop.runtime.admit(cast(Readable, archive), limits=image_limits(brief.phase.limits))


def weights_of(shop: Workshop, brief: Brief) -> Weights | None:
    if brief.weights_key is None or brief.weights_digest is None:
        return None
    known = shop.runtime.find_weights(brief.weights_digest)
    if known is not None:
        return known
    with shop.blobs.open(brief.weights_key) as archive:
        limits = weights_limits(brief.phase.limits)
        return shop.runtime.admit_weights(cast(Readable, archive), digest=brief.weights_digest, limits=limits)


def image_limits(limits: LimitsConfig) -> ArchiveLimits:
    """What the phase allows: packed or not, an image is no larger than `image_gb`."""
    return _within(IMAGE_LIMITS, int(limits.image_gb * 2**30))


def weights_limits(limits: LimitsConfig) -> ArchiveLimits:
    return _within(WEIGHTS_LIMITS, int(limits.image_gb * 2**30))


def _within(limits: ArchiveLimits, size: int) -> ArchiveLimits:
    frame = size // 100 + (1 << 20)  # headers and padding of the archives around the files
    return replace(
        limits,
        compressed_bytes=size + frame,
        archive_bytes=size + frame,
        layer_bytes=size,
        file_bytes=min(size, limits.file_bytes),
    )
