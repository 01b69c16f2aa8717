"""Several gateway processes on one database: whoever is asked, the board is the one of now. On SQLite and Postgres."""

import threading
from collections.abc import Iterator

import httpx
import pytest

from nav_eval_store import gauges
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions import moderation
from nav_eval_store.competitions.visibility import Viewer
from nav_eval_store.database import Database
from nav_eval_store.models import Team
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, issue_token
from support.challenge import GENEROUS, METRICS, TEST, Challenge, competition_config
from support.gateway import API, gateway_settings, server_process
from support.postgres import PostgresServer

pytestmark = pytest.mark.integration

BOARD = f"{API}/competitions/cup/phases/dev/leaderboard"
HIDDEN = f"{API}/competitions/cup/phases/own/leaderboard"


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request: pytest.FixtureRequest, tmp_path):
    database = None
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = server.create_database()
    return gateway_settings(tmp_path, database=database)


@pytest.fixture
def database(settings) -> Iterator[Database]:
    opened = settings.store.open_database()
    yield opened
    opened.dispose()


def test_no_process_answers_with_what_was(settings, database: Database) -> None:
    own = {"name": "own", **GENEROUS, "visibility": {"scores": "team"}}
    cup = Challenge(database, competition_config(GENEROUS, own))
    ants = cup.team("Ants")
    shown = cup.complete(ants, METRICS)
    cup.complete(ants, METRICS, phase="own")
    with server_process(settings) as one, server_process(settings) as other, httpx.Client(timeout=30) as client:
        for turn in range(10):
            verb = moderation.hide_submission if turn % 2 == 0 else moderation.show_submission
            cup.do(lambda session: verb(session, shown, actor=TEST, reason="to see"))  # noqa: B023
            rows = [len(client.get(f"{server.url}{BOARD}").json()["rows"]) for server in (one, other)]
            assert rows == [turn % 2] * 2
        assert client.get(f"{one.url}{HIDDEN}").json()["rows"] == []
        with database.read() as session:
            phase = cup.phase(session, "own").id
        ranking.update_ranks(database, phase)
        cup.do(lambda session: moderation.publish_board(session, cup.phase(session, "own"), actor=TEST))
        assert [row["team"] for row in client.get(f"{other.url}{HIDDEN}").json()["rows"]] == ["Ants"]


def test_many_readers_while_the_board_changes_see_versions_that_only_grow(settings, database: Database) -> None:
    cup = Challenge(database, competition_config(GENEROUS))
    shown = cup.complete(cup.team("Ants"), METRICS)
    wrong: list[str] = []
    with server_process(settings) as server:
        stop = threading.Event()

        def read() -> None:
            last = -1
            with httpx.Client(timeout=30) as client:
                while not stop.is_set():
                    with database.read() as session:
                        before = cup.phase(session).board_version
                    version = client.get(f"{server.url}{BOARD}").json()["version"]
                    if version < max(last, before):
                        wrong.append(f"{version} after {last}, when the board had {before} already")
                    last = version

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for turn in range(30):
            verb = moderation.hide_submission if turn % 2 == 0 else moderation.show_submission
            cup.do(lambda session: verb(session, shown, actor=TEST, reason="to see"))  # noqa: B023
        stop.set()
        for reader in readers:
            reader.join()
    assert wrong == []


def test_organisers_and_monitors_on_both_databases(settings, database: Database) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "visibility": {"scores": "team"}}))
    ants = cup.team("Ants")
    done = cup.complete(ants, METRICS)

    def organiser(session) -> str:
        olga = accounts.create_user(session, "olga", actor=TEST)
        accounts.grant_organiser(session, olga, actor=TEST)
        return issue_token(session, olga, "t", actor=TEST, scopes=ALL_SCOPES).secret

    headers = {"Authorization": f"Bearer {cup.do(organiser)}"}
    with (
        server_process(settings) as server,
        httpx.Client(base_url=f"{server.url}{API}", headers=headers, timeout=30) as olga,
    ):
        why = {"reason": "to see"}
        for path in (
            "/competitions/cup/phases/dev/pause",
            "/competitions/cup/phases/dev/resume",
            "/competitions/cup/phases/dev/close",
            "/competitions/cup/phases/dev/reopen",
            f"/submissions/{done}/hide",
            f"/submissions/{done}/show",
            f"/submissions/{done}/reevaluate",
            f"/teams/{ants}/disqualify",
            f"/teams/{ants}/reinstate",
        ):
            assert olga.post(path, json=why).is_success, path
        grant = {"team_id": str(ants), "amount": 2, **why}
        assert olga.post("/competitions/cup/phases/dev/grants", json=grant).status_code == 201
        assert olga.get("/audit", params={"actor": "user:olga"}).json()["items"][0]["action"] == "quota.grant"
        assert olga.get("/queue").json()["submissions"]["validating"] == 0, (
            "the disqualified team's runs were cancelled"
        )
        assert olga.get(f"/submissions/{done}/breakdown").is_success
        assert olga.get("/comparison", params={"first": str(done), "second": str(done)}).is_success
        assert olga.get("/competitions/cup/export").is_success
        assert olga.get("/competitions/cup/results").is_success
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        assert "nav_eval_database_up 1.0" in httpx.get(f"{server.url}/metrics").text


def test_provisional_ranks_and_history_are_among_all_teams(database: Database) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "visibility": {"scores": "team"}}))
    ants, bees = cup.team("Ants"), cup.team("Bees")
    for team, value in ((ants, 0.2), (bees, 0.8), (ants, 0.5)):
        cup.complete(team, {**dict.fromkeys(METRICS, value), "ne": 1.0})
    with database.read() as session:
        phase = cup.phase(session)
        (row,) = leaderboard.build_board(session, phase, Viewer(team_id=ants)).rows
        assert (row.rank, row.team) == (2, "Ants")
        (line,) = ranking.build_team_histories(session, phase, Viewer(team_id=ants))
        assert [point.score for point in line.points] == pytest.approx([0.2, 0.5])
        assert [step.rank for step in line.ranks] == [1, 2]
        assert ranking.build_team_histories(session, phase) == []
        assert gauges.read_gauges(session).jobs_running == 0
        assert session.get_one(Team, ants).name == "Ants"
