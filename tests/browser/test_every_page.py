"""Every page, as a stranger, a team and an organiser see it: accessible, quiet, fit for a phone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.accessibility import find_barriers
from support.browser import Window, World, keep_picture

FOR_ALL = {
    "home": "/",
    "competition": "/competitions/cup",
    "board": "/competitions/cup/dev/board",
    "board_sorted": "/competitions/cup/dev/board?sort=ne&kind=team",
    "board_hidden": "/competitions/cup/test/board",
    "breakdown": "/competitions/cup/dev/breakdown?by=scene",
    "submission": "/submissions/{hostile}",
    "submission_breakdown": "/submissions/{hostile}/breakdown",
    "compare": "/compare?entry={hostile}&entry={adas}",
    "replay": "/submissions/{hostile}/replay?episode=ep_01#step=123",
    "sketch": "/submissions/{hostile}/replay?episode=ep_02",
    "pair": "/side-by-side?entry={hostile}&entry={adas}&episode=ep_02",
    "explorer": "/submissions/{adas}/episodes?sort=score",
    "explorer_gallery": "/submissions/{adas}/episodes?only=unsolved&view=gallery",
    "explorer_phase": "/competitions/cup/dev/episodes",
    "help": "/help",
    "forgotten": "/forgotten",
    "reset": "/reset?secret=nvr_x",
    "board_columns": "/competitions/cup/dev/board?columns=tar,ne",
    "embed": "/competitions/cup/dev/embed",
    "login": "/login",
    "register": "/register",
}
FOR_A_TEAM = {
    "team": "/competitions/cup/team",
    "submit": "/competitions/cup/submit",
    "own_submission": "/submissions/{adas}",
    "account": "/account",
    "join": "/join",
    "team_webhooks": "/teams/{ada_team}/webhooks",
    "running": "/submissions/{running}",
    "failed": "/submissions/{failed}",
    "uploading": "/submissions/{created}",
}
FOR_ORGANISERS = {
    "organise": "/organise",
    "new_competition": "/organise/new",
    "configuration": "/organise/cup/configuration",
    "console": "/organise/cup",
    "audit": "/organise/cup/audit",
    "webhooks": "/organise/cup/webhooks",
    "refusal": "/submissions/{hostile}/replay?episode=nowhere",
    "no_team": "/competitions/cup/team",
    "foreign_submission": "/submissions/{hostile}",
    "foreign_team": "/teams/{ada_team}",
}


def address(world: World, path: str) -> str:
    ids = {"hostile": world.hostile, "adas": world.adas, "ada_team": world.ada_team, **world.more}
    return world.url + path.format(**ids)


def look_at(page: Page, url: str, picture: Path) -> None:
    """Open, check, keep a picture."""
    page.goto(url)
    page.wait_for_load_state("load")
    if "/replay" in url and "nowhere" not in url:
        page.wait_for_selector("#replay[data-ready=true]")
    page.evaluate("for (const d of document.querySelectorAll('main details')) d.open = true")
    keep_picture(page, picture)
    assert find_barriers(page) == [], url
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{url} is wider than the window"


LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "desktop_dark": {"dark": True},
    "phone_dark_zh": {"phone": True, "dark": True, "language": "zh-CN"},
}
"""Light and dark, wide and narrow, English and Chinese."""
looks = pytest.mark.parametrize("look", LOOKS)


@looks
def test_pages_for_all(window: Callable[..., Window], world: World, pictures: Path, look: str) -> None:
    page = window(**LOOKS[look]).page()
    for name, path in FOR_ALL.items():
        look_at(page, address(world, path), pictures / f"{name}_{look}.png")


@looks
def test_pages_of_a_team(window: Callable[..., Window], world: World, pictures: Path, look: str) -> None:
    page = window(**LOOKS[look]).enter("ada")
    for name, path in FOR_A_TEAM.items():
        look_at(page, address(world, path), pictures / f"{name}_{look}.png")


@looks
def test_pages_of_organisers(window: Callable[..., Window], world: World, pictures: Path, look: str) -> None:
    opened = window(**LOOKS[look])
    page = opened.enter("olga")
    for name, path in FOR_ORGANISERS.items():
        look_at(page, address(world, path), pictures / f"{name}_{look}.png")
    opened.complaints = [said for said in opened.complaints if "404" not in said]  # of the page that is not there


def test_language_and_appearance_are_a_choice(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(address(world, FOR_ALL["board"]))
    page.get_by_role("link", name="中文").click()
    expect(page.get_by_role("heading", name="排行榜：Development")).to_be_visible()
    assert page.locator("html").get_attribute("lang") == "zh-Hans"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("link", name="深色").click()
    page.wait_for_selector("html[data-theme=dark]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != background
    assert page.url == address(world, FOR_ALL["board"])


def test_boards_are_read_without_a_script(window: Callable[..., Window], world: World) -> None:
    page = window(java_script_enabled=False).page()
    page.goto(address(world, FOR_ALL["board"]))
    rows = page.locator("table.board tbody tr")
    assert rows.count() == 10
    page.get_by_role("link", name="NE (lower").click()
    errors = [
        float(text) for text in page.locator("td[data-label=NE]").evaluate_all("c => c.map(e => e.firstChild.data)")
    ]
    assert errors == sorted(errors)
    page.get_by_label("Team or submission").fill("compass")
    page.get_by_role("button", name="Filter").click()
    expect(rows).to_have_count(1)
    page.goto(address(world, FOR_ALL["board"]))
    boxes = page.locator("input[name=entry]")
    boxes.nth(1).check()
    boxes.nth(2).check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Paired test")).to_be_visible()


def test_a_board_sorts_and_filters_in_place(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(address(world, FOR_ALL["board"]))
    page.evaluate("window.same = true")
    page.get_by_role("link", name="TAR (higher").click()
    page.wait_for_url("**/board?sort=tar")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("TAR")
    page.get_by_label("Team or submission").fill("ants")
    expect(page.locator("table.board tbody tr")).to_have_count(1)
    assert page.evaluate("document.activeElement.name") == "q"
    page.go_back()
    expect(page.locator("table.board tbody tr")).to_have_count(10)
    page.locator("input[name=entry]").nth(0).check()
    page.locator("input[name=entry]").nth(1).check()
    assert page.locator("input[name=entry]").nth(2).is_disabled()
    assert page.evaluate("window.same"), "the page was loaded anew"


def test_keyboards_reach_everything(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(address(world, FOR_ALL["board"]))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    outline = page.locator("#main a").first
    outline.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
