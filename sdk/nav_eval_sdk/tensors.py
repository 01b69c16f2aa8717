"""Arrays that came by message, raw or as a picture."""

from __future__ import annotations

import io

import numpy as np

from nav_eval_sdk.agent import Array
from nav_eval_sdk.errors import BadRequest, SdkError

DTYPES = frozenset(
    ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
)


def little_endian(dtype: str) -> np.dtype[np.generic]:
    if dtype not in DTYPES:
        raise BadRequest(f"{dtype!r:.40} is no dtype of the protocol.")
    return np.dtype(dtype).newbyteorder("<")


def raw_array(data: bytes, dtype: str, shape: tuple[int, ...]) -> Array:
    """Read-only: the memory belongs to the message."""
    try:
        return np.frombuffer(data, little_endian(dtype)).reshape(shape)
    except ValueError as error:
        raise BadRequest(f"{len(data)} bytes are no {dtype} tensor of shape {shape}: {error}.") from error


def picture(data: bytes, shape: tuple[int, ...]) -> Array:
    """A decoded JPEG or PNG."""
    try:
        from PIL import Image
    except ImportError:
        raise SdkError("JPEG and PNG need Pillow: pip install 'nav-eval-sdk[images]', or ask for raw.") from None
    array = np.asarray(Image.open(io.BytesIO(data)))
    if array.shape != shape:
        raise BadRequest(f"A picture has the shape {array.shape} and was announced as {shape}.")
    array.flags.writeable = False
    return array
