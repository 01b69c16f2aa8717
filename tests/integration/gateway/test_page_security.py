"""What pages must withstand: forged forms, fixed sessions, frames, other sites, hostile text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from nav_eval_gateway.pages.redirects import clean_path
from nav_eval_store import audit
from nav_eval_store.audit import make_user_actor
from nav_eval_store.models import TokenKind
from nav_eval_store.people import accounts, teams
from nav_eval_store.people.accounts import ALL_SCOPES, Scope
from support.challenge import TEST, Challenge, competition_config
from support.gateway import PASSWORD, Server, gateway_settings, serving

pytestmark = pytest.mark.integration

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


@dataclass
class Surf:
    """A browser without a screen."""

    http: httpx.Client
    server: Server

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(path, **options)

    def proof(self, path: str = "/login") -> str:
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.get(path).text)
        assert found is not None, f"{path} has no form"
        return found[1]

    def post(
        self, path: str, *, form: str = "/login", headers: dict[str, str] | None = None, **fields: Any
    ) -> httpx.Response:
        return self.http.post(path, data={"csrf_token": self.proof(form), **fields}, headers=headers)

    def log_in(self, name: str = "ada", password: str = PASSWORD, **fields: Any) -> httpx.Response:
        return self.post("/login", by="password", name=name, password=password, **fields)

    def enter(self, name: str = "ada") -> None:
        """Logged in, without the tenth of a second that a password takes."""
        with self.server.database.begin() as session:
            user = accounts.get_user(session, name)
            issued = accounts.issue_token(
                session, user, "browser", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
            )
        self.http.cookies.set("nav_eval_session", issued.secret, domain="127.0.0.1", path="/")

    @property
    def session(self) -> str | None:
        return self.http.cookies.get("nav_eval_session")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(gateway_settings(tmp_path_factory.mktemp("pages"))) as running:
        phase = {"quota": {"per_day": None, "concurrent": 1000}, "description": EVIL}
        challenge = Challenge(
            running.database, competition_config(phase, title=EVIL, description=EVIL, url="javascript:alert(1)")
        )
        with running.database.begin() as session:
            people = [
                accounts.create_user(session, name, actor=TEST, email=f"{name}@example.org", password=PASSWORD)
                for name in ("ada", "olga", "eve")
            ]
            accounts.grant_organiser(session, people[1], actor=TEST)
            competition = challenge.competition(session)
            teams.create_team(session, competition, EVIL[:60], captain=people[0], actor=make_user_actor(people[0]))
        yield running


@pytest.fixture
def surf(server: Server) -> Iterator[Surf]:
    with httpx.Client(base_url=server.url, headers=BROWSER, timeout=30) as client:
        yield Surf(client, server)


def test_logging_in_gives_a_new_session_with_a_safe_cookie(surf: Surf) -> None:
    answer = surf.log_in(next="/account")
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    cookie = next(c for c in answer.headers.get_list("set-cookie") if c.startswith("nav_eval_session="))
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "ada@example.org" in surf.get("/account").text


def test_over_https_cookies_are_bound_to_the_host(tmp_path: Any) -> None:
    settings = gateway_settings(tmp_path, base_url="https://nav.example.org")
    with serving(settings) as running, httpx.Client(base_url=running.url, headers=BROWSER) as client:
        with running.database.begin() as session:
            accounts.create_user(session, "ada", actor=TEST, password=PASSWORD)
        form = client.get("/login")
        visitor = form.headers["set-cookie"]
        assert visitor.startswith("__Host-nav_eval_visitor=")
        assert "Secure" in visitor
        assert "Domain" not in visitor
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', form.text)
        assert proof is not None
        fields = {"csrf_token": proof[1], "by": "password", "name": "ada", "password": PASSWORD}
        headers = {"Cookie": visitor.partition(";")[0], "Origin": "https://nav.example.org"}
        answer = client.post("/login", data=fields, headers=headers)
        assert answer.status_code == 303
        assert any(
            c.startswith("__Host-nav_eval_session=") and "Secure" in c for c in answer.headers.get_list("set-cookie")
        )


def test_a_session_that_somebody_planted_is_not_taken_over(surf: Surf, server: Server) -> None:
    """Session fixation: whatever the browser had before, logging in gives a secret that nobody knows."""
    planted = server.user("eve")
    surf.http.cookies.set("nav_eval_session", planted, domain="127.0.0.1", path="/")
    surf.post("/login", form="/account", by="password", name="ada", password=PASSWORD)
    assert surf.session not in (None, planted)
    with server.database.read() as session, pytest.raises(accounts.BadCredentials):
        accounts.verify_token(session, planted)  # the planted one is ended


def test_a_made_up_session_is_nobody_and_is_taken_away(surf: Surf) -> None:
    surf.http.cookies.set("nav_eval_session", "nve_aaaaaaaa_" + "x" * 43)
    answer = surf.get("/")
    assert answer.status_code == 200
    assert "Log in" in answer.text
    assert 'nav_eval_session=""' in answer.headers["set-cookie"]


def test_logging_out_ends_the_session_on_the_server(surf: Surf, server: Server) -> None:
    surf.enter()
    secret = surf.session
    assert secret is not None
    surf.post("/logout", form="/account")
    with server.database.read() as session, pytest.raises(accounts.BadCredentials):
        accounts.verify_token(session, secret)


def test_guessing_passwords_is_slowed_down(tmp_path: Any) -> None:
    settings = gateway_settings(tmp_path, login_rate_limit=4)
    with serving(settings) as running, httpx.Client(base_url=running.url, headers=BROWSER) as client:
        answers = [Surf(client, running).log_in(name="nobody") for _ in range(4)]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0
    assert "<h1>Too many requests</h1>" in answers[-1].text
    assert answers[-1].headers["x-frame-options"] == "DENY"


def test_wrong_passwords_say_nothing_about_names(surf: Surf) -> None:
    known, unknown = surf.log_in(password="wrong"), surf.log_in(name="nobody", password="wrong")
    assert known.status_code == unknown.status_code == 401
    assert surf.session is None
    assert "is wrong" in known.text
    assert re.sub(r'value="\w*"', "", known.text) == re.sub(r'value="\w*"', "", unknown.text)


def test_a_token_logs_in_with_its_own_rights(surf: Surf, server: Server) -> None:
    weak = server.user("eve", scopes=(Scope.READ,))
    assert surf.post("/login", by="token", token=weak).status_code == 303
    refused = surf.post("/account/tokens", form="/account", name="more", scopes=["read"], days="30")
    assert refused.status_code == 403
    assert "&#39;team&#39;" in refused.text


@pytest.mark.parametrize("change", [{"csrf_token": ""}, {"csrf_token": "0" * 64}, {"csrf_token": None}])
def test_a_form_without_its_proof_does_nothing(surf: Surf, server: Server, change: dict[str, str | None]) -> None:
    surf.enter()
    fields = {"csrf_token": surf.proof("/account"), "name": "stolen", "scopes": "read", "days": "30", **change}
    answer = surf.http.post("/account/tokens", data={k: v for k, v in fields.items() if v is not None})
    assert answer.status_code == 403
    with server.database.read() as session:
        mine = accounts.list_tokens(session, accounts.get_user(session, "ada"))
    assert "stolen" not in [token.name for token in mine]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Referer": "https://evil.example/page"},
    ],
)
def test_a_form_from_another_site_does_nothing_even_with_a_proof(surf: Surf, headers: dict[str, str]) -> None:
    surf.enter()
    assert surf.post("/logout", form="/account", headers=headers).status_code == 403
    assert surf.get("/account").status_code == 200


def test_the_proof_of_one_browser_is_worth_nothing_in_another(surf: Surf, server: Server) -> None:
    surf.enter()
    proof = surf.proof("/account")
    with httpx.Client(base_url=server.url, headers=BROWSER) as other:
        Surf(other, server).enter("eve")
        assert other.post("/logout", data={"csrf_token": proof}).status_code == 403


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("/account", "/account"),
        ("/competitions/cup?x=1#top", "/competitions/cup?x=1#top"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\\/evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/a\r\nSet-Cookie: x=1", "/"),
        ("evil.example", "/"),
        ("", "/"),
        (None, "/"),
        ("/x" * 2000, "/"),
    ],
)
def test_only_paths_of_this_site_are_gone_on_to(wanted: str | None, path: str) -> None:
    assert clean_path(wanted) == path


@pytest.mark.parametrize("start", ["/login", "/preferences"])
def test_no_address_leads_away(surf: Surf, start: str) -> None:
    if start == "/login":
        answer = surf.log_in(next="//evil.example/x")
    else:
        answer = surf.get("/preferences", params={"language": "zh", "next": "https://evil.example"})
    assert answer.headers["location"] == "/"


def inline_code(text: str) -> list[str]:
    """Elements and attributes that would need `unsafe-inline`."""
    found: list[str] = []

    class Finder(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            is_data = given.get("type") == "application/json"
            if tag == "style" or (tag == "script" and "src" not in given and not is_data):
                found.append(tag)
            found.extend(name for name in given if name == "style" or name.startswith("on"))

    Finder().feed(text)
    return found


@pytest.mark.parametrize("path", ["/", "/login", "/competitions/cup", "/competitions/cup/dev/board", "/nothing"])
def test_pages_cannot_be_framed_and_run_only_our_files(surf: Surf, path: str) -> None:
    answer = surf.get(path)
    policy = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert answer.headers["x-frame-options"] == "DENY"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert inline_code(answer.text) == []


@pytest.mark.parametrize(
    "path", ["/", "/competitions/cup", "/competitions/cup/dev/board", "/competitions/cup/team", "/account"]
)
def test_hostile_text_is_text(surf: Surf, path: str) -> None:
    surf.enter()
    text = surf.get(path).text
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "javascript:alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_hostile_searches_and_refusals_are_text(surf: Surf) -> None:
    for path in ("/competitions/cup/dev/board", f"/competitions/{EVIL}", "/login", "/register"):
        text = surf.get(path, params={"q": EVIL, "sort": EVIL, "x": EVIL, "next": EVIL}).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
    refused = surf.post("/register", form="/register", name=EVIL, email=EVIL, password="x")
    assert refused.status_code == 422
    assert "<script>alert" not in refused.text


def test_a_forged_notice_is_not_shown(surf: Surf) -> None:
    surf.http.cookies.set("nav_eval_notice", "WyJnb29kIiwiU2VuZCB5b3VyIHBhc3N3b3JkIl0=." + "0" * 32)
    assert "Send your password" not in surf.get("/").text


def test_the_session_reads_the_api_but_changes_nothing_through_it(surf: Surf, server: Server) -> None:
    surf.enter()
    assert surf.get("/api/v1/me").json()["name"] == "ada"
    assert surf.http.post("/api/v1/tokens", json={"name": "x"}).status_code == 401
    tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "1", "Upload-Metadata": "submission_id eA=="}
    assert surf.http.post("/api/v1/uploads", headers=tus).status_code == 401
    proof = {"X-CSRF-Token": surf.proof("/account")}
    assert surf.http.post("/api/v1/uploads", headers={**tus, **proof}).status_code not in (401, 403)
    strange = {**tus, **proof, "Origin": "https://evil.example"}
    assert surf.http.post("/api/v1/uploads", headers=strange).status_code == 401
    assert surf.http.post("/api/v1/tokens", json={"name": "x"}, headers=proof).status_code == 401


def test_what_organisers_do_needs_a_tick_and_a_reason_and_is_written_down(surf: Surf, server: Server) -> None:
    surf.enter("olga")
    console, path = "/organise/cup", "/organise/cup/phases/dev/pause"
    for fields in ({"reason": "maintenance"}, {"confirm": "yes"}, {"confirm": "yes", "reason": "   "}):
        assert surf.post(path, form=console, **fields).status_code == 422
    with server.database.read() as session:
        assert audit.list_audit_events(session, actions=["phase.pause"]).items == []
    assert surf.post(path, form=console, confirm="yes", reason="maintenance").status_code == 303
    with server.database.read() as session:
        line = audit.list_audit_events(session, actions=["phase.pause"]).items[0]
    assert (line.actor, line.reason) == ("user:olga", "maintenance")
    assert surf.post("/organise/cup/phases/dev/resume", form=console, confirm="yes", reason="over").status_code == 303


@pytest.mark.parametrize("path", ["/organise", "/organise/cup", "/organise/cup/audit", "/organise/audit"])
def test_consoles_are_for_organisers(surf: Surf, path: str) -> None:
    assert surf.get(path).headers["location"].startswith("/login?next=")
    surf.enter("eve")
    assert surf.get(path).status_code == 403


def test_organisers_verbs_are_not_for_teams(surf: Surf) -> None:
    surf.enter("eve")
    answer = surf.post("/organise/cup/phases/dev/pause", form="/account", confirm="yes", reason="because")
    assert answer.status_code == 403


def test_changing_the_password_ends_all_other_sessions(surf: Surf, server: Server) -> None:
    with server.database.begin() as session:
        accounts.create_user(session, "carl", actor=TEST, password=PASSWORD)
    with httpx.Client(base_url=server.url, headers=BROWSER) as other:
        Surf(other, server).enter("carl")
        surf.enter("carl")
        wrong = surf.post("/account/password", form="/account", password="no", new_password="y" * 12)
        assert wrong.status_code == 401
        surf.post("/account/password", form="/account", password=PASSWORD, new_password="y" * 12)
        assert surf.get("/account").status_code == 200
        assert other.get("/account").status_code == 303
    with server.database.read() as session:
        assert len(accounts.list_tokens(session, accounts.get_user(session, "carl"), kind=TokenKind.SESSION)) == 1


def test_a_bug_of_ours_is_a_page_that_says_nothing(surf: Surf, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("nav_eval_store.competitions.configuration.list_competitions", broken)
    answer = surf.get("/")
    assert answer.status_code == 500
    assert "<h1>Something went wrong</h1>" in answer.text
    assert "secret detail" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_scripts_get_problems_and_browsers_get_pages(server: Server) -> None:
    with httpx.Client(base_url=server.url) as plain:
        assert plain.get("/nothing").headers["content-type"] == "application/problem+json"
        assert plain.get("/nothing", headers=BROWSER).headers["content-type"].startswith("text/html")
        assert plain.get("/api/v1/nothing", headers=BROWSER).headers["content-type"] == "application/problem+json"
