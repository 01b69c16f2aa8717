"""Sends the messages that `nav_eval_store.work.dispatch` decides on; a broker that is away costs time, no work."""

import logging
import threading
from collections.abc import Sequence

from sqlalchemy.exc import DBAPIError

from nav_eval_store.database import Database
from nav_eval_store.submissions.lifecycle import Deadlines
from nav_eval_store.work import dispatch
from nav_eval_store.work.broker import Broker, make_sender, send_messages
from nav_eval_store.work.queues import JobMessage

log = logging.getLogger(__name__)


class Dispatcher:
    """Fills the queues of the broker; may be called by as many threads as like."""

    def __init__(self, broker: Broker, database: Database, *, deadlines: Deadlines) -> None:
        self._sender = make_sender(broker)
        self._database, self._deadlines = database, deadlines
        self._sending = threading.Lock()

    def dispatch(self) -> bool:
        """Send messages for the jobs whose turn it is; False when the broker does not answer."""
        try:
            messages = self._database.run(lambda session: dispatch.dispatch_jobs(session, deadlines=self._deadlines))
        except DBAPIError as error:
            log.warning("Nothing dispatched, the database does not answer: %s", error.orig)
            return True
        return self.send(messages)

    def send(self, messages: Sequence[JobMessage]) -> bool:
        """Send these; those that nobody can get wait to be dispatched again."""
        try:
            with self._sending:
                send_messages(self._sender, messages)
        except Exception as error:  # noqa: BLE001 - every broker has errors of its own, and none may stop a job
            log.warning("The broker does not answer, %d messages are sent later: %s", len(messages), error)
            self._withdraw(messages)
            return False
        return True

    def _withdraw(self, messages: Sequence[JobMessage]) -> None:
        jobs = [message.job_id for message in messages]
        try:
            self._database.run(lambda session: dispatch.withdraw_messages(session, jobs))
        except DBAPIError as error:  # then they count as lost in a minute
            log.warning("The database does not answer, either: %s", error.orig)
