"""Pictures as JPEG or PNG, for agents that are far away."""

import io

from nav_eval.agents.description import Encoding
from nav_eval.agents.messages import Array

JPEG_QUALITY = 90
PNG_EFFORT = 1  #: a picture is sent once; more effort costs more time than it saves


def is_picture(array: Array) -> bool:
    """8 bits, grey or coloured: what JPEG and PNG can hold without loss of meaning."""
    return array.dtype == "uint8" and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))


def encode(array: Array, encoding: Encoding) -> bytes:
    from PIL import Image

    picture = Image.fromarray(array)
    buffer = io.BytesIO()
    if encoding is Encoding.JPEG:
        picture.convert("RGB" if array.ndim == 3 else "L").save(buffer, "JPEG", quality=JPEG_QUALITY)
    else:
        picture.save(buffer, "PNG", compress_level=PNG_EFFORT)
    return buffer.getvalue()


def choose(array: Array, encodings: tuple[Encoding, ...]) -> Encoding:
    """The first encoding of the agent's list that this array can have."""
    return next((encoding for encoding in encodings if _can(array, encoding)), Encoding.RAW)


def _can(array: Array, encoding: Encoding) -> bool:
    if encoding is Encoding.JPEG:
        return is_picture(array) and not (array.ndim == 3 and array.shape[2] == 4)
    return encoding is Encoding.RAW or is_picture(array)
