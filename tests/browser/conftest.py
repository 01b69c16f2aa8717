"""A site with content, a real Chromium, and pages that tell when something went wrong in them."""

import json
import os
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.sync_api import Browser, sync_playwright

from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.audit import make_user_actor
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions.lifecycle import Deadlines
from nav_eval_store.work import jobs, leases, workers
from nav_eval_store.work.usage import AgentUsage
from support import tools
from support.browser import Window, World
from support.challenge import TEST, result
from support.gateway import PASSWORD, gateway_settings, serving
from support.site import EPISODES, HOSTILE, Site, long_replay, outcome

CRASH = {"status": "failed", "cause": "agent_crash", "detail": "exit code 139"}
TEAMS = ("Wanderers", "Ants of Ithaca", "迷路的猫", "Deep Compass", "kitchen-first", HOSTILE[:60])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(gateway_settings(tmp_path_factory.mktemp("site"))) as server:
        site = Site(server.database, server.settings.store.open_blobs())
        site.baselines()
        rows = [site.team(name, 0.3 + 0.09 * place, 0.35 + 0.1 * place) for place, name in enumerate(TEAMS)]
        ada_team = _people(site)
        own = site.challenge.submit(ada_team, title="first try")
        site.finish(own, 0.6)
        site.spread()
        hostile = site.of_team(rows[-1])
        site.put_replay(hostile, long_replay("ep_01"))
        yield World(server, site, hostile, own, ada_team, _in_other_states(site, ada_team))


def _in_other_states(site: Site, team: UUID) -> dict[str, UUID]:
    """Submissions that run, have failed, and wait for an upload."""
    challenge = site.challenge
    running, failed = (challenge.submit(team, title=f"the {state} one") for state in ("running", "failed"))
    site.prepare(running, shards=[EPISODES[:12], EPISODES[12:]])
    lease = challenge.claim_of(running, worker="gpu-1")
    metrics = outcome(0.7, random.Random(5))
    with site.database.begin() as session:
        leases.renew_lease(
            session, lease, used=AgentUsage(754.2, 3_600_000_000), deadlines=Deadlines(lease=timedelta(days=9))
        )
        for number, episode in enumerate(EPISODES[:8]):
            jobs.record_episode(session, lease, result(episode, metrics(episode), **(CRASH if number == 5 else {})))
    site.blobs.put(
        blob_keys.make_episode_log_key(running, EPISODES[7]), b"reset\nloading the map\nstep 12: turn_left\n" * 20
    )
    checking = challenge.claim_of(failed)
    detail = "exit code 1: ModuleNotFoundError: No module named 'torch'"
    challenge.do(lambda session: jobs.fail_job(session, checking, Cause.AGENT_CRASH, detail))
    return {"running": running, "failed": failed, "created": challenge.start(team, title="to be uploaded")}


def _people(site: Site) -> UUID:
    """Ada has a team, Olga organises."""
    with site.database.begin() as session:
        ada, olga = (
            accounts.create_user(session, name, actor=TEST, email=f"{name}@example.org", password=PASSWORD)
            for name in ("ada", "olga")
        )
        accounts.grant_organiser(session, olga, actor=TEST)
        workers.register_worker(session, "gpu-1", host="gpu-1.lab", version="0.1", slots=2)
        competition = site.challenge.competition(session)
        return teams.create_team(session, competition, "Ada & friends", captain=ada, actor=make_user_actor(ada)).id


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=tools.browser(), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def window(chromium: Browser, world: World) -> Iterator[Callable[..., Window]]:
    """`window(phone=True, dark=True, language="zh-CN")`; at the end nothing may have been complained about."""
    opened: list[Window] = []

    def make(*, phone: bool = False, dark: bool = False, language: str = "en-GB", **options: Any) -> Window:
        size = {"width": 390, "height": 800} if phone else {"width": 1280, "height": 860}
        scheme: Any = "dark" if dark else "light"
        context = chromium.new_context(viewport=size, color_scheme=scheme, locale=language, **options)  # type: ignore[arg-type]
        opened.append(Window(context, world))
        return opened[-1]

    yield make
    for each in opened:
        each.context.close()
        assert each.complaints == [], json.dumps(each.complaints, indent=1)


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where screenshots go that somebody has asked for."""
    folder = Path(os.environ.get("NAV_EVAL_SCREENSHOTS", "nobody-asked"))
    if os.environ.get("NAV_EVAL_SCREENSHOTS"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
