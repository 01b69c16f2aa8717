"""What has to be done every few seconds whatever happens: nothing stays where it is because somebody died.

It needs the database alone: with the broker down, leases of lost workers still expire and ranks are computed.
Several workers may do it at once, because each step is a short transaction that looks before it acts.
"""

import logging
import threading
import time
from collections.abc import Callable

from nav_eval_store import retention
from nav_eval_store.boards import ranking
from nav_eval_store.notifications import sender
from nav_eval_store.work import recovery
from nav_eval_worker.context import StoreContext

ROUND_SECONDS = 5.0
TIDY_SECONDS = 600.0
GRACE_SECONDS = 8.0

log = logging.getLogger(__name__)


class Maintenance:
    """One round after the other."""

    def __init__(self, context: StoreContext) -> None:
        self._context = context
        self._tidied_at = -TIDY_SECONDS
        self._delivery: threading.Thread | None = None

    def run_round(self) -> int:
        """Do everything that is due; a step that fails does not keep the others from being done. Messages sent."""
        sent = self._guard(self._recover) or 0
        self._guard(self._rank)
        self._guard(self._deliver)
        if time.monotonic() - self._tidied_at >= TIDY_SECONDS:
            self._tidied_at = time.monotonic()
            self._guard(self._tidy)
        return sent

    def run_forever(self, seconds: float = ROUND_SECONDS) -> None:
        """Until the worker stops."""
        while not self._context.stopping.is_set():
            self.run_round()
            self._context.stopping.wait(seconds)

    def wait_for_deliveries(self, seconds: float = GRACE_SECONDS) -> None:
        """Let messages that are on their way arrive; those that do not are sent again."""
        if self._delivery is not None:
            self._delivery.join(seconds)

    def _guard(self, step: Callable[[], int | None]) -> int | None:
        try:
            return step()
        except Exception:  # the next round tries again
            log.exception("%s failed", step.__name__.strip("_"))
            return None

    def _recover(self) -> int:
        recovered = recovery.recover(self._context.database, deadlines=self._context.deadlines)
        for submission, duty in recovered.done:
            log.info("Submission %s: %s, because %s", submission, duty.action, duty.reason)
        self._context.dispatcher.send(recovered.messages)
        return len(recovered.messages)

    def _rank(self) -> None:
        with self._context.database.read() as session:
            waiting = list(ranking.list_unranked_phases(session))
        for phase in waiting:
            ranking.update_ranks(self._context.database, phase)

    def _deliver(self) -> None:
        """Webhooks and e-mail, in a thread of their own: a receiver may take its time, leases may not."""
        if self._delivery is None or not self._delivery.is_alive():
            self._delivery = threading.Thread(target=self._guard, args=(self._send,), name="delivery", daemon=True)
            self._delivery.start()

    def _send(self) -> int:
        return sender.deliver(self._context.database, self._context.settings.sending)

    def _tidy(self) -> None:
        if freed := recovery.remove_expired(self._context.database, self._context.blobs):
            log.info("Tidied: %d bytes of uploads that were given up", freed)
        gone = retention.tidy(self._context.database, self._context.blobs, self._context.settings.retention)
        if any(gone):
            log.info("Tidied: %d rows, %d blobs of %d bytes", gone.rows, gone.blobs, gone.bytes)
        self._context.settings.broker.remove_stale_messages()
