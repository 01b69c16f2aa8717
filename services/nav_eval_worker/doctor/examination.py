"""All checks, one after the other. What goes wrong in a check is a finding, too."""

from collections.abc import Callable, Iterator

from nav_eval_worker.doctor import drawing, libraries, machine, services
from nav_eval_worker.doctor.findings import Finding, fail
from nav_eval_worker.doctor.surroundings import Surroundings

Check = Callable[[Surroundings], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    machine.python,
    libraries.libraries,
    machine.cores,
    machine.memory,
    machine.open_files,
    machine.shared_memory,
    machine.disks,
    machine.folders,
    machine.kernels,
    drawing.drawing,
    services.database,
    services.blobs,
    services.broker,
    services.docker,
)


def examine(here: Surroundings, checks: tuple[Check, ...] = CHECKS) -> Iterator[Finding]:
    """Findings as they are made."""
    for check in checks:
        try:
            yield from check(here)
        except Exception as error:  # noqa: BLE001 (a doctor does not die of what it examines)
            name = check.__name__.replace("_", " ")
            yield fail(
                name, f"{type(error).__name__}: {error}", "This is a bug of the doctor or of a library; report it."
            )
