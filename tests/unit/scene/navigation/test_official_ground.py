"""Official episodes keep their official ground, and what was made once is not made again."""

from pathlib import Path

import numpy as np
import pytest
from navmesh_files import navmesh, rectangle, tile

from nav_eval.config.schema import PrimitiveCubeCfg
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import AgentShape
from nav_eval.scene.objects import place_objects
from nav_eval.simulator import scene_manager
from nav_eval.simulator.scene_manager import SceneSource

FLOOR = PrimitiveCubeCfg(name="floor", size=(6.0, 0.1, 6.0), position=(0.0, -0.05, 0.0))
PILLAR = PrimitiveCubeCfg(name="pillar", size=(1.0, 2.0, 1.0), position=(0.0, 1.0, 0.0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    nothing = Scene(
        positions=np.zeros((0, 3), np.float32),
        normals=np.zeros((0, 3), np.float32),
        uvs=np.zeros((0, 2), np.float32),
        colors=np.zeros((0, 4), np.uint8),
        triangles=np.zeros((0, 3), np.uint32),
        triangle_material=np.zeros(0, np.uint16),
        triangle_object=np.zeros(0, np.uint32),
        triangle_category=np.zeros(0, np.uint16),
        materials=(),
    )
    write_glb(place_objects(nothing, [FLOOR], root=tmp_path).scene, tmp_path / "scene.glb")
    return tmp_path


def source(folder: Path, *things: PrimitiveCubeCfg) -> SceneSource:
    return SceneSource(path=folder / "scene.glb", things=things, root=folder, cache=folder / "cache")


def test_a_navmesh_beside_the_scene_is_the_ground(folder: Path) -> None:
    (folder / "scene.navmesh").write_bytes(navmesh(tile([rectangle(-1, -1, 1, 1)])))
    assert source(folder).ground(AgentShape()).area == pytest.approx(4.0, rel=0.02)
    assert source(folder).ground(AgentShape(), prefer_files=False).area > 20


def test_but_not_for_another_body(folder: Path) -> None:
    (folder / "scene.navmesh").write_bytes(navmesh(tile([rectangle(-1, -1, 1, 1)])))
    assert source(folder).ground(AgentShape(radius=0.3)).area > 20


def test_nor_with_things_in_the_way(folder: Path) -> None:
    (folder / "scene.navmesh").write_bytes(navmesh(tile([rectangle(-1, -1, 1, 1)])))
    ground = source(folder, PILLAR).ground(AgentShape())
    assert not ground.is_navigable((0.0, 0.0, 0.0))
    assert ground.is_navigable((2.0, 0.0, 2.0))


def test_what_was_made_once_is_not_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = source(folder).ground(AgentShape())

    def refuse(*_: object) -> None:
        raise AssertionError("the scene was read again")

    monkeypatch.setattr(scene_manager, "read_scene", refuse)
    second = source(folder).ground(AgentShape())
    assert second.area == first.area
    assert second.geodesic_distance((-2.0, 0.0, -2.0), (2.0, 0.0, 2.0)) == first.geodesic_distance(
        (-2.0, 0.0, -2.0), (2.0, 0.0, 2.0)
    )


def test_another_body_or_another_thing_is_another_ground(folder: Path) -> None:
    assert source(folder).ground(AgentShape(radius=0.4)).area < source(folder).ground(AgentShape()).area
    assert source(folder).digest != source(folder, PILLAR).digest
