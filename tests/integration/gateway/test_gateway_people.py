"""Users, tokens and teams, through HTTP."""

import pytest

from nav_eval_store.people.accounts import Scope
from support.challenge import Challenge
from support.gateway import PASSWORD, Server

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("cup")]


def test_from_registration_to_a_team_of_two(gateway: Server) -> None:
    with gateway.client() as anybody:
        for name in ("ada", "bob"):
            made = anybody.post("/users", json={"name": name, "email": f"{name}@x.org", "password": PASSWORD})
            assert made.status_code == 201, made.text
        ada, bob = (
            gateway.client(anybody.post("/login", json={"name": name, "password": PASSWORD}).json()["token"])
            for name in ("ada", "bob@x.org")
        )
    team = ada.post("/competitions/cup/teams", json={"name": "  The   Ants "}).json()
    assert team["name"] == "The Ants"
    assert ada.get("/me").json()["team"] == "The Ants"
    secret = ada.post(f"/teams/{team['id']}/invitations", json={"email": "bob@x.org"}).json()["secret"]
    assert bob.get(f"/teams/{team['id']}").status_code == 404
    assert bob.post("/invitations/accept", json={"secret": secret}).json()["id"] == team["id"]
    assert bob.post("/invitations/accept", json={"secret": secret}).status_code == 404  # good once
    assert bob.patch(f"/teams/{team['id']}", json={"name": "Mine"}).status_code == 403
    assert ada.delete(f"/teams/{team['id']}/members/ada").status_code == 409  # the last captain
    assert ada.put(f"/teams/{team['id']}/members/bob", json={"role": "captain"}).status_code == 200
    assert ada.delete(f"/teams/{team['id']}/members/ada").status_code == 204
    assert ada.get(f"/teams/{team['id']}").status_code == 404
    assert bob.patch(f"/teams/{team['id']}", json={"name": "Bees"}).json()["name"] == "Bees"
    assert [member["name"] for member in bob.get(f"/teams/{team['id']}").json()["members"]] == ["bob"]
    assert bob.get(f"/teams/{team['id']}/quota").json()[0]["left"] == 1000


def test_an_invitation_can_be_taken_back(gateway: Server) -> None:
    with gateway.captain("inviter") as captain, gateway.client(gateway.user("invited")) as invited:
        team = captain.get("/me").json()["teams"][0]["team_id"]
        made = captain.post(f"/teams/{team}/invitations", json={}).json()
        assert [row["id"] for row in captain.get(f"/teams/{team}/invitations").json()] == [made["id"]]
        assert captain.delete(f"/teams/{team}/invitations/{made['id']}").status_code == 204
        assert captain.get(f"/teams/{team}/invitations").json() == []
        assert invited.post("/invitations/accept", json={"secret": made["secret"]}).status_code == 404


def test_passwords_and_tokens_end(gateway: Server) -> None:
    with gateway.client() as anybody:
        anybody.post("/users", json={"name": "eve", "email": "eve@x.org", "password": PASSWORD}).raise_for_status()
        wrong = anybody.post("/login", json={"name": "eve", "password": "x"})
        assert (wrong.status_code, wrong.headers["www-authenticate"]) == (401, 'Bearer realm="nav-eval"')
        token = anybody.post("/login", json={"name": "eve", "password": PASSWORD}).json()["token"]
        with gateway.client(token) as eve:
            new = {"old": PASSWORD, "new": "another long one"}
            assert eve.put("/me/password", json={**new, "old": "no"}).status_code == 401
            assert eve.put("/me/password", json=new).status_code == 204
            assert anybody.post("/login", json={"name": "eve", "password": PASSWORD}).status_code == 401
            assert eve.delete("/tokens/current").status_code == 204
            assert eve.get("/me").status_code == 401


def test_a_token_makes_none_that_can_do_more(gateway: Server) -> None:
    with gateway.client(gateway.user("dora")) as dora:
        weak = dora.post("/tokens", json={"name": "ci", "scopes": ["read"], "days": 1}).json()
        assert dora.post("/tokens", json={"name": "x", "scopes": ["organise"]}).status_code == 403
        with gateway.client(weak["token"]) as reader:
            assert reader.get("/me").json()["scopes"] == ["read"]
            refused = reader.post("/tokens", json={"name": "y"})
            assert refused.status_code == 403
            assert "'team'" in refused.json()["detail"]
        assert weak["token"] not in dora.get("/tokens").text
        assert dora.delete(f"/tokens/{weak['id']}").status_code == 204
        assert gateway.client(weak["token"]).get("/me").status_code == 401
    other = gateway.client(gateway.user("eric"))
    assert other.delete(f"/tokens/{weak['id']}").status_code == 404  # another user's is not found


@pytest.mark.parametrize(
    "body",
    [
        {"name": "Ada", "email": "a@b.c", "password": PASSWORD},
        {"name": "ad\x00a", "email": "a@b.c", "password": PASSWORD},
        {"name": "../etc", "email": "a@b.c", "password": PASSWORD},
        {"name": "ok", "email": "not an address", "password": PASSWORD},
        {"name": "ok", "email": "a\x00@b.c", "password": PASSWORD},
        {"name": "ok", "email": "a@b.c\r\nBcc: d@e.f", "password": PASSWORD},
        {"name": "ok", "email": "a@b.c", "password": "short"},
        {"name": "ok", "email": "a@b.c", "password": PASSWORD, "is_admin": True},
        {"name": 7, "email": "a@b.c", "password": PASSWORD},
        ["no", "object"],
    ],
)
def test_registrations_that_are_refused(gateway: Server, body: object) -> None:
    with gateway.client() as anybody:
        answer = anybody.post("/users", json=body)
    assert answer.status_code == 422
    assert PASSWORD not in answer.text


@pytest.mark.parametrize("name", ["", "   ", "a\x00b", "a\u202eb", "x" * 61, "tab\u200b", "\n"])
def test_team_names_that_play_tricks_are_refused(gateway: Server, name: str) -> None:
    with gateway.client(gateway.user("mallory")) as mallory:
        assert mallory.post("/competitions/cup/teams", json={"name": name}).status_code == 422


def test_an_organiser_sees_all_teams_with_the_right_token_only(gateway: Server) -> None:
    gateway.captain("founder").close()
    with gateway.client(gateway.user("olga", organiser=True)) as olga:
        names = [team["name"] for team in olga.get("/competitions/cup/teams").json()]
        assert "Team founder" in names
    with gateway.client(gateway.user("olga", scopes=(Scope.READ,))) as reading:
        assert reading.get("/competitions/cup/teams").status_code == 403
    with gateway.client(gateway.user("nobody", scopes=tuple(Scope))) as nobody:
        assert nobody.get("/competitions/cup/teams").status_code == 403


def test_registration_closes_with_the_last_competition(gateway: Server, cup: Challenge) -> None:
    from support.challenge import GENEROUS, competition_config

    cup.apply(competition_config(GENEROUS, registration="closed"))
    try:
        with gateway.client() as anybody:
            body = {"name": "late", "email": "late@x.org", "password": PASSWORD}
            assert anybody.post("/users", json=body).status_code == 403
    finally:
        cup.apply(competition_config(GENEROUS))
