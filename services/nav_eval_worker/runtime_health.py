"""Whether agents can be run here right now: asked before a job is claimed, and after one has failed.

Without it a worker whose engine is gone would claim job after job, fail at each within a moment, and use up the
attempts of everybody who waits.
"""

import logging
import math
import threading
import time

from nav_eval.agents.failures import InfrastructureFailure
from nav_eval_worker.runtime.base import Runtime

FRESH_SECONDS = 2.0
"""An answer counts for so long."""

log = logging.getLogger(__name__)


class RuntimeHealth:
    """What a runtime's check last said; may be asked by as many threads as like."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._asking = threading.Lock()
        self._asked_at = -math.inf
        self.is_well = True
        """By the last answer."""

    def check(self, *, anew: bool = False) -> bool:
        """True if agents can be run; a young answer is taken as it is, unless it must be a new one."""
        with self._asking:
            if anew or time.monotonic() - self._asked_at >= FRESH_SECONDS:
                self._ask()
            return self.is_well

    def refresh(self) -> None:
        """Ask again, unless somebody is just asking."""
        if self._asking.acquire(blocking=False):
            try:
                self._ask()
            finally:
                self._asking.release()

    def _ask(self) -> None:
        try:
            self._runtime.check()
        except InfrastructureFailure as failure:
            self._note(failure)
        else:
            self._note(None)
        self._asked_at = time.monotonic()

    def _note(self, failure: InfrastructureFailure | None) -> None:
        if failure is not None and self.is_well:
            log.error("No jobs are taken until this is over: %s", failure)
        if failure is None and not self.is_well:
            log.info("Agents can be run again; jobs are taken.")
        self.is_well = failure is None
