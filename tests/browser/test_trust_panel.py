"""What stands behind a score, for whoever sees it: what was played again, digests, the action log, how to repeat it."""

import json
from collections.abc import Callable

import httpx
from playwright.sync_api import expect

from nav_eval_store.models import Submission, Team
from support.browser import Window, World

FACTS = {
    "engine_version": "0.2.0",
    "digests": {"rules": "a" * 64, "episodes": "b" * 64, "config": "c" * 64},
    "run_seed": 7,
    "verification": {"episodes": 24, "steps": 720, "equal": True},
}


def test_a_score_says_what_stands_behind_it(window: Callable[..., Window], world: World) -> None:
    with world.site.database.begin() as session:
        found = session.get_one(Submission, world.hostile)
        found.provenance = {**found.provenance, **FACTS}
        profile = {"paper": "https://arxiv.org/abs/2601.00001", "code": "javascript:alert(1)"}
        session.get_one(Team, found.team_id).profile = profile
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.hostile}")
    panel = page.locator("#live-trust")
    expect(panel).to_contain_text("24 of 24 episodes, 720 steps: ✓ all numbers are identical")
    expect(panel).to_contain_text("nav-eval 0.2.0")
    expect(panel).to_contain_text("a" * 64)
    expect(panel).to_contain_text("b" * 64)
    expect(panel).not_to_contain_text("c" * 64)  # for the team and the organiser
    expect(panel).to_contain_text("pip install 'nav-eval==0.2.0'")
    paper = panel.get_by_role("link", name="https://arxiv.org/abs/2601.00001")
    expect(paper).to_have_attribute("rel", "nofollow noopener noreferrer")
    expect(panel).not_to_contain_text("javascript")
    with page.expect_download() as download:
        panel.get_by_role("link", name="every action of every episode").click()
    lines = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    assert len(lines) == 24
    assert lines[0]["actions"][-1] == "stop"
    assert not {"instruction", "scene_id"} & set(lines[0])


def test_an_action_log_is_for_those_who_see_replays(world: World) -> None:
    address = f"{world.url}/api/v1/submissions/{world.more['running']}/action-log"
    assert httpx.get(address).status_code == 404
