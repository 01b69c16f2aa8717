"""The doorbell: messages that say "a job waits". Whether anybody hears it never decides anything."""

import logging
from collections.abc import Sequence

from nav_eval_store import messages
from nav_eval_store.messages import Broker
from nav_eval_store.recovery import Message

log = logging.getLogger(__name__)


class Bell:
    """Rings through the broker; a broker that is down costs time, no work."""

    def __init__(self, broker: Broker) -> None:
        self._sender = messages.sender(broker)

    def ring(self, waiting: Sequence[Message]) -> bool:
        """Tell the workers; False if nobody can have heard."""
        try:
            messages.send(self._sender, waiting)
        except Exception as error:  # noqa: BLE001 - every broker has errors of its own, and none may stop a job
            log.warning("The broker does not answer, workers will find %d jobs later: %s", len(waiting), error)
            return False
        return True
