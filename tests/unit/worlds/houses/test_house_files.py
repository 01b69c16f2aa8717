"""Houses as files: written, read back, listed in a manifest, made by the command line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.errors import SceneError
from nav_eval.scene.formats import read_scene
from nav_eval_worlds.houses import GeneratedHouse
from nav_eval_worlds.houses.house_files import compute_generator_version, read_manifest, write_house

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
    assert manifest.generator == compute_generator_version()
    assert [(entry.file, entry.seed, entry.split) for entry in manifest.houses] == [
        ("house_3.glb", 3, "seen"),
        ("house_unseen_3.glb", 3, "unseen"),
    ]
    assert (tmp_path / "house_3.semantics.json").exists()


def test_a_foreign_manifest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(SceneError, match=r"manifest\.json"):
        read_manifest(tmp_path)
