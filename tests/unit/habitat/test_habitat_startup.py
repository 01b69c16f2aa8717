"""What happens around imports: the hook, the API level, packages in the way."""

import subprocess
import sys
from pathlib import Path

import pytest

from nav_eval_habitat import conflicts
from nav_eval_habitat.api_level import ApiLevel, parse_release

CONFIG = """
from dataclasses import dataclass

@dataclass
class Inner:
    x: int = 1

@dataclass
class Outer:
    inner: Inner = Inner()
"""


@pytest.mark.parametrize(("version", "release"), [
    ("0.2.420230405", (0, 2, 4)),
    ("0.2.520230802", (0, 2, 5)),
    ("0.3.20231024", (0, 3, 0)),
    ("0.3.220241205", (0, 3, 2)),
    ("0.3.320250127", (0, 3, 3)),
    ("0.3.320260507", (0, 3, 4)),
    ("0.1.7", (0, 1, 7)),
    ("0.3.1", (0, 3, 1)),
])  # fmt: skip
def test_releases_of_the_lab(version, release):
    assert parse_release(version) == release


def test_what_generations_differ_in():
    assert ApiLevel((0, 3, 3)).gives_vectors
    assert not ApiLevel((0, 3, 2)).gives_vectors
    assert ApiLevel((0, 2, 4)).builds_mesh_for_agent
    assert not ApiLevel((0, 2, 5)).builds_mesh_for_agent


def run(code: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"HOME": str(tmp_path), **environment}
    )


def test_configurations_of_the_lab_may_have_defaults(tmp_path):
    """Through the start-up file that is installed with the package."""
    for name in ("habitat", "elsewhere"):
        (tmp_path / f"{name}.py").write_text(CONFIG)
    assert run("import habitat", tmp_path).returncode == 0
    refused = run("import elsewhere", tmp_path)
    assert "mutable default" in refused.stderr


@pytest.mark.parametrize(("level", "kind"), [("0.3.2", "ndarray"), ("0.3.4", "Vector3")])
def test_points_are_of_the_chosen_generation(tmp_path, level, kind):
    shown = run("import habitat_sim; print(type(habitat_sim.geo.UP).__name__)", tmp_path, NAV_EVAL_HABITAT_API=level)
    assert shown.stdout.split() == [kind]


def test_a_clone_of_an_early_lab_is_recognised_by_its_old_name(tmp_path):
    info = tmp_path / "habitat-0.1.7.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: habitat\nVersion: 0.1.7\n")
    shown = run("from nav_eval_habitat.api_level import LEVEL; print(LEVEL.release)", tmp_path)
    assert shown.stdout.strip() == "(0, 1, 7)"


@pytest.mark.parametrize("name", ["habitat-sim", "magnum"])
def test_packages_in_the_way_are_refused_by_name(monkeypatch, name):
    monkeypatch.setattr(conflicts, "_is_installed", lambda asked: asked == name)
    with pytest.raises(ImportError, match=r"OpenStack|original habitat-sim"):
        conflicts.refuse_conflicts()
