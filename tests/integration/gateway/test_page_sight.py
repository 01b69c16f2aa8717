"""Pages show what the phase shows, and no more: to strangers, to other teams, to organisers."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import select

from nav_eval_gateway.pages.csrf import make_csrf_token
from nav_eval_gateway.pages.sessions import Cookies
from nav_eval_store import blob_keys
from nav_eval_store.models import AuditEvent, Job, TokenKind
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES
from nav_eval_store.submissions.lifecycle import JobKind, JobState
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

    def post(self, path: str, *, as_user: str | None, proof: str | None = None, **fields: str) -> httpx.Response:
        """A form of ours, unless told otherwise."""
        cookies = Cookies(self.server.settings)
        name, holder = ("nav_eval_visitor", "v") if as_user is None else (cookies.session_name, self._session(as_user))
        sent = {"csrf_token": proof or make_csrf_token(cookies, holder), **fields}
        with httpx.Client(base_url=self.server.url, headers={"Accept": "text/html"}, cookies={name: holder}) as client:
            return client.post(path, data=sent)

    def _session(self, name: str) -> str:
        with self.server.database.begin() as session:
            user = accounts.get_user(session, name)
            issued = accounts.issue_token(
                session, user, "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
            )
        return issued.secret


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("sight")))) as server:
        phases = [{"name": "dev", "visibility": OPEN}, {"name": "test", "visibility": CLOSED}]
        config = competition_config(*({**phase, "quota": GENEROUS} for phase in phases))
        challenge, blobs = Challenge(server.database, config), server.settings.store.open_blobs()
        team, _ = challenge.team("Finders"), challenge.team("Others")
        with server.database.begin() as session:
            accounts.grant_organiser(session, accounts.create_user(session, "olga", actor=TEST), actor=TEST)
        shown, hidden = challenge.complete(team), challenge.complete(team, phase="test")
        for submission in (shown, hidden):
            blobs.put(blob_keys.make_agent_log_key(submission), SECRET.encode())
            kept = line(EPISODES[0], instruction=SECRET, trajectory=[[0, 0, 0], [1, 0, 0]], actions=["move_forward"])
            key = blobs.put(blob_keys.make_replay_key(submission, EPISODES[0]), kept).key
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
    ("/submissions/{shown}/replay/thumbnail?episode=a", 403, 403, 200, 200),
    ("/submissions/{hidden}/replay/thumbnail?episode=a", 404, 404, 403, 200),
    ("/submissions/{shown}/episodes", 403, 403, 200, 200),
    ("/submissions/{hidden}/episodes", 404, 404, 403, 200),
    ("/competitions/cup/dev/episodes", 404, 404, 200, 200),
    ("/competitions/cup/test/episodes", 404, 404, 404, 200),
    ("/competitions/cup/dev/best", 404, 404, 303, 303),
    ("/submissions/{shown}/breakdown", 403, 403, 200, 200),
    ("/submissions/{hidden}/breakdown", 404, 404, 403, 200),
    ("/compare?entry={shown}&entry={hidden}", 404, 404, 403, 409),
    ("/side-by-side?entry={shown}&entry={hidden}&episode=a", 403, 403, 403, 409),
    ("/submissions/{shown}/live", 303, 403, 200, 200),
    ("/teams/{team}", 303, 404, 200, 200),
]
PEOPLE = (None, "others", "finders", "olga")


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_everybody_gets_their_own_answer(house: House, case: tuple[str, int, int, int, int]) -> None:
    path, *wanted = case
    assert [house.get(path, as_user=name).status_code for name in PEOPLE] == wanted


def test_a_board_offers_the_breakdown_to_those_who_find_something_there(house: House) -> None:
    boards = [house.get("/competitions/cup/dev/board", as_user=name).text for name in PEOPLE]
    assert ["/competitions/cup/dev/breakdown" in board for board in boards] == [False, False, True, True]


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


FILM = "/submissions/{}/replay/film"
ASKED = [
    # submission, stranger, another team, the team itself, organiser
    ("shown", 303, 403, 303, 303),
    ("hidden", 303, 404, 403, 303),
]


@pytest.mark.parametrize("case", ASKED, ids=[case[0] for case in ASKED])
def test_films_are_made_for_those_who_may_look(house: House, case: tuple[str, int, int, int, int]) -> None:
    which, *wanted = case
    submission: UUID = getattr(house, which)
    answers = [house.post(FILM.format(submission), as_user=name, episode="a") for name in PEOPLE]
    assert [answer.status_code for answer in answers] == wanted
    assert answers[0].headers["location"].startswith("/login")
    with house.server.database.read() as session:
        job = session.scalars(select(Job).where(Job.kind == JobKind.FILM, Job.submission_id == submission)).one()
        assert job.state is JobState.WAITING
        asked = select(AuditEvent.actor).where(AuditEvent.action == "film.ask", AuditEvent.submission_id == submission)
        assert session.scalars(asked).all() == ["user:finders" if which == "shown" else "user:olga"]
    state = house.get(f"/api/v1/submissions/{submission}/episodes/a/film", as_user="olga").json()
    assert state == {"episode_id": "a", "state": "waiting"}
    assert "data-film=" in house.get(f"/submissions/{submission}{REPLAY}", as_user="olga").text


VIDEO = "/api/v1/submissions/{}/episodes/a/video"


@pytest.mark.parametrize("case", ASKED, ids=[case[0] for case in ASKED])
def test_videos_are_made_for_those_who_may_look(house: House, case: tuple[str, int, int, int, int]) -> None:
    which, *wanted = case
    submission: UUID = getattr(house, which)
    answers = [house.post(f"/submissions/{submission}/replay/video", as_user=name, episode="a") for name in PEOPLE]
    assert [answer.status_code for answer in answers] == wanted
    path = VIDEO.format(submission)
    state = house.get(path, as_user="olga").json()
    assert state == {"episode_id": "a", "state": "waiting", "steps_drawn": 0, "steps_total": 0, "size": None}
    assert house.get(f"{path}.mp4", as_user="olga").status_code == 404
    house.server.settings.store.open_blobs().put(blob_keys.make_video_key(submission, "a"), b"a film")
    downloads = [house.get(f"{path}.mp4", as_user=name) for name in PEOPLE]
    looks = [house.get(f"/submissions/{submission}{REPLAY}", as_user=name) for name in PEOPLE]
    assert [answer.content == b"a film" for answer in downloads] == [look.status_code == 200 for look in looks]
    assert [answer.status_code for answer in downloads] == [look.status_code for look in looks]
    assert downloads[-1].headers["content-type"] == "video/mp4"
    assert "attachment" in downloads[-1].headers["content-disposition"]
    assert house.get(path, as_user="olga").json()["state"] == "ready"


def test_a_film_needs_a_form_of_ours_and_an_episode(house: House) -> None:
    path = FILM.format(house.shown)
    assert house.post(path, as_user="finders", proof="0" * 64, episode="a").status_code == 403
    assert house.post(path, as_user="finders", episode="../b").status_code == 404
    assert house.post(path, as_user="finders", episode="b").status_code == 404  # it has no replay


@pytest.mark.parametrize(
    "path", ["/", "/competitions/cup/dev/board", "/submissions/{shown}", "/submissions/{hidden}", "/x"]
)
def test_head_is_get_without_the_body(house: House, path: str) -> None:
    address = path.format(shown=house.shown, hidden=house.hidden)
    with httpx.Client(base_url=house.server.url, headers={"Accept": "text/html"}) as client:
        whole, head = client.get(address), client.head(address)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    for name in ("content-type", "content-security-policy"):
        assert head.headers[name] == whole.headers[name]


def test_head_of_what_has_no_end_is_refused(house: House) -> None:
    with httpx.Client(base_url=house.server.url, timeout=5) as client:
        assert client.head(f"/submissions/{house.shown}/live").status_code == 405
        assert client.head("/api/v1/competitions").status_code == 405


def test_refusals_speak_the_language_of_the_reader(house: House) -> None:
    chinese = {"Accept": "text/html", "Accept-Language": "zh-CN,zh;q=0.9"}
    with httpx.Client(base_url=house.server.url, headers=chinese) as client:
        assert "没有这个提交，或它不属于您。" in client.get(f"/submissions/{house.hidden}").text
        assert "没有竞赛 &#39;nowhere&#39;。" in client.get("/competitions/nowhere").text
        assert "该地址不完整或有误" in client.get("/submissions/no-id").text
        assert "此地址没有内容" in client.get("/nothing/here").text
        asked = {"Tus-Resumable": "1.0.0", "Upload-Length": "5", "Upload-Metadata": "submission_id eA=="}
        for_a_script = client.post("/api/v1/uploads", headers={**asked, "Accept": "application/json"})
        assert for_a_script.json()["detail"].startswith("This needs a token")
        for_a_page = client.post("/api/v1/uploads", headers={**asked, "X-CSRF-Token": "0"})
        assert for_a_page.json()["detail"] == "请先登录。"
        assert for_a_page.headers["content-type"] == for_a_script.headers["content-type"]
        assert for_a_page.status_code == for_a_script.status_code == 401
