"""`nav-eval doctor`: look, say what is wrong, say what to do."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nav_eval_worker.doctor.examination import examine
from nav_eval_worker.doctor.findings import Finding, Level
from nav_eval_worker.doctor.surroundings import Surroundings

LOOKS = {Level.OK: ("✓", "green"), Level.NOTE: ("·", "dim"), Level.WARN: ("!", "yellow"), Level.FAIL: ("✗", "bold red")}


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Check this machine and this installation, and say what to do next."""
    here = Surroundings.here()
    console = Console(stderr=as_json)
    with console.status("Looking …"):
        findings = list(examine(here))
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        console.print(table(findings))
        console.print(summary(findings))
    raise typer.Exit(code=1 if any(finding.level is Level.FAIL for finding in findings) else 0)


def table(findings: Sequence[Finding]) -> Table:
    rows = Table(box=None, show_header=False, padding=(0, 1))
    for finding in findings:
        sign, style = LOOKS[finding.level]
        said = Text(finding.found)
        if finding.advice:
            said.append(f"\n→ {finding.advice}", style="dim" if finding.level is Level.NOTE else style)
        rows.add_row(Text(sign, style=style), finding.check, said)
    return rows


def summary(findings: Sequence[Finding]) -> Text:
    failed = [finding.check for finding in findings if finding.level is Level.FAIL]
    if failed:
        return Text(f"nav-eval cannot work like this: {', '.join(failed)}.", style="bold red")
    warned = [finding.check for finding in findings if finding.level is Level.WARN]
    if warned:
        return Text(f"nav-eval works here; better with a look at: {', '.join(warned)}.", style="yellow")
    return Text("All that is needed is here.", style="green")
