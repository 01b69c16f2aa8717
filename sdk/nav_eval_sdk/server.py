"""`serve(agent)`: make an agent reachable, by whatever protocol the challenge speaks."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Protocol

from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.host import BATCH_WINDOW, AgentSource, Host

DEFAULT_ADDRESS = "0.0.0.0:8085"
SOCKET_VARIABLE = "NAV_EVAL_SOCKET"
ADDRESS_VARIABLE = "NAV_EVAL_ADDRESS"
PROTOCOL_VARIABLE = "NAV_EVAL_PROTOCOL"
ENCODING_VARIABLE = "NAV_EVAL_ENCODING"  #: msgpack or json, for WebSocket
LOADING_VARIABLE = "NAV_EVAL_LOADING"  #: set while somebody imports a file for the class in it, and serves that himself
PROTOCOLS = ("grpc", "rest", "websocket")


class Server(Protocol):
    """What all protocols have in common."""

    def wait(self) -> None: ...

    def stop(self) -> None: ...


def serve(
    agent: AgentSource,
    *,
    address: str | None = None,
    protocol: str | None = None,
    max_episodes: int | None = None,
    batch_window: float = BATCH_WINDOW,
) -> None:
    """Serve until the process is told to end.

    `agent` is an agent's class (or a function that makes one), or a finished agent. A class is better:
    the evaluator is answered while the weights still load.
    `address` is `host:port`, `unix:/path` or, for WebSocket, the evaluator's `ws://…`; the environment
    (NAV_EVAL_SOCKET, NAV_EVAL_ADDRESS) says it when nothing else does.
    `protocol` is grpc, rest or websocket.
    Where the file is only imported for its class (`agent.py:MyAgent`), nothing is served here.
    """
    if LOADING_VARIABLE in os.environ:
        return
    protocol = protocol or os.environ.get(PROTOCOL_VARIABLE, "grpc")
    host = Host(agent, max_episodes=max_episodes, batch_window=batch_window)
    server = start_server(protocol, host, address or get_address())
    stop_on_signals(server)
    host.start()
    server.wait()
    if host.busy:  # nobody waits for its answer any more, and it may never come
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def start_server(protocol: str, host: Host, address: str) -> Server:
    if protocol == "grpc":
        from nav_eval_sdk.grpc_server import GrpcServer

        return GrpcServer(host, address)
    if protocol == "rest":
        from nav_eval_sdk.rest_server import RestServer

        return RestServer(host, address)
    if protocol == "websocket":
        from nav_eval_sdk.websocket_agent import WebSocketAgent

        return WebSocketAgent(host, address, encoding=os.environ.get(ENCODING_VARIABLE, "msgpack"))
    raise SdkError(f"There is no protocol {protocol!r}; choose among {', '.join(PROTOCOLS)}.")


def stop_on_signals(server: Server) -> None:
    """End in order when the container is stopped."""
    if threading.current_thread() is not threading.main_thread():
        return

    def stop(number: int, frame: object) -> None:
        threading.Thread(target=server.stop).start()  # never wait inside a signal handler

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)


def get_address() -> str:
    socket = os.environ.get(SOCKET_VARIABLE)
    return f"unix:{socket}" if socket else os.environ.get(ADDRESS_VARIABLE, DEFAULT_ADDRESS)
