"""Uploads that mean harm, against a real engine: refused with a reason or made harmless; nothing is left behind."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from nav_eval_worker.archives import ArchiveInvalid, ArchiveLimits
from nav_eval_worker.runtime.docker import DockerRuntime
from support.engine import DockerEngine

Entry = tuple[tarfile.TarInfo, bytes]
MANY = 20_000


def file(name: str, data: bytes = b"") -> Entry:
    header = tarfile.TarInfo(name)
    header.size, header.mode = len(data), 0o755
    return header, data


def special(name: str, kind: bytes, *, link: str = "") -> Entry:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, link
    header.devmajor, header.devminor = 8, 0
    return header, b""


def tar(*entries: Entry) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for header, data in entries:
            archive.addfile(header, io.BytesIO(data))
    return buffer.getvalue()


def image(
    layer: bytes, *, tags: tuple[str, ...] = ("agent:latest",), architecture: str = "amd64", copies: int = 1
) -> bytes:
    """What `docker save` would write of a one-layer image."""
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Cmd": ["/agent"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    documents, manifest = [], []
    for number in range(copies):
        data = json.dumps({**config, "author": str(number)}).encode()
        name = f"{hashlib.sha256(data).hexdigest()}.json"
        documents.append(file(name, data))
        manifest.append({"Config": name, "RepoTags": list(tags), "Layers": ["layer.tar"]})
    return tar(file("layer.tar", layer), *documents, file("manifest.json", json.dumps(manifest).encode()))


GOOD = tar(file("agent", b"#!/bin/sh\n"))
REFUSED: dict[str, Callable[[], bytes]] = {
    "truncated": lambda: image(GOOD)[:3000],
    "traversal": lambda: image(tar(file("../../etc/cron.d/evil", b"x"))),
    "absolute hard link": lambda: image(tar(special("passwd", tarfile.LNKTYPE, link="/../etc/passwd"))),
    "device node": lambda: image(tar(special("disk", tarfile.BLKTYPE))),
    "outer symbolic link": lambda: tar(special("manifest.json", tarfile.SYMTYPE, link="/etc/shadow")),
    "two images": lambda: image(GOOD, copies=2),
    "foreign architecture": lambda: image(GOOD, architecture="arm64"),
    "wrong digest": lambda: image(GOOD).replace(b"#!/bin/sh", b"#!/bin/xx"),
    "bomb": lambda: image(tar(file("zeros", bytes(80 << 20)))),
    "many tiny files": lambda: image(tar(*(file(f"f{number}") for number in range(MANY)))),
    "no image": lambda: tar(file("etc/passwd", b"root")),
}


def state_of(engine: DockerEngine) -> tuple[set[str], set[str]]:
    images = {f"{tag}={image.id}" for image in engine.client.images.list() for tag in image.tags}
    return images, {volume.name for volume in engine.client.volumes.list()}


@pytest.mark.parametrize("what", REFUSED)
def test_hostile_archives_are_refused_and_leave_nothing(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path, what: str
) -> None:
    before = state_of(engine)
    archive = tmp_path / "upload.tar"
    archive.write_bytes(REFUSED[what]())
    limits = ArchiveLimits(layer_bytes=64 << 20, layer_files=MANY // 2, seconds=60)
    with pytest.raises(ArchiveInvalid) as refusal:
        runtime.admit(archive, limits=limits)
    assert len(str(refusal.value)) > 20
    assert state_of(engine) == before
    assert list((tmp_path / "runtime").rglob("*.part")) + list((tmp_path / "runtime").rglob("*.json")) == []


@pytest.mark.parametrize("tags", [("postgres:16", "redis:7-alpine"), ("nav-eval-simulator:latest",)])
def test_an_upload_cannot_take_a_name(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path, tags: tuple[str, ...]
) -> None:
    organiser = engine.client.images.get("nav-eval-base:bookworm")
    for tag in ("postgres:16", "redis:7-alpine"):
        if not engine.has_image(tag):
            organiser.tag(tag)
    before = {tag: engine.client.images.get(tag).id for tag in tags}
    archive = tmp_path / "upload.tar"
    archive.write_bytes(image(GOOD, tags=tags))
    admitted = runtime.admit(archive)
    assert {tag: engine.client.images.get(tag).id for tag in tags} == before
    assert admitted.handle not in before.values()
    names = list(engine.client.images.get(admitted.handle).tags)
    assert names == [f"nav-eval/submission:{admitted.id.removeprefix('sha256:')}"]


def test_images_are_kept_once_and_dropped_when_long_unused(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path
) -> None:
    for name, tag in (("a.tar", "one:1"), ("b.tar", "two:2")):
        (tmp_path / name).write_bytes(image(tar(file("agent", b"kept once")), tags=(tag,)))
    first, second = runtime.admit(tmp_path / "a.tar"), runtime.admit(tmp_path / "b.tar")
    assert first.handle == second.handle
    assert runtime.find(first.id) is not None
    cache = runtime.images
    cache.limit = 0
    assert cache.evict() == 0  # it was used just now
    assert cache.evict(now=4e9) == 1
    assert runtime.find(first.id) is None
    assert not engine.has_image(f"nav-eval/submission:{first.id.removeprefix('sha256:')}")


def test_weights_are_read_only_beside_the_agent(engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path) -> None:
    archive = tmp_path / "weights.tar"
    archive.write_bytes(tar(file("model/weights.bin", b"1234")))
    digest = f"sha256:{hashlib.sha256(archive.read_bytes()).hexdigest()}"
    assert runtime.find_weights(digest) is None
    weights = runtime.admit_weights(archive, digest=digest)
    assert runtime.find_weights(digest) == weights
    try:
        said = engine.client.containers.run(
            "nav-eval-agent:latest",
            ["sh", "-c", "cat /weights/model/weights.bin; echo x > /weights/model/y || ls -n /weights/model"],
            network_mode="none",
            user="10001:10001",
            remove=True,
            stderr=True,
            volumes={weights.handle: {"bind": "/weights", "mode": "ro"}},
        ).decode()
    finally:
        for volume in engine.client.volumes.list(filters={"label": f"nav-eval.weights={digest}"}):
            volume.remove()
    assert "1234" in said
    assert "Read-only file system" in said
