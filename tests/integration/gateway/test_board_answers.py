"""Boards by HTTP: what each viewer gets, in which form, and that nobody gets an old one."""

import csv
import gzip
import io

import pytest

from nav_eval_gateway.schemas.leaderboards import BoardAnswer
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions import moderation
from nav_eval_store.competitions.visibility import ORGANISER
from nav_eval_store.models import Submission, Team
from nav_eval_store.people import teams
from support.challenge import EPISODES, GENEROUS, METRICS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

BOARD = "/competitions/cup/phases/dev/leaderboard"
BASELINES = [
    {"name": "Random", "agent": "baseline:random"},
    {"name": "Oracle", "agent": "baseline:oracle", "privileged": True},
]


def values(good: float):
    """Every metric at `good`, but for the distance."""
    return {**dict.fromkeys(METRICS, good), "ne": 5 - 4 * good}


class World:
    """A phase with three teams, a baseline, an upper bound and a row that was taken off."""

    def __init__(self, server: Server) -> None:
        self.server = server
        phases = [
            {**GENEROUS, "baselines": BASELINES, "visibility": "practice"},
            {"name": "secret", **GENEROUS, "visibility": {"scores": "organiser"}},
            {"name": "own", **GENEROUS, "visibility": {"scores": "team"}},
        ]
        self.cup = cup = Challenge(server.database, competition_config(*phases))
        self.good, self.bad, self.evil = cup.team("Good"), cup.team("Bad"), cup.team("Evil")
        cup.do(lambda s: teams.rename_team(s, s.get_one(Team, self.bad), "=Bad()", actor=TEST))
        self.first = cup.complete(self.good, values(0.5))
        self.second = cup.complete(self.good, values(0.9))
        self.worse = cup.complete(self.bad, values(0.2))
        self.cheated = cup.complete(self.evil, values(0.95))
        for phase in ("secret", "own"):
            cup.complete(self.good, values(0.4), phase=phase)
            cup.complete(self.bad, values(0.8), phase=phase)
        cup.do(lambda s: moderation.disqualify_submission(s, self.cheated, actor=TEST, reason="it read the goals"))
        for submission in cup.do(lambda s: moderation.run_baselines(s, cup.phase(s), actor=TEST)):
            cup.prepare(submission.id)
            cup.run(submission.id, values(1.0 if submission.team.name == "Oracle" else 0.1))
        self.organiser = server.client(server.user("olga", organiser=True))
        self.member = server.client(server.user("good"))

        self.anybody = server.client()

    def rank(self, phase: str = "dev") -> None:
        with self.server.database.read() as session:
            phase_id = self.cup.phase(session, phase).id
        assert ranking.update_ranks(self.server.database, phase_id)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with serving(gateway_settings(tmp_path_factory.mktemp("boards"))) as server:
        yield World(server)


def test_a_board_says_who_stands_where_and_how_sure_that_is(world: World) -> None:
    world.rank()
    board = world.anybody.get(BOARD).json()
    assert [row["team"] for row in board["rows"]] == ["Oracle", "Good", "=Bad()", "Random"]
    assert [row["kind"] for row in board["rows"]] == ["upper_bound", "team", "team", "baseline"]
    assert board["rows"][0]["rank"] is None, "an upper bound is never ranked"
    assert board["rows"][1]["submission_id"] == str(world.second), "the best of a team counts"
    assert board["rows"][1]["submissions"] == 2
    assert {row["rank"] for row in board["rows"][1:]} == {1}, "four episodes cannot tell them apart"
    assert board["rows"][2]["shares_with"] == str(world.second)
    assert board["provisional"] is False
    assert board["withheld"] == []
    directions = {metric["name"]: metric["higher_is_better"] for metric in board["metrics"]}
    assert directions["ne"] is False
    assert directions["tar"] is True
    assert board["columns"] == list(directions), "what the SDK prints"
    assert board["rows"][1]["scores"]["tar"] == pytest.approx(0.9)
    assert board["rows"][1]["intervals"]["tar"] == pytest.approx([0.9, 0.9])


def test_organisers_see_what_was_taken_off_and_why(world: World) -> None:
    (row,) = world.organiser.get(BOARD).json()["withheld"]
    assert (row["team"], row["visibility"], row["reason"]) == ("Evil", "disqualified", "it read the goals")


def test_an_answer_is_the_board_of_the_store(world: World) -> None:
    answer = BoardAnswer.model_validate_json(world.organiser.get(BOARD).content)
    with world.server.database.read() as session:
        phase = world.cup.phase(session)
        assert answer == BoardAnswer.of(leaderboard.build_board(session, phase, ORGANISER), phase, "cup")


@pytest.mark.parametrize(
    ("phase", "anybody", "member", "organiser"),
    [
        ("dev", 4, 4, 4),
        ("secret", 0, 0, 2),  # nobody until it is published
        ("own", 0, 1, 2),  # each team its own row
    ],
)
def test_who_sees_which_rows(world: World, phase: str, anybody: int, member: int, organiser: int) -> None:
    path = f"/competitions/cup/phases/{phase}/leaderboard"
    for form in ("json", "csv"):
        counts = []
        for client in (world.anybody, world.member, world.organiser):
            answer = client.get(path, params={"format": form})
            counts.append(len(answer.json()["rows"]) if form == "json" else len(answer.text.splitlines()) - 1)
        assert counts == [anybody, member, organiser]


def test_a_team_that_sees_only_its_own_row_sees_its_true_rank(world: World) -> None:
    (row,) = world.member.get("/competitions/cup/phases/own/leaderboard").json()["rows"]
    assert (row["team"], row["rank"]) == ("Good", 2)


def test_answers_are_not_shared_between_viewers(world: World) -> None:
    path = "/competitions/cup/phases/own/leaderboard"
    answers = [client.get(path) for client in (world.organiser, world.member, world.anybody)]
    assert len({answer.headers["etag"] for answer in answers}) == 3
    assert [answer.headers["cache-control"] for answer in answers] == ["private, no-cache"] * 2 + ["public, no-cache"]
    assert all("Authorization" in answer.headers["vary"] for answer in answers)


def test_a_browser_that_is_logged_in_sees_what_its_user_sees(world: World) -> None:
    cookie = {"Cookie": f"{world.server.settings.session_cookie}={world.server.user('good')}"}
    answer = world.anybody.get("/competitions/cup/phases/own/leaderboard", headers=cookie)
    assert [row["team"] for row in answer.json()["rows"]] == ["Good"]
    assert answer.headers["cache-control"] == "private, no-cache"
    assert "Cookie" in answer.headers["vary"]


def test_a_spreadsheet_gets_no_formulas(world: World) -> None:
    for answer in (
        world.anybody.get(f"{BOARD}.csv"),
        world.anybody.get(BOARD, headers={"Accept": "text/csv"}),
        world.anybody.get(BOARD, params={"format": "csv"}),
    ):
        assert answer.headers["content-type"] == "text/csv; charset=utf-8"
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert [row["team"] for row in rows] == ["Oracle", "Good", "'=Bad()", "Random"]
        assert float(rows[1]["tar"]) == pytest.approx(0.9)


def test_what_is_known_already_is_not_sent_again(world: World) -> None:
    first = world.anybody.get(BOARD)
    again = world.anybody.get(BOARD, headers={"If-None-Match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert world.organiser.get(BOARD, headers={"If-None-Match": first.headers["etag"]}).status_code == 200


def test_compressed_answers_hold_the_same(world: World) -> None:
    plain = world.anybody.get(BOARD, headers={"Accept-Encoding": "identity"})
    with world.anybody.stream("GET", BOARD, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        assert gzip.decompress(b"".join(answer.iter_raw())) == plain.content
    assert answer.headers["etag"] != plain.headers["etag"]
    known = {"If-None-Match": answer.headers["etag"]}
    assert world.anybody.get(BOARD, headers=known).status_code == 304


def test_nobody_gets_an_old_board(world: World) -> None:
    def hide(s):
        moderation.hide_submission(s, world.worse, actor=TEST, reason="for now")

    def show(s):
        moderation.show_submission(s, world.worse, actor=TEST, reason="back")

    def rename(name):
        return lambda s: teams.rename_team(s, s.get_one(Team, world.good), name, actor=TEST)

    def verify(s):
        moderation.mark_verified(s, world.second, actor=TEST)

    for change in (hide, show, rename("Better"), rename("Good"), verify):
        before = {form: world.anybody.get(BOARD, params={"format": form}) for form in ("json", "csv")}
        world.cup.do(change)
        for form, old in before.items():
            new = world.anybody.get(BOARD, params={"format": form}, headers={"If-None-Match": old.headers["etag"]})
            assert new.status_code == 200
            assert new.content != old.content


def test_a_board_of_other_rules_says_so(world: World) -> None:
    def change(session, digest):
        session.get_one(Submission, world.second).rules_digest = digest
        moderation.show_submission(session, world.second, actor=TEST, reason="looked at it")

    was = world.cup.get(world.second).rules_digest
    world.cup.do(lambda session: change(session, "sha256:other"))
    rows = {row["submission_id"]: row for row in world.anybody.get(BOARD).json()["rows"]}
    world.cup.do(lambda session: change(session, was))
    assert rows[str(world.second)]["outdated"]
    assert not rows[str(world.worse)]["outdated"]


def test_history_tells_scores_and_ranks(world: World) -> None:
    lines = {line["team"]: line for line in world.anybody.get(f"{BOARD}/history").json()["teams"]}
    assert set(lines) == {"Good", "=Bad()", "Random", "Oracle"}
    assert [point["score"] for point in lines["Good"]["points"]] == pytest.approx([0.5, 0.9])
    assert [point["is_best"] for point in lines["Good"]["points"]] == [True, True]
    assert [step["rank"] for step in lines["Good"]["ranks"]] == [1]
    assert [step["rank"] for step in lines["=Bad()"]["ranks"]] == [2]
    assert lines["Oracle"]["ranks"] == []
    mine = world.anybody.get(f"{BOARD}/history", params={"team": str(world.bad)}).json()["teams"]
    assert [line["team"] for line in mine] == ["=Bad()"]


def test_history_of_a_board_that_is_not_public(world: World) -> None:
    path = "/competitions/cup/phases/own/leaderboard/history"
    assert world.anybody.get(path).json()["teams"] == []
    (line,) = world.member.get(path).json()["teams"]
    assert (line["team"], line["rank"]) == ("Good", 2)


def test_where_the_means_come_from(world: World) -> None:
    path = f"/submissions/{world.second}/breakdown"
    answer = world.member.get(path, params={"by": "scene"})
    assert answer.status_code == 200, answer.text
    assert world.anybody.get(path).status_code == 403, "episodes are for the team in this phase"
    assert world.anybody.get(f"/submissions/{world.cheated}/breakdown").status_code == 404


def test_two_submissions_side_by_side(world: World) -> None:
    pair = {"first": str(world.second), "second": str(world.worse)}
    answer = world.anybody.get("/comparison", params=pair).json()
    assert (answer["first"]["team"], answer["second"]["team"]) == ("Good", "=Bad()")
    tar = answer["metrics"]["tar"]
    assert tar["difference"] == pytest.approx(0.7)
    assert tar["count"] == len(EPISODES)
    assert not tar["significant"], "four episodes are too few"
    back = world.anybody.get("/comparison", params={"first": pair["second"], "second": pair["first"]}).json()
    assert back["metrics"]["tar"]["difference"] == pytest.approx(-0.7)


def test_a_comparison_that_is_kept_has_the_names_of_now(world: World) -> None:
    pair = {"first": str(world.second), "second": str(world.worse)}
    before = world.anybody.get("/comparison", params=pair).json()
    world.cup.do(lambda s: teams.rename_team(s, s.get_one(Team, world.good), "Better", actor=TEST))
    after = world.anybody.get("/comparison", params=pair).json()
    world.cup.do(lambda s: teams.rename_team(s, s.get_one(Team, world.good), "Good", actor=TEST))
    assert (before["first"]["team"], after["first"]["team"]) == ("Good", "Better")
    assert before["metrics"] == after["metrics"]


def test_what_cannot_be_seen_cannot_be_compared(world: World) -> None:
    pair = {"first": str(world.second), "second": str(world.cheated)}
    assert world.anybody.get("/comparison", params=pair).status_code == 404
    assert world.organiser.get("/comparison", params=pair).status_code == 200


def test_different_phases_cannot_be_compared(world: World) -> None:
    with world.server.database.read() as session:
        rows = leaderboard.build_board(session, world.cup.phase(session, "own"), ORGANISER).rows
    pair = {"first": str(world.second), "second": str(rows[0].submission_id)}
    answer = world.organiser.get("/comparison", params=pair)
    assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")


def test_the_sdk_prints_what_we_answer(world: World) -> None:
    from nav_eval_sdk.cli import format_board
    from nav_eval_sdk.client import ChallengeClient

    client = ChallengeClient(world.server.url, world.server.user("good"))
    header, *rows = format_board(client.leaderboard("cup", "dev")).splitlines()
    assert header.split()[:3] == ["rank", "team", "sr"]
    assert rows[0].startswith("–")
    assert "Oracle (upper bound)" in rows[0]
    assert "Random (baseline)" in rows[-1]
    assert "0.9000" in rows[1]
