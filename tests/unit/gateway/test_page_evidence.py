"""What stands behind a score: links that are safe, commands that repeat it."""

import pytest

from nav_eval_gateway.pages.evidence import find_links, make_commands
from nav_eval_store.models import Team


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("https://arxiv.org/abs/2601.00001", True),
        ("http://arxiv.org/abs/1", False),
        ("javascript:alert(1)", False),
        ("https://", False),
        ('https://x.org/"onmouseover=alert(1)', False),
        ("https://x.org/ a", False),
        ("https://x.org/\u202egnp", False),
        ("https://x.org/" + "a" * 500, False),
        ("", False),
    ],
)
def test_only_plain_https_links_are_shown(link: str, shown: bool) -> None:
    assert find_links(Team(name="a", profile={"paper": link, "code": None})) == ({"paper": link} if shown else {})


def test_a_team_that_says_nothing_has_no_links() -> None:
    assert find_links(Team(name="a", profile=None)) == {}


def test_the_commands_name_engine_benchmark_and_agent() -> None:
    told = make_commands("demo_vln", agent="baseline:keyword", engine="0.2.0").splitlines()
    assert told == [
        "pip install 'nav-eval==0.2.0'",
        "nav-eval evaluate demo_vln --agent baseline:keyword --out runs/again",
        "nav-eval verify runs/again",
    ]
    assert "grpc://localhost:8085" in make_commands("demo_vln", agent=None, engine=None)
    assert "secret" not in make_commands("demo_vln", agent="http://secret:1", engine=None)
