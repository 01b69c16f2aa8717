"""Films of a scored submission: what the replay page shows, made of the action logs, without the agent.

They are made when the score is out, so that nobody waits for pictures, and for no longer than `SECONDS`: a worker has
other things to do. Episodes without a film still show the way of the agent, on plain paper.
"""

import logging
from pathlib import Path

from nav_eval.errors import NavEvalError
from nav_eval_store import places
from nav_eval_worker.holding import Hold
from nav_eval_worker.jobs import replaying
from nav_eval_worker.workshop import Workshop

SECONDS = 90.0

log = logging.getLogger(__name__)


def make(shop: Workshop, hold: Hold, run: Path) -> int:
    """Keep films of the first episodes of RUN; returns how many. Failing to is no fault of anybody's."""
    made, submission = 0, hold.lease.submission_id
    if shop.settings.films == 0:
        return 0
    try:
        for film in replaying.films(shop, hold, run, seconds=SECONDS, episodes=shop.settings.films):
            shop.blobs.put(places.film(submission, film.episode_id), bytes(film.replay))
            made += 1
    except (NavEvalError, OSError) as error:
        log.warning("Films of %s were not made: %s", submission, error)
    log.info("%d films of %s", made, submission)
    return made
