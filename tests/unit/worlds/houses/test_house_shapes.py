"""Solids: closed, facing outwards, with unit normals that agree with the winding."""

import numpy as np
import pytest
from trimesh import Trimesh

from nav_eval_worlds.shapes import (
    SolidMesh,
    make_box,
    make_cylinder,
    make_ellipsoid,
    make_folds,
    make_lathe,
    make_level_picture,
    make_picture,
    make_prism,
    make_rod,
    make_rounded_box,
)

SOLIDS = {
    "box": (make_box((1, 2, 3)), 6.0),
    "rounded box": (make_rounded_box((1, 2, 3), 0.1), 6.0 - 0.12),
    "cylinder": (make_cylinder(0.5, 2, sides=64), 0.5 * np.pi),
    "cone": (make_cylinder(0.5, 3, top=0, sides=64), 0.25 * np.pi),
    "ball": (make_ellipsoid((1, 1, 1), sides=48, rings=32), np.pi / 6),
    "rod": (make_rod((0, 0, 0), (1, 2, 2), 0.1, sides=48), 0.03 * np.pi),
    "prism": (make_prism([(0, 0), (1, 0), (0, 1)], 2), 1.0),
    "turned box": (make_box((1, 2, 3)).rotate(33).translate((4, 5, 6)), 6.0),
    "tilted box": (make_box((1, 2, 3)).tilt(-20).tilt(50, axis=2), 6.0),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_watertight_and_have_their_volume(name: str) -> None:
    mesh, volume = SOLIDS[name]
    solid = Trimesh(vertices=mesh.positions, faces=mesh.triangles, process=False)
    solid.merge_vertices(merge_norm=True, merge_tex=True)
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert solid.volume == pytest.approx(volume, rel=0.02)  # negative if it faced inwards


@pytest.mark.parametrize(
    "mesh",
    [mesh for mesh, _ in SOLIDS.values()]
    + [
        make_picture(1, 2),
        make_level_picture(1, 2),
        make_folds(1, 2, depth=0.1, count=3),
        make_lathe([(0.2, 0), (0.1, 1)], smooth=True),
    ],
)
def test_normals_have_unit_length_and_agree_with_the_winding(mesh: SolidMesh) -> None:
    a, b, c = np.moveaxis(mesh.positions[mesh.triangles], 1, 0)
    facing = np.cross(b - a, c - a)
    assert (np.linalg.norm(facing, axis=1) > 1e-9).all()
    assert ((facing * mesh.normals[mesh.triangles].mean(axis=1)).sum(axis=1) > 0).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=1e-6)


def test_a_picture_is_upright_and_shown_once() -> None:
    mesh = make_picture(2, 1, (0, 3, 0))
    top_left = mesh.positions[(mesh.uvs == (0, 0)).all(axis=1)][0]
    assert tuple(top_left) == (-1, 4, 0)
    assert mesh.fit
    assert mesh.uvs.min() == 0
    assert mesh.uvs.max() == 1


def test_the_grain_runs_along_the_longer_side() -> None:
    board = make_box((0.2, 1.8, 0.02))
    front = board.normals[:, 2] == 1
    along = np.ptp(board.uvs[front], axis=0)
    assert along[0] > along[1]
