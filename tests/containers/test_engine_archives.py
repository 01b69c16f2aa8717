"""Uploads that mean harm, against a real engine: refused with a reason or made harmless; nothing is left behind."""

import io
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nav_eval.agents.failures import AgentCrash, ImageInvalid
from nav_eval_worker.archives import ArchiveInvalid, ArchiveLimits
from nav_eval_worker.runtime.base import AgentImage, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.containers import controls
from nav_eval_worker.runtime.docker import DockerRuntime
from support.archives import PACKERS, File, hardlink, symlink, tar
from support.archives import Image as Upload
from support.engine import DockerEngine
from support.fuzzed_archives import make_archive
from support.hostile_archives import HOSTILE

Work = Callable[..., ShardWork]
State = tuple[set[str], set[str], set[str]]

MANY = 20_000
TIGHT = ArchiveLimits(layer_bytes=64 << 20, layer_files=MANY // 2, seconds=60)
LARGE: dict[str, tuple[Callable[[], bytes], str]] = {
    "many tiny files": (lambda: upload(*(File(f"f{number}") for number in range(MANY))), "more than 10000 files"),
    "a large file": (lambda: upload(File("zeros", bytes(80 << 20))), "unpack to more than 67108864 bytes"),
    "gzip bomb": (lambda: PACKERS["gzip"](upload(File("zeros", bytes(80 << 20)))), "200 to one|more than 67108864"),
    "zstd bomb": (lambda: PACKERS["zstd"](upload(File("zeros", bytes(80 << 20)))), "200 to one|more than 67108864"),
}


def upload(*files: File, tags: tuple[str, ...] = ("agent:latest",), **process: object) -> bytes:
    """What `docker save` writes of a small image."""
    return tar(upload_of(*files, tags=tags, **process).docker())


def upload_of(*files: File, tags: tuple[str, ...] = ("agent:latest",), **process: object) -> Upload:
    plain = {"Entrypoint": None, "Cmd": ["/agent"], "Env": [], "WorkingDir": "", "User": "root"}
    return Upload(layers=(tar(files),), tags=tags, process=plain | process)


def state_of(engine: DockerEngine) -> State:
    images = {f"{tag}={image.id}" for image in engine.client.images.list() for tag in image.tags}
    containers = {str(container.id) for container in engine.client.containers.list(all=True)}
    return images, containers, {volume.name for volume in engine.client.volumes.list()}


def left_in(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if not path.is_dir()]


def test_hostile_archives_are_refused_and_leave_nothing(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path
) -> None:
    """The list of the unit tests, up to the engine's door."""
    before = state_of(engine)
    for make, error, reason in HOSTILE.values():
        with pytest.raises(error, match=reason):
            runtime.admit(io.BytesIO(make()))
    assert len(HOSTILE) > 100
    assert state_of(engine) == before
    assert left_in(tmp_path / "runtime") == []


@pytest.mark.parametrize("case", LARGE)
def test_large_archives_are_refused_and_leave_nothing(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path, case: str
) -> None:
    make, reason = LARGE[case]
    before = state_of(engine)
    with pytest.raises(ArchiveInvalid, match=reason):
        runtime.admit(io.BytesIO(make()), limits=TIGHT)
    assert state_of(engine) == before
    assert left_in(tmp_path / "runtime") == []


@pytest.mark.parametrize("layout", ["docker", "oci", "both"])
@pytest.mark.parametrize("tags", [("postgres:16", "redis:7-alpine"), ("nav-eval-simulator:latest",)])
def test_an_upload_cannot_take_a_name(
    engine: DockerEngine, runtime: DockerRuntime, tags: tuple[str, ...], layout: str
) -> None:
    organiser = engine.client.images.get("nav-eval-base:bookworm")
    for tag in ("postgres:16", "redis:7-alpine"):
        if not engine.has_image(tag):
            organiser.tag(tag)
    before, *_ = state_of(engine)
    image = upload_of(File("agent", b"#!/bin/sh\n"), tags=tags)
    admitted = runtime.admit(io.BytesIO(tar(getattr(image, layout)())))
    after, *_ = state_of(engine)
    name = f"nav-eval/submission:{admitted.id.removeprefix('sha256:')}"
    assert after - {f"{name}={admitted.handle}"} == before - {f"{name}={admitted.handle}"}
    assert engine.client.images.get(admitted.handle).tags == [name]


#: an image whose folders are not what they seem: what its team is told when it cannot be started
BAD_LAYOUTS: dict[str, tuple[list[File], dict[str, object], str]] = {
    "a volume that leads into /proc": ([symlink("v", "/proc")], {"Volumes": {"/v": {}}}, "cannot be started"),
    "a volume that leads to the root": ([symlink("v", "/")], {"Volumes": {"/v": {}}}, "cannot be started"),
    "a volume that is a file": ([File("v", b"x")], {"Volumes": {"/v": {}}}, "not a directory"),
    "a working folder that is an open file": ([symlink("w", "/proc/self/fd/7")], {"WorkingDir": "/w"}, "not a dir"),
    "a working folder that is a file": ([File("w", b"x")], {"WorkingDir": "/w"}, "not a directory"),
    "init in /proc": ([symlink("sbin", "/proc/self")], {}, "cannot be mounted"),
    "init below a file": ([File("sbin", b"x")], {}, "not a directory"),
}


def test_what_the_engine_refuses_is_the_teams_fault_if_the_engine_is_well(engine: DockerEngine, tmp_path: Path) -> None:
    """An archive that our check would have refused, given to the engine all the same; its words name no host path."""
    before = state_of(engine)
    bad = upload(hardlink("a", "no space left on device"))

    def is_well() -> bool:
        return controls.can_load(engine.client, tmp_path, size=3_000_000)

    with pytest.raises(ImageInvalid, match="cannot unpack") as refusal, controls.blame_load(is_well):
        engine.client.images.load(bad)
    assert not re.search(r"overlay2|/root|/home|/tmp|/var/lib", str(refusal.value))
    with pytest.raises(RuntimeUnavailable), controls.blame_load(lambda: False):
        engine.client.images.load(bad)
    assert state_of(engine) == before
    assert left_in(tmp_path) == []


FUZZED = 60


def test_archives_at_random_never_count_as_our_fault(
    engine: DockerEngine, runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is refused by our check, or the engine takes it."""
    engine_refusals = []
    monkeypatch.setattr(controls, "can_load", lambda *_, **__: engine_refusals.append(seed) or True)
    taken = 0
    for seed in range(FUZZED):
        with suppress(ArchiveInvalid):
            runtime.admit(io.BytesIO(make_archive(seed)))
            taken += 1
    assert engine_refusals == []
    assert taken >= FUZZED // 20


def test_images_that_cannot_be_started_are_the_teams_fault(
    engine: DockerEngine, runtime: DockerRuntime, work: Work
) -> None:
    """Were they ours, each would be tried again and again; and no path of the host is told."""
    _, *before = state_of(engine)
    for case, (files, process, told) in BAD_LAYOUTS.items():
        image = runtime.admit(io.BytesIO(upload(*files, **process)))
        with pytest.raises(AgentCrash, match=told) as crash, runtime.run(work(image)):
            pytest.fail(f"{case}: it started")
        assert not re.search(r"overlay2|_data|/root|/home|/var/lib", str(crash.value)), case
    _, *after = state_of(engine)
    assert [kind - {"test-prepared"} for kind in map(set, after)] == [kind - {"test-prepared"} for kind in before]


def submission(image: AgentImage) -> str:
    return f"nav-eval/submission:{image.id.removeprefix('sha256:')}"


def used(runtime_folder: Path, image: AgentImage, *, hours_ago: float) -> None:
    moment = time.time() - hours_ago * 3600
    os.utime(runtime_folder / "images" / f"{image.id.removeprefix('sha256:')}.json", (moment, moment))


def test_images_are_kept_once_and_the_longest_unused_go_first(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path
) -> None:
    def admit(content: bytes, tag: str) -> AgentImage:
        return runtime.admit(io.BytesIO(upload(File("agent", content * 100_000), tags=(tag,))))

    first, again = admit(b"1", "one:1"), admit(b"1", "two:2")
    assert (first.id, first.handle) == (again.id, again.handle)
    second, third = admit(b"2", "a:1"), admit(b"3", "a:1")
    for image, hours in ((first, 5.0), (second, 3.0), (third, 0.0)):
        used(tmp_path / "runtime", image, hours_ago=hours)
    cache = runtime.images
    assert cache.evict() == 0  # they fit
    cache.limit = 250_000
    assert cache.evict() == 1
    assert [runtime.find(image.id) is not None for image in (first, second, third)] == [False, True, True]
    assert not engine.has_image(submission(first))
    cache.limit = 0
    assert cache.evict() == 0  # the second was asked for just now
    assert cache.evict(now=time.time() + 7200) == 2
    assert not any(engine.has_image(submission(image)) for image in (first, second, third))
    assert left_in(tmp_path / "runtime") == []


def test_an_image_that_runs_is_not_dropped(engine: DockerEngine, runtime: DockerRuntime) -> None:
    image = runtime.admit(io.BytesIO(upload(File("agent", b"in use"))))
    container = engine.client.containers.create(image.handle)
    runtime.images.limit = 0
    try:
        runtime.images.evict(now=time.time() + 7200)
        assert runtime.find(image.id) is not None
    finally:
        container.remove()


def test_what_a_killed_worker_left_is_found(engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path) -> None:
    """An image that nobody has a note of, an upload half read: gone after a while, but not at once."""
    orphan = runtime.admit(io.BytesIO(upload(File("agent", b"orphan"))))
    folder = tmp_path / "runtime" / "images"
    (folder / f"{orphan.id.removeprefix('sha256:')}.json").unlink()
    half = folder / "image-x.part"
    half.mkdir()
    (half / "image.tar").write_bytes(b"half")
    runtime.images.evict()
    assert engine.has_image(submission(orphan))  # perhaps another worker's, on the same engine
    assert half.exists()
    runtime.images.evict(now=time.time() + 7200)
    assert engine.has_image(submission(orphan))
    assert not half.exists()
    assert runtime.images.evict(now=time.time() + 90_000) >= 1
    assert not engine.has_image(submission(orphan))


def test_weights_are_kept_once_read_only_and_dropped_when_long_unused(
    engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path
) -> None:
    archive = tar([File("model/weights.bin", b"1234\n")])
    digest = f"sha256:{'7' * 64}"
    assert runtime.find_weights(digest) is None
    weights = runtime.admit_weights(io.BytesIO(archive), digest=digest)
    assert runtime.find_weights(digest) == weights
    said = engine.client.containers.run(
        "nav-eval-agent:latest",
        ["sh", "-c", "cat /weights/model/weights.bin; echo x > /weights/model/y; rm /weights/model/weights.bin; true"],
        network_mode="none",
        user="10001:10001",
        remove=True,
        stderr=True,
        volumes={weights.handle: {"bind": "/weights", "mode": "ro"}},
    ).decode()
    assert "1234" in said
    assert said.count("Read-only file system") == 2

    before = {volume.name for volume in engine.client.volumes.list()}
    helper = engine.client.containers.create("nav-eval-agent:latest", ["true"], labels={"nav-eval.weights": digest})
    runtime.weights.limit = 0
    assert runtime.weights.evict() == 0
    assert runtime.weights.evict(now=time.time() + 7200) == 1
    assert runtime.find_weights(digest) is None
    assert before - {volume.name for volume in engine.client.volumes.list()} == {
        weights.handle,
        f"{weights.handle}-ready",
    }
    assert str(helper.id) not in state_of(engine)[1]
    assert left_in(tmp_path / "runtime") == []


def test_hostile_weights_leave_nothing(engine: DockerEngine, runtime: DockerRuntime, tmp_path: Path) -> None:
    before = state_of(engine)
    for bad in ([symlink("model", "/etc/passwd")], [File("../evil", b"x")], [File("a", b"1"), File("a", b"2")]):
        with pytest.raises(ArchiveInvalid):
            runtime.admit_weights(io.BytesIO(tar(bad)), digest=f"sha256:{'8' * 64}")
    with suppress(ArchiveInvalid):
        runtime.admit_weights(io.BytesIO(tar([File("a", b"1")])[:600]), digest=f"sha256:{'8' * 64}")
    assert state_of(engine) == before
    assert left_in(tmp_path / "runtime") == []
