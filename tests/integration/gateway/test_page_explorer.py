"""The explorer answers what may be seen: nobody sorts or searches by what they do not see."""

import re
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval_store.work import jobs
from support.challenge import METRICS, Challenge, competition_config, result
from support.gateway import gateway_settings, serving

pytestmark = pytest.mark.integration

GENEROUS = {"per_day": None, "concurrent": 1000}
EPISODES = tuple(f"e{number:03}" for number in range(120))
PHASES = {
    "open": {"scores": "public", "logs": "organiser", "replays": "public", "episodes": "public"},
    "replays": {"scores": "public", "logs": "organiser", "replays": "public", "episodes": "organiser"},
    "results": {"scores": "public", "logs": "organiser", "replays": "organiser", "episodes": "public"},
}


class Explorer:
    def __init__(self, client: httpx.Client, submissions: dict[str, UUID]) -> None:
        self._client, self._submissions = client, submissions

    def text(self, phase: str, query: str = "") -> str:
        answer = self._client.get(f"/submissions/{self._submissions[phase]}/episodes{query}")
        assert answer.status_code == 200, answer.text
        return answer.text

    def rows(self, phase: str, query: str = "") -> list[str]:
        return re.findall(r'<th scope="row">(?:<a [^>]*>)?(e\d+)', self.text(phase, query))


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("explorer")))) as server:
        phases = [{"name": name, "visibility": seen, "quota": GENEROUS} for name, seen in PHASES.items()]
        cup = Challenge(server.database, competition_config(*phases))
        team = cup.team("Finders")
        made = {name: play(cup, cup.queue(team, phase=name, shards=[EPISODES])) for name in PHASES}
        with httpx.Client(base_url=server.url, headers={"Accept": "text/html"}) as client:
            yield Explorer(client, made)


def play(cup: Challenge, submission: UUID) -> UUID:
    lease = cup.claim_of(submission)
    with cup.database.begin() as session:
        for number, name in enumerate(EPISODES):
            value = (number * 7 % 120) / 120
            metrics = {**METRICS, **dict.fromkeys(("tar", "isr", "csr", "cgt"), value), "sr": float(value > 0.5)}
            line = result(name, metrics, scene_id=f"house_{number % 3}", instruction=f"Find cup {number}. <b>x</b>")
            jobs.record_episode(session, lease, line, replay_key=f"replays/{name}")
    cup.do(lambda session: jobs.finish_shard(session, lease))
    cup.score(submission)
    return submission


def test_all_of_it_where_all_is_public(explorer: Explorer) -> None:
    assert explorer.rows("open") == list(EPISODES[:50])
    assert explorer.rows("open", "?page=3") == list(EPISODES[100:])
    assert explorer.rows("open", "?sort=score")[:3] == ["e000", "e103", "e086"]
    assert explorer.rows("open", "?q=cup+17.") == ["e017"]
    assert len(explorer.rows("open", "?only=unsolved&scene=house_1&page=1")) < 40
    assert "Find cup 3. &lt;b&gt;x" in explorer.text("open")


def test_where_results_are_hidden_no_order_tells_them(explorer: Explorer) -> None:
    plan = list(EPISODES[:50])
    for query in ("", "?sort=score", "?sort=success&order=asc", "?sort=steps", "?only=solved", "?only=fault"):
        assert explorer.rows("replays", query) == plan, query
    text = explorer.text("replays")
    assert "Find cup 3." in text
    assert "solved" not in text.replace("unsolved", "")


def test_where_replays_are_hidden_no_search_tells_instructions_or_scenes(explorer: Explorer) -> None:
    plan = list(EPISODES[:50])
    assert explorer.rows("results", "?q=cup") == []
    assert explorer.rows("results", "?q=e017") == ["e017"]
    assert explorer.rows("results", "?scene=house_1") == plan
    assert explorer.rows("results", "?sort=scene") == plan
    text = explorer.text("results")
    assert "Find cup" not in text
    assert "house_" not in text
    assert explorer.rows("results", "?sort=score")[0] == "e000"


def test_nonsense_is_refused_and_text_is_inert(explorer: Explorer) -> None:
    address = f"/submissions/{explorer._submissions['open']}/episodes"
    for query in ("?sort=evil", "?page=0", "?page=99999999999", "?view=x", "?order=up"):
        assert explorer._client.get(address + query).status_code == 422, query
    assert "<b>x" not in explorer.text("open", "?q=%3Cb%3Ex")
