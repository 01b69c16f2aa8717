"""Benches find the scenes and samples that lie beside the project, wherever its clone is."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from support.paths import ROOT


@pytest.fixture(scope="module")
def find_shared_data() -> Callable[..., Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        found: Callable[..., Path] = importlib.import_module("bench.shared_data").find_shared_data
        return found


@pytest.mark.parametrize("clone", ["project", "rooms/one/project"])
def test_data_are_found_from_a_clone_upwards(find_shared_data: Callable[..., Path], tmp_path: Path, clone: str) -> None:
    house = tmp_path / "shared/data/scenes/house.glb"
    house.parent.mkdir(parents=True)
    house.touch()
    start = tmp_path / clone / "bench/shared_data.py"
    assert find_shared_data("scenes/house.glb", start=start) == house.resolve()
    assert find_shared_data("scenes", start=start) == house.parent.resolve()
    assert not find_shared_data("scenes/other.glb", start=start).exists()


def test_every_bench_asks_the_one_that_looks_upwards() -> None:
    files = [file for file in (ROOT / "bench").rglob("*.py") if file.name != "shared_data.py"]
    assert len(files) > 20
    assert [file.name for file in files if "shared/data" in file.read_text()] == []
