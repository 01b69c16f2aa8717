"""Writing a scene as a plain GLB: what generated houses are saved as.

One node per object, with `extras.object_id`; within it one primitive per material. Equal scenes
give equal bytes. What is written is what `read_scene` reads back.
"""

import io
import json
import math
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from nav_eval.records.geometry import Vec3
from nav_eval.scene.model import MATTE, Light, Material, Scene, Texture, Wrap

JsonObject = dict[str, Any]

WRAPS = {Wrap.REPEAT: 10497, Wrap.CLAMP: 33071, Wrap.MIRROR: 33648}
LIGHT_TYPES = {"sun": "directional", "point": "point", "spot": "spot"}
NEAREST, LINEAR = 9728, 9729
VERTEX_DATA, INDEX_DATA = 34962, 34963


def write_glb(scene: Scene, path: Path | str) -> None:
    """Write `scene` to `path`; an existing file is replaced in one step."""
    path = Path(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_bytes(encode_glb(scene))
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def encode_glb(scene: Scene) -> bytes:
    """The bytes of a GLB that holds `scene`."""
    writer = _GlbWriter()
    writer.add_materials(scene.materials)
    writer.add_textures(scene.textures)
    for chunk in _group_objects(scene):
        writer.add_object(scene, chunk)
    writer.add_lights(scene.lights)
    return writer.finish()


class _ObjectTriangles(NamedTuple):
    object_id: int
    by_material: list[tuple[int, NDArray[np.uint32]]]


def _group_objects(scene: Scene) -> Iterator[_ObjectTriangles]:
    """Triangles grouped by object, then by material, both ascending."""
    order = np.lexsort((scene.triangle_material, scene.triangle_object))
    owners = scene.triangle_object[order]
    for members in np.split(order, np.flatnonzero(np.diff(owners)) + 1):
        if not len(members):
            continue
        materials = scene.triangle_material[members]
        groups = np.split(members, np.flatnonzero(np.diff(materials)) + 1)
        by_material = [(int(scene.triangle_material[group[0]]), scene.triangles[group]) for group in groups]
        yield _ObjectTriangles(int(scene.triangle_object[members[0]]), by_material)


class _GlbWriter:
    """Collects the JSON and the binary chunk side by side."""

    def __init__(self) -> None:
        self._binary = bytearray()
        self._views: list[JsonObject] = []
        self._accessors: list[JsonObject] = []
        self._meshes: list[JsonObject] = []
        self._nodes: list[JsonObject] = []
        self._materials: list[JsonObject] = []
        self._textured: list[bool] = []
        self._textures: list[JsonObject] = []
        self._images: list[JsonObject] = []
        self._samplers: list[JsonObject] = []
        self._lights: list[JsonObject] = []
        self._extensions: set[str] = set()

    def add_materials(self, materials: Sequence[Material]) -> None:
        for material in materials:
            table = _describe_material(material)
            self._extensions.update(table.get("extensions", {}))
            self._materials.append(table)
            self._textured.append(bool(material.maps))

    def add_textures(self, textures: Sequence[Texture]) -> None:
        images: dict[int, int] = {}  # several textures may share one picture
        for texture in textures:
            picture = id(texture.pixels)
            if picture not in images:
                images[picture] = len(self._images)
                self._images.append(
                    {"bufferView": self._add_view(_encode_png(texture.pixels)), "mimeType": "image/png"}
                )
            sampler = {
                "magFilter": NEAREST if texture.nearest else LINEAR,
                "wrapS": WRAPS[texture.wrap_u],
                "wrapT": WRAPS[texture.wrap_v],
            }
            if sampler not in self._samplers:
                self._samplers.append(sampler)
            self._textures.append({"sampler": self._samplers.index(sampler), "source": images[picture]})

    def add_object(self, scene: Scene, chunk: _ObjectTriangles) -> None:
        primitives = [self._add_primitive(scene, triangles, material) for material, triangles in chunk.by_material]
        node: JsonObject = {"mesh": len(self._meshes)}
        if chunk.object_id:
            node["extras"] = {"object_id": chunk.object_id}
        self._meshes.append({"primitives": primitives})
        self._nodes.append(node)

    def add_lights(self, lights: Sequence[Light]) -> None:
        for light in lights:
            self._extensions.add("KHR_lights_punctual")
            self._nodes.append({
                "translation": list(light.position),
                "rotation": _compute_rotation(light.direction),
                "extensions": {"KHR_lights_punctual": {"light": len(self._lights)}},
            })  # fmt: skip
            self._lights.append(_describe_light(light))

    def finish(self) -> bytes:
        document: JsonObject = {
            "asset": {"version": "2.0", "generator": "nav-eval"},
            "scene": 0,
            "scenes": [{"nodes": list(range(len(self._nodes)))}],
            "nodes": self._nodes,
            "meshes": self._meshes,
            "materials": self._materials,
            "textures": self._textures,
            "images": self._images,
            "samplers": self._samplers,
            "accessors": self._accessors,
            "bufferViews": self._views,
            "buffers": [{"byteLength": len(self._binary)}],
            "extensionsUsed": sorted(self._extensions),
        }
        if self._lights:
            document["extensions"] = {"KHR_lights_punctual": {"lights": self._lights}}
        text = json.dumps({key: value for key, value in document.items() if value != []}, separators=(",", ":"))
        return _pack(text.encode(), bytes(self._binary))

    def _add_primitive(self, scene: Scene, triangles: NDArray[np.uint32], material: int) -> JsonObject:
        used, corners = np.unique(triangles, return_inverse=True)
        attributes = {
            "POSITION": self._add_accessor(scene.positions[used], kind="VEC3", bounds=True),
            "NORMAL": self._add_accessor(scene.normals[used], kind="VEC3"),
        }
        if self._textured[material]:
            attributes["TEXCOORD_0"] = self._add_accessor(scene.uvs[used], kind="VEC2")
        colors = scene.colors[used]
        if (colors != 255).any():
            attributes["COLOR_0"] = self._add_accessor(colors, kind="VEC4", normalized=True)
        index_type = np.uint16 if len(used) <= 65_535 else np.uint32
        indices = self._add_accessor(corners.reshape(-1, 1).astype(index_type), kind="SCALAR", target=INDEX_DATA)
        return {"attributes": attributes, "indices": indices, "material": material}

    def _add_accessor(
        self, values: NDArray[Any], *, kind: str, bounds: bool = False, normalized: bool = False,
        target: int = VERTEX_DATA,
    ) -> int:  # fmt: skip
        component = {"f4": 5126, "u1": 5121, "u2": 5123, "u4": 5125}[values.dtype.str[1:]]
        data = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
        table: JsonObject = {
            "bufferView": self._add_view(data, target=target),
            "componentType": component,
            "count": len(values),
            "type": kind,
        }
        if bounds:
            table["min"], table["max"] = values.min(axis=0).tolist(), values.max(axis=0).tolist()
        if normalized:
            table["normalized"] = True
        self._accessors.append(table)
        return len(self._accessors) - 1

    def _add_view(self, data: bytes, *, target: int | None = None) -> int:
        self._binary.extend(b"\0" * (-len(self._binary) % 4))
        view: JsonObject = {"buffer": 0, "byteOffset": len(self._binary), "byteLength": len(data)}
        if target is not None:
            view["target"] = target
        self._views.append(view)
        self._binary.extend(data)
        return len(self._views) - 1


def _describe_light(light: Light) -> JsonObject:
    table: JsonObject = {"type": LIGHT_TYPES[light.kind], "color": list(light.color), "intensity": light.intensity}
    if math.isfinite(light.range):
        table["range"] = light.range
    if light.kind == "spot":
        table["spot"] = {"innerConeAngle": light.inner_cone, "outerConeAngle": light.outer_cone}
    return table


def _describe_material(material: Material) -> JsonObject:
    shading = material.shading
    surface: JsonObject = {"baseColorFactor": list(material.base_color), "metallicFactor": shading.metallic}
    if shading.roughness != 1.0:
        surface["roughnessFactor"] = shading.roughness
    if shading.roughness_map is not None:
        surface["metallicRoughnessTexture"] = {"index": shading.roughness_map}
    if material.texture is not None:
        surface["baseColorTexture"] = {"index": material.texture}
    table: JsonObject = {"pbrMetallicRoughness": surface, "alphaMode": material.alpha_mode.name}
    if material.name:
        table["name"] = material.name
    if material.alpha_mode.name == "MASK":
        table["alphaCutoff"] = material.alpha_cutoff
    if material.double_sided:
        table["doubleSided"] = True
    if shading.normal_map is not None:
        table["normalTexture"] = {"index": shading.normal_map, "scale": shading.normal_scale}
    if shading.occlusion_map is not None:
        table["occlusionTexture"] = {"index": shading.occlusion_map, "strength": shading.occlusion_strength}
    if shading.emission_map is not None:
        table["emissiveTexture"] = {"index": shading.emission_map}
    extensions: JsonObject = {"KHR_materials_unlit": {}} if material.unlit else {}
    strength = max(material.emissive)
    if strength > 0:
        table["emissiveFactor"] = [value / max(strength, 1.0) for value in material.emissive]
    if strength > 1:
        extensions["KHR_materials_emissive_strength"] = {"emissiveStrength": strength}
    extensions |= _describe_layers(material)
    if extensions:
        table["extensions"] = extensions
    return table


def _describe_layers(material: Material) -> JsonObject:
    """What lies over a surface."""
    shading, found = material.shading, JsonObject()
    if shading.reflectance != MATTE.reflectance:
        largest = max(*shading.reflectance, 1e-6)
        root = math.sqrt(min(largest, 0.999))
        color = [value / largest for value in shading.reflectance]
        found["KHR_materials_ior"] = {"ior": (1 + root) / (1 - root)}
        found["KHR_materials_specular"] = {"specularColorFactor": color}
    if shading.coat > 0:
        coat = {"clearcoatFactor": shading.coat, "clearcoatRoughnessFactor": shading.coat_roughness}
        found["KHR_materials_clearcoat"] = coat
    if any(shading.sheen):
        sheen = {"sheenColorFactor": list(shading.sheen), "sheenRoughnessFactor": shading.sheen_roughness}
        found["KHR_materials_sheen"] = sheen
    return found


def _encode_png(pixels: NDArray[np.uint8]) -> bytes:
    opaque = bool((pixels[..., 3] == 255).all())
    buffer = io.BytesIO()
    Image.fromarray(pixels[..., :3] if opaque else pixels).save(buffer, "PNG", compress_level=6)
    return buffer.getvalue()


def _compute_rotation(direction: Vec3) -> list[float]:
    """The quaternion that turns glTF's light direction (0, 0, −1) to `direction`."""
    x, y, z = np.array(direction, np.float64) / (np.linalg.norm(direction) or 1.0)
    if z > 1 - 1e-12:  # straight back: half a turn about Y
        return [0.0, 1.0, 0.0, 0.0]
    quaternion = np.array([y, -x, 0.0, 1.0 - z])
    return [float(value) for value in quaternion / np.linalg.norm(quaternion)]


def _pack(text: bytes, binary: bytes) -> bytes:
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    header = struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + len(binary))
    return b"".join([
        header, struct.pack("<I4s", len(text), b"JSON"), text, struct.pack("<I4s", len(binary), b"BIN\0"), binary,
    ])  # fmt: skip
