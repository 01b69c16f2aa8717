"""A finished run, played again by a simulator: what it tells on the way, and within which time."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nav_eval.agents.failures import InfrastructureFailure
from nav_eval.evaluation.shard_protocol import Checked, Ended, Filmed, Message, Purpose
from nav_eval_worker.holding import Hold
from nav_eval_worker.runtime.base import ReplayWork, Simulation
from nav_eval_worker.workshop import Workshop

CHECK_SECONDS = 3600.0
"""Walking without pictures plays hours of an agent in minutes; what takes longer hangs."""
LOOK_SECONDS = 0.2

log = logging.getLogger(__name__)


def checked(shop: Workshop, hold: Hold, run: Path, *, episodes: int | None = None) -> Checked:
    """Whether RUN comes out as it says; `InfrastructureFailure` when that could not be found out."""
    work = _work(shop, hold, run, Purpose.CHECK, episodes=episodes)
    found: Checked | None = None
    with shop.runtime.replay(work) as simulation, _within(CHECK_SECONDS, simulation):
        for message in _heard(simulation, hold):
            found = message if isinstance(message, Checked) else found
    if found is None:
        raise InfrastructureFailure(f"the run could not be replayed (lease {hold.lease.id})")
    return found


def films(shop: Workshop, hold: Hold, run: Path, *, seconds: float, episodes: int | None = None) -> Iterator[Filmed]:
    """Films of RUN, each as it is made; until all are, the time is up, or the worker is to stop."""
    work = _work(shop, hold, run, Purpose.FILM, episodes=episodes)
    with shop.runtime.replay(work) as simulation, _within(seconds, simulation, or_when=shop.stopping.is_set):
        for message in _heard(simulation, hold):
            if isinstance(message, Filmed):
                yield message


def _work(shop: Workshop, hold: Hold, run: Path, purpose: Purpose, *, episodes: int | None = None) -> ReplayWork:
    return ReplayWork(
        run=str(hold.lease.id),
        worker=shop.settings.name,
        folder=run,
        purpose=purpose,
        episodes=episodes,
    )


def _heard(simulation: Simulation, hold: Hold) -> Iterator[Message]:
    """What it says, while the job is ours. Why it failed is for our log: it may name files of the test set."""
    ended: Ended | None = None
    with hold.guarding(simulation.stop):
        for message in simulation.messages():
            hold.heard()
            ended = message if isinstance(message, Ended) else ended
            yield message
    hold.check()
    if ended is None or ended.cause is not None:
        said = simulation.simulator_log().decode(errors="replace")
        log.warning("A replay came to no end: %s\n%s", "no last word" if ended is None else ended.detail, said)


@contextmanager
def _within(seconds: float, simulation: Simulation, *, or_when: Callable[[], bool] = lambda: False) -> Iterator[None]:
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
