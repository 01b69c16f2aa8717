"""Check what was uploaded: every byte of the image, then its weights; or an organiser's agent, which has neither."""

import secrets
from typing import Any

from nav_eval_store import work
from nav_eval_worker.archives import ImageSummary
from nav_eval_worker.holding import Hold
from nav_eval_worker.jobs.briefing import brief_for
from nav_eval_worker.jobs.images import admitted, weights_of
from nav_eval_worker.workshop import Workshop

SEEDS = 2**53
"""So that every reader of JSON gets the same number."""


def validate(shop: Workshop, hold: Hold) -> None:
    """The image can be run, or `ArchiveInvalid` says why not."""
    brief = brief_for(shop, hold.lease.submission_id)
    image = admitted(shop, brief) if brief.image_key is not None else None
    weights_of(shop, brief)
    facts: dict[str, Any] = {"run_seed": secrets.randbelow(SEEDS)}
    if image is not None and image.summary is not None:
        facts["image"] = about(image.summary)
    image_id = None if image is None else image.id
    shop.insist(lambda session: work.finish_validation(session, hold.lease, image_id=image_id, **facts))


def about(summary: ImageSummary) -> dict[str, Any]:
    """What is kept of an image for the record."""
    return {
        "id": summary.image_id,
        "uploaded_config_digest": summary.uploaded_config_digest,
        "format": summary.format,
        "unpacked_bytes": summary.unpacked_bytes,
        "files": summary.files,
        "layers": len(summary.layers),
    }
