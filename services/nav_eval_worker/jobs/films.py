"""Films of a scored submission: what the replay page shows, made of the action logs, without the agent.

They are made when the score is out, so that nobody waits for pictures, and for no longer than `SECONDS`: a worker has
other things to do. Episodes without a film still show the way of the agent, on plain paper.
"""

import logging
import subprocess
import sys
import time
from pathlib import Path

import msgspec

from nav_eval.leash import leashed
from nav_eval_store import places
from nav_eval_worker.jobs.briefing import Brief
from nav_eval_worker.workshop import Workshop

SECONDS = 60.0
LOOK_SECONDS = 0.2
LARGEST = 64 << 20
"""Bytes of a film; a page could not show more."""

log = logging.getLogger(__name__)


class _Named(msgspec.Struct):
    """All that we read of a film."""

    episode_id: str


def make(shop: Workshop, brief: Brief, run: Path) -> int:
    """Keep films of the first episodes of RUN; returns how many. Failing to is no fault of anybody's."""
    if shop.settings.films == 0:
        return 0
    out = run / "films"
    _play(shop, run, out)
    kept = sum(_keep(shop, brief, file) for file in sorted(out.glob("[0-9]*.json")))
    log.info("%d films of %s", kept, brief.submission_id)
    return kept


def _play(shop: Workshop, run: Path, out: Path) -> None:
    """Until they are made, the time is up, or the worker is to stop."""
    program = [sys.executable, "-m", "nav_eval.evaluation.replay.filming"]
    command = leashed([*program, str(run), str(out), str(shop.settings.cache), str(shop.settings.films)])
    last = time.monotonic() + SECONDS
    with (run / "films.log").open("wb") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said)  # noqa: S603 (ours)
        while process.poll() is None:
            if shop.stopping.wait(LOOK_SECONDS) or time.monotonic() > last:
                process.kill()
                process.wait()
                return
    if process.returncode:
        log.warning("Films were not made: %s", (run / "films.log").read_text(errors="replace")[-500:])


def _keep(shop: Workshop, brief: Brief, file: Path) -> bool:
    if file.stat().st_size > LARGEST:
        return False
    data = file.read_bytes()
    shop.blobs.put(places.film(brief.submission_id, msgspec.json.decode(data, type=_Named).episode_id), data)
    return True
