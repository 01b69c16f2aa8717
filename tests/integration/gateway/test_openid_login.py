"""Login by OpenID Connect, against a certified provider and against one that lies."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey

from nav_eval_gateway.openid_settings import OpenIdSettings
from nav_eval_store.errors import OperatorError
from nav_eval_store.models import Identity, User
from nav_eval_store.people import accounts, identities
from nav_eval_store.people.identities import ProvedPerson
from support.challenge import TEST
from support.gateway import PASSWORD, Server, free_port, gateway_settings, serving
from support.openid import (
    CLIENT_ID,
    CLIENT_SECRET,
    HostileProvider,
    install_provider,
    log_in_at_provider,
    providing,
    providing_lies,
)

pytestmark = pytest.mark.integration
BROWSER = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}


class Browser:
    """A browser without a screen."""

    def __init__(self, site: str, **headers: str) -> None:
        self.http = httpx.Client(base_url=site, headers={**BROWSER, **headers}, timeout=30)

    def begin(self, next_path: str = "/account") -> str:
        answer = self.http.get("/login/openid", params={"next": next_path})
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    def post(self, path: str, form: str, **fields: str) -> httpx.Response:
        found = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.http.get(form).text)
        assert found is not None
        return self.http.post(path, data={"csrf_token": found[1], **fields})

    def log_in(self, name: str) -> None:
        answer = self.post("/login", "/login", by="password", name=name, password=PASSWORD)
        assert answer.status_code == 303

    def read(self, answer: httpx.Response) -> str:
        """The page that the answer leads to, as text."""
        page = self.http.get(answer.headers["location"])
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))

    @property
    def session(self) -> str | None:
        return self.http.cookies.get("nav_eval_session")


def add_user(server: Server, name: str, *, password: str | None = PASSWORD) -> None:
    with server.database.begin() as session:
        accounts.create_user(session, name, actor=TEST, email=f"{name}@lab.example", password=password)


def find_user(server: Server, name: str) -> User:
    with server.database.read() as session:
        return accounts.get_user(session, name)


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory, new_url: Callable[[], str]) -> Iterator[Server]:
    """A gateway whose people log in by the certified provider, or by password; on each database."""
    port = free_port()
    openid = OpenIdSettings(
        issuer=f"http://127.0.0.1:{port}",
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        title="The Lab",
        ends_session=True,
    )
    settings = gateway_settings(tmp_path_factory.mktemp("openid"), database=new_url(), openid=openid)
    folder = install_provider(tmp_path_factory.mktemp("provider"))
    with serving(settings) as server, providing(folder, port, server.url):
        yield server


@pytest.fixture
def browser(certified: Server) -> Browser:
    return Browser(certified.url)


def test_a_first_login_makes_an_account_and_the_next_ones_find_it(certified: Server, browser: Browser) -> None:
    login = browser.begin()
    sent = {key: values[0] for key, values in parse_qs(urlsplit(login).query).items()}
    assert (sent["response_type"], sent["code_challenge_method"]) == ("code", "S256")
    assert {"state", "nonce", "code_challenge"} <= sent.keys()
    answer = browser.http.get(log_in_at_provider(login, "grace"))
    assert (answer.status_code, answer.headers["location"]) == (303, "/account")
    assert browser.session is not None
    assert "nav_eval_login" not in browser.http.cookies
    assert "grace@lab.example" in browser.http.get("/account").text
    user = find_user(certified, "grace")
    assert user.verified_at is not None
    assert user.password is None
    again = Browser(certified.url)
    again.http.get(log_in_at_provider(again.begin(), "grace"))
    assert again.session not in (None, browser.session)
    with certified.database.read() as session:
        rows = session.query(Identity).where(Identity.subject == "grace").all()
        assert [row.user_id for row in rows] == [user.id]


def test_a_session_of_before_is_not_taken_over(certified: Server, browser: Browser) -> None:
    planted = certified.user("planter")
    browser.http.cookies.set("nav_eval_session", planted, domain="127.0.0.1", path="/")
    browser.http.get(log_in_at_provider(browser.begin(), "hedy"))
    assert browser.session not in (None, planted)
    with certified.database.read() as session, pytest.raises(accounts.BadCredentials):
        accounts.verify_token(session, planted)


def test_tokens_for_the_sdk_are_made_after_such_a_login(certified: Server, browser: Browser) -> None:
    browser.http.get(log_in_at_provider(browser.begin(), "tools"))
    page = browser.post("/account/tokens", "/account", name="laptop", scopes="read", days="30")
    secret = re.search(r"nve_[a-z2-7]{8}_[A-Za-z0-9_-]{43}", page.text)
    assert secret is not None
    with certified.client(secret[0]) as client:
        assert client.get("/me").json()["name"] == "tools"


@pytest.mark.parametrize("wish", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_the_way_back_leads_to_our_own_pages(browser: Browser, wish: str) -> None:
    answer = browser.http.get(log_in_at_provider(browser.begin(wish), "rosalind"))
    assert answer.headers["location"] == "/"


def test_an_answer_is_good_once_and_in_one_browser(certified: Server, browser: Browser) -> None:
    back = log_in_at_provider(browser.begin(), "lise")
    cookie = browser.http.cookies["nav_eval_login"]
    stranger = Browser(certified.url)  # somebody was given the address: they are not logged in as lise
    assert "started in another browser" in stranger.read(stranger.http.get(back))
    browser.http.get(back)
    assert browser.session is not None
    first = browser.session
    browser.http.cookies.set("nav_eval_login", cookie, domain="127.0.0.1", path="/")
    assert "answer is not valid" in browser.read(browser.http.get(back))
    assert browser.session == first


def test_a_local_account_with_the_same_address_is_not_entered_but_asked_about(
    certified: Server, browser: Browser
) -> None:
    add_user(certified, "emmy")
    answer = browser.http.get(log_in_at_provider(browser.begin(), "Emmy"))
    assert answer.headers["location"] == "/login/openid/name"
    assert browser.session is None
    page = browser.read(answer)
    assert "&#39;emmy&#39; is taken" in page
    assert "has your e-mail address emmy@lab.example" in page
    taken = browser.post("/login/openid/name", "/login/openid/name", name="ernrny")  # looks like emmy
    assert taken.status_code == 422
    assert "looks like" in taken.text
    done = browser.post("/login/openid/name", "/login/openid/name", name="emmy-noether")
    assert (done.status_code, done.headers["location"]) == (303, "/account")
    assert find_user(certified, "emmy-noether").email == "emmy@lab.example"  # she proved it,
    assert find_user(certified, "emmy").email is None  # the other one had only named it


def test_an_address_that_another_account_has_proved_stays_there(certified: Server, browser: Browser) -> None:
    add_user(certified, "sofia")
    with certified.database.begin() as session:
        user = accounts.get_user(session, "sofia")
        user.verified_at = session.now()
    browser.http.get(log_in_at_provider(browser.begin(), "Sofia"))
    refused = browser.post("/login/openid/name", "/login/openid/name", name="kovalevskaya")
    assert refused.status_code == 422
    assert "log in to that one" in refused.text
    assert find_user(certified, "sofia").email == "sofia@lab.example"


def test_a_name_cannot_be_chosen_without_a_login(certified: Server) -> None:
    browser = Browser(certified.url)
    assert browser.http.get("/login/openid/name").status_code == 401
    browser.http.cookies.set("nav_eval_newcomer", "W10=." + "0" * 64, domain="127.0.0.1", path="/")
    assert browser.http.get("/login/openid/name").status_code == 401


def test_linking_from_inside_leads_to_the_same_account(certified: Server, browser: Browser) -> None:
    add_user(certified, "maria")
    browser.log_in("maria")
    page = browser.post("/account/identities", "/account")
    url = re.search(r'class="button" href="([^"]+)"', page.text)
    assert url is not None
    back = log_in_at_provider(url[1].replace("&amp;", "&"), "mg-1906")
    stranger = Browser(certified.url)
    stranger.http.cookies.set("nav_eval_login", browser.http.cookies["nav_eval_login"], domain="127.0.0.1", path="/")
    assert "Log in first" in stranger.read(stranger.http.get(back))  # a link belongs to the session that began it
    page = browser.post("/account/identities", "/account")
    url = re.search(r'class="button" href="([^"]+)"', page.text)
    assert url is not None
    answer = browser.http.get(log_in_at_provider(url[1].replace("&amp;", "&"), "mg-1906"))
    assert "mg-1906" in browser.read(answer)
    other = Browser(certified.url)
    other.http.get(log_in_at_provider(other.begin(), "mg-1906"))
    assert "<h1>maria</h1>" in other.http.get("/account").text
    identity = re.search(r"/account/identities/([0-9a-f-]+)/remove", other.http.get("/account").text)
    assert identity is not None
    other.post(f"/account/identities/{identity[1]}/remove", "/account", confirm="yes")
    late = Browser(certified.url)
    late.http.get(log_in_at_provider(late.begin(), "mg-1906"))
    assert "<h1>maria</h1>" not in late.http.get("/account", follow_redirects=True).text


def test_the_only_way_in_is_not_removed(certified: Server, browser: Browser) -> None:
    browser.http.get(log_in_at_provider(browser.begin(), "barbara"))
    identity = re.search(r"/account/identities/([0-9a-f-]+)/remove", browser.http.get("/account").text)
    assert identity is not None
    browser.post(f"/account/identities/{identity[1]}/remove", "/account", confirm="yes")
    with certified.database.read() as session:
        assert len(identities.list_identities(session, accounts.get_user(session, "barbara"))) == 1


def test_linking_needs_a_form_of_ours(certified: Server) -> None:
    browser = Browser(certified.url)
    add_user(certified, "chien")
    browser.log_in("chien")
    assert browser.http.post("/account/identities", data={}).status_code == 403
    assert "nav_eval_login" not in browser.http.cookies


def test_logging_out_ends_both_sessions(certified: Server, browser: Browser) -> None:
    browser.http.get(log_in_at_provider(browser.begin(), "ada-l"))
    secret = browser.session
    page = browser.post("/logout", "/account")
    assert f"{certified.settings.openid.issuer}/session/end" in page.text  # type: ignore[union-attr]
    assert secret is not None
    with certified.database.read() as session, pytest.raises(accounts.BadCredentials):
        accounts.verify_token(session, secret)


def test_the_button_speaks_both_languages_and_is_not_there_without_a_provider(
    certified: Server, tmp_path: Path
) -> None:
    assert "Log in with The Lab" in Browser(certified.url).http.get("/login").text
    chinese = Browser(certified.url, **{"Accept-Language": "zh-CN"}).http.get("/login").text
    assert "使用 The Lab 登录" in chinese
    with serving(gateway_settings(tmp_path)) as plain:
        assert "/login/openid" not in Browser(plain.url).http.get("/login").text
        assert Browser(plain.url).http.get("/login/openid").status_code == 404


@pytest.fixture
def liar() -> Iterator[HostileProvider]:
    with providing_lies() as provider:
        yield provider


def against(provider: HostileProvider, tmp_path: Path, **settings: Any) -> Any:
    openid = {"issuer": provider.url, "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    limits = {key: settings.pop(key) for key in ("login_rate_limit",) if key in settings}
    return serving(gateway_settings(tmp_path, openid=OpenIdSettings(**openid, **settings), **limits))


OTHER = RSAKey.generate_key(2048, {"kid": "one"})
LIES: dict[str, dict[str, Any]] = {
    "another nonce": {"claims": {"nonce": "stolen"}},
    "no nonce": {"claims": {"nonce": None}},
    "for another client": {"claims": {"aud": "somebody-else"}},
    "for several, and we are not the party": {"claims": {"aud": [CLIENT_ID, "other"], "azp": "other"}},
    "for several, without a party": {"claims": {"aud": [CLIENT_ID, "other"]}},
    "expired": {"claims": {"exp": int(time.time()) - 3600, "iat": int(time.time()) - 7200}},
    "without an end": {"claims": {"exp": None}},
    "from another issuer": {"claims": {"iss": "https://evil.example"}},
    "without a subject": {"claims": {"sub": None}},
    "with an empty subject": {"claims": {"sub": ""}},
    "with a subject that is no text": {"claims": {"sub": 7}},
    "signed by another key": {"signer": OTHER},
    "signed with our own secret": {"header": {"alg": "HS256"}, "signer": OctKey.import_key(CLIENT_SECRET)},
    "not signed at all": {"header": {"alg": "none"}},
    "no token": {"token": ""},
    "rubbish": {"token": "a.b.c"},
    "with an access token that is not the one": {"claims": {"at_hash": "bm90IHRoZSBvbmU"}},
}


def test_an_id_token_that_is_no_good_logs_nobody_in(liar: HostileProvider, tmp_path: Path) -> None:
    good = dict(vars(liar))
    with against(liar, tmp_path) as server:
        for title, lie in {"nothing": {}, **LIES}.items():
            vars(liar).update({**good, **lie})
            browser = Browser(server.url)
            said = browser.read(browser.http.get(liar.send_back(browser.begin(), server.url)))
            assert ("answer is not valid" in said) is (title != "nothing"), title
            assert (browser.session is None) is (title != "nothing"), title


def test_states_issuers_and_errors_that_are_not_ours_are_refused(liar: HostileProvider, tmp_path: Path) -> None:
    with against(liar, tmp_path) as server:
        browser = Browser(server.url)
        for tail in ("&state=other", "&iss=https://evil.example", "&error=access_denied"):
            back = liar.send_back(browser.begin(), server.url)
            answer = browser.http.get(back.replace("&state", "&was") + tail if "state" in tail else back + tail)
            assert answer.headers["location"] == "/login"
            assert browser.session is None
        assert liar.asked == []  # the code was not even shown to the provider


def test_an_answer_is_good_once_even_where_the_provider_takes_a_code_twice(
    liar: HostileProvider, tmp_path: Path
) -> None:
    with against(liar, tmp_path) as server:
        browser = Browser(server.url)
        for _ in range(2):  # the first login makes the account, the second one finds it
            back = liar.send_back(browser.begin(), server.url)
            cookie = browser.http.cookies["nav_eval_login"]
            browser.http.get(back)
            thief = Browser(server.url)
            thief.http.cookies.set("nav_eval_login", cookie, domain="127.0.0.1", path="/")
            assert "has already been used" in thief.read(thief.http.get(back))
            assert thief.session is None


def test_the_code_is_bound_to_the_login_by_its_verifier(liar: HostileProvider, tmp_path: Path) -> None:
    import base64
    import hashlib

    with against(liar, tmp_path) as server:
        browser = Browser(server.url)
        login = browser.begin()
        browser.http.get(liar.send_back(login, server.url))
        digest = hashlib.sha256(liar.asked[0]["code_verifier"].encode()).digest()
        challenge = parse_qs(urlsplit(login).query)["code_challenge"][0]
        assert base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge


def test_a_provider_that_calls_itself_otherwise_is_not_believed(
    liar: HostileProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nav_eval_gateway.openid.AWAY_SECONDS", 0)
    liar.metadata = {"issuer": "https://evil.example"}
    with against(liar, tmp_path) as server:
        answer = Browser(server.url).http.get("/login/openid")
        assert answer.status_code == 503
        liar.metadata = {"token_endpoint": "http://login.example.org/token"}  # not encrypted, and not on this machine
        assert Browser(server.url).http.get("/login/openid").status_code == 503
        liar.metadata = {}
        assert Browser(server.url).http.get("/login/openid").status_code == 303


@pytest.mark.parametrize(
    ("claims", "let_in"),
    [
        ({}, True),
        ({"email_verified": False}, False),
        ({"email_verified": None}, False),
        ({"email": "mallory@lab.example.evil.example"}, False),
        ({"email": "lab.example@evil.example"}, False),
        ({"email": None}, False),
    ],
)
def test_only_verified_addresses_of_the_domains_are_let_in(
    liar: HostileProvider, tmp_path: Path, claims: dict[str, Any], let_in: bool
) -> None:
    liar.claims = claims
    with against(liar, tmp_path, domains=frozenset({"lab.example"})) as server:
        browser = Browser(server.url)
        answer = browser.http.get(liar.send_back(browser.begin(), server.url))
        assert (browser.session is not None) is let_in
        if not let_in:
            assert "verified e-mail address of lab.example" in browser.read(answer)


def test_an_address_that_is_not_verified_is_not_kept(liar: HostileProvider, tmp_path: Path) -> None:
    liar.claims = {"email_verified": False}
    with against(liar, tmp_path) as server:
        add_user(server, "mallory-victim")
        liar.claims["email"] = "mallory-victim@lab.example"
        browser = Browser(server.url)
        browser.http.get(liar.send_back(browser.begin(), server.url))
        made = find_user(server, "mallory")
        assert (made.email, made.verified_at) == (None, None)
        assert find_user(server, "mallory-victim").email is not None


def test_userinfo_of_somebody_else_is_refused(liar: HostileProvider, tmp_path: Path) -> None:
    liar.claims = {"email": None, "email_verified": None}
    liar.userinfo = {"sub": "s-2", "email": "boss@lab.example", "email_verified": True}
    with against(liar, tmp_path) as server:
        browser = Browser(server.url)
        assert "not valid" in browser.read(browser.http.get(liar.send_back(browser.begin(), server.url)))
        liar.userinfo["sub"] = "s-1"
        browser.http.get(liar.send_back(browser.begin(), server.url))
        assert find_user(server, "mallory").email == "boss@lab.example"


def test_a_new_key_of_the_provider_is_found(liar: HostileProvider, tmp_path: Path) -> None:
    with against(liar, tmp_path) as server:
        first, second = Browser(server.url), Browser(server.url)
        first.http.get(liar.send_back(first.begin(), server.url))
        liar.key = RSAKey.generate_key(2048, {"kid": "two", "use": "sig"})
        liar.header = {"alg": "RS256", "kid": "two"}
        second.http.get(liar.send_back(second.begin(), server.url))
        assert second.session is not None


def test_without_accounts_at_first_login_only_linked_people_come_in(liar: HostileProvider, tmp_path: Path) -> None:
    with against(liar, tmp_path, makes_accounts=False) as server:
        browser = Browser(server.url)
        answer = browser.http.get(liar.send_back(browser.begin(), server.url))
        assert "No account here is linked" in browser.read(answer)
        add_user(server, "nina")
        with server.database.begin() as session:
            person = ProvedPerson(liar.url, "s-1", "nina", None)
            identities.link_identity(session, accounts.get_user(session, "nina"), person, actor=TEST)
        browser.http.get(liar.send_back(browser.begin(), server.url))
        assert "<h1>nina</h1>" in browser.http.get("/account").text


def test_a_closed_account_stays_closed(liar: HostileProvider, tmp_path: Path) -> None:
    with against(liar, tmp_path) as server:
        browser = Browser(server.url)
        browser.http.get(liar.send_back(browser.begin(), server.url))
        with server.database.begin() as session:
            accounts.disable_user(session, accounts.get_user(session, "mallory"), actor=TEST, reason="cheated")
        again = Browser(server.url)
        assert "is closed" in again.read(again.http.get(liar.send_back(again.begin(), server.url)))
        assert again.session is None


def test_such_logins_have_the_limit_of_logins(liar: HostileProvider, tmp_path: Path) -> None:
    with against(liar, tmp_path, login_rate_limit=6) as server:
        answers = [Browser(server.url).http.get("/login/openid").status_code for _ in range(8)]
        assert answers[0] == 303
        assert 429 in answers


def test_a_provider_that_is_away_is_not_asked_by_everybody(
    liar: HostileProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may take ten seconds not to answer; who comes next does not wait for that again."""
    monkeypatch.setattr("nav_eval_gateway.openid.AWAY_SECONDS", 600)
    liar.metadata = {"issuer": "https://evil.example"}
    with against(liar, tmp_path) as server:
        assert [Browser(server.url).http.get("/login/openid").status_code for _ in range(4)] == [503] * 4
        assert liar.looked_at == 1
        assert Browser(server.url).http.get("/login").status_code == 200  # by password as ever


def test_settings_that_cannot_work_are_named() -> None:
    usual = {"NAV_EVAL_URL": "https://nav.example.org", "NAV_EVAL_OIDC_CLIENT_ID": "us"}
    assert OpenIdSettings.from_environment(usual) is None
    with pytest.raises(OperatorError, match="https://"):
        OpenIdSettings.from_environment({**usual, "NAV_EVAL_OIDC_ISSUER": "http://login.example.org"})
    with pytest.raises(OperatorError, match="NAV_EVAL_URL"):
        OpenIdSettings.from_environment({"NAV_EVAL_OIDC_ISSUER": "https://a.example", "NAV_EVAL_OIDC_CLIENT_ID": "us"})
    found = OpenIdSettings.from_environment(
        {**usual, "NAV_EVAL_OIDC_ISSUER": "https://login.example.org", "NAV_EVAL_OIDC_DOMAINS": "Lab.example, b.org"}
    )
    assert found is not None
    assert (found.domains, found.title) == ({"lab.example", "b.org"}, "login.example.org")
