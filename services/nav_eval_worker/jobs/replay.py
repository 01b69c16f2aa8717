"""A finished run, played again by a simulator: to check it, or for the films of the replay page.

Films are made of the action logs, without the agent: those of a scored submission's first episodes when the score is
out, so that nobody waits for pictures, and those that visitors ask for. A film that cannot be made (no renderer, no
time) is not tried again: the page says so and shows the way of the agent on plain paper. Only a worker that is lost, or
told to stop, leaves a request to another one.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.config import BenchmarkConfig
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import EPISODES_FILE, MANIFEST_FILE, make_manifest
from nav_eval.evaluation.shard_protocol import Checked, Drawn, Ended, Filmed, Message, Purpose, Recorded
from nav_eval_store import blob_keys
from nav_eval_store.submissions import films as requests
from nav_eval_worker.context import WorkerContext, make_run_folder
from nav_eval_worker.jobs.submission import SubmissionDetails, load_details, open_benchmark
from nav_eval_worker.lease_keeper import JobReturned, LeaseKeeper
from nav_eval_worker.runtime.base import ReplayWork, Simulation

CHECK_SECONDS = 3600.0
"""Walking without pictures plays hours of an agent in minutes; what takes longer hangs."""
LOOK_SECONDS = 0.2
FILM_SECONDS = 90.0
"""A worker has other things to do."""
VIDEO_SECONDS = 300.0
"""Somebody waits for this one; its frames are larger, and encoded."""
REPORT_SECONDS = 1.0

log = logging.getLogger(__name__)


def check_run(
    context: WorkerContext,
    keeper: LeaseKeeper,
    run: Path,
    *,
    episodes: int | None = None,
    episode_ids: tuple[str, ...] | None = None,
) -> Checked:
    """Whether RUN comes out as it says: so many episodes, these alone, or all; `InfrastructureFailure` when unknown."""
    work = replace(_make_work(context, keeper, run, Purpose.CHECK, episodes=episodes), episode_ids=episode_ids)
    found: Checked | None = None
    with context.runtime.replay(work) as simulation, _limit_time(CHECK_SECONDS, simulation):
        for message in _receive(simulation, keeper):
            found = message if isinstance(message, Checked) else found
    if found is None:
        raise InfrastructureFailure(f"the run could not be replayed (lease {keeper.lease.id})")
    return found


def film_run(
    context: WorkerContext, keeper: LeaseKeeper, run: Path, *, seconds: float, episodes: int | None = None
) -> Iterator[Filmed]:
    """Films of RUN, each as it is made; until all are, the time is up, or the worker is to stop."""
    work = _make_work(context, keeper, run, Purpose.FILM, episodes=episodes)
    with context.runtime.replay(work) as simulation, _limit_time(seconds, simulation, or_when=context.stopping.is_set):
        for message in _receive(simulation, keeper):
            if isinstance(message, Filmed):
                yield message


def _make_work(
    context: WorkerContext, keeper: LeaseKeeper, run: Path, purpose: Purpose, *, episodes: int | None = None
) -> ReplayWork:
    return ReplayWork(
        run=str(keeper.lease.id),
        worker=context.settings.name,
        folder=run,
        purpose=purpose,
        episodes=episodes,
    )


def _receive(simulation: Simulation, keeper: LeaseKeeper) -> Iterator[Message]:
    """What it says, while the job is ours. Why it failed is for our log: it may name files of the test set."""
    ended: Ended | None = None
    with keeper.watch(simulation.stop):
        for message in simulation.messages():
            keeper.record_activity()
            ended = message if isinstance(message, Ended) else ended
            yield message
    keeper.check()
    if ended is None or ended.cause is not None:
        said = simulation.simulator_log().decode(errors="replace")
        log.warning("A replay came to no end: %s\n%s", "no last word" if ended is None else ended.detail, said)


@contextmanager
def _limit_time(
    seconds: float, simulation: Simulation, *, or_when: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Stop the simulation after so many seconds, or when there is a reason to."""
    over = threading.Event()

    def watch() -> None:
        left = seconds
        while left > 0 and not or_when():
            if over.wait(LOOK_SECONDS):
                return
            left -= LOOK_SECONDS
        simulation.stop()

    thread = threading.Thread(target=watch, name="replay-time", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def make_films(context: WorkerContext, keeper: LeaseKeeper, run: Path) -> int:
    """Keep films of the first episodes of RUN; returns how many. Failing to is no fault of anybody's."""
    made, submission = 0, keeper.lease.submission_id
    if context.settings.films == 0:
        return 0
    try:
        for film in film_run(context, keeper, run, seconds=FILM_SECONDS, episodes=context.settings.films):
            context.blobs.put(blob_keys.make_film_key(submission, film.episode_id), bytes(film.replay))
            made += 1
    except (NavEvalError, OSError) as error:
        log.warning("Films of %s were not made: %s", submission, error)
    log.info("%d films of %s", made, submission)
    return made


def make_requested_film(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """The request is answered afterwards; whether there is a film, its blob says."""
    lease = keeper.lease
    details = load_details(context, lease.submission_id)
    episode = context.transact(lambda session: requests.get_requested_episode(session, lease.job_id).episode_id)
    with make_run_folder(context, lease.id) as folder:
        _write_run(context, details, open_benchmark(context, details), episode, folder)
        made = make_films(context, keeper, folder)
    if not made and context.stopping.is_set():
        raise JobReturned
    if not made:
        log.warning("There is no film of episode %s of %s", episode, details.submission_id)
    context.transact(lambda session: requests.finish_film(session, lease))


def make_requested_video(context: WorkerContext, keeper: LeaseKeeper) -> None:
    """The same for a file to keep; the page hears how it comes along."""
    lease = keeper.lease
    details = load_details(context, lease.submission_id)
    episode = context.transact(lambda session: requests.get_requested_episode(session, lease.job_id).episode_id)
    with make_run_folder(context, lease.id) as folder:
        _write_run(context, details, open_benchmark(context, details), episode, folder)
        made = _record_video(context, keeper, folder)
    if made is None and context.stopping.is_set():
        raise JobReturned
    if made is None:
        log.warning("There is no video of episode %s of %s", episode, details.submission_id)
    else:
        context.blobs.put(blob_keys.make_video_key(lease.submission_id, episode), made)
    context.transact(lambda session: requests.finish_film(session, lease))


def _record_video(context: WorkerContext, keeper: LeaseKeeper, run: Path) -> bytes | None:
    """The video of RUN's only episode; None when none can be made here."""
    if context.settings.films == 0:
        return None
    work, made = _make_work(context, keeper, run, Purpose.VIDEO, episodes=1), None
    reporter = _ProgressReporter(context, keeper)
    try:
        with (
            context.runtime.replay(work) as simulation,
            _limit_time(VIDEO_SECONDS, simulation, or_when=context.stopping.is_set),
        ):
            for message in _receive(simulation, keeper):
                if isinstance(message, Drawn):
                    reporter.report(message)
                made = message.video if isinstance(message, Recorded) else made
    except (NavEvalError, OSError) as error:
        log.warning("A video of %s was not made: %s", keeper.lease.submission_id, error)
    return made


class _ProgressReporter:
    """Tells the store now and then; a page that shows progress looks no more often."""

    def __init__(self, context: WorkerContext, keeper: LeaseKeeper) -> None:
        self._context, self._keeper = context, keeper
        self._due = 0.0

    def report(self, drawn: Drawn) -> None:
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + REPORT_SECONDS
        lease = self._keeper.lease
        self._context.transact(
            lambda session: requests.record_progress(session, lease, steps_drawn=drawn.steps, steps_total=drawn.total)
        )


def _write_run(
    context: WorkerContext, details: SubmissionDetails, benchmark: BenchmarkConfig, episode: str, folder: Path
) -> None:
    """The run as `nav-eval evaluate` would have left it, had it played this episode alone."""
    episodes = load_episodes(benchmark)
    manifest = make_manifest(
        benchmark, episodes, agent=details.canary.get("agent", {}), run_seed=details.run_seed(benchmark)
    )
    (folder / MANIFEST_FILE).write_bytes(msgspec.json.encode(manifest))
    line = context.blobs.get(blob_keys.make_replay_key(details.submission_id, episode))
    (folder / EPISODES_FILE).write_bytes(line.rstrip(b"\n") + b"\n")
