"""Agents' images and weights in a real registry: pushed as checked, found by any worker, never sent twice."""

import io
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveInvalid
from nav_eval_worker.runtime.base import RuntimeUnavailable
from nav_eval_worker.runtime.pods.registry import (
    LAYER,
    MANIFEST,
    REPOSITORY,
    ImageManifest,
    RegistryClient,
    RegistryImages,
    compute_sha256,
)
from support.archives import File, Image, folder, tar
from support.registry import LOGIN, running_registry

pytestmark = pytest.mark.integration
WEIGHTS = [folder("./"), File("./model.bin", b"1" * 5000)]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry"), locked=True) as url:
        yield f"{url}/our/place"


@pytest.fixture
def registry(url: str) -> RegistryClient:
    return RegistryClient(url, REPOSITORY, login=LOGIN)


@pytest.fixture
def images(registry: RegistryClient, tmp_path: Path) -> RegistryImages:
    return RegistryImages(registry, tmp_path / "images")


def upload(**more: object) -> io.BytesIO:
    return io.BytesIO(tar(Image(**more).docker()))


def pulled(url: str, digest: str) -> dict:
    """As a node would: with the registry's own checks of digests."""
    base = url.replace("/our/place", "/v2/our/place")
    answer = httpx.get(f"{base}/{REPOSITORY}/manifests/{digest}", auth=LOGIN, headers={"Accept": MANIFEST})
    manifest = answer.raise_for_status().json()
    config = httpx.get(f"{base}/{REPOSITORY}/blobs/{manifest['config']['digest']}", auth=LOGIN).raise_for_status()
    layers = [
        httpx.get(f"{base}/{REPOSITORY}/blobs/{layer['digest']}", auth=LOGIN).raise_for_status().content
        for layer in manifest["layers"]
    ]
    assert [compute_sha256(layer) for layer in layers] == config.json()["rootfs"]["diff_ids"]
    return config.json()


def test_an_upload_becomes_an_image_that_nodes_pull_by_digest(images: RegistryImages, url: str) -> None:
    image = images.admit(upload(), limits=IMAGE_LIMITS)
    assert image.summary is not None
    assert pulled(url, image.handle)["architecture"] == "amd64"


def test_another_worker_finds_it(images: RegistryImages, url: str, tmp_path: Path) -> None:
    image = images.admit(upload(), limits=IMAGE_LIMITS)
    other = RegistryImages(RegistryClient(url, REPOSITORY, login=LOGIN), tmp_path / "other")
    found = other.find(image.id)
    assert found is not None
    assert found.handle == image.handle
    assert other.find("sha256:" + "0" * 64) is None


def test_what_the_registry_has_is_not_sent_again(images: RegistryImages, registry: RegistryClient) -> None:
    assert images.admit(upload(), limits=IMAGE_LIMITS).handle == images.admit(upload(), limits=IMAGE_LIMITS).handle

    class Unread(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise AssertionError("nobody should read this")

    layer = registry.push_bytes(b"some layer", media_type=LAYER)
    assert registry.push_blob(Unread(), digest=layer.digest, size=layer.size, media_type=LAYER) == layer


def test_weights_are_one_more_layer(images: RegistryImages, url: str) -> None:
    image = images.admit(upload(), limits=IMAGE_LIMITS)
    data = tar(WEIGHTS)
    digest = compute_sha256(data)
    assert images.find_weights(digest) is None
    weights = images.admit_weights(io.BytesIO(data), digest=digest, limits=WEIGHTS_LIMITS)
    assert images.find_weights(digest) == weights
    both = images.with_weights(image, weights)
    assert both == images.with_weights(image, weights)
    before, after = pulled(url, image.handle), pulled(url, both)
    assert after["rootfs"]["diff_ids"][:-1] == before["rootfs"]["diff_ids"]
    assert after["config"] == before["config"]


def test_hostile_uploads_reach_no_registry(images: RegistryImages, registry: RegistryClient) -> None:
    with pytest.raises(ArchiveInvalid):
        images.admit(io.BytesIO(b"no archive"), limits=IMAGE_LIMITS)
    with pytest.raises(ArchiveInvalid):
        images.admit_weights(io.BytesIO(b"no archive"), digest=compute_sha256(b"x"), limits=WEIGHTS_LIMITS)
    assert images.find_weights(compute_sha256(b"x")) is None


def test_a_blob_that_is_not_what_it_says_is_refused(registry: RegistryClient) -> None:
    with pytest.raises(RuntimeUnavailable, match="digest"):
        registry.push_blob(b"something", digest=compute_sha256(b"else"), size=9, media_type=LAYER)


def test_an_image_without_its_layers_is_refused(registry: RegistryClient) -> None:
    config = registry.push_bytes(b"{}", media_type=LAYER)
    missing = type(config)(media_type=LAYER, digest=compute_sha256(b"never pushed"), size=5)
    with pytest.raises(RuntimeUnavailable):
        registry.push_manifest(ImageManifest(config=config, layers=(missing,)), tag="broken")


@pytest.mark.parametrize("login", [None, ("worker", "wrong")])
def test_without_the_password_the_trouble_is_ours(url: str, login: tuple[str, str] | None) -> None:
    with pytest.raises(RuntimeUnavailable, match="401"):
        RegistryClient(url, REPOSITORY, login=login).check()


class TokenRegistry(BaseHTTPRequestHandler):
    """Asks for a token as large registries do, and gives one for a password."""

    def do_GET(self) -> None:
        if self.path.startswith("/token?"):
            asked = parse_qs(urlsplit(self.path).query)
            basic = f"Basic {b64encode(':'.join(LOGIN).encode()).decode()}"
            knows = self.headers["Authorization"] == basic and asked == {"service": ["us"], "scope": ["push"]}
            self.answer(200 if knows else 403, b'{"token": "abc"}')
        elif self.headers["Authorization"] == "Bearer abc":
            self.answer(200, b"{}")
        else:
            self.answer(401, b"{}")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status == 401:
            realm = f"http://{self.headers['Host']}/token"
            self.send_header("WWW-Authenticate", f'Bearer realm="{realm}",service="us",scope="push"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_registry_may_ask_for_a_token() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), TokenRegistry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/x"
        RegistryClient(url, REPOSITORY, login=LOGIN).check()
        with pytest.raises(RuntimeUnavailable, match="403"):
            RegistryClient(url, REPOSITORY, login=("worker", "wrong")).check()
        server.shutdown()


def test_a_registry_that_is_away_is_our_trouble() -> None:
    with pytest.raises(RuntimeUnavailable, match="does not do as it is told"):
        RegistryClient("http://127.0.0.1:9/x", REPOSITORY).check()
