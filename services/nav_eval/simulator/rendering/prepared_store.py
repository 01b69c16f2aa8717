"""Prepared scenes on disk: plain arrays, mapped into memory, so that a second process starts at once."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.cache import ArrayFile, lock_maker, write_arrays
from nav_eval.errors import BadPreparedScene
from nav_eval.scene.model import AlphaMode, Material, Scene, Shading, Texture, Wrap
from nav_eval.scene.splats import SplatCloud, list_splat_arrays
from nav_eval.simulator.rendering.lighting import LAMP, Lighting, describe_lighting
from nav_eval.simulator.rendering.preparation import PREPARATION_VERSION, prepare_scene
from nav_eval.simulator.rendering.prepared_scene import VERTEX, Batch, Chunks, PreparedScene
from nav_eval.simulator.rendering.texel_files import map_texels, write_texels

_CHUNK_ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "first": (np.int64, 1), "batch": (np.int32, 1), "bounds": (np.float32, 2), "cones": (np.float32, 2),
    "longest": (np.float32, 1), "group_bounds": (np.float32, 2), "group_longest": (np.float32, 1),
    "corners": (np.float32, 2), "triangles": (np.uint32, 2),
}  # fmt: skip


def get_prepared_path(cache: Path, digest: str) -> Path:
    """Where the prepared scene of a digest is kept."""
    return cache / "rendering" / f"{PREPARATION_VERSION}-{digest[:32]}"


def load_or_prepare(cache: Path, digest: str, read: Callable[[], Scene]) -> PreparedScene:
    """The prepared scene of this digest from the cache; made from what `read` returns where it is not there yet.

    A cache that cannot be written to (read-only, full) is done without.
    """
    path = get_prepared_path(cache, digest)
    if path.exists():
        return load_prepared(path)
    with lock_maker(path):
        return load_prepared(path) if path.exists() else _prepare(read, path)


def _prepare(read: Callable[[], Scene], path: Path) -> PreparedScene:
    prepared = prepare_scene(read())
    try:
        save_prepared(prepared, path)
    except OSError:
        return prepared
    return load_prepared(path)


def save_prepared(scene: PreparedScene, path: Path) -> None:
    """Write a prepared scene to a file, and its textures to a folder beside it."""
    levels = [(texture.pixels, *smaller) for texture, smaller in zip(scene.textures, scene.mipmaps, strict=True)]
    write_texels(_get_texel_folder(path), levels)
    others = {"surfaces": scene.surfaces, "normals": scene.normals, "lamps": scene.lighting.lamps}
    splats = {} if scene.splats is None else list_splat_arrays(scene.splats)
    soft = {f"splat-{name}": array for name, array in splats.items()}
    arrays = {**scene.chunks._asdict(), "vertices": scene.vertices, **others, **soft}
    about = {
        "version": PREPARATION_VERSION,
        "digest": scene.digest,
        "triangle_count": scene.triangle_count,
        "batches": [asdict(batch) for batch in scene.batches],
        "textures": [_describe_texture(texture) for texture in scene.textures],
        "materials": [asdict(material) for material in scene.materials],
        "lighting": describe_lighting(scene.lighting),
        "background": scene.background,
        "splats": None if scene.splats is None else scene.splats.last_object,
        "moving_chunks": scene.moving_chunks,
    }
    write_arrays(path, arrays, about=about)


def _get_texel_folder(path: Path) -> Path:
    return path.with_name(f"{path.name}.texels")


def _describe_texture(texture: Texture) -> dict[str, object]:
    shape = texture.pixels.shape[:2]
    return {"shape": shape, "wrap_u": texture.wrap_u, "wrap_v": texture.wrap_v, "nearest": texture.nearest}


def load_prepared(path: Path) -> PreparedScene:
    """A scene that `save_prepared` wrote, its arrays mapped from the file."""
    try:
        file = ArrayFile(path)
        about = file.about
        if about["version"] != PREPARATION_VERSION:
            raise ValueError(f"it is of version {about['version']}, this is version {PREPARATION_VERSION}")
        red, green, blue = about["background"]
        texels = _get_texel_folder(path)
        levels = [_map_levels(texels, number, look) for number, look in enumerate(about["textures"])]
        return PreparedScene(
            digest=about["digest"],
            triangle_count=about["triangle_count"],
            vertices=file.array("vertices", VERTEX, 1),
            chunks=Chunks(**{name: file.array(name, dtype, axes) for name, (dtype, axes) in _CHUNK_ARRAYS.items()}),
            batches=tuple(
                Batch(**{**batch, "alpha_mode": AlphaMode(batch["alpha_mode"])}) for batch in about["batches"]
            ),
            textures=tuple(
                _make_texture(pyramid[0], look) for pyramid, look in zip(levels, about["textures"], strict=True)
            ),
            mipmaps=tuple(pyramid[1:] for pyramid in levels),
            texels=texels,
            normals=file.array("normals", np.float32, 2),
            materials=tuple(_load_material(look) for look in about["materials"]),
            lighting=_load_lighting(about["lighting"], file.array("lamps", LAMP, 1)),
            surfaces=file.array("surfaces", np.int64, 2),
            background=(red, green, blue),
            splats=_load_splats(file, about["splats"]),
            moving_chunks=about.get("moving_chunks", 0),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadPreparedScene(
            f"{path} is not a whole prepared scene ({error}); delete it, it will be made again."
        ) from error


def _load_splats(file: ArrayFile, last_object: int | None) -> SplatCloud | None:
    if last_object is None:
        return None
    return SplatCloud(
        centers=file.array("splat-centers", np.float32, 2),
        covariances=file.array("splat-covariances", np.float32, 2),
        colors=file.array("splat-colors", np.float32, 2),
        opacities=file.array("splat-opacities", np.float32, 1),
        last_object=last_object,
    )


def _map_levels(folder: Path, number: int, look: dict[str, Any]) -> tuple[NDArray[np.uint8], ...]:
    height, width = look["shape"]
    return map_texels(folder, number, (int(height), int(width)))


def _make_texture(pixels: NDArray[np.uint8], look: dict[str, Any]) -> Texture:
    return Texture(
        pixels=pixels, wrap_u=Wrap(look["wrap_u"]), wrap_v=Wrap(look["wrap_v"]), nearest=bool(look["nearest"])
    )


def _load_material(look: dict[str, Any]) -> Material:
    shading = {name: _to_tuple(value) for name, value in look["shading"].items()}
    plain = {name: _to_tuple(value) for name, value in look.items()}
    return Material(**{**plain, "alpha_mode": AlphaMode(look["alpha_mode"]), "shading": Shading(**shading)})


def _load_lighting(about: dict[str, Any], lamps: NDArray[np.void]) -> Lighting:
    return Lighting(**{name: _to_tuple(value) for name, value in about.items()}, lamps=lamps)


def _to_tuple(value: Any) -> Any:  # noqa: ANN401 - JSON
    """JSON has lists only."""
    return tuple(value) if isinstance(value, list) else value
