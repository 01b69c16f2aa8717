"""Detour itself as the judge: it reads the files that we write, and its distances are ours."""

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from nav_eval.scene.navigation import AgentShape, build_navigation
from nav_eval.scene.navigation.polygons import make_polygon_mesh, write_navmesh
from nav_eval.scene.navigation.recast_settings import RecastSettings
from nav_eval_worlds.houses import generate_house
from support.paths import ROOT
from support.tools import absent

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def geodesics() -> ModuleType:
    """The bench that asks Detour."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT), *sys.path])
        return importlib.import_module("bench.geodesics")


@pytest.fixture(scope="module")
def library(geodesics: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recast")
    try:
        geodesics.install_library(folder)
    except (FileNotFoundError, subprocess.SubprocessError) as error:
        absent(f"npm cannot install recast-navigation: {error}")
    return folder


@pytest.mark.parametrize(("seed", "template"), [(100, "flat_2"), (102, "duplex_3")])
def test_detour_reads_what_we_write(
    geodesics: ModuleType, library: Path, tmp_path: Path, seed: int, template: str
) -> None:
    mesh = build_navigation(generate_house(seed, template=template).scene, AgentShape(radius=0.2, height=1.0))
    write_navmesh(mesh, tmp_path / "house.navmesh")
    points = [mesh.random_navigable_point(k) for k in range(80)]
    pairs = [[*a, *b] for a, b in zip(points[::2], points[1::2], strict=True)]
    answer = geodesics.ask_detour({"navmesh": str(tmp_path / "house.navmesh"), "pairs": pairs}, library=library)
    assert answer["area"] == pytest.approx(make_polygon_mesh(mesh).measure_area(), rel=0.01)
    theirs = np.array(answer["distances"], dtype=np.float64)
    ours = np.array([mesh.geodesic_distance(pair[:3], pair[3:]) for pair in pairs])
    assert np.isfinite(theirs).all()  # every place is found, every way as well
    far = ours > 1.0
    off = np.abs(theirs[far] / ours[far] - 1.0)
    assert np.median(off) < 0.02  # borders are straightened, and our field is a percent above the shortest at times
    assert np.percentile(off, 80) < 0.05  # the rest: Detour's search through midpoints chooses other polygons


def test_distances_are_those_of_recast_with_equal_settings(geodesics: ModuleType, library: Path) -> None:
    scene = generate_house(102, template="duplex_3").scene
    found = geodesics.compare_distances(scene, RecastSettings(), library=library, pairs=60)
    assert len(found.ours) == 60
    assert np.abs(found.percent).mean() < 1.0
    assert np.median(np.abs(found.percent)) < 1.0


def test_large_differences_are_explained_by_detour_itself(geodesics: ModuleType, library: Path) -> None:
    scene = generate_house(101, template="flat_1").scene
    found = geodesics.compare_distances(scene, RecastSettings(), library=library, pairs=60)
    assert len(found.large) == (np.abs(found.percent) > geodesics.LARGE).sum() > 0
    for pair in found.large:
        assert pair.cause is geodesics.Cause.NOT_SHORTEST
        assert pair.proof < pair.theirs  # its own ways through our corners are shorter than its own way
        assert pair.proof == pytest.approx(pair.ours, rel=0.03)
