"""From a file's bytes to a checked glTF document and its first buffer."""

import struct
from typing import NamedTuple, TypeVar

import msgspec

from nav_eval.errors import SceneError
from nav_eval.scene.reading.gltf.schema import Gltf
from nav_eval.scene.reading.limits import ReadLimits, check_limit

GLB_MAGIC = b"glTF"
JSON_CHUNK = 0x4E4F534A
BINARY_CHUNK = 0x004E4942

Document = TypeVar("Document")


class Container(NamedTuple):
    gltf: Gltf
    """The document."""
    binary: memoryview | None
    """The GLB's own buffer."""


class _Named(msgspec.Struct):
    uri: str | None = None


class _Names(msgspec.Struct):
    """What a document says about other files; everything else is skipped, which is much faster."""

    buffers: list[_Named] = []
    images: list[_Named] = []


def open_container(content: bytes, *, source: str, limits: ReadLimits) -> Container:
    """Split a GLB, or take the text of a .gltf, and decode the document."""
    text, binary = _split(content, source=source, limits=limits)
    gltf = _decode(text, Gltf, source)
    if not gltf.asset.version.startswith("2"):
        raise SceneError(f"{source}: glTF version {gltf.asset.version} is not supported; export it as glTF 2.0.")
    return Container(gltf, binary)


def named_files(content: bytes, *, source: str, limits: ReadLimits) -> list[str]:
    """The URIs of the buffers and pictures that the document does not hold itself."""
    text, _ = _split(content, source=source, limits=limits)
    names = _decode(text, _Names, source)
    uris = (entry.uri for entry in (*names.buffers, *names.images))
    return [uri for uri in uris if uri is not None and uri[:5].lower() != "data:"]


def _split(content: bytes, *, source: str, limits: ReadLimits) -> tuple[memoryview, memoryview | None]:
    if content[:4] == GLB_MAGIC:
        text, binary = _split_glb(memoryview(content), source)
    else:
        text, binary = memoryview(content), None
    check_limit(len(text), limit=limits.json_bytes, what="bytes of glTF text", source=source)
    return text, binary


def _split_glb(content: memoryview, source: str) -> tuple[memoryview, memoryview | None]:
    if len(content) < 20:
        raise SceneError(f"{source}: the GLB is cut off after {len(content)} bytes; copy it again.")
    _, version, length = struct.unpack_from("<4sII", content)
    if version != 2:
        raise SceneError(f"{source}: GLB version {version} is not supported; export it as glTF 2.0.")
    if length > len(content):
        raise SceneError(f"{source}: the GLB is cut off: {len(content):,} of {length:,} bytes; copy it again.")
    chunks = dict(reversed(_chunks(content[:length], source)))  # the first chunk of a kind counts
    if JSON_CHUNK not in chunks:
        raise SceneError(f"{source}: the GLB has no JSON chunk; export it again.")
    return chunks[JSON_CHUNK], chunks.get(BINARY_CHUNK)


def _chunks(content: memoryview, source: str) -> list[tuple[int, memoryview]]:
    chunks, offset = [], 12
    while offset + 8 <= len(content):
        length, kind = struct.unpack_from("<II", content, offset)
        chunk = content[offset + 8 : offset + 8 + length]
        if len(chunk) < length:
            raise SceneError(f"{source}: a chunk of the GLB runs past the end of the file; copy it again.")
        chunks.append((kind, chunk))
        offset += 8 + (length + 3) // 4 * 4
    return chunks


def _decode(text: memoryview, kind: type[Document], source: str) -> Document:
    try:
        # Not strict: some writers store counts as 12.0.
        return msgspec.json.decode(bytes(text).removeprefix(b"\xef\xbb\xbf").rstrip(b"\0"), type=kind, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SceneError(f"{source}: is not a usable glTF 2.0 document: {error}.") from error
