"""A competition without a shell: drafted, checked, created, changed, copied; teams told; many submissions at once."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from uuid import UUID

import httpx
import pytest
from sqlalchemy import select

from nav_eval_store.competitions import configuration
from nav_eval_store.models import AuditEvent, BoardEntry, Delivery, EntryVisibility, Team
from nav_eval_store.notifications import events, webhooks
from nav_eval_store.people import accounts
from nav_eval_store.people.accounts import ALL_SCOPES, TokenKind
from support.challenge import GENEROUS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration
DRAFT = {
    "title": "Spring <b>Cup</b>",
    "name": "spring",
    "organiser": "",
    "contact": "",
    "description": "# Rules\r\n\r\n- be fair",
    "phase": "dev",
    "phase_title": "",
    "benchmark": "demo_vln",
    "preset": "practice",
    "opens": "2026-09-01T08:00",
    "closes": "",
    "per_day": "3",
}


@dataclass
class Desk:
    """A gateway with one competition, an organiser of all, and one of that competition alone."""

    server: Server
    cup: Challenge

    def browser(self, name: str) -> httpx.Client:
        with self.server.database.begin() as session:
            user = accounts.get_user(session, name)
            issued = accounts.issue_token(
                session, user, "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
            )
        cookies = {"nav_eval_session": issued.secret}
        return httpx.Client(base_url=self.server.url, headers={"Accept": "text/html"}, cookies=cookies, timeout=60)

    def submit(self, browser: httpx.Client, page: str, action: str, **fields: str | list[str]) -> httpx.Response:
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get(page).text)
        assert proof is not None
        return browser.post(action, data={"csrf_token": proof[1], **fields})

    def audited(self, action: str) -> list[AuditEvent]:
        with self.server.database.read() as session:
            return list(session.scalars(select(AuditEvent).where(AuditEvent.action == action)))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("desk")))) as server:
        cup = Challenge(server.database, competition_config(GENEROUS))
        with server.database.begin() as session:
            olga, otto, _ = (accounts.create_user(session, name, actor=TEST) for name in ("olga", "otto", "ada"))
            accounts.grant_organiser(session, olga, actor=TEST)
            accounts.grant_organiser(session, otto, actor=TEST, competition=cup.competition(session))
        yield Desk(server, cup)


def text_in(page: str) -> str:
    """What stands in the editor."""
    found = re.search(r'<textarea name="text" class="yaml"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    assert found is not None, page
    return unescape(found[1])


def test_an_organiser_creates_a_competition_without_a_shell(desk: Desk) -> None:
    browser = desk.browser("olga")
    drafted = desk.submit(browser, "/organise/new", "/organise/new/draft", **DRAFT)
    text = text_in(drafted.text)
    assert "name: spring" in text
    assert "opens: '2026-09-01T08:00:00Z'" in text
    assert "Spring &lt;b&gt;Cup&lt;/b&gt;” would be created" in drafted.text
    assert '<td data-label="Everybody"><span class="good">visible</span></td>' in drafted.text
    assert browser.get("/competitions/spring").status_code == 404, "nothing is done yet"

    refused = desk.submit(browser, "/organise/new", "/organise/new", text=text, reason="a course")
    assert refused.status_code in (303, 422), "without a tick"
    made = desk.submit(browser, "/organise/new", "/organise/new", text=text, reason="a course", confirm="yes")
    assert (made.status_code, made.headers["location"]) == (303, "/organise/spring")
    assert "<h3>Rules</h3>" in browser.get("/competitions/spring").text
    assert [line.reason for line in desk.audited("competition.create")][-1] == "a course"
    again = desk.submit(browser, "/organise/new", "/organise/new/check", text=text)
    assert "There is already a competition called spring" in again.text


def test_the_loader_says_what_is_wrong(desk: Desk) -> None:
    browser = desk.browser("olga")
    wrong = "competition:\n  name: x\n  title: X\n  phases:\n    - {name: dev, benchmark: demo_vln, quoata: 3}\n"
    said = desk.submit(browser, "/organise/new", "/organise/new/check", text=wrong)
    assert said.status_code == 422
    assert "the text, line 5" in said.text
    assert "Did you mean" in said.text
    assert text_in(said.text) == wrong, "what was typed is still there"


def test_a_change_is_shown_before_it_is_made(desk: Desk) -> None:
    browser, here = desk.browser("olga"), "/organise/cup/configuration"
    desk.cup.submit(desk.cup.team("Early birds"))
    text = text_in(browser.get(here).text).replace("title: The Cup", "title: The Mug  # new") + "# mine\n"
    text = text.replace("preset: test", "preset: test, logs: public")
    shown = desk.submit(browser, here, f"{here}/check", text=text).text
    assert "2 changes" in shown
    assert "<ins>The Mug</ins>" in shown
    assert "More people would see submissions" in shown
    digest = re.search(r'name="digest" value="([^"]+)"', shown)
    assert digest is not None
    fields = {"text": text, "digest": digest[1], "reason": "a new name", "confirm": "yes"}
    refused = desk.submit(browser, here, here, **fields)
    assert refused.status_code == 409, "what is dangerous needs its own tick"
    done = desk.submit(browser, here, here, **fields, dangerous="yes")
    assert done.status_code == 303
    assert text_in(browser.get(here).text) == text, "as it was written, comments too"
    assert browser.get("/api/v1/competitions/cup/config").text == text
    late = desk.submit(browser, here, here, **{**fields, "text": text.replace("Mug", "Jug")})
    assert late.status_code == 409
    assert "Somebody else has changed" in late.text


def test_a_phase_is_added_and_a_competition_copied(desk: Desk) -> None:
    browser, here = desk.browser("olga"), "/organise/cup/configuration"
    fields = {"phase": "extra", "benchmark": "demo_vln", "preset": "test", "per_day": "", "opens": "", "closes": ""}
    added = desk.submit(browser, here, f"{here}/phase", **fields, phase_title="One more")
    assert "<code>phases.extra</code>" in added.text
    copied = browser.get("/organise/new?source=cup").text
    assert "name: cup-copy" in text_in(copied)


def test_the_organiser_of_one_competition_stays_in_it(desk: Desk) -> None:
    otto, here = desk.browser("otto"), "/organise/cup/configuration"
    assert otto.get("/organise/new").status_code == 403
    page = otto.get(here).text
    assert "demo_vln</option>" not in page, "benchmarks of others are not named"
    text = text_in(page)
    fine = desk.submit(otto, here, f"{here}/check", text=text.replace("name: cup", "name: cup\n  contact: otto"))
    assert "1 change" in fine.text
    other = text.replace("benchmark: demo_lh_vln", "benchmark: lh_vln_test")
    refused = desk.submit(otto, here, f"{here}/check", text=other)
    assert "Only organisers of the whole installation may change this: phases.dev.benchmark." in refused.text
    machines = text.replace("benchmark: demo_lh_vln", "benchmark: demo_lh_vln\n      limits: {cpus: 64}")
    assert "phases.dev.limits" in desk.submit(otto, here, f"{here}/check", text=machines).text
    elsewhere = desk.submit(otto, here, f"{here}/check", text=text.replace("name: cup", "name: mine"))
    assert "Only organisers may do this" in elsewhere.text


def test_a_message_reaches_pages_and_webhooks(desk: Desk) -> None:
    browser = desk.browser("olga")
    ants, bees = desk.cup.team("Ants"), desk.cup.team("Bees")

    def listen(session) -> UUID:
        team = session.get_one(Team, ants)
        return webhooks.add_webhook(session, team, "https://x.example/", actor=TEST, kinds=[events.MESSAGE]).id

    hook = desk.cup.do(listen)
    said = {"subject": "To <i>Ants</i>", "text": "Your image is\ntoo large.", "confirm": "yes"}
    sent = desk.submit(browser, "/organise/cup", "/organise/cup/messages", **said, team=str(ants))
    assert sent.status_code == 303
    everybody = {"subject": "To all", "text": "Hello.", "team": "", "confirm": "yes"}
    assert desk.submit(browser, "/organise/cup", "/organise/cup/messages", **everybody).status_code == 303
    theirs, others = desk.browser("ants").get(f"/teams/{ants}").text, desk.browser("bees").get(f"/teams/{bees}").text
    assert "To &lt;i&gt;Ants&lt;/i&gt;" in theirs
    assert "To &lt;i&gt;Ants" not in others
    assert "To all" in theirs
    assert "To all" in others
    with desk.server.database.read() as session:
        bodies = session.scalars(select(Delivery.body).where(Delivery.webhook_id == hook)).all()
    assert [body["data"]["title"] for body in bodies] == ["To <i>Ants</i>", "To all"]


def test_many_submissions_at_once(desk: Desk) -> None:
    browser, team = desk.browser("olga"), desk.cup.team("Many")
    done = [desk.cup.complete(team) for _ in range(2)]
    waiting = desk.cup.submit(team)
    chosen = [str(each) for each in (*done, waiting)]
    fields = {"verb": "hide", "reason": "a broken scene", "submission": chosen}
    assert desk.submit(browser, "/organise/cup", "/organise/cup/bulk", **fields).status_code in (303, 422)
    desk.submit(browser, "/organise/cup", "/organise/cup/bulk", **fields, confirm="yes")
    shown = browser.get("/organise/cup").text
    assert "Done for 2 submissions. Refused for 1: The submission is validating" in shown
    with desk.server.database.read() as session:
        assert {session.get_one(BoardEntry, each).visibility for each in done} == {EntryVisibility.HIDDEN}


def test_submissions_are_found_by_name_number_and_state(desk: Desk) -> None:
    browser, team = desk.browser("olga"), desk.cup.team("Needles")
    desk.cup.submit(team, title="in the hay_stack")
    for query, found in (("q=needle", True), ("q=y_s", True), ("q=%231", True), ("q=y%25s", False)):
        page = browser.get(f"/organise/cup?{query}").text.partition("recent-title")[2]
        assert ("in the hay_stack" in page) is found, query
    completed = browser.get("/organise/cup?q=needle&state=completed").text
    assert "Nothing matches." in completed


def test_a_text_is_no_way_to_files(desk: Desk) -> None:
    with desk.server.client(desk.server.user("olga", organiser=True)) as client:
        for benchmark in ("/etc/passwd", "../../../../etc/passwd", "configs/competitions/demo.yaml"):
            text = f"competition: {{name: x, title: X, phases: [{{name: dev, benchmark: '{benchmark}'}}]}}"
            answer = client.post("/competitions/check", json={"text": text})
            assert answer.status_code == 422
            assert "there is no benchmark" in answer.json()["detail"]
            assert "root:" not in answer.text


def test_what_was_applied_by_the_shell_can_be_edited(desk: Desk) -> None:
    with desk.server.database.begin() as session:
        config = competition_config({"baselines": [{"name": "Own", "agent": "pkg:Agent"}]}, name="shell")
        configuration.apply(session, config, actor=TEST)
    browser = desk.browser("olga")
    text = text_in(browser.get("/organise/shell/configuration").text)
    assert "agent: 'pkg:Agent'" in text
    same = desk.submit(browser, "/organise/shell/configuration", "/organise/shell/configuration/check", text=text)
    assert "The text matches the competition as it is." in same.text


def test_quick_jobs_take_no_slot_of_evaluations(desk: Desk) -> None:
    """Once the page said "Jobs running 3 / 2"."""
    team = desk.cup.team("Runners")
    desk.cup.claim_of(desk.cup.queue(team))
    desk.cup.claim_of(desk.cup.submit(team))
    page = desk.browser("olga").get("/organise").text
    assert "<dt>Evaluations running</dt><dd>1</dd>" in page
    assert "<dt>Other jobs running</dt><dd>1</dd>" in page
