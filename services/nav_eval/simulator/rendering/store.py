"""Prepared scenes on disk: plain arrays, mapped into memory, so that a second process starts at once.

A folder holds one `.npy` per array and texture and `scene.json` with everything else. It is written
beside its place and moved there when complete; a reader therefore finds a whole scene or none.
"""

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.scene.model import AlphaMode, Scene, Texture, Wrap
from nav_eval.simulator.rendering.errors import BadPreparedScene
from nav_eval.simulator.rendering.preparation import PREPARATION_VERSION, prepare
from nav_eval.simulator.rendering.prepared import VERTEX, Batch, Chunks, PreparedScene

_CHUNKS: dict[str, tuple[np.dtype[Any], int]] = {
    "first": (np.dtype(np.int64), 1),
    "batch": (np.dtype(np.int32), 1),
    "bounds": (np.dtype(np.float32), 2),
    "cones": (np.dtype(np.float32), 2),
    "longest": (np.dtype(np.float32), 1),
    "group_bounds": (np.dtype(np.float32), 2),
    "group_longest": (np.dtype(np.float32), 1),
    "corners": (np.dtype(np.float32), 2),
    "triangles": (np.dtype(np.uint32), 2),
}


def prepared_scene(cache: Path, digest: str, read: Callable[[], Scene]) -> PreparedScene:
    """The prepared scene of this digest from the cache; made from what `read` returns where it is not there yet.

    A cache that cannot be written to (read-only, full) is done without.
    """
    folder = cache / "rendering" / f"{PREPARATION_VERSION}-{digest[:32]}"
    if (folder / "scene.json").exists():
        return load_prepared(folder)
    prepared = prepare(read())
    try:
        save_prepared(prepared, folder)
    except OSError:
        return prepared
    return load_prepared(folder)


def save_prepared(scene: PreparedScene, folder: Path) -> None:
    """Write a prepared scene to a folder, which must not exist yet or holds the same scene."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        arrays = {**scene.chunks._asdict(), "vertices": scene.vertices, "surfaces": scene.surfaces}
        for name, array in arrays.items():
            np.save(draft / f"{name}.npy", array)
        for number, texture in enumerate(scene.textures):
            np.save(draft / f"texture-{number}.npy", texture.pixels)
        (draft / "scene.json").write_text(json.dumps(_description(scene), indent=1))
        draft.replace(folder)
    except OSError:
        if not (folder / "scene.json").exists():  # otherwise another process was faster: the scene is there
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def load_prepared(folder: Path) -> PreparedScene:
    """A scene that `save_prepared` wrote, its arrays mapped from the files."""
    try:
        about = json.loads((folder / "scene.json").read_text())
        if about["version"] != PREPARATION_VERSION:
            raise ValueError(f"it is of version {about['version']}, this is version {PREPARATION_VERSION}")
        red, green, blue = about["background"]
        return PreparedScene(
            digest=about["digest"],
            triangle_count=about["triangle_count"],
            vertices=_array(folder, "vertices", VERTEX, 1),
            chunks=Chunks(**{name: _array(folder, name, dtype, axes) for name, (dtype, axes) in _CHUNKS.items()}),
            batches=tuple(
                Batch(**{**batch, "alpha_mode": AlphaMode(batch["alpha_mode"])}) for batch in about["batches"]
            ),
            textures=tuple(_texture(folder, number, look) for number, look in enumerate(about["textures"])),
            surfaces=_array(folder, "surfaces", np.dtype(np.int64), 2),
            background=(red, green, blue),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPreparedScene(
            f"{folder} is not a whole prepared scene ({error}); delete it, it will be made again."
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


def _texture(folder: Path, number: int, look: dict[str, Any]) -> Texture:
    pixels = _array(folder, f"texture-{number}", np.dtype(np.uint8), 3)
    return Texture(
        pixels=pixels, wrap_u=Wrap(look["wrap_u"]), wrap_v=Wrap(look["wrap_v"]), nearest=bool(look["nearest"])
    )


def _array(folder: Path, name: str, dtype: np.dtype[Any], axes: int) -> NDArray[Any]:
    mapped = np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
    if mapped.dtype != dtype or mapped.ndim != axes or not mapped.flags.c_contiguous:
        raise ValueError(f"{name}.npy holds {mapped.ndim} axes of {mapped.dtype}")
    return np.asarray(mapped)
