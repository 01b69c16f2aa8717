"""Prepared scenes on disk: plain arrays, mapped into memory, so that a second process starts at once."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from nav_eval.array_file import ArrayFile, write_arrays
from nav_eval.scene.model import AlphaMode, Scene, Texture, Wrap
from nav_eval.simulator.rendering.errors import BadPreparedScene
from nav_eval.simulator.rendering.preparation import PREPARATION_VERSION, prepare
from nav_eval.simulator.rendering.prepared import VERTEX, Batch, Chunks, PreparedScene

_CHUNKS: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int64, 1),
    "batch": (np.int32, 1),
    "bounds": (np.float32, 2),
    "cones": (np.float32, 2),
    "longest": (np.float32, 1),
    "group_bounds": (np.float32, 2),
    "group_longest": (np.float32, 1),
    "corners": (np.float32, 2),
    "triangles": (np.uint32, 2),
}


def prepared_scene(cache: Path, digest: str, read: Callable[[], Scene]) -> PreparedScene:
    """The prepared scene of this digest from the cache; made from what `read` returns where it is not there yet.

    A cache that cannot be written to (read-only, full) is done without.
    """
    path = cache / "rendering" / f"{PREPARATION_VERSION}-{digest[:32]}"
    if path.exists():
        return load_prepared(path)
    prepared = prepare(read())
    try:
        save_prepared(prepared, path)
    except OSError:
        return prepared
    return load_prepared(path)


def save_prepared(scene: PreparedScene, path: Path) -> None:
    """Write a prepared scene to a file."""
    textures = {f"texture-{number}": texture.pixels for number, texture in enumerate(scene.textures)}
    arrays = {**scene.chunks._asdict(), "vertices": scene.vertices, "surfaces": scene.surfaces, **textures}
    write_arrays(path, arrays, about=_description(scene))


def load_prepared(path: Path) -> PreparedScene:
    """A scene that `save_prepared` wrote, its arrays mapped from the file."""
    try:
        file = ArrayFile(path)
        about = file.about
        if about["version"] != PREPARATION_VERSION:
            raise ValueError(f"it is of version {about['version']}, this is version {PREPARATION_VERSION}")
        red, green, blue = about["background"]
        return PreparedScene(
            digest=about["digest"],
            triangle_count=about["triangle_count"],
            vertices=file.array("vertices", VERTEX, 1),
            chunks=Chunks(**{name: file.array(name, dtype, axes) for name, (dtype, axes) in _CHUNKS.items()}),
            batches=tuple(
                Batch(**{**batch, "alpha_mode": AlphaMode(batch["alpha_mode"])}) for batch in about["batches"]
            ),
            textures=tuple(_texture(file, number, look) for number, look in enumerate(about["textures"])),
            surfaces=file.array("surfaces", np.int64, 2),
            background=(red, green, blue),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPreparedScene(
            f"{path} is not a whole prepared scene ({error}); delete it, it will be made again."
        ) from error


def _description(scene: PreparedScene) -> dict[str, Any]:
    return {
        "version": PREPARATION_VERSION,
        "digest": scene.digest,
        "triangle_count": scene.triangle_count,
        "batches": [asdict(batch) for batch in scene.batches],
        "textures": [{"wrap_u": t.wrap_u, "wrap_v": t.wrap_v, "nearest": t.nearest} for t in scene.textures],
        "background": scene.background,
    }


def _texture(file: ArrayFile, number: int, look: dict[str, Any]) -> Texture:
    pixels = file.array(f"texture-{number}", np.uint8, 3)
    return Texture(
        pixels=pixels, wrap_u=Wrap(look["wrap_u"]), wrap_v=Wrap(look["wrap_v"]), nearest=bool(look["nearest"])
    )
