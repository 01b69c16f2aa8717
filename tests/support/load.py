"""How busy the machine is, for limits that a promise gives in seconds of a quiet one."""

import time

SPIN = 400_000


def measure_slowdown() -> float:
    """How many times longer than its own CPU time some work takes now; 1 on a quiet machine."""
    wall, cpu, total = time.perf_counter(), time.process_time(), 0
    for number in range(SPIN):
        total += number
    assert total
    return max(1.0, (time.perf_counter() - wall) / max(time.process_time() - cpu, 1e-9))


MOST_PATIENT = 20.0


class Deadline:
    """So many seconds of a quiet machine; on a busy one as many times more as work takes longer there."""

    def __init__(self, seconds: float) -> None:
        self._began, self._seconds = time.monotonic(), seconds

    @property
    def is_over(self) -> bool:
        passed = time.monotonic() - self._began
        return passed > self._seconds and passed > self._seconds * min(MOST_PATIENT, measure_slowdown())
