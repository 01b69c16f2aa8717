"""A bag of named values with bags inside it."""

from enum import Enum
from typing import Any

import numpy as np

import magnum as mn


class ConfigValType(Enum):
    Unknown = 0
    Boolean = 1
    Integer = 2
    MagnumRad = 3
    Double = 4
    MagnumVec2 = 5
    MagnumVec3 = 6
    MagnumVec4 = 7
    MagnumQuat = 8
    MagnumMat3 = 9
    MagnumMat4 = 10
    String = 11


_VECTORS = {2: mn.Vector2, 3: mn.Vector3, 4: mn.Vector4}


class Configuration:
    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._parts: dict[str, Configuration] = {}

    def get(self, key: str) -> Any:
        return self._values.get(key)

    def set(self, key: str, value: Any) -> None:
        is_plain = isinstance(value, np.ndarray | list | tuple) and not isinstance(value, mn.Vector3)
        self._values[key] = _VECTORS[len(value)](value) if is_plain and len(value) in _VECTORS else value

    def has_value(self, key: str) -> bool:
        return key in self._values

    def remove(self, key: str) -> Any:
        return self._values.pop(key, None)

    def get_subconfig(self, name: str) -> "Configuration":
        return self._parts.setdefault(name, Configuration())

    def get_subconfig_copy(self, name: str) -> "Configuration | None":
        return self._parts.get(name)

    def save_subconfig(self, name: str, part: "Configuration") -> None:
        self._parts[name] = part

    def remove_subconfig(self, name: str) -> Any:
        return self._parts.pop(name, None)

    def has_subconfig(self, name: str) -> bool:
        return name in self._parts

    def get_keys_by_type(self, kind: ConfigValType, sorted: bool = False) -> list[str]:
        return [key for key, value in self._values.items() if _KINDS.get(type(value)) is kind]

    @property
    def num_values(self) -> int:
        return len(self._values)


_KINDS = {
    bool: ConfigValType.Boolean,
    int: ConfigValType.Integer,
    float: ConfigValType.Double,
    str: ConfigValType.String,
    mn.Vector2: ConfigValType.MagnumVec2,
    mn.Vector3: ConfigValType.MagnumVec3,
    mn.Vector4: ConfigValType.MagnumVec4,
    mn.Quaternion: ConfigValType.MagnumQuat,
    mn.Matrix3: ConfigValType.MagnumMat3,
    mn.Matrix4: ConfigValType.MagnumMat4,
}
