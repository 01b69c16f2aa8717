"""`connect(address)`: an agent by the words a person would type.

grpc://host:port  host:port  unix:/path     serves agent.proto
http://host:port                            serves REST
ws://0.0.0.0:port[/secret]                  connects to us on this port, at this path
openpi://host:port?mapping=file.yaml        an openpi-style policy server
navila://…  streamvln://…  internvla://…  omninav://…   a published model's own server (docs/adapters)
uninavid:…  streamvln:…  internvla:package.module:Class   a published model's class, wrapped by the SDK
package.module:Class  path/agent.py:Class   a Python class, in this process
"python agent.py --fast"                    a command that serves agent.proto on $NAV_EVAL_SOCKET
"""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from nav_eval.agents.client import AgentClient, ClientSettings
from nav_eval.errors import NavEvalError
from nav_eval.registry import Registry
from nav_eval.suggestions import suggest_close_match

DEFAULT_PORT = 8085

Opener = Callable[[str, ClientSettings], AgentClient]

SCHEMES: Registry[Opener] = Registry("kind of agent address", entry_point_group="nav_eval.agents")
"""What opens an address, by the word before its colon; it gets the whole address."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
_HOST_PORT = re.compile(r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}")
_CLASS = re.compile(r"([A-Za-z_][\w.]*|[^\s:]+\.py):[A-Za-z_]\w*")


class AddressError(NavEvalError):
    """An agent's address cannot be understood; the message shows what would be."""


def connect(address: str, settings: ClientSettings | None = None) -> AgentClient:
    """The client for the agent at `address`; nothing is asked of it yet."""
    settings = settings or ClientSettings()
    address = address.strip()
    if not address:
        raise AddressError("The agent's address is empty; give grpc://…, unix:…, http://…, module:Class or a command.")
    if _HOST_PORT.fullmatch(address):
        address = f"grpc://{address}"
    scheme = _SCHEME.match(address)
    if scheme and scheme[1] in SCHEMES:
        return SCHEMES.get(scheme[1])(address, settings)
    if _CLASS.fullmatch(address):
        return SCHEMES.get("module")(address, settings)
    if "://" in address.split()[0]:
        meant = suggest_close_match(address.partition(":")[0], SCHEMES)
        raise AddressError(
            f"{address!r} begins with no protocol that we speak.{meant} We speak {', '.join(SCHEMES)} and commands."
        )
    if address.endswith(".py") and Path(address).is_file():
        raise AddressError(f"{address!r} is a file: give 'python {address}', which serves, or {address}:CLASS.")
    return SCHEMES.get("command")(address, settings)


@SCHEMES.register("grpc")
def _open_grpc(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.grpc_client import GrpcAgentClient

    return GrpcAgentClient(_parse_host_port(address), settings)


@SCHEMES.register("unix")
def _open_unix(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.grpc_client import GrpcAgentClient

    path = address.removeprefix("unix:").removeprefix("//")
    if not path:
        raise AddressError("unix: needs the path of a socket, as in unix:/rpc/agent.sock.")
    return GrpcAgentClient(f"unix:{Path(path).absolute()}", settings)


@SCHEMES.register("http")
@SCHEMES.register("https")
def _open_rest(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.rest_client import RestAgentClient

    _parse_host_port(address)
    return RestAgentClient(address, settings)


@SCHEMES.register("ws")
def _open_websocket(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.websocket_client import WebSocketAgentClient

    host, _, port = _parse_host_port(address).rpartition(":")
    return WebSocketAgentClient(host.strip("[]"), int(port), settings, path=urlsplit(address).path)


@SCHEMES.register("openpi")
def _open_openpi(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.openpi_client import OpenPiAgentClient, read_mapping

    files = parse_qs(urlsplit(address).query).get("mapping", [])
    if len(files) != 1:
        raise AddressError(f"{address!r} needs one mapping, as in openpi://host:8000?mapping=file.yaml.")
    return OpenPiAgentClient(f"ws://{_parse_host_port(address, default=8000)}", read_mapping(Path(files[0])), settings)


@SCHEMES.register("navila")
def _open_navila(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.navila_client import NavilaClient

    return NavilaClient.open(address, settings)


@SCHEMES.register("streamvln")
def _open_streamvln(address: str, settings: ClientSettings) -> AgentClient:
    if not address.startswith("streamvln://"):
        return _open_wrapped(address, settings)
    from nav_eval.agents.streamvln_client import StreamVlnClient

    return StreamVlnClient.open(address, settings)


@SCHEMES.register("internvla")
def _open_internvla(address: str, settings: ClientSettings) -> AgentClient:
    if not address.startswith("internvla://"):
        return _open_wrapped(address, settings)
    from nav_eval.agents.internvla_client import InternVlaClient

    return InternVlaClient.open(address, settings)


@SCHEMES.register("uninavid")
def _open_wrapped(address: str, settings: ClientSettings) -> AgentClient:
    """A model's class in a process of its own, as an agent by the SDK's wrapper."""
    from nav_eval.agents.process_client import ProcessAgentClient

    _, _, name = address.partition(":")
    if not _CLASS.fullmatch(name):
        raise AddressError(f"{address!r} names no class, as in uninavid:package.module:Class.")
    return ProcessAgentClient(shlex.join([sys.executable, "-m", "nav_eval_sdk", "serve", address]), settings)


@SCHEMES.register("omninav")
def _open_omninav(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.omninav_client import OmniNavClient

    return OmniNavClient.open(address, settings)


@SCHEMES.register("module")
def _open_module(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.local_client import LocalAgentClient, load_agent_factory

    return LocalAgentClient(load_agent_factory(address.removeprefix("module:")), settings)


@SCHEMES.register("command")
def _open_command(address: str, settings: ClientSettings) -> AgentClient:
    from nav_eval.agents.process_client import ProcessAgentClient

    return ProcessAgentClient(address.removeprefix("command:").strip(), settings)


def _parse_host_port(address: str, *, default: int = DEFAULT_PORT) -> str:
    parts = urlsplit(address)
    try:
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise AddressError(f"{address!r} has no usable port: {error}.") from None
    if not host:
        raise AddressError(f"{address!r} has no host, as in {parts.scheme}://localhost:{default}.")
    return f"{f'[{host}]' if ':' in host else host}:{default if port is None else port}"
