"""Roads over the pages that once ended nowhere: old links, public replays, scores in lists, useless buttons."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.competitions import moderation
from nav_eval_store.models import EpisodeRow
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, TokenKind
from nav_eval_store.work import jobs
from support.challenge import EPISODES, TEST, Challenge, competition_config, line
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

PUBLIC_REPLAYS = {"scores": "public", "logs": "team", "replays": "public", "episodes": "team"}
ABOUT = "# Rules\n\nBe **fair**, or <b>else</b>."


@dataclass
class Site:
    server: Server
    cup: Challenge
    team: UUID

    def get(self, path: str, *, as_user: str | None = None, language: str = "en") -> httpx.Response:
        cookies = {} if as_user is None else {"nav_eval_session": self._session(as_user)}
        headers = {"Accept": "text/html", "Accept-Language": language}
        with httpx.Client(base_url=self.server.url, headers=headers, cookies=cookies) as client:
            return client.get(path)

    def _session(self, name: str) -> str:
        with self.server.database.begin() as session:
            user = accounts.get_user(session, name)
            kind = TokenKind.SESSION
            return accounts.issue_token(session, user, "browser", actor=TEST, scopes=ALL_SCOPES, kind=kind).secret


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("roads")))) as server:
        quota = {"per_day": None, "concurrent": 1000}
        phase = {"name": "dev", "title": "Development", "visibility": PUBLIC_REPLAYS, "quota": quota}
        cup = Challenge(server.database, competition_config(phase, description=ABOUT))
        with server.database.begin() as session:
            accounts.grant_organiser(session, accounts.create_user(session, "olga", actor=TEST), actor=TEST)
        yield Site(server, cup, cup.team("Finders"))


def test_an_old_link_leads_to_what_replaced_it(site: Site) -> None:
    old = site.cup.complete(site.team)
    new = site.cup.do(
        lambda session: moderation.reevaluate_all(session, site.cup.phase(session), actor=TEST, reason="x")[-1].id
    )
    site.cup.prepare(new)
    site.cup.run(new)
    answer = site.get(f"/submissions/{old}/replay?episode=a")
    assert (answer.status_code, answer.headers["location"]) == (307, f"/submissions/{new}/replay?episode=a")
    assert site.get(f"/submissions/{old}").headers["location"] == f"/submissions/{new}"
    assert site.get(f"/submissions/{old}", as_user="olga").status_code == 200, "who may see it still sees the old one"


def test_visitors_find_replays_that_are_public(site: Site) -> None:
    done = site.cup.complete(site.team)
    kept = line(EPISODES[0], trajectory=[[0, 0, 0], [1, 0, 0]], actions=["move_forward"])
    key = site.server.settings.store.open_blobs().put(blob_keys.make_replay_key(done, EPISODES[0]), kept).key
    with site.server.database.begin() as session:
        session.get_one(EpisodeRow, (done, EPISODES[0])).replay_key = key
    page = site.get(f"/submissions/{done}").text
    assert f"/submissions/{done}/replay?episode={EPISODES[0]}" in page
    assert 'class="completed"' not in page, "how episodes went is for the team"


def test_lists_of_submissions_have_scores(site: Site) -> None:
    site.cup.complete(site.team)
    for page in (f"/teams/{site.team}", "/organise/cup"):
        assert 'data-label="Score">0.500</td>' in site.get(page, as_user="olga").text, page


def test_a_disqualified_entry_does_not_say_completed(site: Site) -> None:
    done = site.cup.complete(site.team)
    site.cup.do(lambda session: moderation.disqualify_submission(session, done, actor=TEST, reason="x"))
    page = site.get(f"/submissions/{done}", as_user="olga").text
    assert '<span class="chip state-completed">' not in page


def test_an_image_that_cannot_run_is_not_run_again(site: Site) -> None:
    failed = site.cup.submit(site.team)
    lease = site.cup.claim_of(failed)
    site.cup.do(lambda session: jobs.fail_job(session, lease, Cause.IMAGE_INVALID, "two images"))
    assert f"/submissions/{failed}/rerun" not in site.get(f"/submissions/{failed}", as_user="olga").text


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Something is missing from this address"), ("zh", "该地址不完整")]
)
def test_a_wrong_address_is_explained_without_field_names(site: Site, language: str, said: str) -> None:
    done = site.cup.complete(site.team)
    answer = site.get(f"/submissions/{done}/replay", language=language)
    assert answer.status_code == 422
    assert said in answer.text
    assert "Field required" not in answer.text


def test_the_page_of_a_competition_is_a_front_door(site: Site) -> None:
    page = site.get("/competitions/cup").text
    assert "<h3>Rules</h3>" in page
    assert "<strong>fair</strong>" in page
    assert "<b>else" not in page
    assert 'href="/competitions/cup/dev/board">Leaderboard</a>' in page
    assert "Success weighted by path length" in page
    assert "Rules Be fair, or &lt;b&gt;else&lt;/b&gt;." in site.get("/").text
