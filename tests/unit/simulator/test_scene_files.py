"""Scene ids of every dataset, and ids that must not lead anywhere."""

from pathlib import Path

import pytest

from nav_eval.errors import SceneError
from nav_eval.simulator.scene_manager import find_scene


@pytest.mark.parametrize(
    ("scene_id", "file"),
    [
        ("house_7", "house_7.glb"),
        ("mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb", "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb"),
        ("data/scene_datasets/mp3d/a/a.glb", "mp3d/a/a.glb"),
        ("./data/scene_datasets/mp3d/a/a.glb", "mp3d/a/a.glb"),
        ("zsNo4HB9uLZ", "mp3d/zsNo4HB9uLZ/zsNo4HB9uLZ.glb"),
        ("00241-h6nwVLpAKQz", "train/00241-h6nwVLpAKQz/h6nwVLpAKQz.basis.glb"),
        ("00877-4ok3usBNeis", "hm3d/val/00877-4ok3usBNeis/4ok3usBNeis.basis.glb"),
        ("hm3d_v0.2/minival/00800-T/T.basis.glb", "hm3d_v0.2/minival/00800-T/T.basis.glb"),
        ("hm3d/val/00800-T/T.glb", "hm3d/val/00800-T/T.basis.glb"),
        ("scene0050_00", "scans/scene0050_00/scene0050_00_vh_clean_2.ply"),
        ("room_0", "replica/room_0/mesh.ply"),
    ],
)
def test_found(scene_id: str, file: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert find_scene(scene_id, tmp_path) == path


@pytest.mark.parametrize("scene_id", ["../secret.glb", "/etc/passwd", "a/../../b.glb", "", "."])
def test_an_id_never_leads_out_of_the_folder(scene_id: str, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.glb").touch()
    with pytest.raises(SceneError, match="leads out of the scene folder"):
        find_scene(scene_id, tmp_path)


def test_a_missing_scene_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=r"no scene 'house_9' .* Looked for house_9\.glb"):
        find_scene("house_9", tmp_path)
