"""Whoever is refused learns what to do next."""

from pathlib import Path

import pytest

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene

HEADER = ("ply", "format ascii 1.0", "element vertex 1", "property float {}", "property float y", "property float z")
PLY = "\n".join([*HEADER, "end_header", "0 0 0", ""])
CYCLE = '{"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"children": [0]}]}'


@pytest.mark.parametrize(
    ("name", "content", "advice"),
    [
        ("tile.b3dm", "b3dm", "3d-tiles-tools"),
        ("tile.pnts", "pnts", "MeshLab"),
        ("cloud.ply", PLY.format("x"), "MeshLab"),
        ("flat.ply", PLY.format("u"), "export it again"),
        ("cycle.gltf", CYCLE, "export the file again"),
        ("wrong.gltf", '{"asset": {"version": "2.0"}, "nodes": 7}', "export it again"),
        ("odd.dae", '<?xml version="1.0" encoding="tf-8"?><COLLADA/>', "export it again"),
        ("points.obj", "v 0 0 0\np 1\n", "Export it again, with its meshes"),
    ],
)
def test_a_refusal_says_what_to_do_next(tmp_path: Path, name: str, content: str, advice: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(SceneError, match=advice):
        read_scene(path)
