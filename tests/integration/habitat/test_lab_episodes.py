"""The real habitat-lab from PyPI plays generated episodes; our own task gives the same actions the same score.

The Python that has habitat-lab is `$NAV_EVAL_LAB_PYTHON`: `make test` installs one, `make habitat` compares all.
"""

import os
from pathlib import Path

import pytest
from lab_comparison import EQUAL, SOURCES, STARTS, TaskComparison, compare_tasks

LAB = os.environ.get("NAV_EVAL_LAB_PYTHON")
EPISODES = 3

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.xdist_group("habitat-lab"),
    pytest.mark.skipif(not LAB, reason="needs a Python with habitat-lab: make test and make habitat install it"),
]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], TaskComparison]:
    folder = tmp_path_factory.mktemp("lab")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAV_EVAL_CACHE", str(folder / "cache"))
        found = compare_tasks(Path(LAB or ""), folder, EPISODES)
    return {(row.task, row.starts): row for row in found}


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("task", SOURCES)
def test_success_and_spl_are_those_of_our_own_task(compared, task: str, starts: str) -> None:
    row = compared[task, starts]
    assert row.compute_mean("success") > 0.5
    assert row.largest_difference <= EQUAL
