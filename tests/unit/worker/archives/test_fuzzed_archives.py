"""Whatever the bytes: a summary, or our refusal, and never anything else."""

import io
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval_worker.archives import ArchiveInvalid, ArchiveLimits, inspect_archive, inspect_weights, rewrite_archive
from support.archives import BASE, PACKERS, Image, tar
from support.fuzzed_archives import make_archive

SEEDS = [
    PACKERS[packing](tar(getattr(Image(layer_packing=inner), layout)()))
    for packing in PACKERS
    for layout, inner in (("docker", "none"), ("oci", "gzip"), ("both", "zstd"))
]
LIMITS = ArchiveLimits(seconds=20)
RELAXED = settings(deadline=None, max_examples=100)


def refusal(action: Callable[[], object]) -> str:
    """Our sentence, or nothing; any other error is the bug we look for."""
    try:
        action()
    except ArchiveInvalid as error:
        return str(error)
    return ""


def survives(data: bytes) -> None:
    """Refused by us, or read: and then written without a trace of trouble."""
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / "out.tar"
        message = refusal(lambda: rewrite_archive(io.BytesIO(data), target, limits=LIMITS))
        assert message.isprintable()
        assert list(Path(place).iterdir()) == ([] if message else [target])
        if not message:
            inspect_archive(target, limits=LIMITS)


@RELAXED
@given(st.binary(max_size=3000))
def test_random_bytes(data: bytes) -> None:
    survives(data)


@RELAXED
@given(st.sampled_from([b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"]), st.binary(max_size=500))
def test_random_bytes_that_claim_to_be_packed(magic: bytes, data: bytes) -> None:
    survives(magic + data)


@RELAXED
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8),
    st.floats(0.5, 1),
)
def test_good_archives_with_flipped_bytes(data: bytes, flips: list[tuple[float, int]], kept: float) -> None:
    broken = bytearray(data[: round(len(data) * kept)] if kept < 0.9 else data)
    for place, value in flips:
        broken[int(place * len(broken))] = value
    survives(bytes(broken))


@RELAXED
@given(st.integers(0, 25), st.integers(0, 511), st.binary(min_size=1, max_size=12))
def test_tar_headers_with_other_fields_and_a_fitting_checksum(block: int, at: int, raw: bytes) -> None:
    data = bytearray(SEEDS[0])
    header = slice(block * 512, block * 512 + 512)
    part = bytearray(data[header])
    part[at : at + len(raw)] = raw[: 512 - at]
    part[148:156] = b" " * 8
    part[148:156] = b"%06o\0 " % sum(part)
    data[header] = part
    survives(bytes(data))


@RELAXED
@given(st.integers(0, 1_000_000))
def test_layers_of_names_in_each_others_way(seed: int) -> None:
    survives(make_archive(seed))


@RELAXED
@given(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=600))
def test_weights_with_other_bytes(place: float, raw: bytes) -> None:
    start = int(place * len(BASE))
    data = BASE[:start] + raw + BASE[start + len(raw) :]
    assert refusal(lambda: inspect_weights(io.BytesIO(data))).isprintable()
