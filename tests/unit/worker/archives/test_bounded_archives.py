"""However large or however many: memory stays small, time stays short, and the first one too many ends it."""

import hashlib
import io
import json
import random
import tarfile
import time
import tracemalloc
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import zstandard

from nav_eval_worker.archives import (
    IMAGE_LIMITS,
    ArchiveDamaged,
    ArchiveLimits,
    ArchiveTooLarge,
    inspect_archive,
    rewrite_archive,
)
from support.archives import PACKERS, PROCESS, File, Image, header, tar

pytestmark = pytest.mark.slow

MIB = 1024**2


class Lazy(io.RawIOBase):
    """A stream made of pieces that exist only when they are read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._rest, self.given = iter(pieces), b"", 0

    def read(self, size: int = -1, /) -> bytes:
        while not self._rest:
            if (piece := next(self._pieces, None)) is None:
                return b""
            self._rest = piece
        data, self._rest = self._rest[:size], self._rest[size:]
        self.given += len(data)
        return data


def named(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


def tiny_files(count: int) -> Iterator[bytes]:
    """A docker archive whose one layer has COUNT empty files."""
    yield named("layer.tar", count * 512)
    block = header(File("f/0000000")).tobuf(tarfile.USTAR_FORMAT)
    checksum = int(block[148:154], 8)
    begin, middle, end = block[:2], block[9:148], block[156:]

    def one(number: int) -> bytes:
        digits = b"%07d" % number
        return b"%b%b%b%06o\0 %b" % (begin, digits, middle, checksum + sum(digits) - sum(b"0000000"), end)

    for first in range(0, count, 128):
        yield b"".join(one(number) for number in range(first, min(first + 128, count)))


def many_members(count: int) -> Iterator[bytes]:
    for i in range(count):
        yield named(f"{i}/VERSION", 0)


def many_global_headers() -> Iterator[bytes]:
    info = tarfile.TarInfo("g")
    info.type = b"g"
    block = info.tobuf(tarfile.GNU_FORMAT)
    while True:
        yield block


def gzip_zeros(megabytes: int) -> Iterator[bytes]:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    yield packer.compress(named("layer.tar", megabytes * MIB))
    for _ in range(megabytes):
        yield packer.compress(bytes(MIB))
    yield packer.flush()


def zstd_zeros(megabytes: int) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    yield packer.compress(named("layer.tar", megabytes * MIB))
    for _ in range(megabytes):
        yield packer.compress(bytes(MIB))
    yield packer.flush()


def run_length_zstd(blocks: int) -> bytes:
    """A zstd frame of run-length blocks: 4 bytes in, 128 KiB out, some 32 000 to one."""
    frame = b"\x28\xb5\x2f\xfd" + bytes([0b0000_0000, (17 - 10) << 3])  # no checksum, window of 128 KiB
    sizes = [(131072 << 3) | (1 << 1) | (i == blocks - 1) for i in range(blocks)]
    return frame + b"".join(size.to_bytes(3, "little") + b"\0" for size in sizes)


def empty_gzip_members() -> Iterator[bytes]:
    member = PACKERS["gzip"](b"")
    yield PACKERS["gzip"](named("layer.tar", 1024))
    while True:
        yield member * 1000


def layer_of(blob: bytes) -> bytes:
    """A docker archive with BLOB as a layer; the check never gets to its manifest."""
    return tar([File("layer.tar", blob), File("manifest.json", b"[]")])


def measured(action: object) -> tuple[int, float]:
    """Peak of traced memory and processor seconds."""
    tracemalloc.start()
    started = time.process_time()
    try:
        action()  # type: ignore[operator]
        return tracemalloc.get_traced_memory()[1], time.process_time() - started
    finally:
        tracemalloc.stop()


BOMBS = {
    "gzip": (lambda: Lazy(gzip_zeros(150)), "beyond 200 to one"),
    "zstd": (lambda: Lazy(zstd_zeros(150)), "beyond 200 to one"),
    "zstd run-length": (lambda: io.BytesIO(run_length_zstd(100_000)), "200 to one"),
    "gzip layer": (lambda: io.BytesIO(layer_of(b"".join(gzip_zeros(80)))), "200 to one"),
    "zstd layer": (lambda: io.BytesIO(layer_of(b"".join(zstd_zeros(80)))), "200 to one"),
    "zstd run-length layer": (lambda: io.BytesIO(layer_of(run_length_zstd(20_000))), "200 to one|not a tar"),
    "gzip in gzip": (lambda: io.BytesIO(PACKERS["gzip"](layer_of(b"".join(gzip_zeros(80))))), "200 to one"),
    "a million members": (lambda: Lazy(many_members(10**6)), "more than 2000 members"),
    "global headers without end": (lambda: Lazy(many_global_headers()), "more than 2000 members"),
}


@pytest.mark.parametrize("case", BOMBS)
def test_bombs_are_refused_early_in_little_memory(tmp_path: Path, case: str) -> None:
    make, reason = BOMBS[case]
    stream = make()

    def attempt() -> None:
        with pytest.raises((ArchiveTooLarge, ArchiveDamaged), match=reason):
            rewrite_archive(stream, tmp_path / "out.tar")

    peak, seconds = measured(attempt)
    assert peak < 16 * MIB
    assert seconds < 20
    assert list(tmp_path.iterdir()) == []


def test_tiny_files_are_refused_half_way(tmp_path: Path) -> None:
    """Nobody counts to the half million that is allowed: a hundredth of it is counted in the same way."""
    stream, allowed = Lazy(tiny_files(10_000)), ArchiveLimits().layer_files // 100
    with pytest.raises(ArchiveTooLarge, match=f"more than {allowed} files"):
        rewrite_archive(stream, tmp_path / "out.tar", limits=ArchiveLimits(layer_files=allowed))
    assert stream.given < (allowed + 1000) * 512
    assert IMAGE_LIMITS.layer_files == 500_000
    assert list(tmp_path.iterdir()) == []


def test_tiny_files_are_refused_at_the_limit_not_at_the_end() -> None:
    stream = Lazy(tiny_files(10**6))
    with pytest.raises(ArchiveTooLarge, match="more than 2000 files"):
        inspect_archive(stream, limits=ArchiveLimits(layer_files=2_000))
    assert stream.given < 2 * MIB


def test_a_trickle_of_nothing_ends_with_its_time() -> None:
    with pytest.raises(ArchiveTooLarge, match=r"longer than 0.3 s"):
        inspect_archive(Lazy(empty_gzip_members()), limits=ArchiveLimits(seconds=0.3))


def test_a_zstd_window_beyond_our_memory_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=27, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    with pytest.raises(ArchiveDamaged, match="zstd -19"):
        inspect_archive(io.BytesIO(packer.compress(tar(Image().docker())) + packer.flush()))


def large_image(megabytes: int) -> tuple[Iterator[bytes], bytes]:
    """A docker archive of MEGABYTES that never exists as a whole, and its configuration."""
    block = random.Random(7).randbytes(MIB)
    info = header(File("weights.bin"))
    info.size = megabytes * MIB
    head = info.tobuf(tarfile.USTAR_FORMAT)
    hasher = hashlib.sha256(head)
    for _ in range(megabytes):
        hasher.update(block)
    hasher.update(bytes(1024))
    rootfs = {"type": "layers", "diff_ids": [f"sha256:{hasher.hexdigest()}"]}
    config = json.dumps({"os": "linux", "architecture": "amd64", "config": PROCESS, "rootfs": rootfs}).encode()
    manifest = json.dumps([{"Config": "config.json", "Layers": ["layer.tar"], "RepoTags": None}]).encode()

    def pieces() -> Iterator[bytes]:
        yield named("layer.tar", len(head) + megabytes * MIB + 1024) + head
        for _ in range(megabytes):
            yield block
        yield bytes(1024) + tar([File("config.json", config), File("manifest.json", manifest)])

    return pieces(), config


def test_a_large_image_passes_in_little_memory(tmp_path: Path) -> None:
    pieces, config = large_image(48)
    stream = Lazy(pieces)
    peak, _ = measured(lambda: rewrite_archive(stream, tmp_path / "out.tar"))
    assert peak < 16 * MIB
    assert stream.given > 48 * MIB
    summary = inspect_archive(tmp_path / "out.tar")
    assert summary.unpacked_bytes == 48 * MIB + 512 + 1024
    assert summary.layers[0].diff_id == json.loads(config)["rootfs"]["diff_ids"][0]
    assert [path.name for path in tmp_path.iterdir()] == ["out.tar"]
