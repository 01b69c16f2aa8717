"""Basis Universal pictures, compared byte for byte with what the reference transcoder makes of them."""

import hashlib
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from gltf_files import GltfFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from nav_eval.errors import SceneError
from nav_eval.scene.formats import ReadLimits, read_scene
from nav_eval.scene.formats.images import ImageDecoder, UnreadableImage
from support.paths import TESTS

FOLDER = TESTS / "data" / "scenes" / "basis"
REFERENCE: dict[str, str] = json.loads((FOLDER / "reference.json").read_text())


def decode(content: bytes, limits: ReadLimits | None = None) -> np.ndarray:
    return ImageDecoder(limits or ReadLimits()).decode(content, source="test")


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_pixels_equal_the_reference_transcoder(name: str) -> None:
    pixels = decode((FOLDER / name).read_bytes())
    assert hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest() == REFERENCE[name]


@pytest.mark.parametrize("name", [name for name in sorted(REFERENCE) if not name.startswith("modes")])
def test_pixels_show_the_original_the_right_way_up(name: str) -> None:
    original = np.asarray(Image.open(FOLDER / f"{name.split('.', maxsplit=1)[0]}.png").convert("RGBA")).astype(int)
    pixels = decode((FOLDER / name).read_bytes()).astype(int)
    assert np.abs(pixels - original).mean() < (4 if "uastc" in name else 14)
    assert np.abs(pixels[::-1] - original).mean() > 20


@pytest.mark.parametrize(
    ("name", "extension", "mime"),
    [
        ("alpha.etc1s.basis", "GOOGLE_texture_basis", "image/x-basis"),  # as in HM3D
        ("picture.uastc.zstd.ktx2", "KHR_texture_basisu", "image/ktx2"),
    ],
)
def test_in_a_scene(tmp_path: Path, name: str, extension: str, mime: str) -> None:
    file = GltfFile()
    image = file.add("images", {"bufferView": file.view((FOLDER / name).read_bytes()), "mimeType": mime})
    texture = file.add("textures", {"extensions": {extension: {"source": image}}})  # no plain source at all
    material = file.material(pbrMetallicRoughness={"baseColorTexture": {"index": texture}})
    file.node(mesh=file.square(material=material))
    file.json["extensionsRequired"] = [extension]
    scene = read_scene(file.save(tmp_path / "scene.glb"))
    assert scene.textures[0].pixels.shape == (46, 70, 4)
    assert not any("image" in warning for warning in scene.report.warnings)


@pytest.mark.parametrize("name", ["alpha.etc1s.ktx2", "picture.uastc.zstd.ktx2", "picture.etc1s.basis"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_cut_off_pictures_are_refused(name: str, share: float) -> None:
    content = (FOLDER / name).read_bytes()
    with pytest.raises(UnreadableImage):
        decode(content[: int(len(content) * share)])


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted(REFERENCE)),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=6),
)
def test_flipped_bits_never_crash(name: str, flips: list[tuple[float, int]]) -> None:
    content = bytearray((FOLDER / name).read_bytes())
    for place, change in flips:
        content[int(place * len(content))] ^= change
    try:
        pixels = decode(bytes(content), ReadLimits(image_pixels=1_000_000))
    except SceneError:
        return
    assert pixels.ndim == 3
    assert pixels.dtype == np.uint8


@pytest.mark.parametrize("name", ["alpha.etc1s.ktx2", "alpha.uastc.ktx2"])
def test_a_huge_size_is_refused_before_anything_is_decoded(name: str) -> None:
    content = bytearray((FOLDER / name).read_bytes())
    content[20:28] = struct.pack("<2I", 1 << 30, 1 << 30)
    with pytest.raises(SceneError, match="limit"):
        decode(bytes(content))


def test_zlib_supercompression() -> None:
    """The plain UASTC file with its level packed by zlib instead."""
    content = bytearray((FOLDER / "alpha.uastc.ktx2").read_bytes())
    offset, length, unpacked = struct.unpack_from("<3Q", content, 80)
    packed = zlib.compress(bytes(content[offset : offset + length]))
    content[44:48] = struct.pack("<I", 3)
    content[80:104] = struct.pack("<3Q", offset, len(packed), unpacked)
    content[offset:] = packed
    assert np.array_equal(decode(bytes(content)), decode((FOLDER / "alpha.uastc.ktx2").read_bytes()))
    with pytest.raises(UnreadableImage, match="zlib"):
        decode(bytes(content[:offset]) + b"x" * len(packed))


def test_other_ktx_contents_are_named() -> None:
    content = bytearray((FOLDER / "alpha.uastc.ktx2").read_bytes())
    (descriptor,) = struct.unpack_from("<I", content, 48)
    content[descriptor + 12] = 134  # BC7
    with pytest.raises(UnreadableImage, match="colour model 134"):
        decode(bytes(content))
