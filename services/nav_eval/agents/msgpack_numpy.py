"""msgpack with arrays inside, in the dialect of openpi policy servers.

An array is a map with the keys `__ndarray__`, `data`, `dtype`, `shape`. Objects, structures and complex
numbers are refused, and shapes are checked against the bytes before anything is allocated.
"""

import math
from typing import Any

import msgspec
import numpy as np

from nav_eval.agents.failures import ProtocolError

_ARRAY = b"__ndarray__"
_SCALAR = b"__npgeneric__"
_KINDS = "biuf"


def pack(document: dict[str, Any]) -> bytes:
    return msgspec.msgpack.encode(document, enc_hook=_encoded)


def unpack(data: bytes) -> Any:  # noqa: ANN401
    """What a policy server sent, with arrays as read-only views of `data`."""
    try:
        return _revived(msgspec.msgpack.decode(data))
    except (msgspec.MsgspecError, RecursionError, TypeError, ValueError) as error:
        raise ProtocolError(f"The policy server sent {len(data)} bytes that are no msgpack: {error}.") from None


def _encoded(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray) and value.dtype.kind in _KINDS:
        return {_ARRAY: True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic) and value.dtype.kind in _KINDS:
        return {_SCALAR: True, b"data": value.tobytes(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _revived(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_revived(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.get(_ARRAY):
        return _array(value[b"data"], value[b"dtype"], tuple(value[b"shape"]))
    if value.get(_SCALAR):
        return _array(value[b"data"], value[b"dtype"], ())[()]
    return {key: _revived(item) for key, item in value.items()}


def _array(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    element = np.dtype(dtype)
    if element.kind not in _KINDS or not isinstance(data, bytes):
        raise ValueError(f"arrays of {dtype!r} are refused")
    if any(not isinstance(extent, int) or extent < 0 for extent in shape):
        raise ValueError(f"{shape} is no shape")
    if math.prod(shape) * element.itemsize != len(data):
        raise ValueError(f"{len(data)} bytes are no {dtype} array of shape {shape}")
    return np.frombuffer(data, element).reshape(shape)
