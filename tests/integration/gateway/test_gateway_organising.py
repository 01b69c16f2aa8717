"""The organiser's verbs by HTTP: each does what it says, says why in the audit log, and is for organisers only."""

from uuid import uuid4

import pytest

from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import workers
from support.challenge import GENEROUS, METRICS, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration

PHASE = "/competitions/cup/phases/dev"
WHY = {"reason": "because we can"}
BASELINES = [{"name": "Random", "agent": "baseline:random"}]


class World:
    def __init__(self, server: Server) -> None:
        self.server = server
        quota = {"quota": {"per_day": 1, "total": 1, "concurrent": 1000}}
        self.cup = Challenge(
            server.database,
            competition_config(
                {**GENEROUS, "baselines": BASELINES}, {"name": "tight", **quota}, registration="approval"
            ),
        )
        self.team = self.cup.team("Ants")
        self.olga = server.client(server.user("olga", organiser=True))
        self.captain = server.client(server.user("ants"))
        self.post(f"/teams/{self.team}/approve", WHY)
        self.done = self.cup.complete(self.team, METRICS)

    def post(self, path: str, body: dict, *, status: int | None = None):
        answer = self.olga.post(path, json=body)
        assert answer.status_code == status if status else answer.is_success, answer.text
        return answer.json()

    def last_line(self, **filters) -> dict:
        return self.olga.get("/competitions/cup/audit", params={"limit": 1, **filters}).json()["items"][0]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with serving(gateway_settings(tmp_path_factory.mktemp("organising"))) as server:
        yield World(server)


def test_a_phase_is_paused_and_resumed(world: World) -> None:
    paused = world.post(f"{PHASE}/pause", WHY)
    assert (paused["state"], paused["reason"]) == ("paused", "because we can")
    line = world.last_line()
    assert (line["action"], line["actor"], line["reason"]) == ("phase.pause", "user:olga", "because we can")
    assert world.post(f"{PHASE}/resume", WHY)["state"] == "open"


def test_a_phase_is_closed_until_it_is_reopened_and_applying_the_file_again_does_not_open_it(world: World) -> None:
    assert world.post(f"{PHASE}/close", WHY)["state"] == "closed"
    config = world.cup.do(lambda s: world.cup.competition(s).config)
    world.cup.apply(config.model_copy(update={"description": "edited"}))
    assert world.olga.get(PHASE).json()["state"] == "closed"
    refused = world.captain.post("/submissions", json={"competition": "cup", "phase": "dev"})
    assert (refused.status_code, "closed" in refused.json()["detail"]) == (409, True)
    assert world.post(f"{PHASE}/reopen", WHY)["state"] == "open"
    assert world.last_line()["action"] == "phase.reopen"


def test_a_board_is_published_and_withdrawn(world: World) -> None:
    world.post(f"{PHASE}/publish", WHY)
    assert world.last_line()["action"] == "board.publish"
    world.post(f"{PHASE}/withdraw", WHY)
    assert world.last_line()["action"] == "board.withdraw"


def test_a_team_gets_more_quota(world: World) -> None:
    wanted = {"competition": "cup", "phase": "tight"}
    assert world.captain.post("/submissions", json=wanted).status_code == 201
    assert world.captain.post("/submissions", json={**wanted, "name": "again"}).status_code == 429
    grant = {"team_id": str(world.team), "amount": 1, "reason": "their disk broke"}
    assert world.post("/competitions/cup/phases/tight/grants", grant)["left"] == 1
    assert world.captain.post("/submissions", json={**wanted, "name": "again"}).status_code == 201
    line = world.last_line(action="quota.grant")
    assert (line["reason"], line["details"], line["team_id"]) == ("their disk broke", {"amount": 1}, str(world.team))


def test_a_grant_is_for_a_team_of_the_competition(world: World) -> None:
    grant = {"team_id": str(uuid4()), "amount": 1, "reason": "?"}
    assert world.olga.post(f"{PHASE}/grants", json=grant).status_code == 404


def test_a_submission_goes_off_the_board_and_back_and_its_team_sees_why(world: World) -> None:
    path = f"/submissions/{world.done}"
    for verb, visibility in (("hide", "hidden"), ("disqualify", "disqualified")):
        world.post(f"{path}/{verb}", WHY)
        assert world.last_line()["action"] == f"submission.{visibility}"
        board = world.captain.get(f"{PHASE}/leaderboard").json()
        assert str(world.done) not in {row["submission_id"] for row in board["rows"]}
        mine = world.captain.get(path).json()
        assert (mine["board"]["visibility"], mine["board"]["reason"]) == (visibility, "because we can")
    world.post(f"{path}/show", WHY)
    board = world.captain.get(f"{PHASE}/leaderboard").json()
    assert str(world.done) in {row["submission_id"] for row in board["rows"]}


def test_only_what_has_a_score_can_be_hidden(world: World) -> None:
    waiting = world.cup.submit(world.team)
    assert world.olga.post(f"/submissions/{waiting}/hide", json=WHY).status_code == 409
    stopped = world.post(f"/submissions/{waiting}/stop", WHY)
    assert (stopped["status"], stopped["message"]) == ("cancelled", "because we can")


def test_one_is_evaluated_again_at_no_cost(world: World) -> None:
    again = world.post(f"/submissions/{world.done}/reevaluate", WHY, status=202)
    assert (again["status"], again["team_id"]) == ("validating", str(world.team))
    assert world.last_line(action="submission.reevaluate")["reason"] == "because we can"
    world.post(f"/submissions/{again['id']}/stop", WHY)


def test_all_are_evaluated_again_and_the_workers_are_told(world: World, tmp_path) -> None:
    started = world.post(f"{PHASE}/reevaluate", WHY, status=202)["submissions"]
    assert len(started) == 1
    assert world.post(f"{PHASE}/reevaluate", WHY, status=202)["submissions"] == [], "one is under way already"
    with world.server.database.read() as session:
        from support.challenge import jobs_of

        assert all(job.dispatched_at is not None for key in started for job in jobs_of(session, key_of(key)))
    for key in started:
        world.post(f"/submissions/{key}/stop", WHY)


def key_of(text: str):
    from uuid import UUID

    return UUID(text)


def test_baselines_are_run_once(world: World) -> None:
    (started,) = world.post(f"{PHASE}/baselines", WHY, status=202)["submissions"]
    assert world.post(f"{PHASE}/baselines", WHY, status=202)["submissions"] == []
    assert world.cup.get(key_of(started)).state is SubmissionState.VALIDATING
    assert world.last_line(action="phase.baselines")["reason"] == "because we can"
    world.post(f"/submissions/{started}/stop", WHY)


def test_a_priority(world: World) -> None:
    answer = world.olga.put(f"/submissions/{world.done}/priority", json={"priority": 7, **WHY})
    assert answer.is_success
    assert world.cup.get(world.done).priority == 7
    assert world.olga.put(f"/submissions/{world.done}/priority", json={"priority": 101, **WHY}).status_code == 422


def test_a_team_is_disqualified_and_reinstated(world: World) -> None:
    out = world.post(f"/teams/{world.team}/disqualify", WHY)
    assert (out["status"], out["reason"]) == ("disqualified", "because we can")
    assert world.captain.post("/submissions", json={"competition": "cup", "phase": "dev"}).status_code == 403
    assert world.post(f"/teams/{world.team}/reinstate", WHY)["status"] == "active"


def test_workers_are_listed_drained_and_let_go_on(world: World) -> None:
    world.cup.do(
        lambda s: workers.register_worker(s, "gpu-1", host="node-7", version="1", slots=2, abilities={"gpu": 1})
    )
    waiting = world.cup.submit(world.team)
    lease = world.cup.claim_of(waiting, worker="gpu-1")
    (worker,) = world.olga.get("/workers").json()
    assert (worker["name"], worker["alive"], worker["draining"], worker["slots"]) == ("gpu-1", True, False, 2)
    assert worker["holds"][0]["submission_id"] == str(waiting)
    assert worker["holds"][0]["job_id"] == str(lease.job_id)
    queue = world.olga.get("/queue").json()
    assert (queue["jobs_running"], queue["workers_alive"], queue["slots"]) == (1, 1, 2)
    assert queue["submissions"]["validating"] == 1
    assert world.post("/workers/drain", {**WHY})["workers"] == ["gpu-1"]
    assert world.olga.get("/workers").json()[0]["draining"]
    assert world.olga.get("/audit", params={"limit": 1}).json()["items"][0]["action"] == "workers.drain"
    assert world.post("/workers/undrain", {"workers": ["gpu-1"], **WHY})["workers"] == ["gpu-1"]
    assert world.olga.post("/workers/drain", json={"workers": ["nobody"], **WHY}).status_code == 404
    world.post(f"/submissions/{waiting}/stop", WHY)


def test_the_log_comes_in_pages_and_can_be_searched(world: World) -> None:
    for verb in ("pause", "resume") * 2:
        world.post(f"{PHASE}/{verb}", WHY)
    seen, cursor = [], None
    while True:
        page = world.olga.get("/competitions/cup/audit", params={"limit": 7, **({"cursor": cursor} if cursor else {})})
        seen += [line["id"] for line in page.json()["items"]]
        cursor = page.json()["next"]
        if cursor is None:
            break
    assert len(seen) > 7
    assert seen == sorted(set(seen), reverse=True)
    about = world.olga.get("/competitions/cup/audit", params={"submission": str(world.done), "limit": 500}).json()
    assert {line["submission_id"] for line in about["items"]} == {str(world.done)}
    mine = world.olga.get("/audit", params={"actor": "user:olga", "limit": 500}).json()["items"]
    assert {line["actor"] for line in mine} == {"user:olga"}
    moment = mine[3]["at"]
    since = world.olga.get("/audit", params={"actor": "user:olga", "since": moment, "limit": 500}).json()["items"]
    until = world.olga.get("/audit", params={"actor": "user:olga", "until": moment, "limit": 500}).json()["items"]
    assert [line["id"] for line in since + until] == [line["id"] for line in mine]
    assert world.olga.get("/audit", params={"since": "yesterday"}).status_code == 422
    assert world.olga.get("/audit", params={"cursor": "nonsense"}).status_code == 422


@pytest.mark.parametrize("reason", ["", "   ", None, "x" * 2000])
def test_every_deed_needs_a_reason(world: World, reason: str | None) -> None:
    body = {} if reason is None else {"reason": reason}
    for path in (f"{PHASE}/pause", f"/submissions/{world.done}/hide", f"/teams/{world.team}/disqualify"):
        assert world.olga.post(path, json=body).status_code == 422


def test_an_organiser_of_another_competition_is_nobody_here(world: World) -> None:
    from nav_eval.config import CompetitionConfig
    from nav_eval_store.competitions import configuration
    from nav_eval_store.people import accounts
    from support.challenge import TEST, benchmark

    config = {"name": "other", "title": "Other", "phases": [{"name": "dev", "benchmark": "demo_lh_vln"}]}

    def make(session) -> None:
        parsed = CompetitionConfig.model_validate(config)
        other = configuration.apply(session, parsed, actor=TEST, benchmark_of=benchmark).competition
        user = accounts.create_user(session, "otto", actor=TEST)
        accounts.grant_organiser(session, user, actor=TEST, competition=other)

    world.cup.do(make)
    from nav_eval_store.people.accounts import ALL_SCOPES

    otto = world.server.client(world.server.user("otto", scopes=ALL_SCOPES))
    assert otto.post("/competitions/other/phases/dev/pause", json=WHY).status_code == 200
    assert otto.post(f"{PHASE}/pause", json=WHY).status_code == 403
    assert otto.post(f"/teams/{world.team}/disqualify", json=WHY).status_code == 404
    assert otto.post(f"/submissions/{world.done}/hide", json=WHY).status_code == 403, "it is on a public board"
    assert otto.get("/competitions/cup/audit").status_code == 403
    assert otto.get("/workers").status_code == 403
    assert otto.get("/queue").status_code == 403
    assert otto.get("/audit").status_code == 403
