"""How often somebody may ask, and that strangers cannot get around it."""

import asyncio

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from nav_eval_gateway.rate_limit import (
    Buckets,
    KnownCredentials,
    Rate,
    RateLimitMiddleware,
    RateLimits,
    find_client_address,
    is_guessing,
    to_network,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = Buckets(Rate(burst=3, per_second=0.5), clock=clock)
    assert [buckets.take("ada") for _ in range(4)] == [0, 0, 0, 2.0]
    assert buckets.take("bob") == 0, "everybody has a bucket of their own"
    clock.now += 1.9
    assert buckets.take("ada") == pytest.approx(0.1)
    clock.now += 0.1
    assert buckets.take("ada") == 0
    clock.now += 1e6
    assert [buckets.take("ada") > 0 for _ in range(4)] == [False, False, False, True], "a burst does not pile up"


@given(st.lists(st.floats(0, 10), min_size=1, max_size=200), st.floats(0.1, 20), st.floats(1, 10))
def test_nobody_gets_more_than_burst_and_rate_allow(pauses: list[float], per_second: float, burst: float) -> None:
    clock = Clock()
    buckets = Buckets(Rate(burst, per_second), clock=clock)
    granted = 0
    for pause in pauses:
        clock.now += pause
        granted += buckets.take("ada") == 0
    assert granted <= burst + clock.now * per_second + 1e-6


def test_memory_is_bounded() -> None:
    buckets = Buckets(Rate(1, 1), most=100)
    for number in range(10_000):
        buckets.take(str(number))
    assert len(buckets) == 100
    known = KnownCredentials(most=3)
    for number in range(10):
        known.learn(str(number), f"user {number}")
    assert [known.user(str(number)) for number in (6, 7, 9)] == [None, "user 7", "user 9"]


@pytest.mark.parametrize(
    ("forwarded", "trusted", "address"),
    [
        ("", 0, "10.0.0.9"),
        ("1.2.3.4", 0, "10.0.0.9"),  # anybody can write a header
        ("1.2.3.4", 1, "1.2.3.4"),
        ("6.6.6.6, 1.2.3.4", 1, "1.2.3.4"),  # what the client itself claims stands further left
        ("6.6.6.6, 1.2.3.4, 10.0.0.1", 2, "1.2.3.4"),
        ("1.2.3.4", 3, "1.2.3.4"),
        (" , ", 1, "10.0.0.9"),
    ],
)
def test_whose_address_counts(forwarded: str, trusted: int, address: str) -> None:
    headers = Headers({"x-forwarded-for": forwarded} if forwarded else {})
    assert find_client_address({"client": ("10.0.0.9", 1)}, headers, trusted_proxies=trusted) == address


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8:1:2:3::4", "2001:db8:1:2::ffff", True),  # a household has a whole /64
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("::ffff:1.2.3.4", "1.2.3.4", True),
        ("1.2.3.4", "1.2.3.5", False),
        ("x" * 500, "x" * 400, True),
    ],
)
def test_addresses_that_are_one_caller(one: str, other: str, same: bool) -> None:
    assert (to_network(one) == to_network(other)) is same


@pytest.mark.parametrize(
    ("method", "path", "guesses"),
    [
        ("POST", "/api/v1/login", True),
        ("POST", "/api/v1/login/", True),
        ("POST", "/api/v1/users", True),
        ("POST", "/api/v1/invitations/accept", True),
        ("PUT", "/api/v1/me/password", True),
        ("GET", "/api/v1/login", False),
        ("POST", "/api/v1/submissions", False),
    ],
)
def test_what_tries_secrets(method: str, path: str, guesses: bool) -> None:
    assert is_guessing(method, path) is guesses


class User:
    def __init__(self, name: str) -> None:
        self.id = name


class Gate:
    """A middleware before an application that knows one token."""

    def __init__(self, **limits) -> None:
        self.clock = Clock()
        self._app = RateLimitMiddleware(self._answer, RateLimits(**limits), clock=self.clock)

    async def _answer(self, scope, receive, send) -> None:
        good = dict(scope["headers"]).get(b"authorization", b"").startswith(b"Bearer good")
        if good:
            scope["nav_eval.user"] = User("ada")
        await send({"type": "http.response.start", "status": 200 if good else 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def get(self, path: str = "/", method: str = "GET", **headers: str) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, client=("1.2.3.4", 5))
            async with httpx.AsyncClient(transport=transport, base_url="http://gate") as client:
                return await client.request(method, path, headers=headers)

        return asyncio.run(ask())


def test_a_refusal_is_a_problem_that_says_when_to_come_back() -> None:
    gate = Gate(usual=Rate(burst=1, per_second=0.1))
    assert gate.get().status_code == 404
    refused = gate.get()
    assert refused.status_code == 429
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.headers["retry-after"] == "10"
    assert "10 s" in refused.json()["detail"]
    gate.clock.now += 10
    assert gate.get().status_code == 404


def test_made_up_tokens_have_no_buckets_of_their_own() -> None:
    gate = Gate(usual=Rate(burst=5, per_second=0.01))
    answers = [gate.get(Authorization=f"Bearer made-up-{number}").status_code for number in range(8)]
    assert answers == [404] * 5 + [429] * 3


def test_a_user_is_counted_by_name_over_all_tokens_and_not_with_the_others_of_the_address() -> None:
    gate = Gate(usual=Rate(burst=3, per_second=0.001))
    assert gate.get(Authorization="Bearer good 1").status_code == 200  # from the address' bucket: not known yet
    assert gate.get(Authorization="Bearer good 2").status_code == 200
    assert [gate.get(Authorization=f"Bearer good {n}").status_code for n in (1, 2, 1, 2)] == [200, 200, 200, 429]
    assert gate.get().status_code == 404, "one token is left for the address"
    assert gate.get().status_code == 429


def test_watchers_never_wait() -> None:
    gate = Gate(usual=Rate(burst=1, per_second=0.001))
    assert [gate.get(path).status_code for path in ("/healthz", "/readyz", "/metrics") * 3] == [404] * 9


def test_guessing_is_limited_by_address_even_with_a_good_token() -> None:
    gate = Gate(guessing=Rate(burst=2, per_second=0.001))
    tries = [gate.get("/api/v1/login", "POST", Authorization="Bearer good").status_code for _ in range(4)]
    assert tries == [200, 200, 429, 429]
    assert gate.get("/api/v1/competitions").status_code == 404


def test_without_limits_nobody_is_refused() -> None:
    gate = Gate()
    assert {gate.get().status_code for _ in range(50)} == {404}
