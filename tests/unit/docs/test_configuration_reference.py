"""docs/reference/configuration.md is what the schema says now, and all of it."""

import re

from nav_eval.config.file_kinds import KINDS
from nav_eval.config.json_schema import render_reference
from nav_eval.config.schema import DatasetConfig, EvaluationConfig
from support.paths import ROOT

PAGE = ROOT / "docs/reference/configuration.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text() == render_reference(), "nav-eval config reference > docs/reference/configuration.md"


def test_every_kind_and_every_key_is_there() -> None:
    text = render_reference()
    for kind in KINDS.values():
        assert f"## {kind.name.capitalize()}\n" in text
    for key in (*EvaluationConfig.model_fields, *DatasetConfig.model_fields):
        assert f"| `{key}` |" in text


def test_a_row_says_what_the_model_says() -> None:
    row = next(line for line in render_reference().splitlines() if line.startswith("| `max_steps`"))
    default = EvaluationConfig.model_fields["max_steps"].default
    assert row == f"| `max_steps` | whole number ≥ 1 | `{default}` | Actions per episode, stops included. |"


def test_links_lead_to_sections() -> None:
    text = render_reference()
    sections = {title.lower() for title in re.findall(r"^#+ (\w+)$", text, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", text)) <= sections
