"""How much of a file we are willing to take in.

Scenes come from strangers. Every size that a file claims is compared with one of these numbers
before memory is set aside for it, so a few hostile bytes cannot ask for gigabytes.
"""

from dataclasses import dataclass

from nav_eval.errors import SceneError


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLimits:
    """The largest scene that is read; the defaults fit every public scan we know of."""

    file_bytes: int = 4 << 30  #: all files of the scene together
    json_bytes: int = 128 << 20  #: the glTF text, or one annotation file
    text_bytes: int = 512 << 20  #: OBJ and ASCII PLY, which take many times their size while being read
    nodes: int = 1_000_000  #: nodes of the scene graph, instances included
    depth: int = 512  #: nesting of the scene graph
    materials: int = 65_535  #: `Scene.triangle_material` is 16 bits wide
    vertices: int = 60_000_000
    triangles: int = 40_000_000
    image_pixels: int = 16_384 * 8_192  #: one picture; Pillow itself refuses more
    texture_pixels: int = 1 << 30  #: all pictures together; four bytes each once decoded


class TooLarge(SceneError):
    """The scene is larger than the reading limits allow; pass larger `ReadLimits` if you trust the file."""


def check_limit(count: int, *, limit: int, what: str, source: str) -> None:
    """Refuse `count` of something beyond its limit."""
    if count > limit:
        raise TooLarge(f"{source}: {count:,} {what} are more than the limit of {limit:,}. {TooLarge.__doc__}")
