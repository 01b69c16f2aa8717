"""`nav-eval doctor`: all checks, one after the other; say what is wrong, say what to do.

What goes wrong in a check is a finding, too.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nav_eval_worker.doctor import machine, rendering, services
from nav_eval_worker.doctor.installation import Finding, Installation, Level, fail

Check = Callable[[Installation], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    machine.check_python,
    machine.check_libraries,
    machine.check_cores,
    machine.check_memory,
    machine.check_open_files,
    machine.check_shared_memory,
    machine.check_disks,
    machine.check_folders,
    machine.check_kernels,
    rendering.check_rendering,
    services.check_database,
    services.check_blobs,
    services.check_broker,
    services.check_docker,
)


def examine(here: Installation, checks: tuple[Check, ...] = CHECKS) -> Iterator[Finding]:
    """Findings as they are made."""
    for check in checks:
        try:
            yield from check(here)
        except Exception as error:  # noqa: BLE001 (a doctor does not die of what it examines)
            name = check.__name__.removeprefix("check_").replace("_", " ")
            yield fail(
                name, f"{type(error).__name__}: {error}", "This is a bug of the doctor or of a library; report it."
            )


LOOKS = {Level.OK: ("✓", "green"), Level.NOTE: ("·", "dim"), Level.WARN: ("!", "yellow"), Level.FAIL: ("✗", "bold red")}


def run_doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Check this machine and this installation, and say what to do next."""
    here = Installation.here()
    console = Console(stderr=as_json)
    with console.status("Looking …"):
        findings = list(examine(here))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        console.print(make_table(findings))
        console.print(make_summary(findings))
    raise typer.Exit(code=1 if any(finding.level is Level.FAIL for finding in findings) else 0)


def make_table(findings: Sequence[Finding]) -> Table:
    rows = Table(box=None, show_header=False, padding=(0, 1))
    for finding in findings:
        sign, style = LOOKS[finding.level]
        said = Text(finding.found)
        if finding.advice:
            said.append(f"\n→ {finding.advice}", style="dim" if finding.level is Level.NOTE else style)
        rows.add_row(Text(sign, style=style), finding.check, said)
    return rows


def make_summary(findings: Sequence[Finding]) -> Text:
    failed = [finding.check for finding in findings if finding.level is Level.FAIL]
    if failed:
        return Text(f"nav-eval cannot work like this: {', '.join(failed)}.", style="bold red")
    warned = [finding.check for finding in findings if finding.level is Level.WARN]
    if warned:
        return Text(f"nav-eval works here; better with a look at: {', '.join(warned)}.", style="yellow")
    return Text("All that is needed is here.", style="green")
