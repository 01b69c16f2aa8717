"""Pages that repeat what the code says repeat it right."""

import re

import pytest
import yaml

from nav_eval.dataset.loader import DATASETS
from nav_eval.records.results import Cause
from support.paths import ROOT

DOCS = ROOT / "docs"


def test_the_faq_has_every_cause_and_its_advice() -> None:
    page = (DOCS / "faq.md").read_text()
    for cause in Cause:
        assert f"\n## {cause.value}\n\n> {cause.advice}\n" in page


@pytest.mark.parametrize(
    ("language", "file"),
    [
        ("toml", "pyproject.toml"),
        ("python", "nav_eval_flatland/metric.py"),
        ("python", "nav_eval_flatland/task.py"),
        ("python", "nav_eval_flatland/sensor.py"),
        ("python", "nav_eval_flatland/simulator.py"),
        ("python", "nav_eval_flatland/protocol.py"),
        ("yaml", "patrol.yaml"),
        ("python", "check.py"),
    ],
)
def test_the_extending_page_shows_the_files_of_the_example(language: str, file: str) -> None:
    shown = re.findall(rf"^```{language}\n(.*?)\n```", (DOCS / "extending.md").read_text(), re.MULTILINE | re.DOTALL)
    assert (DOCS / "examples/plugin" / file).read_text().rstrip() in shown


def test_the_extending_page_names_every_group_that_is_read() -> None:
    named = set(re.findall(r"`(nav_eval\.[a-z]+)`", (DOCS / "extending.md").read_text()))
    sources = "".join(path.read_text() for path in (ROOT / "services/nav_eval").rglob("*.py"))
    read = set(re.findall(r'entry_point_group="(nav_eval\.[a-z]+)"', sources))
    assert len(read) >= 8
    assert read <= named


def test_the_data_page_has_every_format_and_benchmark() -> None:
    page = (DOCS / "data.md").read_text()
    from nav_eval.evaluation.scene_check import LAYOUTS

    for layout in LAYOUTS:
        assert f"\n### {layout.name}\n" in page
    shipped = {path.stem for path in (ROOT / "configs/benchmarks").glob("*.yaml")}
    real = {name for name in shipped if not name.startswith("demo_") and not name.endswith("_base")}
    assert {name for name in real if f"`{name}`" not in page} == set()
    assert {"r2r", "rxr", "objectnav", "imagenav", "pointnav", "lhvln", "sqa3d"} <= set(DATASETS.names())


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"[\w/]+\.md", str(yaml.safe_load(text)["nav"])))
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert there <= listed, f"mkdocs.yml does not list {sorted(there - listed)}"
