"""Which addresses on the network a webhook may reach: public ones, unless the organiser says otherwise.

A team chooses the address, and we are the ones who call it: without this check it could make us call
our own database, the cloud's metadata service, or a neighbour. The check is made on the numbers that
the name stands for, and the call then goes to exactly these numbers, so that a name which changes its
meaning in between gains nothing.
"""

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from urllib.parse import SplitResult, urlsplit

from nav_eval_store.errors import StoreError

Resolve = Callable[[str, int], Sequence[str]]
_NAT64 = IPv6Address("64:ff9b::")
_PORTS = {"http": 80, "https": 443}


class ForbiddenAddress(StoreError):
    """A webhook may not point into a private network."""


def checked_url(url: str) -> SplitResult:
    """The parts of an http(s) address without tricks in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise StoreError("This is no address; write https://host/path.") from error
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise StoreError("This is no address; write https://host/path.")
    if parts.username is not None or parts.password is not None:
        raise StoreError("A webhook's address has no user name or password in it: check our signature instead.")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise StoreError("An address has only ASCII characters and no spaces; encode others with %.")
    return parts


def port_of(parts: SplitResult) -> int:
    return parts.port or _PORTS[parts.scheme]


def resolve(host: str, port: int) -> Sequence[str]:
    """The numbers that a name stands for."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise StoreError("There is no host {host!r}.", host=host) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def target(url: str, *, allow_private: bool = False, resolve: Resolve = resolve) -> str:
    """The number to call for `url`; refused if any of its numbers is not public."""
    parts = checked_url(url)
    numbers = resolve(parts.hostname or "", port_of(parts))
    if not allow_private and not all(is_public(number) for number in numbers):
        raise ForbiddenAddress(
            "{hostname} is in a private network; a webhook needs a public address.", hostname=parts.hostname
        )
    return numbers[0]


def is_public(number: str) -> bool:
    """Whether an address belongs to the open network, also when it is wrapped in another one."""
    try:
        address = ip_address(number.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and (inner := _wrapped(address)) is not None:
        return is_public(str(inner))
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _wrapped(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address carries."""
    if int(address) >> 32 == int(_NAT64) >> 32:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
