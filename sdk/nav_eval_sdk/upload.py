"""Uploads that survive a broken line (tus 1.0, core protocol and creation).

Each is remembered by what is uploaded and where to, so that the same command, started again, goes on where it stopped.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from nav_eval_sdk.errors import SdkError
from nav_eval_sdk.http_client import HttpClient, ServerError, Unreachable

VERSION = "1.0.0"
CHUNK = 8 << 20
ATTEMPTS = 8  #: in a row without a byte of progress
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 30.0
GONE = (403, 404, 410)  #: the server has forgotten the upload
BUSY = (408, 423, 429, 502, 503, 504)  #: the server asks for patience

Notice = Callable[[int], None]
T = TypeVar("T")


class Upload:
    """One file on its way to one server."""

    def __init__(
        self,
        http: HttpClient,
        file: Path,
        *,
        metadata: Mapping[str, str],
        memory: Path | None = None,
        pause: float = FIRST_PAUSE,
    ) -> None:
        """`memory` is the file in which unfinished uploads are remembered."""
        self._http = http
        self._file = file
        self._size = file.stat().st_size
        self._metadata = dict(metadata)
        self._memory = memory
        self._first_pause = pause

    def run(self, endpoint: str, *, notice: Notice = lambda _: None, chunk: int = CHUNK) -> str:
        """Upload everything that the server does not have yet; returns the upload's address."""
        location = self._patiently(lambda: self._find_resumable() or self._create(endpoint))
        offset = self._patiently(lambda: self._offset(location))
        notice(offset)
        failures, pause = 0, self._first_pause
        with self._file.open("rb") as stream:
            while offset < self._size:
                try:
                    stream.seek(offset)
                    offset = self._send(location, offset, stream.read(chunk))
                    failures, pause = 0, self._first_pause
                except (Unreachable, _OutOfStep):
                    failures += 1
                    if failures > ATTEMPTS:
                        raise
                    time.sleep(pause)
                    pause = min(pause * 2, LONGEST_PAUSE)
                    before, offset = offset, self._patiently(lambda: self._offset(location))
                    failures = 0 if offset > before else failures
                notice(offset)
        self._remember(None)
        return location

    def _create(self, endpoint: str) -> str:
        encoded = ",".join(f"{key} {_encode_base64(value)}" for key, value in sorted(self._metadata.items()))
        headers = {"Upload-Length": str(self._size), "Upload-Metadata": encoded, "Tus-Resumable": VERSION}
        with self._http.open("POST", endpoint, body=b"", headers=headers) as response:
            location = response.headers.get("Location")
        if not location:
            raise SdkError("The server accepted the upload and did not say where to.")
        self._remember(self._http.url(location))
        return self._http.url(location)

    def _find_resumable(self) -> str | None:
        """The address of an upload that was begun earlier, if the server still has it."""
        location = self._load_memory().get(self._key())
        if location is None:
            return None
        try:
            self._offset(location)
        except ServerError as error:
            if error.status in GONE:
                return None
            raise
        return location

    def _offset(self, location: str) -> int:
        with self._http.open("HEAD", location, headers={"Tus-Resumable": VERSION}) as response:
            offset = response.headers.get("Upload-Offset", "")
        if not offset.isdigit() or int(offset) > self._size:
            raise SdkError(f"The server says that it has {offset!r} of {self._size} bytes.")
        return int(offset)

    def _send(self, location: str, offset: int, data: bytes) -> int:
        headers = {
            "Tus-Resumable": VERSION,
            "Upload-Offset": str(offset),
            "Content-Type": "application/offset+octet-stream",
        }
        try:
            with self._http.open("PATCH", location, body=data, headers=headers) as response:
                now = response.headers.get("Upload-Offset", "")
        except ServerError as error:
            if error.status == 409 or error.status in BUSY:
                raise _OutOfStep(str(error)) from None
            raise
        if not now.isdigit() or not offset < int(now) <= self._size:
            raise _OutOfStep(f"The server says that it has {now!r} bytes now.")
        return int(now)

    def _patiently(self, ask: Callable[[], T]) -> T:
        pause = self._first_pause
        for _ in range(ATTEMPTS):
            try:
                return ask()
            except Unreachable:
                pass
            except ServerError as error:
                if error.status not in BUSY:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        return ask()

    def _key(self) -> str:
        about = " ".join(value for _, value in sorted(self._metadata.items()))
        return f"{self._http.server} {about} {self._size}"

    def _load_memory(self) -> dict[str, str]:
        try:
            known = json.loads(self._memory.read_text()) if self._memory is not None else {}
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _remember(self, location: str | None) -> None:
        if self._memory is None:
            return
        known = self._load_memory()
        known.pop(self._key(), None)
        if location is not None:
            known[self._key()] = location
        self._memory.parent.mkdir(parents=True, exist_ok=True)
        self._memory.write_text(json.dumps(known))


class _OutOfStep(SdkError):
    """The server has another idea of how far the upload is."""


def _encode_base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")
