"""XML as loose as Gazebo and some exporters have it."""

from pathlib import Path

import mesh_files as files
import pytest

from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval.scene.formats.gazebo import ModelLibrary, read_world
from nav_eval.scene.formats.markup import repair_markup

WORLD = """<?xml version="1.0" ?>
{head}
<sdf version="1.6"><world name="w">{inside}<model name="box"><link name="l"><visual {label}>
<geometry><box><size>1 2 3</size></box></geometry></visual></link></model></world></sdf>"""
PLAIN = {"head": "", "inside": "", "label": 'name="v"'}


@pytest.mark.parametrize(
    "changes",
    [
        {"head": '<!-- run gz sim --playback <log> "here" -->'},
        {"inside": "<gz::priority>10</gz::priority>"},
        {"inside": '<axis><fdir gz:expressed_in="chassis">1 0 0</fdir></axis>'},
        {"label": "name=blade_1"},
        {"label": "name=blade_1 cast='a > b'"},
        {"inside": "<plugin name='p'><text>salt & pepper</text></plugin>"},
    ],
)
def test_worlds_that_gazebo_reads_are_read(tmp_path: Path, changes: dict[str, str]) -> None:
    path = tmp_path / "loose.world"
    path.write_text(WORLD.format(**PLAIN | changes))
    assert len(read_world(path, ModelLibrary(path)).triangles) == 12


@pytest.mark.parametrize(
    "broken", ["<sdf><world>", "<sdf></world></sdf>", "<!DOCTYPE x [<!ENTITY a 'b'>]><sdf>&a;</sdf>"]
)
def test_what_means_nothing_stays_refused(tmp_path: Path, broken: str) -> None:
    path = tmp_path / "broken.world"
    path.write_text(broken)
    with pytest.raises(SceneError):
        read_world(path, ModelLibrary(path))


def test_collada_files_with_signs_in_names_are_read(tmp_path: Path) -> None:
    """TurtleBot's meshes are called `<STL_BINARY>`."""
    content = files.collada().replace(b'id="n1"', b'id="n1" name="<STL_BINARY>"')
    assert b"STL_BINARY" in content
    assert len(read_scene(files.save(tmp_path, "scene.dae", content), up="y").triangles) == 4


def test_values_and_text_stay_as_they_are() -> None:
    text = b"<a b=\"x:y = 1\" c='d=e'>1 = 2 x:y &lt; &#65;</a>"
    assert repair_markup(text) == text
