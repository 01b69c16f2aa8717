"""Houses as files: written, read back, listed in a manifest, made by the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval_worlds.houses import GeneratedHouse
from nav_eval_worlds.houses.house_files import compute_source_digest, read_manifest, write_house

HouseMaker = Callable[..., GeneratedHouse]


@pytest.mark.slow
def test_a_house_survives_its_file(house: HouseMaker, tmp_path: Path) -> None:
    made = house()
    entry = write_house(made, tmp_path)
    read = read_scene(tmp_path / entry.file)
    assert read.semantics.objects == made.scene.semantics.objects
    assert read.semantics.regions == made.scene.semantics.regions
    assert read.semantics.categories == made.scene.semantics.categories
    assert len(read.triangles) == len(made.scene.triangles) == entry.triangles
    assert np.allclose(read.bounds, made.scene.bounds)
    assert read.report.warnings == ()


@pytest.mark.slow
def test_the_command_writes_houses_and_a_manifest(tmp_path: Path) -> None:
    run = ["scenes", "generate", "--count", "1", "--template", "flat_1", "--out", str(tmp_path)]
    first = CliRunner().invoke(app, [*run, "--seed", "3"])
    second = CliRunner().invoke(app, [*run, "--seed", "3", "--split", "unseen"])
    assert first.exit_code == second.exit_code == 0, first.output + second.output
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.generator == compute_source_digest()
    assert [(entry.file, entry.seed, entry.split, entry.generator_version) for entry in manifest.houses] == [
        ("house_g2_3.glb", 3, "seen", 2),
        ("house_g2_unseen_3.glb", 3, "unseen", 2),
    ]
    assert read_scene(tmp_path / "house_g2_3.glb").semantics.generator == 2


@pytest.mark.slow
def test_the_first_generator_keeps_its_names_and_files(tmp_path: Path) -> None:
    run = ["scenes", "generate", "--template", "flat_1", "--seed", "3", "--generator", "1", "--out", str(tmp_path)]
    assert CliRunner().invoke(app, run).exit_code == 0
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert [(entry.file, entry.generator_version) for entry in manifest.houses] == [("house_3.glb", 1)]
    assert "generator" not in (tmp_path / "house_3.semantics.json").read_text()


def test_an_unknown_generator_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["scenes", "generate", "--generator", "3", "--out", str(tmp_path)])
    assert result.exit_code != 0
    assert "There is no generator 3. Known: 1, 2." in result.output + str(result.exception)


def test_a_manifest_without_versions_means_the_first_generator(tmp_path: Path) -> None:
    house = {"file": "house_3.glb", "digest": "", "seed": 3, "split": "seen", "template": "flat_1", "detail": 0}
    entry = {**house, "rooms": 5, "area": 60.0, "objects": 100, "triangles": 20000}
    (tmp_path / "manifest.json").write_text(json.dumps({"generator": "0", "houses": [entry]}))
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert manifest.houses[0].generator_version == 1


def test_a_foreign_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(SceneError, match=r"manifest\.json"):
        read_manifest(tmp_path)
