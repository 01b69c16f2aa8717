"""A team's home: how it did over time, what it tells everybody, and how people get in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval_store.boards import rank_history
from nav_eval_store.models import Team
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, TokenKind
from support.challenge import TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration
QUOTA = {"quota": {"per_day": None, "concurrent": 1000}}


def score(value: float):
    return lambda name: dict.fromkeys(("tar", "isr", "csr", "cgt"), value)


@dataclass
class Site:
    server: Server
    cup: Challenge
    ants: UUID
    bees: UUID

    def browser(self, name: str | None = None) -> httpx.Client:
        cookies = {}
        if name is not None:
            with self.server.database.begin() as session:
                user = accounts.get_user(session, name)
                kind = TokenKind.SESSION
                issued = accounts.issue_token(session, user, "b", actor=TEST, scopes=ALL_SCOPES, kind=kind)
            cookies = {"nav_eval_session": issued.secret}
        return httpx.Client(base_url=self.server.url, headers={"Accept": "text/html"}, cookies=cookies, timeout=30)

    def submit(self, browser: httpx.Client, action: str, **fields: str) -> httpx.Response:
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get(f"/teams/{self.ants}").text)
        assert proof is not None
        return browser.post(action, data={"csrf_token": proof[1], **fields})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("team")))) as server:
        hidden = {"name": "test", "visibility": {"preset": "test", "scores": "team"}, **QUOTA}
        cup = Challenge(server.database, competition_config({"title": "Development", **QUOTA}, hidden))
        ants, bees = cup.team("Ants"), cup.team("Bees")
        for team, value in ((ants, 0.3), (bees, 0.5), (ants, 0.2), (ants, 0.7)):
            cup.complete(team, score(value))
            cup.complete(team, score(value), phase="test")
        yield Site(server, cup, ants, bees)


def test_ranks_over_time(site: Site) -> None:
    with site.server.database.read() as session:
        team, phase = session.get_one(Team, site.ants), site.cup.phase(session)
        assert [(point.rank, point.teams) for point in rank_history.list_rank_points(session, phase, team)] == [
            (1, 1),
            (2, 2),
            (1, 2),
        ]
        assert rank_history.list_rank_points(session, site.cup.phase(session, "test"), team) == [], "others are hidden"
    page = site.browser("ants").get(f"/teams/{site.ants}").text
    assert "Development: rank 1 of 2 by score alone." in page
    assert "Scores: test" in page
    assert "Rank: test" not in page


def test_a_profile_is_the_teams_own_choice(site: Site) -> None:
    stranger, captain = site.browser(), site.browser("ants")
    assert stranger.get(f"/teams/{site.ants}/profile").status_code == 404
    said = {"about": "We <b>walk</b>.", "website": "https://ants.example", "paper": "", "code": ""}
    assert site.submit(captain, f"/teams/{site.ants}/profile", **said).status_code == 303
    page = stranger.get(f"/teams/{site.ants}/profile").text
    assert "We &lt;b&gt;walk&lt;/b&gt;." in page
    assert '<a href="https://ants.example" rel="nofollow noopener ugc">' in page
    assert "0.700" in page
    assert ">test</a>" not in page, "the hidden board stays hidden"
    assert stranger.get(f"/api/v1/teams/{site.ants}/profile").json()["website"] == "https://ants.example"
    for bad in ("javascript:alert(1)", "http://plain.example", "https://a b"):
        assert site.submit(captain, f"/teams/{site.ants}/profile", **{**said, "website": bad}).status_code in (303, 422)
        with site.server.client(site.server.user("ants")) as client:
            assert client.put(f"/teams/{site.ants}/profile", json={"website": bad}).status_code == 422
    assert site.submit(captain, f"/teams/{site.ants}/profile", about="", website="").status_code == 303
    assert stranger.get(f"/teams/{site.ants}/profile").status_code == 404


def test_an_invitation_is_a_link_whose_secret_stays_out_of_logs(site: Site) -> None:
    page = site.submit(site.browser("ants"), f"/teams/{site.ants}/invitations", email="").text
    assert re.search(r"/join#nvi_[\w-]+</code>", page)
    assert "/join?" not in page


def test_columns_can_be_picked(site: Site) -> None:
    everything = site.browser().get("/competitions/cup/dev/board").text
    picked = site.browser().get("/competitions/cup/dev/board?column=tar&column=isr&column=none").text
    assert 'data-label="CSR"' in everything
    assert 'data-label="TAR"' in picked
    assert 'data-label="CSR"' not in picked
    assert re.search(r"columns=(tar%2Cisr|isr%2Ctar)", picked), "sorting keeps the choice"
