"""What holds for every request: problems, headers, limits, public competitions."""

import pytest

from support.challenge import Challenge, competition_config
from support.gateway import Server, gateway_settings, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = gateway_settings(tmp_path_factory.mktemp("gateway"), max_body=1000, body_seconds=0.5)
    with serving(settings) as server:
        Challenge(server.database, competition_config({"baselines": [{"name": "R", "agent": "baseline:random"}]}))
        yield server


def test_competitions_are_public_and_hold_nothing_private(server: Server) -> None:
    with server.client() as anybody:
        assert [row["name"] for row in anybody.get("/competitions").json()] == ["cup"]
        shown = anybody.get("/competitions/cup").json()
        assert shown["phases"][0]["state"] == "open"
        assert shown["phases"][0]["baselines"] == [{"name": "R", "upper_bound": False}]
        assert shown["phases"][0]["ranking"]["weights"] == {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}
        assert anybody.get("/competitions/cup/phases/dev").json() == shown["phases"][0]
        assert "baseline:random" not in anybody.get("/competitions/cup").text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/competitions/nope", 404),
        ("GET", "/competitions/%00", 404),
        ("GET", "/competitions/..%2f..%2fetc", 404),
        ("GET", "/nowhere", 404),
        ("POST", "/competitions/cup", 405),
    ],
)
def test_refusals_are_problems(server: Server, method: str, path: str, status: int) -> None:
    with server.client() as anybody:
        answer = anybody.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert answer.json()["detail"]
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
