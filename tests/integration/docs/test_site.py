"""`mkdocs build --strict`: every link of every page leads somewhere, and the generated pages are filled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the documentation tools are not installed")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("index.html", "challenge in a box"),
        ("concepts.html", "Task dataset"),
        ("reference/configuration.html", "success_distance"),
        ("reference/commands.html", "nav-eval data check"),
        ("faq.html", "agent_start_timeout"),
        ("extending.html", "WastedSteps"),
        ("protocol.html", 'href="files/protos/nav_eval/v1/agent.proto.txt"'),
    ],
)
def test_pages_say_what_they_are_for(site: Path, page: str, words: str) -> None:
    assert words in (site / page).read_text()


def test_files_of_the_repository_come_along(site: Path) -> None:
    proto = (ROOT / "protos/nav_eval/v1/agent.proto").read_bytes()
    assert (site / "files/protos/nav_eval/v1/agent.proto.txt").read_bytes() == proto


def test_rest_reference_lists_the_operations(site: Path) -> None:
    page = (site / "reference/rest.html").read_text()
    described = (ROOT / "docs/openapi.json").exists()
    assert ("POST /" in page) is described


def test_pages_ask_no_other_host(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert "fonts.googleapis" not in page
    assert 'src="http' not in page
