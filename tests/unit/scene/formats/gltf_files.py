"""Small glTF files, built by hand, for the tests beside this module."""

import base64
import io
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

COMPONENTS = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}
KINDS = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}

#: A unit square in the XY plane, counter-clockwise seen from +Z.
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
SQUARE_CORNERS = np.array([0, 1, 2, 0, 2, 3], np.uint16)
SQUARE_UVS = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)


class GltfFile:
    """Collects buffers and JSON; `node`s are roots unless they are someone's child."""

    def __init__(self) -> None:
        self.binary = bytearray()
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}}

    def add(self, table: str, entry: dict[str, Any]) -> int:
        self.json.setdefault(table, []).append(entry)
        return len(self.json[table]) - 1

    def view(self, data: bytes, **fields: Any) -> int:
        self.binary.extend(b"\0" * (-len(self.binary) % 8))
        offset = len(self.binary)
        self.binary.extend(data)
        return self.add("bufferViews", {"buffer": 0, "byteOffset": offset, "byteLength": len(data), **fields})

    def accessor(self, values: np.ndarray, **fields: Any) -> int:
        values = np.asarray(values)
        rows = values.reshape(len(values), -1)
        view = self.view(np.ascontiguousarray(rows).tobytes())
        entry = {
            "bufferView": view, "componentType": COMPONENTS[values.dtype.str[1:]], "count": len(rows),
            "type": KINDS[rows.shape[1]], **fields,
        }  # fmt: skip
        return self.add("accessors", entry)

    def mesh(self, attributes: dict[str, int], **primitive: Any) -> int:
        return self.add("meshes", {"primitives": [{"attributes": attributes, **primitive}]})

    def square(self, **primitive: Any) -> int:
        attributes = {"POSITION": self.accessor(SQUARE), "TEXCOORD_0": self.accessor(SQUARE_UVS)}
        return self.mesh(attributes, indices=self.accessor(SQUARE_CORNERS), **primitive)

    def node(self, **fields: Any) -> int:
        return self.add("nodes", fields)

    def material(self, **fields: Any) -> int:
        return self.add("materials", fields)

    def texture(self, picture: bytes, *, mime: str = "image/png", **fields: Any) -> int:
        image = self.add("images", {"bufferView": self.view(picture), "mimeType": mime})
        return self.add("textures", {"source": image, **fields})

    def finished(self) -> dict[str, Any]:
        children = {child for node in self.json.get("nodes", []) for child in node.get("children", [])}
        roots = [index for index in range(len(self.json.get("nodes", []))) if index not in children]
        defaults = {"scene": 0, "scenes": [{"nodes": roots}], "buffers": [{"byteLength": len(self.binary)}]}
        return {**defaults, **self.json}

    def glb(self) -> bytes:
        return pack_glb(json.dumps(self.finished()).encode(), bytes(self.binary))

    def save(self, path: Path) -> Path:
        path.write_bytes(self.glb())
        return path

    def save_text(self, path: Path, *, uri: str | None = None) -> Path:
        """A .gltf with its buffer embedded, or beside it under `uri`."""
        document = self.finished()
        if uri is None:
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.binary).decode()
        else:
            (path.parent / uri).write_bytes(self.binary)
        document["buffers"][0]["uri"] = uri
        path.write_text(json.dumps(document))
        return path


def pack_glb(text: bytes, binary: bytes) -> bytes:
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def picture(pixels: np.ndarray, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.asarray(pixels, np.uint8)).save(buffer, kind, **options)
    return buffer.getvalue()


#: Two by two: red, green / blue, white.
FOUR_COLORS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 255]]], np.uint8)
