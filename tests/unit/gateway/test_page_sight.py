"""Pages show what the phase shows, and no more: to strangers, to other teams, to organisers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from nav_eval_store import places, tokens, users
from nav_eval_store.models import TokenKind
from nav_eval_store.tokens import EVERYTHING
from support.challenge import EPISODES, TEST, Challenge, competition_config, line
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

SECRET = "the goal is behind the red door"
OPEN = {"scores": "public", "logs": "team", "replays": "team", "episodes": "team"}
CLOSED = dict.fromkeys(("scores", "logs", "replays", "episodes"), "organiser")
GENEROUS = {"per_day": None, "concurrent": 1000}


@dataclass
class House:
    server: Server
    shown: UUID  #: in the open phase
    hidden: UUID  #: in the closed one
    team: UUID

    def get(self, path: str, *, as_user: str | None = None) -> httpx.Response:
        cookies = {} if as_user is None else {"nav_eval_session": self._session(as_user)}
        address = path.format(shown=self.shown, hidden=self.hidden, team=self.team)
        with httpx.Client(base_url=self.server.url, headers={"Accept": "text/html"}, cookies=cookies) as client:
            return client.get(address)

    def _session(self, name: str) -> str:
        with self.server.database.begin() as session:
            user = users.user_named(session, name)
            issued = tokens.issue(session, user, "browser", actor=TEST, scopes=EVERYTHING, kind=TokenKind.SESSION)
        return issued.secret


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("sight")))) as server:
        phases = [{"name": "dev", "visibility": OPEN}, {"name": "test", "visibility": CLOSED}]
        config = competition_config(*({**phase, "quota": GENEROUS} for phase in phases))
        challenge, blobs = Challenge(server.database, config), server.settings.store.open_blobs()
        team, _ = challenge.team("Finders"), challenge.team("Others")
        with server.database.begin() as session:
            users.make_organiser(session, users.create_user(session, "olga", actor=TEST), actor=TEST)
        shown, hidden = challenge.complete(team), challenge.complete(team, phase="test")
        for submission in (shown, hidden):
            blobs.put(places.agent_log(submission), SECRET.encode())
            kept = line(EPISODES[0], instruction=SECRET, trajectory=[[0, 0, 0], [1, 0, 0]], actions=["move_forward"])
            key = blobs.put(places.replay(submission, EPISODES[0]), kept).key
            _attach(server, submission, key)
        yield House(server, shown, hidden, team)


def _attach(server: Server, submission: UUID, key: str) -> None:
    from nav_eval_store.models import EpisodeRow

    with server.database.begin() as session:
        session.get_one(EpisodeRow, (submission, EPISODES[0])).replay_key = key


REPLAY = "/replay?episode=a"
CASES = [
    # path, stranger, another team, the team itself, organiser
    ("/competitions/cup/dev/board", 200, 200, 200, 200),
    ("/competitions/cup/test/board", 200, 200, 200, 200),
    ("/submissions/{shown}", 200, 200, 200, 200),
    ("/submissions/{hidden}", 404, 404, 200, 200),
    ("/submissions/{shown}" + REPLAY, 403, 403, 200, 200),
    ("/submissions/{shown}/replay/data?episode=a", 403, 403, 200, 200),
    ("/submissions/{hidden}" + REPLAY, 404, 404, 403, 200),
    ("/submissions/{shown}/breakdown", 403, 403, 200, 200),
    ("/submissions/{hidden}/breakdown", 404, 404, 403, 200),
    ("/compare?entry={shown}&entry={hidden}", 404, 404, 403, 409),
    ("/submissions/{shown}/live", 303, 403, 200, 200),
    ("/teams/{team}", 303, 404, 200, 200),
]
PEOPLE = (None, "others", "finders", "olga")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_everybody_gets_their_own_answer(house: House, case: tuple[str, int, int, int, int]) -> None:
    path, *wanted = case
    assert [house.get(path, as_user=name).status_code for name in PEOPLE] == wanted


def test_a_hidden_board_has_rows_for_organisers_only(house: House) -> None:
    seen = ["Finders" in house.get("/competitions/cup/test/board", as_user=name).text for name in PEOPLE]
    assert seen == [False, False, False, True]


def test_scores_that_are_kept_from_the_team_are_not_on_its_page(house: House) -> None:
    assert "live-scores" in house.get("/submissions/{shown}", as_user="finders").text
    assert "live-scores" not in house.get("/submissions/{hidden}", as_user="finders").text


def test_logs_and_instructions_stay_with_those_they_are_for(house: House) -> None:
    logs = [SECRET in house.get("/submissions/{shown}", as_user=name).text for name in PEOPLE]
    assert logs == [False, False, True, True]
    assert SECRET not in house.get("/submissions/{hidden}", as_user="finders").text
    assert SECRET not in house.get("/submissions/{shown}" + REPLAY, as_user="finders").text
