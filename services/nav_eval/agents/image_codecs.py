"""Pictures on the wire: raw, PNG, 16-bit PNG for depth, JPEG; and which of them an agent gets."""

import io

import numpy as np

from nav_eval.agents.messages import Array, Encoding

JPEG_QUALITY = 90
PNG_EFFORT = 1  #: a picture is sent once; more effort costs more time than it saves


def is_image(array: Array) -> bool:
    """8 bits, grey or coloured: what JPEG and PNG can hold without loss of meaning."""
    return array.dtype == "uint8" and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))


def encode_image(array: Array, encoding: Encoding) -> bytes:
    from PIL import Image

    picture = Image.fromarray(array)
    buffer = io.BytesIO()
    if encoding is Encoding.JPEG:
        picture.convert("RGB" if array.ndim == 3 else "L").save(buffer, "JPEG", quality=JPEG_QUALITY)
    else:
        picture.save(buffer, "PNG", compress_level=PNG_EFFORT)
    return buffer.getvalue()


def encode_16_bit_png(array: Array) -> bytes:
    """16 bits of grey; what does not fit is the nearest that does."""
    from PIL import Image

    finite = np.nan_to_num(array, nan=0.0, posinf=65535.0, neginf=0.0) if array.dtype.kind == "f" else array
    picture = Image.fromarray(np.clip(np.rint(finite), 0, 65535).astype(np.uint16))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", compress_level=PNG_EFFORT)
    return buffer.getvalue()


def encode_raw(array: Array) -> bytes:
    """The array's own bytes, in C order and little-endian."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def choose_encoding(array: Array, encodings: tuple[Encoding, ...]) -> Encoding:
    """The first encoding of the agent's list that this array can have."""
    return next((encoding for encoding in encodings if _can(array, encoding)), Encoding.RAW)


def _can(array: Array, encoding: Encoding) -> bool:
    if encoding is Encoding.JPEG:
        return is_image(array) and not (array.ndim == 3 and array.shape[2] == 4)
    return encoding is Encoding.RAW or is_image(array)
