"""What generator 1 made for nav-eval 0.1 is made again to the last bit: seeds are published, and runs are kept."""

import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nav_eval.scene.semantics import get_semantics_path
from nav_eval_worlds.houses.house_files import read_manifest

pytestmark = pytest.mark.integration

#: written down with the generator of nav-eval 0.1; whatever changes one of them belongs into a new version
HOUSES = {
    "house_unseen_11.glb": "bfd82e4326062294",
    "house_unseen_12.glb": "3b69315709d30f0f",
    "house_unseen_13.glb": "f6cf5ac38a864c19",
    "house_unseen_14.glb": "224e28863c51159e",
    "house_unseen_15.glb": "086edf813fc37cc2",
    "house_unseen_16.glb": "5c95d07cc57176fc",
    "house_unseen_17.glb": "a335bb2a06dcac18",
}
EPISODES = {
    "vln": "70951a6cd232ce29",
    "lh_vln": "9742fe9596c4b143",
    "objectnav": "4d23c431eaf588d6",
    "imagenav": "9640ae9d48317079",
    "localization": "2e9a0ec9071f5ec1",
    "eqa": "71fd8b80bc8ff7ac",
}


#: in a process of its own, as every command of a user's is
MAKE = """
import sys
from pathlib import Path
from nav_eval.config import load_benchmark
from nav_eval.generators import ensure_generated

folder = Path(sys.argv[1])
for task in sys.argv[2:]:
    changes = [
        f"dataset.data_path={folder / task}.json.gz",
        f"dataset.scene_path={folder / 'scenes'}",
        "dataset.generate.generator=1",
    ]
    ensure_generated(load_benchmark(f"demo_{task}", environ={}, overrides=changes), cache=folder / "cache")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data of every demo benchmark, by the first generator."""
    folder = tmp_path_factory.mktemp("generator_1")
    environment = {**os.environ, "NAV_EVAL_CACHE": str(folder / "cache")}
    subprocess.run([sys.executable, "-c", MAKE, str(folder), *EPISODES], env=environment, check=True)
    return folder


@pytest.mark.parametrize("house", HOUSES)
def test_the_first_generator_makes_the_same_houses(house: str, made: Path) -> None:
    assert compute_house_digest(made / "scenes" / house) == HOUSES[house]


@pytest.mark.parametrize("task", EPISODES)
def test_the_first_generator_makes_the_same_episodes(task: str, made: Path) -> None:
    assert compute_episodes_digest(made / f"{task}.json.gz") == EPISODES[task]


def test_their_manifest_names_the_first_generator(made: Path) -> None:
    manifest = read_manifest(made / "scenes")
    assert manifest is not None
    assert {entry.file: entry.generator_version for entry in manifest.houses} == dict.fromkeys(HOUSES, 1)


def compute_episodes_digest(file: Path) -> str:
    return hashlib.sha256(gzip.decompress(file.read_bytes())).hexdigest()[:16]


def compute_house_digest(file: Path) -> str:
    """Of a GLB and its annotation. Pictures count by their pixels: libraries pack them differently."""
    content = file.read_bytes()
    length = struct.unpack_from("<I", content, 12)[0]
    document, binary = json.loads(content[20 : 20 + length]), content[28 + length :]
    views = [binary[view.get("byteOffset", 0) :][: view["byteLength"]] for view in document["bufferViews"]]
    pictures = {image["bufferView"] for image in document.get("images", ())}
    for view in document["bufferViews"]:
        del view["byteLength"]
        view.pop("byteOffset", None)
    del document["buffers"]
    digest = hashlib.sha256(get_semantics_path(file).read_bytes())
    digest.update(json.dumps(document, sort_keys=True).encode())
    for number, view in enumerate(views):
        digest.update(np.asarray(Image.open(io.BytesIO(view))).tobytes() if number in pictures else view)
    return digest.hexdigest()[:16]
