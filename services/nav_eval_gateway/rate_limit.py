"""What one address, account or team may have of the gateway: one place for all of it.

Requests draw from a bucket of tokens per caller, refilled at a steady rate. A caller is a user whose token has proved
good, else an address: with buckets for whatever a stranger claims to be, a made-up token per request would never meet
a limit. What guesses secrets (logging in, registering) draws from a second, smaller bucket of the address, and wrong
passwords from one of the account, whatever address they come from. What lasts (a request under way, an event stream, a
name that is looked up) is a share: so many at once for each caller. Refusals are slow, so that who does not heed them
costs little. All of it lives in this process; the least used is forgotten. Connections have limits of their own,
below every request (`http_protocol`).
"""

import asyncio
import hashlib
import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nav_eval_gateway.errors import TooManyRequests, Unavailable, make_problem_response
from nav_eval_gateway.proxies import find_client_address, to_network
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store.errors import BadCredentials

MOST_BUCKETS = 20_000
WATCHING = frozenset({"/healthz", "/readyz", "/metrics"})
"""What watches the gateway has a bucket of its own: it does not wait because somebody else at its address asks."""
FREE_ABOVE = 0.9
"""Of a bucket: who has used up more of it is answered more slowly, the emptier it is."""
MOST_SLOW_REFUSALS = 64
"""Of one caller at a time; more of them are refused at once."""


class Rate(NamedTuple):
    """So many at once, then so many per second."""

    burst: float
    per_second: float

    @classmethod
    def per_minute(cls, requests: float, *, burst: float | None = None) -> "Rate":
        return cls(burst if burst is not None else max(1.0, requests / 2), requests / 60)


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimits:
    """How much somebody may have; None and 0 are without limit."""

    usual: Rate | None = None  #: requests of a user or an address
    watching: Rate | None = None  #: looks at our health, of an address
    guessing: Rate | None = None  #: of an address, where secrets are tried
    failures: Rate | None = None  #: wrong passwords of an account
    requests: int = 0  #: of a user or an address, under way at once
    streams_of_address: int = 0  #: live event streams of strangers
    streams_of_account: int = 0  #: live event streams of a user
    lookups: int = 0  #: names that are looked up for a user at once
    searches: int = 0  #: boards that are searched for an address at once
    slowness: float = 0.0  #: seconds before a refusal is sent
    cookie_name: str = "nav_eval_session"

    @classmethod
    def of(cls, settings: GatewaySettings) -> "RateLimits":
        return cls(
            usual=Rate.per_minute(settings.rate_limit) if settings.rate_limit else None,
            watching=Rate.per_minute(settings.rate_limit, burst=60) if settings.rate_limit else None,
            guessing=Rate.per_minute(settings.login_rate_limit) if settings.login_rate_limit else None,
            failures=Rate(settings.login_failures, settings.login_failures / 900) if settings.login_failures else None,
            requests=settings.requests_at_once,
            streams_of_address=settings.streams_per_address,
            streams_of_account=settings.streams_per_account,
            lookups=settings.lookups_at_once,
            searches=settings.searches_at_once,
            slowness=settings.refusal_seconds,
            cookie_name=settings.session_cookie,
        )


class Buckets:
    """A bucket of tokens for each caller; the one unused for longest makes room."""

    def __init__(self, rate: Rate, *, clock: Callable[[], float] = monotonic, most: int = MOST_BUCKETS) -> None:
        self._rate, self._clock, self._most = rate, clock, most
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> float:
        """Take a token: 0 when there is one, else the seconds until there will be."""
        now = self._clock()
        level, at = self._levels.pop(caller, (self._rate.burst, now))
        level = min(self._rate.burst, level + (now - at) * self._rate.per_second)
        wait = 0.0 if level >= 1 else (1 - level) / self._rate.per_second
        self._levels[caller] = (level if wait else level - 1, now)
        if len(self._levels) > self._most:
            self._levels.popitem(last=False)
        return wait

    def look(self, caller: str) -> float:
        """The seconds until there is a token; none is taken."""
        level = self._measure(caller)
        return 0.0 if level >= 1 else (1 - level) / self._rate.per_second

    def measure_use(self, caller: str) -> float:
        """How much of what it may use freely a caller has used up, from 0 to 1; a tenth of the burst is free."""
        return min(1.0, max(0.0, 1 - self._measure(caller) / (FREE_ABOVE * self._rate.burst)))

    def _measure(self, caller: str) -> float:
        level, at = self._levels.get(caller, (self._rate.burst, self._clock()))
        return min(self._rate.burst, level + (self._clock() - at) * self._rate.per_second)

    def __len__(self) -> int:
        return len(self._levels)


class Shares:
    """So many at once for each caller; 0 is without limit. Threads may share it."""

    def __init__(
        self, most: int, *, refusal: str = "Too many of these at once; wait until some have finished."
    ) -> None:
        self._most, self._refusal = most, refusal
        self._held: Counter[str] = Counter()
        self._lock = Lock()

    def take(self, caller: str) -> bool:
        with self._lock:
            if self._most and self._held[caller] >= self._most:
                return False
            self._held[caller] += 1
            return True

    def give_back(self, caller: str) -> None:
        with self._lock:
            self._held[caller] -= 1
            if self._held[caller] <= 0:
                del self._held[caller]

    def refuse(self) -> TooManyRequests:
        """What to raise when there is none left."""
        return TooManyRequests(self._refusal, headers={"Retry-After": "5"})


class CallerLimits:
    """The limits of a running gateway that handlers ask about themselves."""

    def __init__(self, limits: RateLimits, *, clock: Callable[[], float] = monotonic) -> None:
        self.limits = limits
        watching = "Too many live streams; close one, or check the status from time to time instead."
        self._streams_of_address = Shares(limits.streams_of_address, refusal=watching)
        self._streams_of_account = Shares(limits.streams_of_account, refusal=watching)
        self.lookups = Shares(limits.lookups, refusal="Too many addresses at once; add one webhook at a time.")
        self.searches = Shares(limits.searches, refusal="Too many searches at once; wait for the first one to finish.")
        self.passwords = PasswordFailures(Buckets(limits.failures, clock=clock) if limits.failures else None)

    def count_stream(self, scope: Scope) -> Callable[[], None]:
        """A live event stream of whoever asks; what is returned gives it back."""
        user, address = scope.get("nav_eval.user"), get_address(scope)
        shares, caller = (
            (self._streams_of_address, address) if user is None else (self._streams_of_account, f"user {user.id}")
        )
        if not shares.take(caller):
            raise shares.refuse()
        return lambda: shares.give_back(caller)


class PasswordFailures:
    """Wrong passwords, by account: guessing goes on from many addresses, too.

    Whoever has logged in from an address before may try from there whatever others do, within that address' own
    limit: nobody locks somebody else out.
    """

    def __init__(self, buckets: Buckets | None) -> None:
        self._buckets = buckets
        self._proved: OrderedDict[tuple[str, str], None] = OrderedDict()

    @contextmanager
    def guard(self, account: str, address: str) -> Iterator[None]:
        """Refuse an attempt while there were too many wrong ones; an error in the block is one more."""
        name = account.strip().casefold()
        key = name if (name, address) not in self._proved else f"{name} at {address}"
        if self._buckets is not None and (wait := self._buckets.look(key)) > 0:
            seconds = max(1, math.ceil(wait))
            raise TooManyRequests(
                "Too many wrong passwords for this account; try again in {seconds} s.",
                seconds=seconds,
                headers={"Retry-After": str(seconds)},
            )
        try:
            yield
        except BadCredentials:
            if self._buckets is not None:
                self._buckets.take(key)
            raise
        self._proved[name, address] = None
        if len(self._proved) > MOST_BUCKETS:
            self._proved.popitem(last=False)


class KnownCredentials:
    """Whose the secrets are that have proved good lately. They are kept as digests."""

    def __init__(self, most: int = MOST_BUCKETS) -> None:
        self._users: OrderedDict[str, str] = OrderedDict()
        self._most = most

    def user(self, digest: str | None) -> str | None:
        return self._users.get(digest) if digest else None

    def learn(self, digest: str, user: str | None) -> None:
        """The user that a request with this secret turned out to be from."""
        self._users.pop(digest, None)
        if user is None:
            return
        self._users[digest] = user
        if len(self._users) > self._most:
            self._users.popitem(last=False)


class RateLimitMiddleware:
    """Refuses with 429 and says when to come back."""

    def __init__(self, app: ASGIApp, limits: RateLimits, *, clock: Callable[[], float] = monotonic) -> None:
        self._app, self._limits = app, limits
        self._usual = Buckets(limits.usual, clock=clock) if limits.usual else None
        self._watching = Buckets(limits.watching, clock=clock) if limits.watching else None
        self._guessing = Buckets(limits.guessing, clock=clock) if limits.guessing else None
        self._running = Shares(limits.requests)
        self._refused = Shares(MOST_SLOW_REFUSALS)
        self._known = KnownCredentials()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        secret = hash_credential(headers, self._limits.cookie_name)
        address = scope["nav_eval.address"] = _read_address(scope)
        caller = self._known.user(secret) or address
        wait = self._wait(scope, address, caller)
        if wait > 0 or not self._running.take(caller):
            await self._refuse(scope, receive, send, caller=caller, wait=wait or 1.0)
            return
        running = _Running(self._running, caller)
        try:
            await self._slow_down(scope, address, caller)
            await self._app(scope, receive, self._watch(scope, secret, running, send))
        finally:
            running.end()

    def _wait(self, scope: Scope, address: str, caller: str) -> float:
        if scope["path"] in WATCHING:
            return self._watching.take(address) if self._watching is not None else 0.0
        wait = self._usual.take(caller) if self._usual is not None else 0.0
        if self._guessing is not None and is_guessing(scope["method"], scope["path"]):
            wait = max(wait, self._guessing.take(address))
        return wait

    async def _slow_down(self, scope: Scope, address: str, caller: str) -> None:
        """Whoever asks much waits a little, so that a burst of many does not stand before everybody else."""
        watches = scope["path"] in WATCHING
        buckets = self._watching if watches else self._usual
        if buckets is None or not self._limits.slowness:
            return
        if (used := buckets.measure_use(address if watches else caller)) > 0:
            await asyncio.sleep(math.sqrt(used) * self._limits.slowness)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, *, caller: str, wait: float) -> None:
        """Slowly: who asks again and again asks us less often then."""
        if self._limits.slowness and self._refused.take(caller):
            try:
                await asyncio.sleep(min(wait, self._limits.slowness))
            finally:
                self._refused.give_back(caller)
        await make_refusal(scope, wait)(scope, receive, send)

    def _watch(self, scope: Scope, secret: str | None, running: "_Running", send: Send) -> Send:
        """Remember whose the secret is; an answer that has begun takes no share any more: it may be a live stream."""

        async def send_and_learn(message: Message) -> None:
            if message["type"] == "http.response.start":
                running.end()
                if secret is not None:
                    user = scope.get("nav_eval.user")
                    self._known.learn(secret, None if user is None else f"user {user.id}")
            await send(message)

        return send_and_learn


class _Running:
    """A request under way, counted once."""

    def __init__(self, shares: Shares, caller: str) -> None:
        self._shares, self._caller, self._ended = shares, caller, False

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._shares.give_back(self._caller)


def _read_address(scope: Scope) -> str:
    client = scope.get("client")
    return to_network(client[0] if client else "local")


def get_address(scope: Scope) -> str:
    """Whose limits a request counts against, when nobody is logged in."""
    return str(scope.get("nav_eval.address") or _read_address(scope))


GUESSING: Mapping[str, frozenset[str]] = {
    "GET": frozenset({"/login/openid", "/login/openid/callback"}),
    "POST": frozenset(
        {
            *("/api/v1/users", "/api/v1/login", "/api/v1/invitations/accept"),
            *("/api/v1/me/email", "/api/v1/me/email/confirm", "/account/email", "/account/email/confirm"),
            *("/login", "/login/openid/name", "/register", "/join", "/account/password", "/account/identities"),
            *("/api/v1/password-reset", "/api/v1/password-reset/confirm", "/forgotten", "/reset"),
        }
    ),
    "PUT": frozenset({"/api/v1/me/password"}),
}
"""Requests that try a password, an invitation or a name."""


def is_guessing(method: str, path: str) -> bool:
    return path.rstrip("/") in GUESSING.get(method, ())


def hash_credential(headers: Headers, cookie_name: str) -> str | None:
    """A digest of the secret that comes with a request, good or not."""
    secret = headers.get("authorization") or _find_cookie(headers.get("cookie", ""), cookie_name)
    return hashlib.blake2b(secret.encode(), digest_size=16).hexdigest() if secret else None


def _find_cookie(header: str, name: str) -> str | None:
    parts = (part.strip() for part in header.split(";"))
    return next((part for part in parts if part.startswith(f"{name}=")), None)


def make_refusal(scope: Scope, wait: float) -> ASGIApp:
    """429, as a problem, with the whole seconds to wait."""
    seconds = max(1, math.ceil(wait))
    detail = f"Too many requests; come back in {seconds} s."
    return make_problem_response(Request(scope), 429, detail, headers={"Retry-After": str(seconds)})


class ConcurrencyLimit:
    """`with limit: …` in a thread; those who wait take threads, too, so there may be few of them."""

    def __init__(self, *, inside: int, waiting: int) -> None:
        self._inside = BoundedSemaphore(inside)
        self._admitted = BoundedSemaphore(inside + waiting)

    def __enter__(self) -> None:
        if not self._admitted.acquire(blocking=False):
            raise Unavailable("Too many people are doing this at once; try again in a moment.")
        self._inside.acquire()

    def __exit__(self, *_: object) -> None:
        self._inside.release()
        self._admitted.release()


__all__ = [
    "Buckets",
    "CallerLimits",
    "ConcurrencyLimit",
    "KnownCredentials",
    "PasswordFailures",
    "Rate",
    "RateLimitMiddleware",
    "RateLimits",
    "Shares",
    "find_client_address",
    "get_address",
    "hash_credential",
    "is_guessing",
    "make_refusal",
    "to_network",
]
