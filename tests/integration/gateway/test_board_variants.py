"""A board's page is rendered once for each thing that it can show, however its address is written."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from nav_eval_gateway.pages import leaderboard as board_pages
from nav_eval_gateway.routes import leaderboards as board_routes
from nav_eval_store.boards import leaderboard
from nav_eval_store.models import Phase
from support.challenge import Challenge
from support.gateway import API, Server, gateway_settings, serving

pytestmark = pytest.mark.integration

PAGE = "/competitions/cup/dev/board"
SAME = [
    "",
    "foo=1",
    "foo=2&bar=3",
    "sort=rank",
    "sort=nonsense",
    "order=sideways",
    "order=asc",
    "page=1",
    "page=99999",
    "page=-1",
    "rows=all",  # a board this small has one page
    "kind=nonsense",
    "x=nonsense&y=nonsense",
    "page=1&sort=rank&utm_source=mail",
    "q=",
    "q=%20%20",
]


class Renderings:
    """Counts what is rendered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> None:
        self.count, made = 0, getattr(module, name)

        def render(*arguments: object) -> object:
            self.count += 1
            return made(*arguments)

        monkeypatch.setattr(module, name, render)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(gateway_settings(tmp_path)) as server:
        cup = Challenge(server.database)
        for name in ("Red", "Blue", "Green"):
            cup.complete(cup.team(name))
        yield server


def test_a_variant_is_rendered_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = Renderings(monkeypatch, board_pages, "_render_part")
    with httpx.Client(base_url=server.url) as client:
        pages = {client.get(f"{PAGE}?{query}").text for query in SAME * 2}
        assert len(pages) == 1
        assert rendered.count == 1, "words in the address that mean nothing make no page of their own"
        client.get(f"{PAGE}?sort=team")
        client.get(f"{PAGE}?sort=team&foo=1&order=asc")
        assert rendered.count == 2
        client.get(PAGE, headers={"Accept-Language": "zh"})
        assert rendered.count == 3


def test_those_who_ask_together_share_a_rendering(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = Renderings(monkeypatch, board_pages, "_render_part")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: httpx.get(f"{server.url}{PAGE}?n={number}").status_code, range(24)))
    assert set(answers) == {200}
    assert rendered.count == 1


def test_a_board_that_changed_is_rendered_again(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = Renderings(monkeypatch, board_pages, "_render_part")
    with httpx.Client(base_url=server.url) as client:
        client.get(PAGE)
        with server.database.begin() as session:
            leaderboard.mark_board_changed(session, Phase.name == "dev")
        client.get(PAGE)
        client.get(f"{PAGE}?foo=1")
    assert rendered.count == 2


def test_the_api_renders_a_board_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = Renderings(monkeypatch, board_routes, "_render")
    with httpx.Client(base_url=server.url) as client:
        for number in range(10):
            assert client.get(f"{API}/competitions/cup/phases/dev/leaderboard?foo={number}").status_code == 200
    assert rendered.count == 1


def test_what_is_searched_for_is_not_kept(server: Server) -> None:
    """Words are endless: none of them pushes a usual page out."""
    boards = server.app.state.services.boards
    with httpx.Client(base_url=server.url) as client:
        client.get(PAGE)
        before = boards.size
        for number in range(3):
            assert client.get(f"{PAGE}?q={number}").status_code == 200
        assert boards.size == before
