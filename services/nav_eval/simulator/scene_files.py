"""From the scene id of an episode to a file under the dataset's scene folder.

Datasets name scenes in their own ways: a path, a scan id, `00241-h6nwVLpAKQz`, `scene0050_00`. Each way is
one pattern below; the first file that exists wins. An id can never lead out of the folder.
"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from nav_eval.errors import SceneError

#: Habitat's files carry the folder that its users link their data to
_HABITAT_PREFIX = "data/scene_datasets/"
_SUFFIXES = (".glb", ".gltf", ".ply", ".obj")
_HM3D = re.compile(r"^(?P<number>\d{5})-(?P<scan>[A-Za-z0-9]+)$")
_SCANNET = re.compile(r"^scene\d{4}_\d{2}$")
_SCAN = re.compile(r"^[A-Za-z0-9_]+$")
#: of HM3D's 1000 buildings the first 800 are the training split
_HM3D_TRAINING = 800


def find_scene(scene_id: str, root: Path) -> Path:
    """The file of a scene."""
    name = PurePosixPath(scene_id.removeprefix("./").removeprefix(_HABITAT_PREFIX))
    if name.is_absolute() or ".." in name.parts or not name.parts:
        raise SceneError(f"The scene id {scene_id!r} leads out of the scene folder {root}; such an episode is refused.")
    tried = list(dict.fromkeys(_candidates(str(name))))
    for candidate in tried:
        path = root / candidate
        if path.is_file():
            return path
    raise SceneError(
        f"There is no scene {scene_id!r} under {root}. Looked for {', '.join(tried)}. "
        "docs/data.md says where each dataset keeps its scenes; dataset.scene_path is the folder."
    )


def _candidates(name: str) -> Iterator[str]:
    if name.endswith(_SUFFIXES):
        yield name
        if name.endswith(".glb") and not name.endswith(".basis.glb"):
            yield name.removesuffix(".glb") + ".basis.glb"
        return
    for suffix in _SUFFIXES:
        yield name + suffix
    if match := _HM3D.match(name):
        split = "train" if int(match["number"]) < _HM3D_TRAINING else "val"
        for folder in ("", f"{split}/", f"hm3d/{split}/", f"hm3d_v0.2/{split}/"):
            yield f"{folder}{name}/{match['scan']}.basis.glb"
            yield f"{folder}{name}/{match['scan']}.glb"
    elif _SCANNET.match(name):
        for folder in ("", "scans/", "scannet/scans/"):
            yield f"{folder}{name}/{name}_vh_clean_2.ply"
    elif _SCAN.match(name):
        for folder in ("", "mp3d/", "gibson/"):
            yield f"{folder}{name}/{name}.glb"
            yield f"{folder}{name}.glb"
        yield f"replica/{name}/mesh.ply"
