"""Looking up the hosts of webhooks, where nobody else waits for it.

Whoever owns a name decides how long its look-up takes. So look-ups have a few threads of their own, an end, and so many
at once for each account; requests have none of their threads taken by them.
"""

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

from nav_eval_gateway.errors import Unavailable
from nav_eval_gateway.rate_limit import Shares
from nav_eval_store.errors import StoreError
from nav_eval_store.notifications import webhooks

LOOKUPS_AT_ONCE = 8
MOST_WAITING = 32
SECONDS = 5.0


class NameResolver:
    """A small pool for slow name servers."""

    def __init__(self, *, allow_private: bool = False, seconds: float = SECONDS) -> None:
        self._allow_private, self._seconds = allow_private, seconds
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="names")
        self._running: set[Future[str]] = set()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def check_target(self, url: str, caller: str, shares: Shares) -> None:
        """Refuse an address that a webhook may not have. A look-up counts until it has ended, not until we give up."""
        if len(self._running) >= MOST_WAITING:
            raise Unavailable("Name servers are slow just now; try again in a moment.")
        if not shares.take(caller):
            raise shares.refuse()
        lookup = self._threads.submit(webhooks.resolve_target, url, allow_private=self._allow_private)
        self._running.add(lookup)
        lookup.add_done_callback(lambda ended: self._end(ended, caller, shares))
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(lookup)), self._seconds)
        except TimeoutError:
            raise StoreError("The name of this host could not be looked up in time; check it, and try again.") from None

    def _end(self, lookup: Future[str], caller: str, shares: Shares) -> None:
        self._running.discard(lookup)
        shares.give_back(caller)
