"""`nav-eval scenes inspect`."""

import json
import sys
from pathlib import Path

import mesh_files
import numpy as np
import pytest
from gltf_files import GltfFile
from PIL import Image
from typer.testing import CliRunner

from nav_eval import cli


def inspect(path: Path, *options: str) -> str:
    result = CliRunner().invoke(cli.app, ["scenes", "inspect", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def square(tmp_path: Path) -> Path:
    file = GltfFile()
    file.json["extensionsUsed"] = ["EXT_unheard_of"]
    file.node(mesh=file.square(), scale=[3, 3, 3])
    return file.save(tmp_path / "square.glb")


def test_json_has_the_figures(square: Path) -> None:
    figures = json.loads(inspect(square, "--json"))
    assert figures["triangles"] == figures["file_triangles"] == 2
    assert figures["size"] == [3, 3, 0]
    assert figures["up"] == "+Y (the rule for .glb files)"
    assert figures["warnings"] == ["The extension EXT_unheard_of is left out."]
    assert len(figures["digest"]) == 64


def test_a_closed_body_has_a_volume(tmp_path: Path, square: Path) -> None:
    wedge = mesh_files.save(tmp_path, "wedge.stl", mesh_files.binary_stl())
    figures = json.loads(inspect(wedge, "--json"))
    assert (figures["watertight"], figures["volume"]) == (True, 1.0)
    assert json.loads(inspect(square, "--json"))["volume"] is None


def test_the_table_shows_what_was_left_out(square: Path) -> None:
    output = inspect(square, "--up", "z", "--scale", "2")
    assert "triangles" in output
    assert "6, 0, 6" in output  # the wall was laid down and doubled
    assert "warning: The extension EXT_unheard_of is left out." in output
    assert "note: Scaled by 2." in output


def test_a_refusal_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["nav-eval", "scenes", "inspect", str(tmp_path / "gone.glb")])
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_nobody_can_walk_in_is_shown_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(tmp_path / "cache"))
    wedge = mesh_files.save(tmp_path, "wedge.stl", mesh_files.binary_stl(mesh_files.POINTS / 10))
    result = CliRunner().invoke(
        cli.app, ["scenes", "preview", str(wedge), "--out", str(tmp_path / "out"), "--views", "2"]
    )
    assert result.exit_code == 0, result.output
    assert "nobody can walk in it" in result.output + result.stderr
    pictures = sorted((tmp_path / "out").glob("view_*.png"))
    assert len(pictures) == 2
    for path in pictures:
        shown = np.asarray(Image.open(path)).any(axis=-1)
        assert 0.01 < shown.mean() < 0.6
        assert not shown[0].any()
        assert not shown[:, 0].any()
