"""Whose address counts: what a proxy of ours saw, and from anybody else the peer alone."""

from pathlib import Path

import httpx
import pytest

from nav_eval_gateway.proxies import parse_networks
from nav_eval_store.errors import OperatorError
from support.gateway import API, gateway_settings, serving

pytestmark = pytest.mark.integration


def count_answered(
    folder: Path, addresses: list[list[str]], *, networks: str, peer: str = "127.0.0.1", limit: int = 4
) -> int:
    """How many requests with these lines of X-Forwarded-For are answered before a caller has had enough."""
    settings = gateway_settings(
        folder, rate_limit=limit, trust_proxy=True, trusted_proxies=parse_networks(networks), refusal_seconds=0
    )
    transport = httpx.HTTPTransport(local_address=peer)
    with serving(settings) as server, httpx.Client(base_url=server.url, transport=transport) as client:
        statuses = [
            client.get(f"{API}/competitions", headers=[("X-Forwarded-For", line) for line in lines]).status_code
            for lines in addresses
        ]
    assert set(statuses) <= {200, 429}
    return statuses.count(200)


STRANGERS = [[f"203.0.113.{number}"] for number in range(12)]


def test_a_proxy_of_ours_is_believed(tmp_path: Path) -> None:
    assert count_answered(tmp_path, STRANGERS, networks="127.0.0.0/8") == len(STRANGERS)


def test_nobody_else_is(tmp_path: Path) -> None:
    """A client that reaches us past the proxy makes itself nobody new, whatever it writes."""
    answered = count_answered(tmp_path, STRANGERS, networks="10.0.0.0/8, 127.0.0.1")
    assert answered == len(STRANGERS)
    other = tmp_path / "other"
    other.mkdir()
    assert count_answered(other, STRANGERS, networks="10.0.0.0/8, 127.0.0.1", peer="127.0.0.2") < len(STRANGERS) / 2


@pytest.mark.parametrize(
    "lines",
    [
        [[f"203.0.113.{number}", "198.51.100.7"] for number in range(12)],  # the client's own line, then the proxy's
        [[f"203.0.113.{number}", f"192.0.2.{number}, 198.51.100.7"] for number in range(12)],
        [[*(f"203.0.113.{number + n}" for n in range(3)), "", "198.51.100.7 ,"] for number in range(12)],
    ],
)
def test_only_what_the_proxy_wrote_counts(lines: list[list[str]], tmp_path: Path) -> None:
    """It adds to the end, in a line of its own or in the last one; all before that is the client's invention."""
    assert count_answered(tmp_path, lines, networks="127.0.0.0/8") < len(lines) / 2


def test_networks_that_are_none_are_refused() -> None:
    with pytest.raises(OperatorError, match="NAV_EVAL_TRUSTED_PROXIES"):
        parse_networks("10.0.0.0/8, proxy.example.org")
