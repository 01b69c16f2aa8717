"""How many jobs a worker does at once, and who starts when the bell rings.

Shards may take an hour, and a team that has just submitted must not wait for one to end: beside the hands for
shards there is one that does only what is quick. A bell that rings while all hands are busy is remembered: who
gets free looks once more before resting.
"""

import logging
import threading
from collections.abc import Sequence
from enum import StrEnum

from sqlalchemy.exc import DBAPIError

from nav_eval_store.lifecycle import JobKind
from nav_eval_worker.doing import do_next
from nav_eval_worker.workshop import Workshop

QUICK = tuple(kind for kind in JobKind if kind is not JobKind.SHARD)

log = logging.getLogger(__name__)


class Hand(StrEnum):
    """What a hand may do."""

    ANY = "any"  #: whatever comes
    QUICK = "quick"  #: no shards

    @property
    def kinds(self) -> Sequence[JobKind]:
        return tuple(JobKind) if self is Hand.ANY else QUICK


class Hands:
    """The hands of one worker; `work` may be called by as many threads as like."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop
        self._lock = threading.Lock()
        self._free = {Hand.ANY: shop.settings.concurrency, Hand.QUICK: int(shop.settings.express)}
        self._rung = False

    @property
    def count(self) -> int:
        return self._shop.settings.concurrency + int(self._shop.settings.express)

    def work(self) -> int:
        """Do jobs as long as there are some and a hand is free; how many were done."""
        done = 0
        hand = self._take()
        while hand is not None:
            if self._do_next(hand):
                done += 1
            elif not self._rest(hand):
                return done
        return done

    def _do_next(self, hand: Hand) -> bool:
        if self._shop.stopping.is_set():
            return False
        try:
            return do_next(self._shop, hand.kinds)
        except DBAPIError as error:
            log.warning("The database does not answer: %s", error.orig)
            return False

    def _take(self) -> Hand | None:
        with self._lock:
            self._rung = self._free[Hand.ANY] == 0
            for hand in Hand:
                if self._free[hand] > 0:
                    self._free[hand] -= 1
                    return hand
            return None

    def _rest(self, hand: Hand) -> bool:
        """Let go of the hand; True to look once more instead, because the bell rang meanwhile."""
        with self._lock:
            if hand is Hand.ANY and self._rung and not self._shop.stopping.is_set():
                self._rung = False
                return True
            self._free[hand] += 1
            return False
