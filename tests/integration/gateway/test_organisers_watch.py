"""What organisers are shown, by the API and in the console: refunds, runs that are held back, webhooks."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID, uuid4

import httpx
import pytest

from nav_eval.records.results import Cause
from nav_eval_store.boards import ranking, scores
from nav_eval_store.models import BoardEntry, EntryVisibility, TokenKind
from nav_eval_store.notifications import sender
from nav_eval_store.notifications.sender import DeliverySettings
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES
from nav_eval_store.submissions import queries, quota, transitions
from nav_eval_store.work import jobs
from support.challenge import GENEROUS, METRICS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration
CAP = 2
SECRET = "episode 'c': spl is 1.0, the run says 0.2"


class Watch:
    """An installation, its organiser by API and in a browser, and a team."""

    def __init__(self, server: Server) -> None:
        self.server = server
        phase = {"quota": {**GENEROUS["quota"], "refunds_per_day": CAP}}
        self.cup = Challenge(server.database, competition_config(phase))
        self.api = server.client(server.user("olga", organiser=True))
        self.browser = httpx.Client(base_url=server.url, headers={"Accept": "text/html"}, timeout=30)
        with server.database.begin() as session:
            olga = accounts.get_user(session, "olga")
            secret = accounts.issue_token(
                session, olga, "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
            ).secret
        self.browser.cookies.set("nav_eval_session", secret, domain="127.0.0.1", path="/")

    def team(self) -> tuple[str, UUID, httpx.Client]:
        """Its name, its id, and its captain."""
        client = self.server.captain(f"c-{uuid4().hex[:10]}")
        me = client.get("/me").json()["teams"][0]
        return me["team"], UUID(me["team_id"]), client

    def console(self, page: str = "/organise/cup") -> str:
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", self.browser.get(page).text))

    def submit(self, page: str, action: str, **fields: str) -> httpx.Response:
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.browser.get(page).text)
        assert proof is not None
        return self.browser.post(action, data={"csrf_token": proof[1], "confirm": "yes", "reason": "seen", **fields})

    def rank(self) -> None:
        with self.server.database.read() as session:
            phase = self.cup.phase(session).id
        ranking.update_ranks(self.server.database, phase)

    def fail(self, team: UUID) -> UUID:
        """A submission that we break."""
        submission = self.cup.queue(team)
        self.cup.claim_of(submission)
        with self.server.database.begin() as session:
            row = transitions.lock_submission(session, submission)
            transitions.fail_submission(session, row, Cause.INFRASTRUCTURE, "the disk of gpu-7", actor=TEST)
        return submission

    def differ(self, team: UUID, metrics: Mapping[str, float] = METRICS) -> UUID:
        """A submission whose replay gave something else, as a worker tells it."""
        submission = self.cup.queue(team)
        while True:
            lease = self.cup.claim_of(submission)
            if lease.kind == "score":
                break
            self.cup.play(lease, metrics)
            with self.server.database.begin() as session:
                jobs.finish_shard(session, lease)
        with self.server.database.begin() as session:
            sheet = scores.compute_scores(session, queries.get_submission(session, submission))
            scores.publish_scores(session, lease, sheet, provenance={scores.DIFFERENCES: [SECRET]})
        self.rank()
        return submission

    def board(self, client: httpx.Client | None = None) -> list[str]:
        """Names of teams that stand on the board, by every way of reading it."""
        path = "/competitions/cup/phases/dev/leaderboard"
        with self.server.client() as stranger:
            answer = (client or stranger).get(path)
        return [row["team"] for row in answer.json()["rows"]]


@pytest.fixture(scope="module")
def watch(new_url: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    folder = tmp_path_factory.mktemp("watch")
    with serving(gateway_settings(folder, database=new_url(), allow_private_webhooks=True)) as server:
        yield Watch(server)


def test_organisers_see_who_makes_us_fail_and_the_cap_holds_for_each_team(watch: Watch) -> None:
    (greedy, greedy_id, captain), (other, other_id, _) = watch.team(), watch.team()
    for _ in range(CAP + 2):
        watch.fail(greedy_id)
    watch.fail(other_id)
    lines = {line["team"]: line for line in watch.api.get("/competitions/cup/refunds").json()}
    assert (lines[greedy]["today"], lines[greedy]["total"], lines[greedy]["reason"]) == (CAP, CAP, quota.OUR_FAILURE)
    assert (lines[other]["today"], lines[other]["phase"]) == (1, "dev")
    assert list(lines).index(greedy) < list(lines).index(other)  # the most of the day first
    used = {row["phase"]: row["used_total"] for row in captain.get(f"/teams/{greedy_id}/quota").json()}
    assert used["dev"] == 2  # what was beyond the cap is paid for
    refused = watch.api.get("/competitions/cup/audit", params={"action": "quota.refund_refused"}).json()["items"]
    assert [line["details"]["cap"] for line in refused] == [CAP, CAP]
    shown = watch.console()
    assert "Refunded submissions" in shown
    assert re.search(rf"{greedy} dev {quota.OUR_FAILURE} {CAP} {CAP}", shown)
    assert captain.get("/competitions/cup/refunds").status_code == 403


def test_a_run_that_we_broke_tells_its_team_nothing_of_why(watch: Watch) -> None:
    _, team, captain = watch.team()
    submission = watch.fail(team)
    assert "gpu-7" not in captain.get(f"/submissions/{submission}").text
    assert "gpu-7" in watch.api.get(f"/submissions/{submission}").text


def test_a_held_run_reaches_no_board_until_the_organiser_lets_it(watch: Watch) -> None:
    name, team, captain = watch.team()
    submission = watch.differ(team)
    for client in (None, captain, watch.api):
        assert name not in watch.board(client)
    page = httpx.get(f"{watch.server.url}/competitions/cup/dev/board", headers={"Accept": "text/html"})
    assert (page.status_code, name in page.text) == (200, False)
    assert f"{name} held for review" in watch.console("/competitions/cup/dev/board")
    mine = captain.get(f"/submissions/{submission}").json()
    assert mine["status"] == "completed"
    assert SECRET not in json.dumps(mine)  # what differs is of the test set
    with watch.server.client() as stranger:
        assert stranger.get(f"/submissions/{submission}").status_code == 404
    shown = watch.console()
    assert "Held back" in shown
    assert "spl is 1.0, the run says 0.2" in shown
    assert captain.post(f"/submissions/{submission}/show", json={"reason": "please"}).status_code == 403
    page = f"/submissions/{submission}"
    done = watch.submit(page, f"/organise{page}/show")  # the organiser has looked at it
    assert done.status_code == 303
    watch.rank()
    assert name in watch.board()
    assert f"/submissions/{submission}" not in watch.browser.get("/organise/cup").text.partition('id="teams-title"')[0]


def test_a_held_run_that_is_refused_stays_off_and_its_team_reads_why(watch: Watch) -> None:
    name, team, captain = watch.team()
    submission = watch.differ(team)
    answer = watch.api.post(f"/submissions/{submission}/disqualify", json={"reason": "it reads the clock"})
    assert answer.status_code == 200
    watch.rank()
    assert name not in watch.board()
    assert "it reads the clock" in captain.get(f"/submissions/{submission}").text
    with watch.server.database.read() as session:
        assert session.get_one(BoardEntry, submission).visibility is EntryVisibility.DISQUALIFIED
        assert submission not in [
            row.id for row in queries.list_held_submissions(session, watch.cup.competition(session))
        ]


def test_a_better_run_that_is_held_does_not_push_out_the_one_that_stands(watch: Watch) -> None:
    name, team, _ = watch.team()
    first = watch.cup.complete(team)
    watch.differ(team, {**METRICS, "tar": 0.9, "csr": 0.9, "isr": 0.9, "cgt": 0.9})
    with watch.server.client() as stranger:
        rows = stranger.get("/competitions/cup/phases/dev/leaderboard").json()["rows"]
    assert [row["submission_id"] for row in rows if row["team"] == name] == [str(first)]


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[dict[str, object]]]]:
    """An address that takes webhooks, and what came."""
    got: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204 if len(got) < 2 else 500)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got
    server.shutdown()
    server.server_close()


def test_webhooks_in_the_console_from_the_secret_to_what_arrived(
    watch: Watch, receiver: tuple[str, list[dict[str, object]]]
) -> None:
    url, got = receiver
    page = "/organise/cup/webhooks"
    made = watch.submit(page, page, url=url, kinds="submission.state")
    secret = re.search(r"<code>([A-Za-z0-9_-]{32,})</code>", made.text)
    assert secret is not None
    assert secret[1] not in watch.browser.get(page).text  # it is shown once
    hook = watch.api.get("/competitions/cup/webhooks").json()[-1]["id"]
    assert watch.submit(page, f"{page}/{hook}/test").status_code == 303
    settings = DeliverySettings(allow_private=True)
    sender.deliver(watch.server.database, settings)
    assert [message["kind"] for message in got] == ["webhook.test"]
    assert "delivered" in watch.console(page)
    _, team, captain = watch.team()
    submission = watch.cup.start(team)
    captain.post(f"/submissions/{submission}/cancel").raise_for_status()
    sender.deliver(watch.server.database, settings)
    assert got[-1]["submission_id"] == str(submission)
    assert "the receiver answered 500" in watch.console(page)
    assert watch.submit(page, f"{page}/{hook}/remove").status_code == 303
    assert url not in watch.browser.get(page).text


def test_teams_do_not_see_the_organisers_webhooks(watch: Watch) -> None:
    _, _, captain = watch.team()
    made = watch.api.post("/competitions/cup/webhooks", json={"url": "http://127.0.0.1:9/"}).json()
    for path in ("", f"/{made['id']}/deliveries"):
        assert captain.get(f"/competitions/cup/webhooks{path}").status_code == 403
    assert captain.delete(f"/competitions/cup/webhooks/{made['id']}").status_code == 403
    watch.api.delete(f"/competitions/cup/webhooks/{made['id']}").raise_for_status()
