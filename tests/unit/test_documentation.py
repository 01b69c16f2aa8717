"""What the pages say must hold: examples run, commands exist, links lead somewhere."""

import re
from pathlib import Path

import pytest
import typer

from nav_eval.cli import app
from nav_eval.metrics import METRICS, EpisodeStart, MetricSuite, Step
from support.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture
def only_built_in_metrics():
    known = dict(METRICS._entries)
    yield
    METRICS._entries.clear()
    METRICS._entries.update(known)


@pytest.mark.usefixtures("only_built_in_metrics")
def test_the_metric_of_the_metrics_page_works() -> None:
    code = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "metrics.md").read_text(), re.DOTALL)
    assert code is not None
    exec(compile(code[1], "docs/metrics.md", "exec"), {})
    suite = MetricSuite(["closest_approach_step"])
    suite.reset(EpisodeStart(position=(0, 0, 0), distance_to_goal=3.0, shortest_path_length=3.0, success_distance=1.0))
    for distance in (2.0, 1.0, 2.0):
        suite.update(Step(position=(0, 0, 0), distance_to_goal=distance))
    assert suite.values() == {"closest_approach_step": 2.0}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def commands() -> dict[str, set[str]]:
    """Every command, with its sub-commands."""
    root = typer.main.get_command(app)
    return {name: set(getattr(command, "commands", ())) for name, command in root.commands.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path) -> None:
    known = commands()
    platform = {"serve", "worker", "admin", "competition", "doctor", "demo"}  # other packages add these
    for name, following in re.findall(r"^\s*nav-eval ([a-z-]+)(?: ([a-z-]+))?", page.read_text(), re.MULTILINE):
        assert name in known or name in platform, f"{page.name} uses `nav-eval {name}`"
        if known.get(name):
            assert following in known[name], f"{page.name} uses `nav-eval {name} {following}`"
