"""A real browser, driven over its own debugging protocol."""

import itertools
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from support import tools
from support.load import Deadline, measure_slowdown

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-extensions",
    "--no-first-run",
    "--remote-debugging-port=0",
    "--window-size=1280,900",
]


class Page:
    """One tab."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.problems: list[str] = []
        self.requests: list[str] = []
        for domain in ("Runtime", "Log", "Page", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._connection.recv(timeout=30))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        parameters = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            self.problems.append(str(parameters["exceptionDetails"]))
        elif message["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.problems.append(str(parameters["args"]))
        elif message["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"]["text"])
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def evaluate(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, file: Path, fragment: str = "") -> float:
        """Seconds until the replay is ready."""
        began = time.monotonic()
        self.call("Page.navigate", url=file.resolve().as_uri() + fragment)
        while self.evaluate("document.getElementById('replay')?.dataset.ready") != "true":
            assert time.monotonic() - began < 20 * measure_slowdown(), self.problems
            time.sleep(0.02)
        return time.monotonic() - began

    def press(self, key: str, *, code: int, modifiers: int = 0, text: str = "") -> None:
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)


@contextmanager
def opened_page(folder: Path) -> Iterator[Page]:
    """A tab of a fresh browser, gone afterwards."""
    command = [tools.browser(), *FLAGS, f"--user-data-dir={folder}", "about:blank"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, start_new_session=True, **quiet)  # Debian's command is a shell that waits
    try:
        with connect(_address(folder / "DevToolsActivePort"), max_size=None) as connection:
            yield Page(connection)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=120)


def _address(file: Path) -> str:
    from urllib.request import urlopen

    deadline = Deadline(30)
    while not (file.exists() and len(file.read_text().splitlines()) == 2):
        assert not deadline.is_over, "Chromium did not start."
        time.sleep(0.05)
    port = int(file.read_text().splitlines()[0])
    with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
        tabs = json.load(answer)
    return next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
