"""A glTF document with its data at hand: the container, the buffers and accessors, the extensions it declares.

Everything in glTF points to something else by index, and an index may point nowhere. `Document`
is the one place that follows them, so that a dangling one ends in a sentence instead of a crash.
A file that *requires* an extension which we cannot read is refused by name. One that merely *uses* it
loses a refinement, and says so in its report.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from nav_eval.errors import SceneError
from nav_eval.scene.formats.gltf import meshopt
from nav_eval.scene.formats.gltf.schema import Accessor, BufferView, Gltf, MeshoptView, Sparse
from nav_eval.scene.formats.scene_folder import ReadLimits, SceneFolder, check_limit
from nav_eval.scene.model import ReadLog

GLB_MAGIC = b"glTF"
JSON_CHUNK = 0x4E4F534A
BINARY_CHUNK = 0x004E4942

T = TypeVar("T")


class _UriEntry(msgspec.Struct):
    uri: str | None = None


class _UriLists(msgspec.Struct):
    """What a document says about other files; everything else is skipped, which is much faster."""

    buffers: list[_UriEntry] = []
    images: list[_UriEntry] = []


def list_named_files(content: bytes, *, source: str, limits: ReadLimits) -> list[str]:
    """The URIs of the buffers and pictures that the document does not hold itself."""
    text, _ = _split(content, source=source, limits=limits)
    names = _decode_text(text, _UriLists, source)
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
    chunks = dict(reversed(_split_chunks(content[:length], source)))  # the first chunk of a kind counts
    if JSON_CHUNK not in chunks:
        raise SceneError(f"{source}: the GLB has no JSON chunk; export it again.")
    return chunks[JSON_CHUNK], chunks.get(BINARY_CHUNK)


def _split_chunks(content: memoryview, source: str) -> list[tuple[int, memoryview]]:
    chunks, offset = [], 12
    while offset + 8 <= len(content):
        length, kind = struct.unpack_from("<II", content, offset)
        chunk = content[offset + 8 : offset + 8 + length]
        if len(chunk) < length:
            raise SceneError(f"{source}: a chunk of the GLB runs past the end of the file; copy it again.")
        chunks.append((kind, chunk))
        offset = _find_next_chunk(content, offset + 8 + length)
    return chunks


def _find_next_chunk(content: memoryview, end: int) -> int:
    """Chunks are multiples of four bytes long. Some writers pad them without counting it, others do not pad at all."""
    follows = int.from_bytes(content[end + 4 : end + 8], "little") in (JSON_CHUNK, BINARY_CHUNK)
    return end if follows else (end + 3) // 4 * 4


def _decode_text(text: memoryview, kind: type[T], source: str) -> T:
    try:
        # Not strict: some writers store counts as 12.0.
        return msgspec.json.decode(bytes(text).removeprefix(b"\xef\xbb\xbf").rstrip(b"\0"), type=kind, strict=False)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        if _is_version_1(text):
            raise SceneError(f"{source}: is glTF 1.0, which is not read; export it as glTF 2.0.") from error
        raise SceneError(f"{source}: is not a usable glTF 2.0 document: {error}; export it again.") from error


class _Asset(msgspec.Struct):
    version: str | float = ""


class _Versioned(msgspec.Struct):
    asset: _Asset = msgspec.field(default_factory=_Asset)
    accessors: dict[str, msgspec.Raw] | list[msgspec.Raw] = msgspec.field(default_factory=list)


def _is_version_1(text: memoryview) -> bool:
    try:
        found = msgspec.json.decode(text, type=_Versioned)  # early files do not say so, but had names for all things
        return str(found.asset.version).startswith("1") or isinstance(found.accessors, dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Document:
    """One glTF file: the decoded text, and its buffers on demand."""

    gltf: Gltf
    binary: memoryview | None  #: the GLB's own buffer
    folder: SceneFolder
    limits: ReadLimits
    log: ReadLog
    _buffers: dict[int, memoryview] = field(default_factory=dict)
    _views: dict[int, memoryview] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return self.log.source

    def error(self, sentence: str) -> SceneError:
        return SceneError(f"{self.source}: {sentence}")

    def item(self, items: Sequence[T], index: int, what: str) -> T:
        """`items[index]`, or a refusal that names the dangling index."""
        if not 0 <= index < len(items):
            raise self.error(f"refers to {what} {index}, but there are only {len(items)}; export the file again.")
        return items[index]

    def view(self, index: int) -> memoryview:
        """The bytes of a buffer view, unpacked if they are compressed."""
        if index not in self._views:
            view = self.item(self.gltf.buffer_views, index, "bufferView")
            self._views[index] = self._unpack_view(view, index)
        return self._views[index]

    def stride(self, index: int) -> int | None:
        """The byte distance between elements that the buffer view prescribes."""
        view = self.item(self.gltf.buffer_views, index, "bufferView")
        return view.meshopt.byte_stride if view.meshopt else view.byte_stride or None

    def _unpack_view(self, view: BufferView, index: int) -> memoryview:
        if view.meshopt is None:
            return self._slice(view, f"bufferView {index}")
        packed = self._slice(view.meshopt, f"the compressed bufferView {index}")
        values = decode_meshopt(packed, view.meshopt, source=self.source, limits=self.limits)
        return memoryview(values.tobytes())

    def _slice(self, part: BufferView | MeshoptView, what: str) -> memoryview:
        data = self._get_buffer(part.buffer)
        piece = data[part.byte_offset : part.byte_offset + part.byte_length]
        if len(piece) < part.byte_length:
            raise self.error(
                f"{what} needs bytes up to {part.byte_offset + part.byte_length:,}, "
                f"but buffer {part.buffer} has {len(data):,}; the file is cut off or broken."
            )
        return piece

    def _get_buffer(self, index: int) -> memoryview:
        if index not in self._buffers:
            self._buffers[index] = self._load_buffer(index)
        return self._buffers[index]

    def _load_buffer(self, index: int) -> memoryview:
        buffer = self.item(self.gltf.buffers, index, "buffer")
        if buffer.uri is not None:
            return memoryview(self.folder.read(buffer.uri))
        if index == 0 and self.binary is not None:
            return self.binary
        raise self.error(f"buffer {index} has neither a uri nor a binary chunk; export the file again.")


MESHOPT_HEADERS = {"ATTRIBUTES": (0xA0, 0xA1), "TRIANGLES": (0xE0, 0xE1), "INDICES": (0xD0, 0xD1)}


class BrokenMeshopt(SceneError):
    """A meshopt stream is cut off or broken; export the file again."""


def decode_meshopt(packed: memoryview, view: MeshoptView, *, source: str, limits: ReadLimits) -> NDArray[np.uint8]:
    """The `count` × `byteStride` bytes that the view stands for."""
    _check_meshopt_layout(view, source, limits)
    data = np.frombuffer(packed, np.uint8)
    if not len(data) or int(data[0]) not in MESHOPT_HEADERS[view.mode]:
        raise BrokenMeshopt(f"{source}: a meshopt stream has a wrong header. {BrokenMeshopt.__doc__}")
    if view.mode == "ATTRIBUTES":
        values = np.empty((view.count, view.byte_stride), np.uint8)
        if not meshopt.unpack_attributes(data, values):
            raise BrokenMeshopt(f"{source}: vertex data. {BrokenMeshopt.__doc__}")
        return meshopt.apply_filter(view.filter, values)
    indices = np.empty(view.count, np.uint32)
    unpack = meshopt.unpack_triangles if view.mode == "TRIANGLES" else meshopt.unpack_indices
    if (view.mode == "TRIANGLES" and view.count % 3) or not unpack(data, indices):
        raise BrokenMeshopt(f"{source}: index data. {BrokenMeshopt.__doc__}")
    narrow = indices.astype(np.uint16 if view.byte_stride == 2 else np.uint32)
    return narrow.view(np.uint8).reshape(view.count, view.byte_stride)


def _check_meshopt_layout(view: MeshoptView, source: str, limits: ReadLimits) -> None:
    stride, attributes = view.byte_stride, view.mode == "ATTRIBUTES"
    possible = stride % 4 == 0 and 4 <= stride <= 256 if attributes else stride in (2, 4)
    filtered = meshopt.FILTER_STRIDES.get(view.filter, ())
    fits = stride in filtered or (not filtered and view.filter in ("NONE", "EXPONENTIAL"))
    if view.mode not in MESHOPT_HEADERS or not possible or not fits or (view.filter != "NONE" and not attributes):
        raise SceneError(
            f"{source}: meshopt mode {view.mode!r} with filter {view.filter!r} and {stride} bytes per element "
            "is not possible; export the file again."
        )
    largest = 3 * limits.triangles if not attributes else limits.vertices
    check_limit(view.count, limit=largest, what="elements in a meshopt stream", source=source)


def open_document(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Document:
    """Split a GLB, or take the text of a .gltf, and decode the document."""
    text, binary = _split(content, source=log.source, limits=folder.limits)
    gltf = _decode_text(text, Gltf, log.source)
    if not gltf.asset.version.startswith("2"):
        raise SceneError(f"{log.source}: glTF version {gltf.asset.version} is not supported; export it as glTF 2.0.")
    return Document(gltf=gltf, binary=binary, folder=folder, limits=folder.limits, log=log)


#: Extensions whose effect is in the scene.
READ_EXTENSIONS = frozenset({
    "EXT_mesh_gpu_instancing", "EXT_meshopt_compression", "EXT_texture_avif", "EXT_texture_webp",
    "GOOGLE_texture_basis", "KHR_draco_mesh_compression", "KHR_lights_punctual", "KHR_mesh_quantization",
    "KHR_materials_clearcoat", "KHR_materials_emissive_strength", "KHR_materials_ior",
    "KHR_materials_pbrSpecularGlossiness", "KHR_materials_sheen", "KHR_materials_specular",
    "KHR_materials_transmission", "KHR_materials_unlit", "KHR_materials_volume", "KHR_meshopt_compression",
    "KHR_node_visibility", "KHR_texture_basisu", "KHR_texture_transform",
})  # fmt: skip

#: Extensions that change nothing a sensor of ours could see.
HARMLESS_EXTENSIONS = frozenset({
    "KHR_animation_pointer", "KHR_node_hoverability", "KHR_node_selectability", "KHR_xmp", "KHR_xmp_json_ld",
    "MSFT_lod",
})  # fmt: skip


def check_extensions(document: Document) -> None:
    """Refuse what is required and unknown; mention what is used and left out."""
    unknown = [name for name in dict.fromkeys(document.gltf.extensions_required) if not _is_bearable(name)]
    if unknown:
        raise document.error(
            f"requires {', '.join(unknown)}, which nav-eval does not read. "
            "Export the scene without it, with plain geometry and PNG, JPEG, WebP or KTX2 textures."
        )
    for name in dict.fromkeys(document.gltf.extensions_used):
        if name not in READ_EXTENSIONS | HARMLESS_EXTENSIONS:
            document.log.warn(f"The extension {name} is left out.")


def _is_bearable(name: str) -> bool:
    """Finer points of a surface (clear coat, sheen, …) cannot make a scene wrong, whatever the file says."""
    return name in READ_EXTENSIONS | HARMLESS_EXTENSIONS or name.startswith("KHR_materials_")


COMPONENT_TYPES: dict[int, np.dtype[np.generic]] = {
    5120: np.dtype("i1"),
    5121: np.dtype("u1"),
    5122: np.dtype("<i2"),
    5123: np.dtype("<u2"),
    5125: np.dtype("<u4"),
    5126: np.dtype("<f4"),
}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


def read_accessor(document: Document, index: int) -> NDArray[np.generic]:
    """The values as stored: `count` × width, in the accessor's own type."""
    accessor = document.item(document.gltf.accessors, index, "accessor")
    where = f"accessor {index}"
    dtype = _get_dtype(document, accessor.component_type, where)
    width = WIDTHS.get(accessor.type, 0)
    if not width:
        raise document.error(f"{where} has the unknown type {accessor.type!r}; export the file again.")
    limit = max(document.limits.vertices, 3 * document.limits.triangles)
    check_limit(accessor.count, limit=limit, what=f"elements in {where}", source=document.source)
    values = _read_dense(document, accessor, dtype=dtype, width=width, where=where)
    if accessor.sparse is not None:
        values = _overlay(document, values, accessor.sparse, where=where)
    return values


def read_floats(document: Document, index: int) -> NDArray[np.float32]:
    """The values as numbers: normalised integers become fractions."""
    accessor = document.item(document.gltf.accessors, index, "accessor")
    return as_floats(read_accessor(document, index), normalized=accessor.normalized)


def as_floats(values: NDArray[Any], *, normalized: bool) -> NDArray[np.float32]:
    """Numbers, or fractions of the largest number that the type can hold."""
    floats = values.astype(np.float32)
    if normalized and values.dtype.kind in "iu":
        return np.asarray(np.maximum(floats / np.iinfo(values.dtype).max, -1), np.float32)
    return floats


def read_integers(document: Document, index: int) -> NDArray[np.uint32]:
    """The values as indices (joints, vertices)."""
    values = read_accessor(document, index)
    if values.dtype.kind != "u":
        raise document.error(f"accessor {index} holds indices but its type is {values.dtype}; export the file again.")
    return values.astype(np.uint32)


def _get_dtype(document: Document, component_type: int, where: str) -> np.dtype[np.generic]:
    if component_type not in COMPONENT_TYPES:
        raise document.error(f"{where} has the unknown componentType {component_type}; export the file again.")
    return COMPONENT_TYPES[component_type]


def _read_dense(
    document: Document, accessor: Accessor, *, dtype: np.dtype[np.generic], width: int, where: str
) -> NDArray[np.generic]:
    if accessor.buffer_view is None:
        return np.zeros((accessor.count, width), dtype)
    at, count = accessor.byte_offset, accessor.count
    return _read_elements(document, accessor.buffer_view, offset=at, count=count, dtype=dtype, width=width, where=where)


def _read_elements(
    document: Document, view: int, *, offset: int, count: int, dtype: np.dtype[np.generic], width: int, where: str
) -> NDArray[np.generic]:
    """`count` elements of a buffer view, as a view into its bytes where possible."""
    data = np.frombuffer(document.view(view), np.uint8)
    size = dtype.itemsize * width
    stride = document.stride(view) or size
    end = offset + (count - 1) * stride + size
    if stride < size or (count and end > len(data)):
        raise document.error(
            f"{where} needs {end:,} bytes (stride {stride}), but bufferView {view} has {len(data):,}; "
            "the file is cut off or broken."
        )
    if not count:
        return np.zeros((0, width), dtype)
    rows = as_strided(data[offset:], shape=(count, size), strides=(stride, 1), writeable=False)
    return np.ascontiguousarray(rows).view(dtype)


def _overlay(document: Document, values: NDArray[np.generic], sparse: Sparse, *, where: str) -> NDArray[np.generic]:
    """The dense values with the sparse ones put in their places."""
    if sparse.count > len(values):
        raise document.error(f"{where} replaces {sparse.count:,} of {len(values):,} values; export the file again.")
    places = _read_elements(
        document, sparse.indices.buffer_view, offset=sparse.indices.byte_offset, count=sparse.count,
        dtype=_get_dtype(document, sparse.indices.component_type, where), width=1, where=f"{where} (sparse indices)",
    )[:, 0]  # fmt: skip
    replaced = _read_elements(
        document, sparse.values.buffer_view, offset=sparse.values.byte_offset, count=sparse.count,
        dtype=values.dtype, width=values.shape[1], where=f"{where} (sparse values)",
    )  # fmt: skip
    if places.dtype.kind != "u" or (sparse.count and int(places.max()) >= len(values)):
        raise document.error(f"{where} replaces values past its end; export the file again.")
    values = values.copy()
    values[places] = replaced
    return values
