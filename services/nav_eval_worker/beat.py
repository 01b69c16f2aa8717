"""What has to be done every few seconds whatever happens: nothing stays where it is because somebody died.

It needs the database alone: with the broker down, jobs are still found and given up leases still reaped.
Several workers may do it at once, because each step is a short transaction that looks before it acts.
"""

import logging
import threading
import time
from collections.abc import Callable
from uuid import UUID

from sqlalchemy import update

from nav_eval_store import ranking, recovery, sending
from nav_eval_store.database import Session
from nav_eval_store.models import Job
from nav_eval_store.recovery import Message
from nav_eval_worker.workshop import Workshop

BEAT_SECONDS = 5.0
TIDY_SECONDS = 600.0

log = logging.getLogger(__name__)


class Beat:
    """One round after the other."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._tidied_at = -TIDY_SECONDS
        self._postman: threading.Thread | None = None

    def round(self) -> int:
        """Do everything that is due; a step that fails does not keep the others from being done. How many were told."""
        told = self._guarded(self._recover) or 0
        self._guarded(self._rank)
        self._guarded(self._deliver)
        if time.monotonic() - self._tidied_at >= TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            self._guarded(self._tidy)
        return told

    def forever(self, seconds: float = BEAT_SECONDS) -> None:
        """Until the worker stops."""
        while not self._shop.stopping.is_set():
            self.round()
            self._shop.stopping.wait(seconds)

    def _guarded(self, step: Callable[[], int | None]) -> int | None:
        try:
            return step()
        except Exception:  # the next round tries again
            log.exception("%s failed", step.__name__.strip("_"))
            return None

    def _recover(self) -> int:
        recovered = recovery.recover(self._shop.database, patience=self._shop.patience)
        for submission, duty in recovered.done:
            log.info("Submission %s: %s, because %s", submission, duty.action, duty.reason)
        if recovered.messages and not self._shop.bell.ring(recovered.messages):
            self._shop.database.run(lambda session: _untold(session, recovered.messages))
        return len(recovered.messages)

    def _rank(self) -> None:
        with self._shop.database.read() as session:
            waiting = list(ranking.unranked_phases(session))
        for phase in waiting:
            ranking.rank(self._shop.database, phase)

    def _deliver(self) -> None:
        """Webhooks and e-mail, in a thread of their own: a receiver may take its time, leases may not."""
        if self._postman is None or not self._postman.is_alive():
            self._postman = threading.Thread(target=self._guarded, args=(self._post,), name="postman", daemon=True)
            self._postman.start()

    def _post(self) -> int:
        return sending.deliver(self._shop.database, self._shop.settings.sending)

    def _tidy(self) -> None:
        if freed := recovery.tidy(self._shop.database, self._shop.blobs):
            log.info("Tidied: %d bytes of uploads that were given up", freed)


def _untold(session: Session, messages: list[Message]) -> None:
    """Nobody heard: tell them again as soon as possible."""
    jobs: list[UUID] = [message.job_id for message in messages]
    session.execute(update(Job).where(Job.id.in_(jobs)).values(told_at=None))
