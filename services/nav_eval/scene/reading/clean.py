"""Triangles that no one can see or stand on are taken out before anyone trips over them."""

from dataclasses import replace

import numpy as np

from nav_eval.errors import SceneError
from nav_eval.scene.model import Scene
from nav_eval.scene.reading import geometry
from nav_eval.scene.reading.log import ReadLog


def drop_broken_triangles(scene: Scene, log: ReadLog) -> Scene:
    """Without triangles that have NaN or infinite corners, or no area at all."""
    sound = np.asarray(np.isfinite(scene.positions).all(axis=1))
    finite = np.asarray(sound[scene.triangles].all(axis=1))
    areas = geometry.area_vectors(scene.positions, scene.triangles)
    flat = finite & ~areas.any(axis=1)
    if finite.all() and not flat.any():
        return scene
    _tell(log, broken=int((~finite).sum()), flat=int(flat.sum()))
    keep = finite & ~flat
    if not keep.any():
        raise SceneError(f"{log.source}: none of its {len(keep):,} triangles has an area; export it again.")
    return replace(
        scene,
        positions=np.where(np.isfinite(scene.positions), scene.positions, np.float32(0)),
        triangles=scene.triangles[keep],
        triangle_material=scene.triangle_material[keep],
        triangle_object=scene.triangle_object[keep],
        triangle_category=scene.triangle_category[keep],
    )


def _tell(log: ReadLog, *, broken: int, flat: int) -> None:
    if broken:
        log.warn(f"{broken:,} triangles with corners at NaN or infinity are left out.")
    if flat:
        log.note(f"{flat:,} triangles without any area are left out.")
