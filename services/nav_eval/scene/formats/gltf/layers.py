"""What lies over a glTF surface: how much it mirrors, clear varnish, the fibres of cloth.

Each is one figure per material. Where the file has a picture of it, the picture's mean stands for it, and the report
says so.
"""

from typing import Any

import numpy as np

from nav_eval.records.geometry import Vec3
from nav_eval.scene.color import to_linear
from nav_eval.scene.formats.gltf import schema
from nav_eval.scene.formats.gltf.document import Document
from nav_eval.scene.formats.gltf.textures import TextureTable
from nav_eval.scene.semantics import to_vector

PLAIN_INDEX = 1.5


def read_layers(document: Document, textures: TextureTable, material: schema.GltfMaterial) -> dict[str, Any]:
    """Fields of `Shading`."""
    reader = _LayerReader(document, textures, material.name)
    found: dict[str, Any] = {}
    extensions = material.extensions
    if extensions.index is not None or extensions.specular is not None:
        found["reflectance"] = reader.find_reflectance(extensions.index, extensions.specular)
    if extensions.clearcoat is not None and extensions.clearcoat.clearcoat_factor > 0.0:
        found |= reader.read_coat(extensions.clearcoat)
    if extensions.sheen is not None and any(extensions.sheen.sheen_color_factor):
        found |= reader.read_sheen(extensions.sheen)
    return found


class _LayerReader:
    def __init__(self, document: Document, textures: TextureTable, name: str) -> None:
        self._document = document
        self._textures = textures
        self._name = name

    def find_reflectance(self, index: schema.RefractiveIndex | None, specular: schema.Specular | None) -> Vec3:
        """What is mirrored straight on; an index of 0 means that everything is."""
        ior = PLAIN_INDEX if index is None else index.ior
        plain = 1.0 if ior <= 0.0 else ((ior - 1.0) / (ior + 1.0)) ** 2
        if specular is None:
            return plain, plain, plain
        factor = specular.specular_factor * self._get_mean(specular.specular_texture, "specular")[3]
        tint = to_linear(self._get_mean(specular.specular_color_texture, "specular colour")[:3])
        colored = np.minimum(plain * np.array(specular.specular_color_factor) * tint, 1.0)
        return to_vector(np.clip(colored * factor, 0.0, 1.0))

    def read_coat(self, coat: schema.Clearcoat) -> dict[str, Any]:
        if coat.clearcoat_normal_texture is not None:
            self._document.log.warn(f"Material {self._name!r}: the normal picture of its clear coat is left out.")
        share = coat.clearcoat_factor * self._get_mean(coat.clearcoat_texture, "clear coat")[0]
        rough = self._get_mean(coat.clearcoat_roughness_texture, "clear coat roughness")[1]
        return {"coat": _clip(share), "coat_roughness": _clip(coat.clearcoat_roughness_factor * rough)}

    def read_sheen(self, sheen: schema.Sheen) -> dict[str, Any]:
        tint = to_linear(self._get_mean(sheen.sheen_color_texture, "sheen")[:3])
        rough = self._get_mean(sheen.sheen_roughness_texture, "sheen roughness")[3]
        return {
            "sheen": to_vector(np.clip(np.array(sheen.sheen_color_factor) * tint, 0.0, 1.0)),
            "sheen_roughness": _clip(sheen.sheen_roughness_factor * rough),
        }

    def _get_mean(self, picture: schema.TextureInfo | None, what: str) -> "np.ndarray[Any, np.dtype[np.float64]]":
        if picture is None:
            return np.ones(4)
        self._document.log.warn(f"Material {self._name!r}: its {what} picture is shown as its mean.")
        return self._textures.compute_mean(picture.index)


def _clip(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))
