"""A film that somebody asked for: one episode of a submission that has its score, played again with pictures.

A film that cannot be made (no renderer, no time) is not tried again: the page says so and shows the plain way. Only
a worker that is lost, or told to stop, leaves the request to another one.
"""

import logging
from pathlib import Path

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import MANIFEST_FILE, manifest_of
from nav_eval.evaluation.runs import EPISODES_FILE
from nav_eval_store import films as requests
from nav_eval_store import places
from nav_eval_worker.holding import GivenBack, Hold
from nav_eval_worker.jobs import films
from nav_eval_worker.jobs.briefing import Brief, benchmark_of, brief_for
from nav_eval_worker.workshop import Workshop, run_folder

log = logging.getLogger(__name__)


def make_film(shop: Workshop, hold: Hold) -> None:
    """The request is answered afterwards; whether there is a film, its blob says."""
    lease = hold.lease
    brief = brief_for(shop, lease.submission_id)
    episode = shop.insist(lambda session: requests.episode_of(session, lease.job_id).episode_id)
    with run_folder(shop, lease.id) as folder:
        _write_run(shop, brief, benchmark_of(shop, brief), episode, folder)
        made = films.make(shop, hold, folder)
    if not made and shop.stopping.is_set():
        raise GivenBack
    if not made:
        log.warning("There is no film of episode %s of %s", episode, brief.submission_id)
    shop.insist(lambda session: requests.finish(session, lease))


def _write_run(shop: Workshop, brief: Brief, benchmark: BenchmarkConfig, episode: str, folder: Path) -> None:
    """The run as `nav-eval evaluate` would have left it, had it played this episode alone."""
    episodes = load_episodes(benchmark)
    manifest = manifest_of(benchmark, episodes, agent=brief.canary.get("agent", {}), run_seed=brief.run_seed(benchmark))
    (folder / MANIFEST_FILE).write_bytes(msgspec.json.encode(manifest))
    line = shop.blobs.get(places.replay(brief.submission_id, episode))
    (folder / EPISODES_FILE).write_bytes(line.rstrip(b"\n") + b"\n")
