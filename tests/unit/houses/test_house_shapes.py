"""Solids: closed, facing outwards, with unit normals that agree with the winding."""

import numpy as np
import pytest

from nav_eval.scene.houses.shapes import (
    Mesh,
    box,
    cylinder,
    ellipsoid,
    folds,
    lathe,
    picture,
    prism,
    rod,
    rounded_box,
    spread,
)

SOLIDS = {
    "box": (box((1, 2, 3)), 6.0),
    "rounded box": (rounded_box((1, 2, 3), 0.1), 6.0 - 0.12),
    "cylinder": (cylinder(0.5, 2, sides=64), 0.5 * np.pi),
    "cone": (cylinder(0.5, 3, top=0, sides=64), 0.25 * np.pi),
    "ball": (ellipsoid((1, 1, 1), sides=48, rings=32), np.pi / 6),
    "rod": (rod((0, 0, 0), (1, 2, 2), 0.1, sides=48), 0.03 * np.pi),
    "prism": (prism([(0, 0), (1, 0), (0, 1)], 2), 1.0),
    "turned box": (box((1, 2, 3)).turned(33).moved((4, 5, 6)), 6.0),
    "tilted box": (box((1, 2, 3)).tilted(-20).tilted(50, axis=2), 6.0),
}


def _volume(mesh: Mesh) -> float:
    a, b, c = np.moveaxis(mesh.positions[mesh.triangles], 1, 0)
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed_and_have_their_volume(name: str) -> None:
    mesh, volume = SOLIDS[name]
    assert _volume(mesh) == pytest.approx(volume, rel=0.02)
    assert _volume(mesh.moved((7, -3, 2))) == pytest.approx(_volume(mesh), rel=1e-9)  # only true for closed surfaces


@pytest.mark.parametrize(
    "mesh",
    [mesh for mesh, _ in SOLIDS.values()]
    + [picture(1, 2), spread(1, 2), folds(1, 2, depth=0.1, count=3), lathe([(0.2, 0), (0.1, 1)], smooth=True)],
)
def test_normals_have_unit_length_and_agree_with_the_winding(mesh: Mesh) -> None:
    a, b, c = np.moveaxis(mesh.positions[mesh.triangles], 1, 0)
    facing = np.cross(b - a, c - a)
    assert (np.linalg.norm(facing, axis=1) > 1e-9).all()
    assert ((facing * mesh.normals[mesh.triangles].mean(axis=1)).sum(axis=1) > 0).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=1e-6)


def test_a_picture_is_upright_and_shown_once() -> None:
    mesh = picture(2, 1, (0, 3, 0))
    top_left = mesh.positions[(mesh.uvs == (0, 0)).all(axis=1)][0]
    assert tuple(top_left) == (-1, 4, 0)
    assert mesh.fit
    assert mesh.uvs.min() == 0
    assert mesh.uvs.max() == 1


def test_the_grain_runs_along_the_longer_side() -> None:
    board = box((0.2, 1.8, 0.02))
    front = board.normals[:, 2] == 1
    along = np.ptp(board.uvs[front], axis=0)
    assert along[0] > along[1]
