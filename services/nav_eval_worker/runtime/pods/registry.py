"""Images in an OCI registry, by the few requests that every registry knows (distribution-spec 1.1).

Layers travel as the plain tars that `archives` has checked, so their digests are the configuration's own and a layer
that the registry has is not sent again. Nothing of a team's is ever pulled by us; nodes pull by digest.
"""

import base64
import hashlib
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import urlsplit

import httpx
import msgspec

from nav_eval_worker.runtime.base import RuntimeUnavailable

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
SECONDS = 120.0
CHUNK = 1 << 20


class Descriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A blob that a manifest names."""

    media_type: str
    digest: str
    size: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One image."""

    schema_version: int = 2
    media_type: str = MANIFEST
    config: Descriptor
    layers: tuple[Descriptor, ...]
    annotations: dict[str, str] = {}


class Registry:
    """One repository of a registry."""

    def __init__(self, url: str, repository: str, *, login: tuple[str, str] | None = None) -> None:
        """`url` may have a path of its own: https://registry.example.org/nav-eval."""
        parts = urlsplit(url)
        self.repository = f"{parts.path.strip('/')}/{repository}".strip("/")
        self._client = httpx.Client(
            base_url=f"{parts.scheme}://{parts.netloc}/v2/",
            auth=_Auth(login),
            timeout=SECONDS,
            transport=httpx.HTTPTransport(retries=3),
        )

    def check(self) -> None:
        """Raise unless it answers and knows us."""
        self._ask("GET", "")

    def has_blob(self, digest: str) -> bool:
        return self._ask("HEAD", self._blob(digest), missing=True) is not None

    def blob(self, digest: str) -> bytes:
        """A small one: a configuration."""
        answer = self._ask("GET", self._blob(digest), follow=True)
        assert answer is not None
        return answer.content

    def push_blob(self, source: IO[bytes] | bytes, *, digest: str, size: int, media_type: str) -> Descriptor:
        """Send a blob unless it is there; the registry checks the digest."""
        if not self.has_blob(digest):
            opened = self._ask("POST", f"{self.repository}/blobs/uploads/")
            assert opened is not None
            place = httpx.URL(opened.headers["location"]).copy_merge_params({"digest": digest})
            headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
            content = source if isinstance(source, bytes) else _chunks(source)
            self._ask("PUT", str(place), content=content, headers=headers)
        return Descriptor(media_type=media_type, digest=digest, size=size)

    def push_bytes(self, data: bytes, *, media_type: str) -> Descriptor:
        return self.push_blob(data, digest=sha256(data), size=len(data), media_type=media_type)

    def push_manifest(self, manifest: Manifest, *, tag: str) -> str:
        """Make an image of blobs that are there; returns its digest, by which nodes pull it."""
        data = msgspec.json.encode(manifest)
        self._ask("PUT", f"{self.repository}/manifests/{tag}", content=data, headers={"Content-Type": MANIFEST})
        return sha256(data)

    def manifest(self, reference: str) -> tuple[str, Manifest] | None:
        """Digest and content of an image by tag or digest; None if there is none."""
        place = f"{self.repository}/manifests/{reference}"
        answer = self._ask("GET", place, headers={"Accept": MANIFEST}, missing=True)
        if answer is None:
            return None
        try:
            return sha256(answer.content), msgspec.json.decode(answer.content, type=Manifest)
        except msgspec.MsgspecError as error:
            raise RuntimeUnavailable(f"The registry has something else at {place}: {error}") from error

    def _blob(self, digest: str) -> str:
        return f"{self.repository}/blobs/{digest}"

    def _ask(
        self,
        method: str,
        place: str,
        *,
        missing: bool = False,
        follow: bool = False,
        **what: Any,  # noqa: ANN401
    ) -> httpx.Response | None:
        """One request; None for what is not there, if that is allowed."""
        with registrys_fault():
            answer = self._client.request(method, place, follow_redirects=follow, **what)
        if missing and answer.status_code == httpx.codes.NOT_FOUND:
            return None
        # blobs may be elsewhere: a registry that says where has them
        if answer.is_error or (answer.is_redirect and method != "HEAD"):
            asked = f"{method} {answer.request.url.path}"
            raise RuntimeUnavailable(f"The registry answers {asked} with {answer.status_code}: {answer.text[:300]}")
        return answer


class _Auth(httpx.Auth):
    """A password where it is asked for, or the token that is given for it."""

    requires_response_body = True

    def __init__(self, login: tuple[str, str] | None) -> None:
        self._basic = None if login is None else f"Basic {base64.b64encode(':'.join(login).encode()).decode()}"
        self._current = self._basic

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._current:
            request.headers["Authorization"] = self._current
        answer = yield request
        challenge = answer.headers.get("www-authenticate", "")
        if answer.status_code != httpx.codes.UNAUTHORIZED or not challenge.lower().startswith("bearer "):
            return
        asked = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        headers = {"Authorization": self._basic} if self._basic else {}
        given = yield httpx.Request("GET", asked.pop("realm"), params=asked, headers=headers)
        if given.is_success:
            token = given.json()
            self._current = f"Bearer {token.get('token') or token['access_token']}"
            request.headers["Authorization"] = self._current
            yield request


@contextmanager
def registrys_fault() -> Iterator[None]:
    """What goes wrong in here is ours: retried, never the team's."""
    try:
        yield
    except (httpx.HTTPError, httpx.StreamError, ValueError, KeyError) as error:
        raise RuntimeUnavailable(f"The registry does not do as it is told: {error}") from error


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(CHUNK):
        yield chunk
