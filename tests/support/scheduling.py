"""Which test runs in which process of `make test`, and when.

pytest-xdist's own groups are not seen with pytest 9.2: it reads them from node ids that it can no longer rename.
"""

from functools import cache
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

#: What takes longest comes first, so that no process waits for it at the end. Tests in one of these folders share
#: what takes seconds to make: an engine with images, a site in a browser, runs, houses.
TOGETHER = (
    "tests/containers/",
    "tests/browser/",
    "tests/unit/worlds/houses/",
    "tests/unit/worlds/episodes/",
    "tests/unit/evaluation/export/",
)
#: and these, each for itself: a minute long, and otherwise among the last
LONG = ("tests/unit/simulator/rendering/test_culling_is_exact.py::test_five_hundred_steps_in_real_houses",)
WIDE_FIXTURES = ('scope="module"', 'scope="session"')
DATABASES = ("sqlite", "postgresql")


class SharedFixtures(LoadScopeScheduling):  # type: ignore[misc]  # untyped
    """Tests that share a fixture one after another in one process, so that it is made once; the others anywhere."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # by the size of a group: it would mix the databases

    def mark_test_complete(self, node: object, item_index: int, duration: float = 0) -> None:
        """Forget a group that is done: it would be counted again after each of thousands of tests."""
        super().mark_test_complete(node, item_index, duration)
        group = self._split_scope(self.registered_collections[node][item_index])
        if all(self.assigned_work[node][group].values()):
            del self.assigned_work[node][group]

    def _split_scope(self, nodeid: str) -> str:
        return name_group(nodeid, root=self.config.rootpath)


def name_group(nodeid: str, *, root: Path) -> str:
    """What a test runs together with; its own name if nothing."""
    for folder in TOGETHER:
        if nodeid.startswith(folder):
            return folder
    file, _, name = nodeid.partition("::")
    if not _has_wide_fixtures(root / file):
        return nodeid
    # All tests on one database come before those on the other: a server is not made anew for each file.
    return " ".join([file, *(database for database in DATABASES if database in name)])


def get_turn(nodeid: str) -> int:
    """The place of a test's folder among those that begin, then long ones, then the others."""
    beginning = (*TOGETHER, *LONG)
    return next((turn for turn, name in enumerate(beginning) if nodeid.startswith(name)), len(beginning))


@cache
def _has_wide_fixtures(file: Path) -> bool:
    text = file.read_text()
    return any(scope in text for scope in WIDE_FIXTURES)
