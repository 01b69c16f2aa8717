"""A competition's page says what there is to beat, to those who may know it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from nav_eval_store.competitions import configuration, moderation
from nav_eval_store.submissions import creation, queries
from support.challenge import GENEROUS, TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving

pytestmark = pytest.mark.integration
BASELINES = [{"name": "Random", "agent": "baseline:random"}, {"name": "Never run", "agent": "baseline:keyword"}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(gateway_settings(Path(tmp_path_factory.mktemp("competition")))) as running:
        yield running


@pytest.mark.parametrize(("audience", "seen"), [("public", True), ("organiser", False)])
def test_baselines_have_their_scores(server: Server, audience: str, seen: bool) -> None:
    phase = {**GENEROUS, "baselines": BASELINES, "visibility": {"scores": audience}}
    name = f"cup-{audience}"
    challenge = Challenge(server.database, competition_config(phase, name=name))
    with server.database.begin() as session:
        dev = configuration.get_phase(session, configuration.get_competition(session, name), "dev")
        row = next(team for team in queries.list_baselines(session, dev) if team.name == "Random")
        baseline = creation.start_agent_submission(session, dev, row, "baseline:random", actor=TEST).id
    challenge.prepare(baseline)
    challenge.run(baseline)
    with httpx.Client(base_url=server.url, headers={"Accept": "text/html"}) as client:
        page = client.get(f"/competitions/{name}").text
        assert "Never run" in page
        assert (f"/submissions/{baseline}" in page) is seen
        assert ("<strong>0.500</strong>" in page) is seen
        challenge.do(lambda session: moderation.hide_submission(session, baseline, actor=TEST, reason="x"))
        assert f"/submissions/{baseline}" not in client.get(f"/competitions/{name}").text
