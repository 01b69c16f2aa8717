"""Films of a scored submission: what the replay page shows, made of the action logs, without the agent.

They are made when the score is out, so that nobody waits for pictures, and for no longer than `SECONDS`: a worker has other
things to do. Episodes without a film still show the way of the agent, on plain paper.
"""

import logging
import subprocess
import sys
from pathlib import Path

import msgspec

from nav_eval.leash import leashed
from nav_eval_store import places
from nav_eval_worker.jobs.briefing import Brief
from nav_eval_worker.workshop import Workshop

EPISODES, SECONDS = 6, 60.0
LARGEST = 64 << 20
"""Bytes of a film; a page could not show more."""

log = logging.getLogger(__name__)


class _Named(msgspec.Struct):
    """All that we read of a film."""

    episode_id: str


def make(shop: Workshop, brief: Brief, run: Path) -> int:
    """Keep films of the first episodes of RUN; returns how many. Failing to is no fault of anybody's."""
    out = run / "films"
    program = [sys.executable, "-m", "nav_eval.evaluation.replay.filming"]
    command = leashed([*program, str(run), str(out), str(shop.settings.cache), str(EPISODES)])
    try:
        ended = subprocess.run(command, timeout=SECONDS, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        log.info("Films of %s: the time was up", brief.submission_id)
    else:
        if ended.returncode:
            log.warning("Films of %s: %s", brief.submission_id, ended.stderr.decode(errors="replace")[-500:])
    return sum(_keep(shop, brief, file) for file in sorted(out.glob("[0-9]*.json")))


def _keep(shop: Workshop, brief: Brief, file: Path) -> bool:
    if file.stat().st_size > LARGEST:
        return False
    data = file.read_bytes()
    shop.blobs.put(places.film(brief.submission_id, msgspec.json.decode(data, type=_Named).episode_id), data)
    return True
