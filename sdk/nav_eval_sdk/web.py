"""Plain HTTP to a challenge's server: JSON in, JSON out, and every refusal as one sentence."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from nav_eval_sdk.errors import SdkError

TIMEOUT = 60.0


class ServerError(SdkError):
    """The server refused; `status` is its HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(SdkError):
    """The server did not answer; asking again may help."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect could carry the token to another host."""

    def redirect_request(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        return None


class Http:
    """Requests to one server, with the team's token."""

    def __init__(self, server: str, token: str = "") -> None:
        if urlsplit(server).scheme not in ("http", "https"):
            raise SdkError(f"{server!r} is no server; write https://challenge.example.org.")
        self.server = server.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def url(self, path: str) -> str:
        """The address of a path, or of a place that the server named; never on another host."""
        address = urljoin(self.server + "/", path)
        if urlsplit(address)[:2] != urlsplit(self.server)[:2]:
            raise SdkError(f"The server points to another host, {address}; nothing was sent there.")
        return address

    def open(
        self,
        method: str,
        path: str,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> http.client.HTTPResponse:
        request = urllib.request.Request(self.url(path), data=body, method=method, headers=dict(headers or {}))  # noqa: S310
        if self._token:
            request.add_header("Authorization", f"Bearer {self._token}")
        try:
            response: http.client.HTTPResponse = self._opener.open(request, timeout=timeout)
            return response
        except urllib.error.HTTPError as error:
            raise ServerError(_sentence(error), error.code) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{self.server} does not answer: {reason}") from None

    def json(self, method: str, path: str, document: Any = None) -> Any:  # noqa: ANN401
        body = None if document is None else json.dumps(document).encode()
        with self.open(method, path, body=body, headers={"Content-Type": "application/json"}) as response:
            data = response.read()
        try:
            return json.loads(data) if data else None
        except ValueError:
            raise SdkError(f"{self.server} answers {path} with something that is no JSON.") from None


def _sentence(error: urllib.error.HTTPError) -> str:
    """What the server says about it, if it says anything."""
    try:
        document = json.loads(error.read(65536))
    except ValueError:
        document = {}
    said = document.get("detail") or document.get("message") if isinstance(document, dict) else None
    text = said if isinstance(said, str) else json.dumps(said) if said else http.client.responses.get(error.code, "")
    hint = {401: " Log in with `nav-eval-sdk login`.", 403: " Is the token of the right team?"}.get(error.code, "")
    return f"The server refuses ({error.code}): {text}{hint}"
