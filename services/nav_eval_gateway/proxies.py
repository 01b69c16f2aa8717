"""Who asks: the peer, or whom a reverse proxy of ours saw.

Anybody can write `X-Forwarded-For`, in as many lines as they like; a proxy adds what it saw at the end. So the header
is believed only from a proxy of ours, all its lines are read as one list, and only as many hops from its end as we have
proxies.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from nav_eval_store.errors import OperatorError

Network = IPv4Network | IPv6Network
SCHEMES = ("http", "https")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProxyTrust:
    """Whose word about others counts."""

    hops: int = 0  #: reverse proxies that stand one behind the other before us
    networks: tuple[Network, ...] = ()  #: where they are; empty is wherever a connection comes from

    def is_proxy(self, address: str) -> bool:
        if not self.hops:
            return False
        return not self.networks or _is_within(address, self.networks)


@lru_cache(4096)
def _is_within(address: str, networks: tuple[Network, ...]) -> bool:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    plain = (isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped) or parsed
    return any(plain in network for network in networks if network.version == plain.version)


def parse_networks(text: str) -> tuple[Network, ...]:
    """`10.0.0.0/8, 192.168.1.7`: addresses and networks."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return tuple(ipaddress.ip_network(part, strict=False) for part in parts)
    except ValueError as error:
        raise OperatorError(
            f"NAV_EVAL_TRUSTED_PROXIES: {error}; write addresses or networks like 10.0.0.0/8."
        ) from None


class ProxyHeaders:
    """The outermost layer: from here on, `client` and `scheme` of a request are what a proxy of ours says."""

    def __init__(self, app: ASGIApp, *, trust: ProxyTrust) -> None:
        self._app, self._trust = app, trust

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if scope["type"] == "http" and self._trust.is_proxy(client[0] if client else "local"):
            headers = Headers(scope=scope)
            address = find_client_address(scope, headers, trusted_proxies=self._trust.hops)
            scheme = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
            scope = {**scope, "client": (address, 0)}
            scope["scheme"] = scheme if scheme in SCHEMES else scope["scheme"]
        await self._app(scope, receive, send)


def find_client_address(scope: Scope, headers: Headers, *, trusted_proxies: int) -> str:
    """The peer, or what the outermost trusted proxy saw. IPv6 callers own a whole /64."""
    client = scope.get("client")
    address = client[0] if client else "local"
    if trusted_proxies:
        hops = [hop.strip() for hop in ",".join(headers.getlist("x-forwarded-for")).split(",") if hop.strip()]
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
