"""Nobody can ask faster than the gateway can answer: a bucket of tokens per caller, refilled at a steady rate.

A caller is a user whose token has proved good, else an address: with buckets for whatever a stranger claims to
be, a made-up token per request would never meet a limit. What guesses secrets (logging in, registering) draws from
a second, smaller bucket of the address. Buckets live in this process, the least used are forgotten.
"""

import hashlib
import ipaddress
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import BoundedSemaphore
from time import monotonic
from typing import NamedTuple

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nav_eval_gateway.errors import Unavailable, make_problem_response
from nav_eval_gateway.settings import GatewaySettings

MOST_BUCKETS = 20_000
FREE = frozenset({"/healthz", "/readyz", "/metrics"})
"""What watches the gateway is not to be told to wait."""


class Rate(NamedTuple):
    """So many at once, then so many per second."""

    burst: float
    per_second: float

    @classmethod
    def per_minute(cls, requests: float, *, burst: float | None = None) -> "Rate":
        return cls(burst if burst is not None else max(1.0, requests / 2), requests / 60)


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimits:
    """How often somebody may ask; None is without limit."""

    usual: Rate | None = None  #: of a user or an address
    guessing: Rate | None = None  #: of an address, where secrets are tried
    trusted_proxies: int = 0  #: how many reverse proxies stand before us, each adding to X-Forwarded-For
    cookie_name: str = "nav_eval_session"

    @classmethod
    def of(cls, settings: GatewaySettings) -> "RateLimits":
        return cls(
            usual=Rate.per_minute(settings.rate_limit) if settings.rate_limit else None,
            guessing=Rate.per_minute(settings.login_rate_limit) if settings.login_rate_limit else None,
            trusted_proxies=int(settings.trust_proxy),
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

    def __len__(self) -> int:
        return len(self._levels)


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
        self._guessing = Buckets(limits.guessing, clock=clock) if limits.guessing else None
        self._known = KnownCredentials()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        secret = hash_credential(headers, self._limits.cookie_name)
        wait = self._wait(scope, headers, secret)
        if wait > 0:
            await make_refusal(scope, wait)(scope, receive, send)
            return
        await self._app(scope, receive, self._remember_user(scope, secret, send) if secret else send)

    def _wait(self, scope: Scope, headers: Headers, secret: str | None) -> float:
        address = find_client_address(scope, headers, trusted_proxies=self._limits.trusted_proxies)
        wait = self._usual.take(self._known.user(secret) or address) if self._usual is not None else 0.0
        if self._guessing is not None and is_guessing(scope["method"], scope["path"]):
            wait = max(wait, self._guessing.take(address))
        return wait

    def _remember_user(self, scope: Scope, secret: str, send: Send) -> Send:
        """Remember whose the secret is."""

        async def send_and_learn(message: Message) -> None:
            if message["type"] == "http.response.start":
                user = scope.get("nav_eval.user")
                self._known.learn(secret, None if user is None else f"user {user.id}")
            await send(message)

        return send_and_learn


GUESSING: Mapping[str, frozenset[str]] = {
    "POST": frozenset(
        {
            *("/api/v1/users", "/api/v1/login", "/api/v1/invitations/accept"),
            *("/login", "/register", "/join", "/account/password"),
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


def find_client_address(scope: Scope, headers: Headers, *, trusted_proxies: int) -> str:
    """Who asks: the peer, or what the outermost trusted proxy saw. IPv6 callers own a whole /64."""
    client = scope.get("client")
    address = client[0] if client else "local"
    if trusted_proxies:
        hops = [hop.strip() for hop in headers.get("x-forwarded-for", "").split(",") if hop.strip()]
        address = hops[-min(trusted_proxies, len(hops))] if hops else address
    return to_network(address)


@lru_cache(4096)
def to_network(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped) if mapped else str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


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
            raise Unavailable("Too many people log in at once; try again in a moment.")
        self._inside.acquire()

    def __exit__(self, *_: object) -> None:
        self._inside.release()
        self._admitted.release()
