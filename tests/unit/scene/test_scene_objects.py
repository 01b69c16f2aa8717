"""Objects from a configuration: closed, facing outwards, where they should be."""

from pathlib import Path

import numpy as np
import pytest
from trimesh import Trimesh

from nav_eval.config.schema import MeshObjCfg, PrimitiveCubeCfg, PrimitiveCylinderCfg, PrimitiveSphereCfg
from nav_eval.errors import SceneError
from nav_eval.scene.formats import write_glb
from nav_eval.scene.model import Material, Scene
from nav_eval.scene.objects import place_objects

BOX = PrimitiveCubeCfg(name="box", size=(1.0, 2.0, 3.0), position=(5.0, 1.0, 0.0))
BALL = PrimitiveSphereCfg(name="ball", radius=0.5, position=(0.0, 0.5, 0.0))
DRUM = PrimitiveCylinderCfg(name="drum", radius=0.5, height=2.0, position=(0.0, 1.0, 0.0))


@pytest.mark.parametrize(
    ("thing", "expected"), [(BOX, 6.0), (BALL, 0.5236), (DRUM, 1.5708)], ids=lambda value: getattr(value, "name", "")
)
def test_closed_and_facing_outwards(thing, expected: float, empty_scene: Scene) -> None:
    scene = place_objects(empty_scene, [thing], root=Path()).scene
    solid = Trimesh(vertices=scene.positions, faces=scene.triangles, process=False)
    solid.merge_vertices(merge_norm=True, merge_tex=True)
    assert solid.is_watertight
    assert solid.volume == pytest.approx(expected, rel=0.03)  # negative if it faced inwards
    face = np.cross(
        scene.positions[scene.triangles[:, 1]] - scene.positions[scene.triangles[:, 0]],
        scene.positions[scene.triangles[:, 2]] - scene.positions[scene.triangles[:, 0]],
    )
    assert np.all(np.einsum("ij,ij->i", face, scene.normals[scene.triangles[:, 0]]) > 0)


def test_the_annotation_knows_them(empty_scene: Scene) -> None:
    scene = place_objects(
        empty_scene, [BOX, BALL, BOX.model_copy(update={"name": "b2", "category": "ball"})], root=Path()
    )
    objects = scene.scene.semantics.objects
    assert [thing.object_id for thing in objects] == [1, 2, 3]
    assert objects[0].center == pytest.approx((5.0, 1.0, 0.0))
    assert objects[0].size == pytest.approx((1.0, 2.0, 3.0))
    assert scene.scene.semantics.categories == ("", "box", "ball")
    assert set(scene.scene.triangle_category.tolist()) == {1, 2}


def test_turned_and_scaled(empty_scene: Scene) -> None:
    quarter = BOX.model_copy(update={"rotation": (0.0, 0.7071067811865476, 0.0, 0.7071067811865476), "scale": 2.0})
    (thing,) = place_objects(empty_scene, [quarter], root=Path()).scene.semantics.objects
    assert thing.size == pytest.approx((6.0, 4.0, 2.0), abs=1e-5)


def test_what_does_not_collide_is_in_nobodys_way(empty_scene: Scene) -> None:
    ghost = BALL.model_copy(update={"collision_enabled": False})
    furnished = place_objects(empty_scene, [BOX, ghost], root=Path())
    assert furnished.blocks.sum() == 12
    assert len(furnished.blocks) == len(furnished.scene.triangles)


def test_a_mesh_from_a_file(tmp_path: Path, empty_scene: Scene) -> None:
    box = place_objects(empty_scene, [BOX.model_copy(update={"position": (0.0, 0.0, 0.0)})], root=Path()).scene
    write_glb(box, tmp_path / "box.glb")
    config = MeshObjCfg(name="crate", mesh_path="box.glb", position=(1.0, 0.0, 0.0), color=(1.0, 0.0, 0.0))
    scene = place_objects(empty_scene, [config], root=tmp_path).scene
    assert scene.semantics.objects[0].center == pytest.approx((1.0, 0.0, 0.0), abs=1e-5)
    assert scene.materials[0].base_color == (1.0, 0.0, 0.0, 1.0)


def test_a_mesh_outside_the_folder_is_refused(tmp_path: Path, empty_scene: Scene) -> None:
    with pytest.raises(SceneError, match="leads out of"):
        place_objects(empty_scene, [MeshObjCfg(name="x", mesh_path="../x.glb")], root=tmp_path)


def test_the_scene_itself_is_kept(empty_scene: Scene) -> None:
    with_box = place_objects(empty_scene, [BOX], root=Path()).scene
    both = place_objects(with_box, [BALL], root=Path()).scene
    assert np.array_equal(both.positions[: len(with_box.positions)], with_box.positions)
    assert isinstance(both.materials[1], Material)
    assert both.triangle_material.max() == 1
