"""Which test runs in which process of `make test`.

pytest-xdist's own groups are not seen with pytest 9.2: it reads them from node ids that it can no longer rename.
"""

from xdist.scheduler import LoadScopeScheduling

ENGINE_TESTS = "tests/containers/"


class OneEngine(LoadScopeScheduling):  # type: ignore[misc]  # untyped
    """Tests of the engine one after another in one process, the others wherever there is room."""

    def _split_scope(self, nodeid: str) -> str:
        return ENGINE_TESTS if nodeid.startswith(ENGINE_TESTS) else nodeid
