"""Webhooks through HTTP."""

import os
from collections.abc import Iterator

import httpx
import pytest

from nav_eval_store.notifications import signatures
from nav_eval_store.people import accounts, addresses
from support.challenge import TEST, Challenge
from support.gateway import Server
from support.paths import ROOT

pytestmark = pytest.mark.integration

PUBLIC = "https://93.184.216.34/hook"


@pytest.fixture
def captain(gateway: Server, cup: Challenge) -> Iterator[httpx.Client]:
    with gateway.captain(f"wh-{os.urandom(4).hex()}") as client:
        yield client


def hooks(client: httpx.Client) -> str:
    return f"/teams/{client.get('/me').json()['teams'][0]['team_id']}/webhooks"


def test_a_webhook_from_its_secret_to_its_end(gateway: Server, captain: httpx.Client) -> None:
    path = hooks(captain)
    made = captain.post(path, json={"url": PUBLIC}).json()
    assert len(made["secret"]) >= 32
    assert made["secret"] not in captain.get(path).text
    assert captain.post(f"{path}/{made['id']}/test").status_code == 202
    (delivery,) = captain.get(f"{path}/{made['id']}/deliveries").json()
    assert (delivery["kind"], delivery["delivered_at"]) == ("webhook.test", None)
    with gateway.captain(f"wh-{os.urandom(4).hex()}") as stranger:
        assert stranger.get(path).status_code == 404
        assert stranger.post(path, json={"url": PUBLIC}).status_code == 404
        assert stranger.delete(f"{path}/{made['id']}").status_code == 404
        assert stranger.delete(f"{hooks(stranger)}/{made['id']}").status_code == 404  # by the wrong door
    assert captain.delete(f"{path}/{made['id']}").status_code == 204
    assert captain.get(path).json() == []


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://127.0.0.1:5432/", 422),
        ("http://169.254.169.254/latest/meta-data", 422),
        ("https://user:pw@93.184.216.34/", 422),
        ("javascript:alert(1)", 422),
        ("gopher://93.184.216.34/", 422),
        ("https://no-such-host.invalid/", 422),
        ("mailto:victim@example.org", 403),
        ("mailto:a@b.c?bcc=d@e.f", 422),
        ("x" * 2001, 422),
    ],
)
def test_addresses_that_are_refused(captain: httpx.Client, url: str, status: int) -> None:
    assert captain.post(hooks(captain), json={"url": url}).status_code == status


def test_mail_goes_to_verified_addresses_only(gateway: Server, captain: httpx.Client) -> None:
    """Anybody can register somebody else's address."""
    me = captain.get("/me").json()
    assert captain.post(hooks(captain), json={"url": f"mailto:{me['email']}"}).status_code == 403
    with gateway.database.begin() as session:
        addresses.vouch_for(session, accounts.get_user(session, me["name"]), actor=TEST, reason="test")
    assert captain.post(hooks(captain), json={"url": f"mailto:{me['email']}"}).status_code == 201


def test_members_do_not_add_webhooks(gateway: Server, captain: httpx.Client) -> None:
    path = hooks(captain)
    secret = captain.post(path.replace("webhooks", "invitations"), json={}).json()["secret"]
    with gateway.client(gateway.user(f"wh-{os.urandom(4).hex()}")) as member:
        member.post("/invitations/accept", json={"secret": secret}).raise_for_status()
        assert member.get(path).status_code == 200
        assert member.post(path, json={"url": PUBLIC}).status_code == 403


def test_organisers_hear_of_all_teams(gateway: Server, cup: Challenge, captain: httpx.Client) -> None:
    with gateway.client(gateway.user("wh-organiser", organiser=True)) as organiser:
        made = organiser.post("/competitions/cup/webhooks", json={"url": PUBLIC}).json()
        path = f"/competitions/cup/webhooks/{made['id']}"
        body = {"competition": "cup", "phase": "dev"}
        submission = captain.post("/submissions", json=body).json()["id"]
        captain.post(f"/submissions/{submission}/cancel").raise_for_status()
        (delivery,) = organiser.get(f"{path}/deliveries").json()
        assert delivery["kind"] == "submission.state"
        assert organiser.post(f"{path}/test").status_code == 202
        assert captain.get("/competitions/cup/webhooks").status_code == 403
        assert organiser.delete(path).status_code == 204
        assert organiser.get("/competitions/cup/webhooks").json() == []


def test_a_receiver_checks_what_the_documentation_says(captain: httpx.Client) -> None:
    """The sample in docs/api.md, run as it stands there."""

    text = (ROOT / "docs" / "api.md").read_text()
    sample = next(block for block in text.split("```python\n")[1:] if "def is_ours" in block).partition("```")[0]
    namespace: dict = {}
    exec(sample, namespace)
    from datetime import UTC, datetime

    header = signatures.sign_body("secret", b"{}", datetime.now(UTC))
    assert namespace["is_ours"]("secret", b"{}", header)
    assert not namespace["is_ours"]("secret", b"{} ", header)
    assert not namespace["is_ours"]("secret", b"{}", header.replace("t=1", "t=2"))
