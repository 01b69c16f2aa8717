"""Agents as local processes: a command that serves agent.proto on the socket it is given. Trusted code only."""

import os
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from nav_eval.agents.client import ClientSettings
from nav_eval.agents.failures import AgentCrash, AgentFailure, AgentNotStarted
from nav_eval.agents.grpc_client import GrpcAgentClient
from nav_eval.agents.messages import quote_last_words
from nav_eval.child_process import ChildProcess, describe_exit

KEPT_OUTPUT = 16_384  #: bytes of the agent's log that a failure may quote from
GRACE = 2.0  #: seconds between asking a process to end and ending it


class AgentProcess:
    """A running command, its log's end, and its whole process group."""

    def __init__(self, command: list[str], *, environment: Mapping[str, str], log: Path | None = None) -> None:
        self._tail = bytearray()
        self._log: IO[bytes] | None = log.open("ab") if log is not None else None
        try:
            self._process = ChildProcess(command, environment={**os.environ, **environment}, output=subprocess.PIPE)
        except OSError as error:
            raise AgentNotStarted(
                f"Cannot start {command[0]!r}: {error.strerror}. An agent is an address (grpc://host:port, http://…), "
                "baseline:NAME, file.py:Class, or a command that this machine has."
            ) from None
        self._reader = threading.Thread(target=self._read, name="nav-eval-agent-log", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def find_exit(self, seconds: float) -> AgentFailure | None:
        """How the process ended; None if it still lives after `seconds`."""
        code = self._process.wait(seconds)
        if code is None:
            return None
        self._reader.join(timeout=0.5)
        last = self.read_tail()
        how, said = describe_exit(code), f" Its last words: {last}" if last else ""
        if code == 0:
            said += " It served nothing: end it with `nav_eval_sdk.serve(YourAgent)`, which serves until it is stopped."
        return AgentCrash(f"The agent's process ended with {how}.{said}")

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def read_tail(self) -> str:
        return quote_last_words(bytes(self._tail))

    def stop(self) -> None:
        """End it and everything that it started."""
        self._process.stop(GRACE, ask_group=True)
        self._reader.join(timeout=1.0)
        if self._log is not None:
            self._log.close()

    def _read(self) -> None:
        stream = self._process.output
        while chunk := stream.read1(4096):  # type: ignore[attr-defined]
            self._tail += chunk
            del self._tail[:-KEPT_OUTPUT]
            if self._log is not None:
                with suppress(ValueError, OSError):
                    self._log.write(chunk)
                    self._log.flush()


class ProcessAgentClient(GrpcAgentClient):
    """A command, and the socket that it serves on."""

    def __init__(self, command: str, settings: ClientSettings, *, log: Path | None = None) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="nav-eval-")
        socket = Path(self._directory.name) / "agent.sock"
        environment = {
            "NAV_EVAL_SOCKET": str(socket),
            "NAV_EVAL_ADDRESS": f"unix:{socket}",
            "NAV_EVAL_PROTOCOL": "grpc",
        }
        self._process = AgentProcess(shlex.split(command), environment=environment, log=log)
        super().__init__(f"unix:{socket}", settings, exit_probe=self._process.find_exit)

    @property
    def pid(self) -> int:
        return self._process.pid

    def close(self) -> None:
        super().close()
        self._process.stop()
        self._directory.cleanup()
