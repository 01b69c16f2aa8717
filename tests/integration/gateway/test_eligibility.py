"""Who may submit by their e-mail address: links that work once, lists, an organiser's word; API, SDK and pages."""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from email import message_from_string
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from nav_eval_sdk.client import ChallengeClient
from nav_eval_sdk.http_client import ServerError
from nav_eval_store.models import Proof, Submission, TokenKind, User
from nav_eval_store.people import accounts, addresses
from nav_eval_store.people.accounts import ALL_SCOPES
from support.challenge import GENEROUS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving
from support.mailbox import receiving_letters

pytestmark = pytest.mark.integration
VERIFIED = {"email": "verified"}


@dataclass
class Strict:
    """A gateway with mail; its competition asks for verified addresses."""

    server: Server
    challenge: Challenge
    letters: list[str]

    def person(self) -> tuple[str, httpx.Client]:
        """Somebody with a team."""
        name = f"p-{uuid4().hex[:10]}"
        return name, self.server.captain(name)

    def rule(self, **eligibility: Any) -> None:
        config = competition_config(GENEROUS, eligibility=eligibility)
        self.challenge.apply(config, allow_dangerous=True)

    def read_secret(self) -> str:
        found = re.search(r"nvp_[A-Za-z0-9_-]{43}", read_text(self.letters[-1]))
        assert found is not None
        return found[0]

    def get(self, name: str) -> User:
        with self.server.database.read() as session:
            return accounts.get_user(session, name)


def read_text(letter: str) -> str:
    message = message_from_string(letter.partition("\n")[2])
    if message["content-transfer-encoding"] == "base64":
        return b64decode(str(message.get_payload())).decode()
    body = message.get_payload(decode=True)
    assert isinstance(body, bytes)
    return body.decode()


@pytest.fixture(scope="module")
def strict(new_url: Callable[[], str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Strict]:
    with receiving_letters() as (smtp, letters):
        settings = gateway_settings(tmp_path_factory.mktemp("strict"), database=new_url(), smtp=smtp)
        with serving(settings) as server:
            challenge = Challenge(server.database, competition_config(GENEROUS, eligibility=VERIFIED))
            yield Strict(server, challenge, letters)


@pytest.fixture(autouse=True)
def usual_rule(strict: Strict) -> None:
    strict.rule(**VERIFIED)


def submit(client: httpx.Client) -> httpx.Response:
    return client.post("/submissions", json={"competition": "cup", "phase": "dev"})


def test_a_person_submits_once_their_address_is_verified(strict: Strict) -> None:
    name, client = strict.person()
    refused = submit(client)
    assert refused.status_code == 403
    assert "confirm your e-mail address on your account page" in refused.json()["detail"]
    assert client.get("/me").json()["email_verified"] is False
    asked = client.post("/me/email", json={"email": f"{name}@example.org"})
    assert asked.status_code == 202, asked.text
    assert f"To: {name}@example.org" in strict.letters[-1]
    secret = strict.read_secret()
    confirmed = client.post("/me/email/confirm", json={"secret": secret})
    assert confirmed.json()["email_verified"] is True
    assert submit(client).status_code == 201
    assert client.post("/me/email/confirm", json={"secret": secret}).status_code == 401  # it worked once


def test_running_again_needs_it_as_well(strict: Strict) -> None:
    strict.rule()
    _, client = strict.person()
    first = submit(client).json()["id"]
    client.post(f"/submissions/{first}/cancel")
    with strict.server.database.begin() as session:
        session.get_one(Submission, UUID(first)).image_key = "images/x"
    strict.rule(**VERIFIED)
    refused = client.post(f"/submissions/{first}/rerun")
    assert (refused.status_code, "confirm your e-mail" in refused.text) == (403, True)


def test_the_sdk_says_what_to_do(strict: Strict) -> None:
    _, client = strict.person()
    token = client.headers["authorization"].removeprefix("Bearer ")
    with pytest.raises(ServerError, match="confirm your e-mail address on your account page"):
        ChallengeClient(strict.server.url, token).create_submission(
            competition="cup", phase="dev", name="x", sha256="0" * 64, size=9
        )


def test_a_link_is_for_the_account_that_asked(strict: Strict) -> None:
    """Who gets a stranger's message by mistake, or follows it, gives nothing away."""
    victim, theirs = strict.person()
    _, attackers = strict.person()
    attackers.post("/me/email", json={"email": f"{victim}@example.org"})
    secret = strict.read_secret()
    assert theirs.post("/me/email/confirm", json={"secret": secret}).status_code == 401
    with httpx.Client(base_url=f"{strict.server.url}/api/v1") as nobody:
        assert nobody.post("/me/email/confirm", json={"secret": secret}).status_code == 401
    assert submit(theirs).status_code == 403


def test_a_link_ends(strict: Strict) -> None:
    name, client = strict.person()
    client.post("/me/email", json={"email": f"{name}@example.org"})
    with strict.server.database.begin() as session:
        for proof in session.query(Proof).where(Proof.user_id == accounts.get_user(session, name).id):
            proof.expires_at = session.now() - timedelta(seconds=1)
    assert client.post("/me/email/confirm", json={"secret": strict.read_secret()}).status_code == 401


def test_who_proves_an_address_has_it(strict: Strict) -> None:
    squatter, theirs = strict.person()  # has named squatter@example.org
    owner, client = strict.person()
    client.post("/me/email", json={"email": f"{squatter}@example.org"})
    client.post("/me/email/confirm", json={"secret": strict.read_secret()})
    assert strict.get(owner).email == f"{squatter}@example.org"
    assert strict.get(squatter).email is None
    theirs.post("/me/email", json={"email": f"{squatter}@example.org"})  # and now it is proved
    refused = theirs.post("/me/email/confirm", json={"secret": strict.read_secret()})
    assert refused.status_code == 409
    assert strict.get(owner).email == f"{squatter}@example.org"


def prove(strict: Strict, client: httpx.Client, email: str) -> httpx.Response:
    client.post("/me/email", json={"email": email})
    return client.post("/me/email/confirm", json={"secret": strict.read_secret()})


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("{}+1@example.org", "{}+2@example.org"),
        ("{}@example.org", "{}@EXAMPLE.org."),
        ("{}@gmail.com", "{}.@gmail.com"),
    ],
)
def test_a_mailbox_proves_one_person(strict: Strict, first: str, second: str) -> None:
    name, client = strict.person()
    other, theirs = strict.person()
    assert prove(strict, client, first.format(name)).status_code == 200
    refused = prove(strict, theirs, second.format(name))
    assert (refused.status_code, "same mailbox" in refused.json()["detail"]) == (409, True)
    assert submit(theirs).status_code == 403
    with strict.server.database.begin() as session:  # proved before there was this rule
        user = accounts.get_user(session, other)
        accounts.set_email(user, second.format(name))
        user.verified_at = session.now()
    refused = submit(theirs)
    assert (refused.status_code, "submit with that one" in refused.json()["detail"]) == (403, True)
    assert submit(client).status_code == 201
    assert prove(strict, client, second.format(name) + "x").status_code == 200  # it is free then
    assert submit(theirs).status_code == 201


def test_everybody_in_the_team_must_be_eligible(strict: Strict) -> None:
    name, client = strict.person()
    assert prove(strict, client, f"{name}@example.org").status_code == 200
    assert submit(client).status_code == 201
    friend = f"f-{uuid4().hex[:10]}"
    with strict.server.client(strict.server.user(friend)) as theirs:
        team = client.get("/me").json()["teams"][0]["team_id"]
        invitation = client.post(f"/teams/{team}/invitations", json={}).json()["secret"]
        assert theirs.post("/invitations/accept", json={"secret": invitation}).status_code == 200
        refused = submit(client)
        assert (refused.status_code, friend in refused.json()["detail"]) == (403, True)
        assert f"{friend}@" not in refused.json()["detail"]
        assert prove(strict, theirs, f"{friend}@example.org").status_code == 200
        assert submit(client).status_code == submit(theirs).status_code == 201


def test_nobody_is_flooded_with_messages(strict: Strict) -> None:
    stranger = f"stranger-{uuid4().hex[:8]}@example.org"
    codes = []
    for _ in range(3):
        _, client = strict.person()
        for tag in ("", "+1", "+2"):  # to the same person
            codes.append(client.post("/me/email", json={"email": stranger.replace("@", f"{tag}@")}).status_code)
    assert codes == [202] * addresses.LINKS_PER_MAILBOX + [429] * (9 - addresses.LINKS_PER_MAILBOX)
    _, client = strict.person()
    codes = [client.post("/me/email", json={"email": f"x{n}-{stranger}"}).status_code for n in range(7)]
    assert codes == [202] * addresses.LINKS_PER_USER + [429] * (7 - addresses.LINKS_PER_USER)


@pytest.mark.parametrize("email", ["nobody", "a@b\r\nBcc: all@example.org", "a b@example.org", '"<x>"@example.org'])
def test_what_is_no_address_is_sent_nowhere(strict: Strict, email: str) -> None:
    _, client = strict.person()
    before = len(strict.letters)
    assert client.post("/me/email", json={"email": email}).status_code == 422
    assert len(strict.letters) == before


def test_a_list_lets_in_addresses_and_domains_that_are_verified(strict: Strict) -> None:
    name, client = strict.person()
    strict.rule(allow=["@lab.example", "ada@example.org"])
    assert "confirm your e-mail" in submit(client).json()["detail"]  # named is not enough

    def become(email: str) -> httpx.Response:
        with strict.server.database.begin() as session:
            user = accounts.get_user(session, name)
            addresses.vouch_for(session, user, actor=TEST, reason="test", email=email)
        return submit(client)

    for email in ("eve@example.org", "eve@sub.lab.example", "lab.example@evil.example", "x@notlab.example"):
        refused = become(email)
        assert refused.status_code == 403, email
        assert "not among those that may submit" in refused.json()["detail"]
        assert "ada@example.org" not in refused.json()["detail"]  # others' addresses are not told
    assert become("grace@lab.example").status_code == 201
    assert become("ada@example.org").status_code == 201


def test_an_organiser_of_the_installation_vouches_where_no_mail_comes(strict: Strict) -> None:
    name, client = strict.person()
    with strict.server.client(strict.server.user(f"o-{uuid4().hex[:6]}", organiser=True)) as olga:
        with strict.server.database.begin() as session:
            otto = accounts.create_user(session, f"otto-{uuid4().hex[:6]}", actor=TEST)
            competition = strict.challenge.competition(session)
            accounts.grant_organiser(session, otto, actor=TEST, competition=competition)
            token = accounts.issue_token(session, otto, "test", actor=TEST, scopes=ALL_SCOPES).secret
        with strict.server.client(token) as of_the_cup:
            assert of_the_cup.post(f"/users/{name}/vouch", json={"reason": "known"}).status_code == 403
        assert client.post(f"/users/{name}/vouch", json={"reason": "me"}).status_code == 403
        assert olga.post(f"/users/{name}/vouch", json={"reason": "a student of ours"}).json()["email_verified"] is True
        lines = olga.get("/audit", params={"action": "user.vouch"}).json()["items"]
        assert lines[0]["reason"] == "a student of ours"
    assert submit(client).status_code == 201


def test_without_mail_people_are_told_to_ask(strict: Strict, tmp_path: Any) -> None:
    with serving(gateway_settings(tmp_path)) as plain, plain.client(plain.user("ada")) as client:
        refused = client.post("/me/email", json={"email": "ada@example.org"})
        assert refused.status_code == 409
        assert "ask the organiser" in refused.json()["detail"]


def test_a_mail_server_that_is_away_is_told(tmp_path: Any) -> None:
    with receiving_letters() as (smtp, _):
        pass
    with serving(gateway_settings(tmp_path, smtp=smtp)) as server, server.client(server.user("ada")) as client:
        refused = client.post("/me/email", json={"email": "ada@example.org"})
        assert refused.status_code == 503
        assert "could not be sent" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("language", "doubt", "letter"),
    [
        ("en", "Before you submit to The Cup", "open this link"),
        ("zh-CN", "请先在账号页面验证您的邮箱", "打开下面的链接"),
    ],
)
def test_pages_lead_there_in_both_languages(strict: Strict, language: str, doubt: str, letter: str) -> None:
    name, api = strict.person()
    headers = {"Accept": "text/html", "Accept-Language": language}
    with httpx.Client(base_url=strict.server.url, headers=headers, timeout=30) as browser:
        with strict.server.database.begin() as session:
            secret = accounts.issue_token(
                session, accounts.get_user(session, name), "b", actor=TEST, scopes=ALL_SCOPES, kind=TokenKind.SESSION
            ).secret
        browser.cookies.set("nav_eval_session", secret, domain="127.0.0.1", path="/")

        def post(path: str, page: str, **fields: str) -> httpx.Response:
            proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get(page).text)
            assert proof is not None
            return browser.post(path, data={"csrf_token": proof[1], **fields})

        assert doubt in browser.get("/competitions/cup/submit").text
        assert post("/account/email", "/account", email=f"{name}@example.org").status_code == 303
        text = read_text(strict.letters[-1])
        assert letter in text
        link = re.search(r"http://\S+/account/email/confirm\?secret=nvp_\S+", text)
        assert link is not None
        page = browser.get(link[0])  # to look at it uses up nothing
        assert page.status_code == browser.get(link[0]).status_code == 200
        post("/account/email/confirm", link[0], secret=strict.read_secret())
        assert doubt not in browser.get("/competitions/cup/submit").text
    assert submit(api).status_code == 201
    assert "verified_email" in api.get("/competitions/cup").json()
