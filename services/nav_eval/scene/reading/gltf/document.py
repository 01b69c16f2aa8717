"""A glTF document with its data at hand.

Everything in glTF points to something else by index, and an index may point nowhere. `Document`
is the one place that follows them, so that a dangling one ends in a sentence instead of a crash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from nav_eval.errors import SceneError
from nav_eval.scene.reading.files import SceneFolder
from nav_eval.scene.reading.gltf import meshopt
from nav_eval.scene.reading.gltf.container import open_container
from nav_eval.scene.reading.gltf.schema import BufferView, Gltf, MeshoptView
from nav_eval.scene.reading.limits import ReadLimits
from nav_eval.scene.reading.log import ReadLog

T = TypeVar("T")


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
            self._views[index] = self._unpacked(view, index)
        return self._views[index]

    def stride(self, index: int) -> int | None:
        """The byte distance between elements that the buffer view prescribes."""
        view = self.item(self.gltf.buffer_views, index, "bufferView")
        return view.meshopt.byte_stride if view.meshopt else view.byte_stride or None

    def _unpacked(self, view: BufferView, index: int) -> memoryview:
        if view.meshopt is None:
            return self._slice(view, f"bufferView {index}")
        packed = self._slice(view.meshopt, f"the compressed bufferView {index}")
        values = meshopt.decode_view(packed, view.meshopt, source=self.source, limits=self.limits)
        return memoryview(values.tobytes())

    def _slice(self, part: BufferView | MeshoptView, what: str) -> memoryview:
        data = self._buffer(part.buffer)
        piece = data[part.byte_offset : part.byte_offset + part.byte_length]
        if len(piece) < part.byte_length:
            raise self.error(
                f"{what} needs bytes up to {part.byte_offset + part.byte_length:,}, "
                f"but buffer {part.buffer} has {len(data):,}; the file is cut off or broken."
            )
        return piece

    def _buffer(self, index: int) -> memoryview:
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


def open_document(content: bytes, *, folder: SceneFolder, log: ReadLog) -> Document:
    container = open_container(content, source=log.source, limits=folder.limits)
    return Document(gltf=container.gltf, binary=container.binary, folder=folder, limits=folder.limits, log=log)
