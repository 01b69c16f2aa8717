"""A forgotten password: the link works once, for an hour, and nobody learns from us who has an account."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from nav_eval_store.models import Proof, ProofKind
from nav_eval_store.people import accounts, addresses, password_resets
from support.challenge import TEST, Challenge
from support.gateway import PASSWORD, Server, gateway_settings, serving
from support.load import Deadline
from support.mailbox import receiving_letters

pytestmark = pytest.mark.integration
NEW = "a wholly new pass phrase"


@dataclass
class Site:
    server: Server
    letters: list[str]

    def ask(self, name: str) -> httpx.Response:
        with self.server.client() as client:
            return client.post("/password-reset", json={"name": name})

    def wait_for(self, count: int) -> str:
        deadline = Deadline(30)
        while len(self.letters) < count:
            assert not deadline.is_over, "no letter came"
            time.sleep(0.02)
        return self.letters[-1].replace("=\n", "").replace("=3D", "=")

    def reset(self, secret: str, new: str = NEW) -> httpx.Response:
        with self.server.client() as client:
            return client.post("/password-reset/confirm", json={"secret": secret, "new": new})

    def can_log_in(self, name: str, password: str) -> bool:
        with self.server.client() as client:
            return client.post("/login", json={"name": name, "password": password}).status_code == 201

    def count(self) -> int:
        with self.server.database.read() as session:
            return len(session.scalars(select(Proof.id).where(Proof.kind == ProofKind.RESET)).all())


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with receiving_letters() as (smtp, letters), serving(gateway_settings(tmp_path, smtp=smtp)) as server:
        Challenge(server.database)
        with server.database.begin() as session:
            for name in ("ada", "bob", "olga"):
                accounts.create_user(session, name, actor=TEST, email=f"{name}@example.org", password=PASSWORD)
            for name in ("ada", "olga"):
                addresses.vouch_for(session, accounts.get_user(session, name), actor=TEST, reason="known")
            accounts.grant_organiser(session, accounts.get_user(session, "olga"), actor=TEST)
        yield Site(server, letters)


def test_a_mailed_link_sets_a_new_password_once(site: Site) -> None:
    token = site.server.user("ada")
    assert site.ask("ADA@example.org").status_code == 204
    letter = site.wait_for(1)
    assert "ada@example.org" in letter
    found = re.search(r"nvr_[\w-]+", letter)
    assert found is not None
    assert site.reset(found[0], "short").status_code == 422
    assert site.reset(found[0]).status_code == 204
    assert site.can_log_in("ada", NEW)
    assert not site.can_log_in("ada", PASSWORD)
    with site.server.client(token) as client:
        assert client.get("/me").status_code == 401, "whatever was got by the old password ends"
    assert site.reset(found[0]).status_code == 401, "once"


def test_nobody_learns_who_has_an_account(site: Site) -> None:
    answers = [site.ask(name) for name in ("ada", "nobody", "bob", "bob@example.org", "x@example.org", "'; --")]
    assert {(answer.status_code, answer.text) for answer in answers} == {(204, "")}
    site.wait_for(1)
    assert site.count() == 1, "an address that was only named may be somebody else's"


def test_messages_are_bounded_without_a_word(site: Site) -> None:
    for _ in range(password_resets.MAILS_PER_DAY + 2):
        assert site.ask("ada").status_code == 204
    site.wait_for(password_resets.MAILS_PER_DAY)
    time.sleep(0.3)
    assert len(site.letters) == password_resets.MAILS_PER_DAY


def test_a_link_ends_and_a_newer_reset_ends_the_others(site: Site) -> None:
    with site.server.database.begin() as session:
        old, other, late = (password_resets.ask_for_reset(session, "ada", actor=TEST) for _ in range(3))
        assert old is not None
        assert other is not None
        assert late is not None
        session.get_one(Proof, late.proof.id).expires_at = session.now() - timedelta(seconds=1)
    assert site.reset(late.secret).status_code == 401
    assert site.reset(old.secret).status_code == 204
    assert site.reset(other.secret).status_code == 401


def test_an_organiser_hands_a_link_over(site: Site) -> None:
    with site.server.client(site.server.user("olga", organiser=True)) as client:
        handed = client.post("/users/bob/password-reset", json={"reason": "he stood at my desk"})
        assert handed.status_code == 201
        refused = client.post("/users/olga/password-reset", json={"reason": "x"})
    assert refused.status_code == 403, "accounts of organisers are not given away"
    assert site.reset(handed.json()["secret"]).status_code == 204
    assert site.can_log_in("bob", NEW)


def test_the_pages_lead_there(site: Site) -> None:
    with httpx.Client(base_url=site.server.url, headers={"Accept": "text/html"}, timeout=30) as browser:
        assert 'href="/forgotten"' in browser.get("/login").text
        proof = re.search(r'name="csrf_token" value="([0-9a-f]+)"', browser.get("/forgotten").text)
        assert proof is not None
        asked = browser.post("/forgotten", data={"csrf_token": proof[1], "name": "ada"})
        assert (asked.status_code, asked.headers["location"]) == (303, "/login")
        link = re.search(r"/reset\?secret=(nvr_[\w-]+)", site.wait_for(1))
        assert link is not None
        page = browser.get(link[0])
        assert "set-cookie" not in page.headers or "nav_eval_session" not in page.headers["set-cookie"]
        fields = {"csrf_token": proof[1], "secret": link[1], "new_password": NEW}
        assert browser.post("/reset", data=fields).headers["location"] == "/login"
    assert site.can_log_in("ada", NEW)


def test_without_mail_the_organiser_is_named(tmp_path: Path) -> None:
    with serving(gateway_settings(tmp_path)) as server:
        page = httpx.get(f"{server.url}/forgotten", headers={"Accept": "text/html"}).text
        assert "Ask the organiser" in page
        assert '<button class="primary">' not in page
