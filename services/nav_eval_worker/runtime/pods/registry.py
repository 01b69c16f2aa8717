"""Images in an OCI registry, by the few requests that every registry knows (distribution-spec 1.1).

Layers travel as the plain tars that `archives` has checked, so their digests are the configuration's own and a layer
that the registry has is not sent again. Nothing of a team's is ever pulled by us; nodes pull by digest.
"""

import base64
import hashlib
import re
import tarfile
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlsplit

import httpx
import msgspec

from nav_eval_worker.archives import ArchiveLimits, ImageSummary, rewrite_archive, unpack_weights
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import AgentImage, RuntimeUnavailable, Weights

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
SECONDS = 120.0
CHUNK = 1 << 20


class BlobDescriptor(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A blob that a manifest names."""

    media_type: str
    digest: str
    size: int


class ImageManifest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One image."""

    schema_version: int = 2
    media_type: str = MANIFEST
    config: BlobDescriptor
    layers: tuple[BlobDescriptor, ...]
    annotations: dict[str, str] = {}


class RegistryClient:
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

    def push_blob(self, source: IO[bytes] | bytes, *, digest: str, size: int, media_type: str) -> BlobDescriptor:
        """Send a blob unless it is there; the registry checks the digest."""
        if not self.has_blob(digest):
            opened = self._ask("POST", f"{self.repository}/blobs/uploads/")
            assert opened is not None
            place = httpx.URL(opened.headers["location"]).copy_merge_params({"digest": digest})
            headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
            content = source if isinstance(source, bytes) else _read_chunks(source)
            self._ask("PUT", str(place), content=content, headers=headers)
        return BlobDescriptor(media_type=media_type, digest=digest, size=size)

    def push_bytes(self, data: bytes, *, media_type: str) -> BlobDescriptor:
        return self.push_blob(data, digest=compute_sha256(data), size=len(data), media_type=media_type)

    def push_manifest(self, manifest: ImageManifest, *, tag: str) -> str:
        """Make an image of blobs that are there; returns its digest, by which nodes pull it."""
        data = msgspec.json.encode(manifest)
        self._ask("PUT", f"{self.repository}/manifests/{tag}", content=data, headers={"Content-Type": MANIFEST})
        return compute_sha256(data)

    def manifest(self, reference: str) -> tuple[str, ImageManifest] | None:
        """Digest and content of an image by tag or digest; None if there is none."""
        place = f"{self.repository}/manifests/{reference}"
        answer = self._ask("GET", place, headers={"Accept": MANIFEST}, missing=True)
        if answer is None:
            return None
        try:
            return compute_sha256(answer.content), msgspec.json.decode(answer.content, type=ImageManifest)
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
        with translate_registry_errors():
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
def translate_registry_errors() -> Iterator[None]:
    """What goes wrong in here is ours: retried, never the team's."""
    try:
        yield
    except (httpx.HTTPError, httpx.StreamError, ValueError, KeyError) as error:
        raise RuntimeUnavailable(f"The registry does not do as it is told: {error}") from error


def compute_sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _read_chunks(source: IO[bytes]) -> Iterator[bytes]:
    while chunk := source.read(CHUNK):
        yield chunk


REPOSITORY = "submission"
VOLUMES = "nav-eval.volumes"
WEIGHTS_FOLDER = "weights"


class RegistryImages:
    """Images by `ImageSummary.image_id`, weights by the digest of their upload."""

    def __init__(self, registry: RegistryClient, folder: Path) -> None:
        """`folder` is for uploads while they are checked."""
        self._registry, self._folder = registry, folder

    def find(self, image_id: str) -> AgentImage | None:
        found = self._registry.manifest(_parse_hex(image_id))
        return None if found is None else AgentImage(id=image_id, handle=found[0])

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits) -> AgentImage:
        """Check, write anew, push. What was uploaded reaches no registry."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="image-", suffix=".part", dir=self._folder) as scratch:
            canonical = Path(scratch) / "image.tar"
            summary = rewrite_archive(archive, canonical, limits=limits)
            found = self.find(summary.image_id)
            handle = found.handle if found else self._push(canonical, summary)
        return AgentImage(id=summary.image_id, handle=handle, summary=summary)

    def volumes(self, image: AgentImage) -> tuple[str, ...]:
        """VOLUME paths of the upload; the image that we wrote has none."""
        manifest = self._manifest(image.handle)
        return msgspec.json.decode(manifest.annotations.get(VOLUMES, "[]"), type=tuple[str, ...])

    def find_weights(self, digest: str) -> Weights | None:
        found = self._registry.manifest(_make_weights_tag(digest))
        return None if found is None else Weights(digest=digest, handle=found[0])

    def admit_weights(self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits) -> Weights:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="weights-", suffix=".part", dir=self._folder) as scratch:
            files = Path(scratch) / WEIGHTS_FOLDER
            unpack_weights(archive, files, limits)
            layer = self._push_folder(files)
        config = _make_weights_config(layer)
        manifest = ImageManifest(config=self._registry.push_bytes(config, media_type=CONFIG), layers=(layer,))
        return Weights(digest=digest, handle=self._registry.push_manifest(manifest, tag=_make_weights_tag(digest)))

    def with_weights(self, image: AgentImage, weights: Weights) -> str:
        """The digest of an image that has both."""
        manifest, (layer,) = self._manifest(image.handle), self._manifest(weights.handle).layers
        config = msgspec.json.decode(self._registry.blob(manifest.config.digest))
        config["rootfs"]["diff_ids"].append(layer.digest)
        if config.get("history"):
            config["history"].append({"created_by": "weights"})
        described = self._registry.push_bytes(msgspec.json.encode(config, order="sorted"), media_type=CONFIG)
        both = msgspec.structs.replace(manifest, config=described, layers=(*manifest.layers, layer))
        tag = compute_sha256(f"{image.handle} {weights.handle}".encode())
        return self._registry.push_manifest(both, tag=f"with-weights-{_parse_hex(tag)}")

    def _push(self, canonical: Path, summary: ImageSummary) -> str:
        with tarfile.open(canonical) as archive:

            def push(name: str, media_type: str) -> BlobDescriptor:
                member = archive.getmember(name)
                digest = f"sha256:{name.partition('.')[0]}"
                content = cast(IO[bytes], archive.extractfile(member))
                return self._registry.push_blob(content, digest=digest, size=member.size, media_type=media_type)

            layers = tuple(push(f"{_parse_hex(layer.diff_id)}.tar", LAYER) for layer in summary.layers)
            config = push(f"{_parse_hex(summary.image_id)}.json", CONFIG)
        notes = {VOLUMES: msgspec.json.encode(summary.volumes).decode()}
        return self._registry.push_manifest(
            ImageManifest(config=config, layers=layers, annotations=notes), tag=_parse_hex(summary.image_id)
        )

    def _push_folder(self, files: Path) -> BlobDescriptor:
        with tempfile.TemporaryFile(dir=self._folder) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(files, arcname=WEIGHTS_FOLDER, filter=_as_nobodys)
            size = packed.tell()
            packed.seek(0)
            digest = f"sha256:{hashlib.file_digest(packed, 'sha256').hexdigest()}"
            packed.seek(0)
            return self._registry.push_blob(packed, digest=digest, size=size, media_type=LAYER)

    def _manifest(self, handle: str) -> ImageManifest:
        found = self._registry.manifest(handle)
        if found is None:  # somebody tidied the registry in this very moment: it is admitted again
            raise RuntimeUnavailable(f"The registry has no {handle} any more.")
        return found[1]


def _as_nobodys(header: tarfile.TarInfo) -> tarfile.TarInfo:
    """The same files, the same bytes: owners and times are zero."""
    header.mode = 0o755 if header.isdir() else 0o644
    header.uid = header.gid = header.mtime = 0
    header.uname = header.gname = ""
    return header


def _make_weights_config(layer: BlobDescriptor) -> bytes:
    """No image that starts; but registries and their tools expect every manifest to have one."""
    what = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [layer.digest]}}
    return msgspec.json.encode(what, order="sorted")


def _make_weights_tag(digest: str) -> str:
    return f"weights-{_parse_hex(digest)}"


def _parse_hex(digest: str) -> str:
    value = digest.removeprefix("sha256:")
    if len(value) != 64 or set(value) - set("0123456789abcdef"):
        raise ValueError(f"{digest!r} is no sha256")
    return value
