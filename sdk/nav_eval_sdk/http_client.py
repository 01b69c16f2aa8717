"""Plain HTTP to a challenge's server: JSON in, JSON out, and every refusal as one sentence.

Which server, and by whose right, says the environment, or what `login` wrote down for this user alone.
"""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
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


class HttpClient:
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
            raise ServerError(_explain(error), error.code) from None
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


def _explain(error: urllib.error.HTTPError) -> str:
    """What the server says about it, if it says anything."""
    try:
        document = json.loads(error.read(65536))
    except ValueError:
        document = {}
    said = document.get("detail") or document.get("message") if isinstance(document, dict) else None
    text = said if isinstance(said, str) else json.dumps(said) if said else http.client.responses.get(error.code, "")
    hint = " Log in with `nav-eval-sdk login`." if error.code == 401 else ""
    if error.code == 403 and not said:
        hint = " Is the token of the right team?"  # a server that says why needs no guess
    return f"The server refuses ({error.code}): {text}{hint}"


SERVER_VARIABLE = "NAV_EVAL_SERVER"
TOKEN_VARIABLE = "NAV_EVAL_TOKEN"  # noqa: S105 (the name of a variable)


class Credentials(NamedTuple):
    server: str
    token: str


def get_config_dir() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "nav-eval"


def get_cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nav-eval"


def save_token(server: str, token: str) -> Path:
    """Remember the token for this server, which is used from now on."""
    file = get_config_dir() / "credentials.json"
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    known = _read_credentials(file)
    tokens = {**known.get("tokens", {}), server: token}
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        json.dump({"server": server, "tokens": tokens}, stream, indent=2)
    return file


def load_credentials(server: str | None = None) -> Credentials:
    known = _read_credentials(get_config_dir() / "credentials.json")
    chosen = server or os.environ.get(SERVER_VARIABLE) or known.get("server")
    if not chosen:
        raise SdkError("Which server? Give --server https://…, or log in once: nav-eval-sdk login https://…")
    return Credentials(chosen, os.environ.get(TOKEN_VARIABLE) or known.get("tokens", {}).get(chosen, ""))


def _read_credentials(file: Path) -> dict[str, Any]:
    try:
        known = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
