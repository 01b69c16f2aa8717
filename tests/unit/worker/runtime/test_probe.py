"""What a probe cell saw, judged."""

from typing import Any

import pytest

from nav_eval_worker.runtime.containers import probe
from nav_eval_worker.runtime.containers.probe import judge_facts, judge_limits

GOOD = {
    "kernel": "6.1.0",
    "uid": 20007,
    "capabilities": "0000000000000000",
    "interfaces": ["lo"],
    "reaches_network": False,
    "writes_root": False,
    "writes_pictures": False,
    "has_io_uring": False,
    "has_namespaces": False,
}


@pytest.mark.parametrize(
    ("change", "wall"),
    [
        ({}, None),
        ({"uid": 0}, "user"),
        ({"capabilities": "00000000a80425fb"}, "user"),
        ({"interfaces": ["lo", "eth0"]}, "network"),
        ({"reaches_network": True}, "network"),
        ({"writes_root": True}, "root"),
        ({"writes_pictures": True}, "pictures"),
        ({"has_io_uring": True}, "filter"),
        ({"has_namespaces": True}, "filter"),
        ({"has_namespaces": True, "kernel": "4.4.0"}, None),  # a sandbox has a kernel of its own
    ],
)
def test_a_missing_wall_is_named(change: dict[str, Any], wall: str | None) -> None:
    missing = judge_facts(GOOD | change, kernel="6.1.0")
    assert len(missing) == (wall is not None)
    assert wall is None or wall in missing[0]


@pytest.mark.parametrize(
    ("output", "missing"),
    [
        ("MEMORY 16\nMEMORY 208\nTHREADS 254\n", []),
        ("MEMORY 16\nMEMORY 240\n", []),  # a sandbox that ended as a whole
        ("MEMORY 1008\nTHREADS 254\n", ["limit of memory"]),
        ("MEMORY 208\nTHREADS 1000\n", ["limit of processes"]),
        ("MEMORY 1008\nTHREADS 1000\n", ["limit of memory", "limit of processes"]),
    ],
)
def test_a_limit_that_does_not_hold_is_named(output: str, missing: list[str]) -> None:
    assert judge_limits(output) == missing


class FakeContainer:
    """The engine's word on a container: its states, one for each look; the last one stays."""

    def __init__(self, *codes: int | None) -> None:
        self._codes = list(codes)
        self.attrs: dict[str, Any] = {}

    def reload(self) -> None:
        code = self._codes.pop(0) if len(self._codes) > 1 else self._codes[0]
        status = "running" if code is None else "exited"
        self.attrs = {"State": {"Status": status, "ExitCode": code or 0}}


@pytest.mark.parametrize(
    ("peer", "cell", "code"),
    [
        ((None, None, 0), (None,), 0),
        ((None, None, 1), (None,), 1),
        ((None, None, 0), (1,), 0),  # it had answered before it failed
        ((None,), (None, 1), probe.NEVER_ENDED),
        ((None, None, None, 0), (0,), 0),  # it is done, and the peer still writes
    ],
)
def test_a_cell_that_failed_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch, peer: tuple[int | None, ...], cell: tuple[int | None, ...], code: int
) -> None:
    monkeypatch.setattr(probe, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(probe, "LAST_WORDS_SECONDS", 0.2)
    containers: Any = (FakeContainer(*peer), FakeContainer(*cell))
    assert probe.wait_for_peer(*containers) == code
