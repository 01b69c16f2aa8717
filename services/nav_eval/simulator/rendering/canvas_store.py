"""Canvases on disk, beside the prepared scenes: the next process starts at once."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from nav_eval.cache import ArrayFile, write_arrays
from nav_eval.errors import BadPreparedScene
from nav_eval.simulator.rendering.canvas import BlankScene
from nav_eval.simulator.rendering.prepared_scene import VertexOrigins
from nav_eval.simulator.rendering.prepared_store import get_prepared_path, load_prepared, save_prepared

CANVAS_VERSION = 1
"""Part of every name: raise it when anything changes what is prepared."""


def get_canvas_path(cache: Path, digest: str) -> Path:
    """Where the canvas of a scene is kept; its origins are beside it."""
    path = get_prepared_path(cache, digest)
    return path.with_name(f"{path.name}.canvas-{CANVAS_VERSION}")


def load_or_prepare_blank(path: Path, prepare: Callable[[], BlankScene]) -> BlankScene:
    """From the cache, or made now; a cache that cannot be written to is done without."""
    origins = path.with_name(f"{path.name}.origins")
    if path.exists() and origins.exists():
        return BlankScene(load_prepared(path), _load_origins(origins))
    blank = prepare()
    try:
        save_prepared(blank.prepared, path)
        write_arrays(origins, blank.origins._asdict(), about={})
    except OSError:
        pass
    return blank


def _load_origins(path: Path) -> VertexOrigins:
    try:
        file = ArrayFile(path)
        return VertexOrigins(
            vertex=file.array("vertex", np.int32, 1),
            material=file.array("material", np.int32, 1),
            is_back=file.array("is_back", np.bool_, 1),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPreparedScene(f"{path} is not whole ({error}); delete it, it will be made again.") from error
