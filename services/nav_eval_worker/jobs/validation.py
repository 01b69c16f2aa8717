"""Validation: every byte of the image is checked, then its weights; an organiser's agent has neither.

Later jobs find the checked image on their host, or take it from the blobs through the same checks.
"""

import secrets
from dataclasses import replace
from typing import Any, cast

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.evaluation.aliases import draw_seed
from nav_eval_store.work import jobs
from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits, ImageSummary
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.jobs.submission import SubmissionDetails, load_details
from nav_eval_worker.lease_keeper import LeaseKeeper
from nav_eval_worker.runtime.base import AgentImage, Weights

SEEDS = 2**53
"""So that every reader of JSON gets the same number."""


def validate_submission(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """The image can be run, or `ArchiveInvalid` says why not."""
    details = load_details(context, keeper.lease.submission_id)
    image = admit_image(context, details) if details.image_key is not None else None
    find_weights(context, details)
    facts: dict[str, Any] = {"run_seed": secrets.randbelow(SEEDS), jobs.EPISODE_SEED: draw_seed()}
    if image is not None and image.summary is not None:
        facts["image"] = describe_image(image.summary)
    image_id = None if image is None else image.id
    context.transact(lambda session: jobs.finish_validation(session, keeper.lease, image_id=image_id, **facts))


def describe_image(summary: ImageSummary) -> dict[str, Any]:
    """What is kept of an image for the record."""
    return {
        "id": summary.image_id,
        "uploaded_config_digest": summary.uploaded_config_digest,
        "format": summary.format,
        "unpacked_bytes": summary.unpacked_bytes,
        "files": summary.files,
        "layers": len(summary.layers),
    }


def find_image(context: WorkerContext, details: SubmissionDetails) -> AgentImage | None:
    """None for an organiser's agent, which needs none."""
    if details.image_key is None:
        return None
    known = None if details.image_id is None else context.runtime.find(details.image_id)
    return known or admit_image(context, details)


def admit_image(context: WorkerContext, details: SubmissionDetails) -> AgentImage:
    """The image after every check, whether or not it was here before."""
    assert details.image_key is not None
    with context.blobs.open(details.image_key) as archive:
        return context.runtime.admit(cast(Readable, archive), limits=make_image_limits(details.phase.limits))


def find_weights(context: WorkerContext, details: SubmissionDetails) -> Weights | None:
    if details.weights_key is None or details.weights_digest is None:
        return None
    known = context.runtime.find_weights(details.weights_digest)
    if known is not None:
        return known
    with context.blobs.open(details.weights_key) as archive:
        limits = make_weights_limits(details.phase.limits)
        return context.runtime.admit_weights(cast(Readable, archive), digest=details.weights_digest, limits=limits)


def make_image_limits(limits: LimitsConfig) -> ArchiveLimits:
    """What the phase allows: packed or not, an image is no larger than `image_gb`."""
    return _limit_size(IMAGE_LIMITS, int(limits.image_gb * 2**30))


def make_weights_limits(limits: LimitsConfig) -> ArchiveLimits:
    return _limit_size(WEIGHTS_LIMITS, int(limits.image_gb * 2**30))


def _limit_size(limits: ArchiveLimits, size: int) -> ArchiveLimits:
    frame = size // 100 + (1 << 20)  # headers and padding of the archives around the files
    return replace(
        limits,
        compressed_bytes=size + frame,
        archive_bytes=size + frame,
        layer_bytes=size,
        file_bytes=min(size, limits.file_bytes),
    )
