"""The roads of a visitor and of a team, and what was once wrong on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from nav_eval_gateway.pages.translations import Translator
from support.accessibility import find_barriers
from support.browser import Window, World, keep_picture

LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {},
    "phone_dark_zh": {"phone": True, "dark": True, "language": "zh-CN"},
}
looks = pytest.mark.parametrize("look", LOOKS)


def check(page: Page, picture: Path) -> None:
    keep_picture(page, picture)
    assert find_barriers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), picture.name


def language_of(look: str) -> Translator:
    return Translator("zh" if "zh" in look else "en")


@looks
def test_a_visitor_finds_the_best_agents_replay_in_three_clicks(
    window: Callable[..., Window], world: World, pictures: Path, look: str
) -> None:
    page, t = window(**LOOKS[look]).page(), language_of(look)
    page.goto(world.url)
    page.locator(".competition-card h2 a").first.click()
    check(page, pictures / f"front_door_{look}.png")
    page.locator("a.clip").click()
    page.wait_for_selector("#replay[data-ready=true]")
    assert "/replay?episode=" in page.url
    page.go_back()
    page.get_by_role("link", name=t("top.all")).click()
    assert page.url.endswith("/board")


def test_the_front_door_is_read_without_a_script(window: Callable[..., Window], world: World) -> None:
    page = window(java_script_enabled=False).page()
    page.goto(f"{world.url}/competitions/cup")
    expect(page.get_by_role("heading", name="Top entries: Development")).to_be_visible()
    expect(page.locator(".task-picture")).to_be_visible()
    assert page.locator("a.clip img").evaluate("image => image.naturalWidth") > 0


def test_who_wants_no_motion_gets_a_still(window: Callable[..., Window], world: World) -> None:
    page = window(reduced_motion="reduce").page()
    page.goto(f"{world.url}/competitions/cup")
    page.locator("a.clip").scroll_into_view_if_needed()
    expect(page.locator("a.clip img")).to_have_js_property("complete", True)  # the browser loads it when it is near
    assert "still=true" in page.locator("a.clip img").evaluate("image => image.currentSrc")


@looks
def test_a_team_looks_after_itself(window: Callable[..., Window], world: World, pictures: Path, look: str) -> None:
    page, t = window(**LOOKS[look]).enter("ada"), language_of(look)
    page.goto(f"{world.url}/competitions/cup/team")
    expect(page.get_by_role("heading", name=t("team.history"))).to_be_visible()
    page.get_by_text(t("profile.edit")).click()
    page.get_by_label(t("field.about")).fill("We walk.")
    page.get_by_label(t("profile.website")).fill("https://ada.example")
    page.get_by_role("button", name=t("profile.save")).click()
    expect(page.get_by_role("status")).to_contain_text(t("profile.saved"))
    check(page, pictures / f"team_home_{look}.png")
    page.get_by_role("link", name=t("profile.open")).click()
    expect(page.get_by_role("link", name="https://ada.example")).to_be_visible()
    check(page, pictures / f"profile_{look}.png")


def test_an_invitation_link_fills_itself_in(window: Callable[..., Window], world: World) -> None:
    page = window().enter("olga")
    page.goto(f"{world.url}/join#nvi_secret")
    expect(page.locator("input[name=secret]")).to_have_value("nvi_secret")
    assert "nvi_" not in page.url


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_title_pushes_no_column_away(window: Callable[..., Window], world: World, width: int) -> None:
    world.site.challenge.start(world.ada_team, title="W" * 200)
    page = window(phone=width == 390).enter("olga")
    for path in ("/organise/cup", f"/teams/{world.ada_team}"):
        page.goto(f"{world.url}{path}")
        boxes = page.locator(".wide").evaluate_all("boxes => boxes.map(box => box.scrollWidth - box.clientWidth)")
        assert max(boxes) <= 0, path


def test_the_mean_and_its_interval_are_told_apart(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.adas}/breakdown")
    below = page.locator("td.num > small").evaluate_all("all => all.map(each => getComputedStyle(each).display)")
    assert below
    assert set(below) == {"block"}


def test_an_estimate_is_told_as_one(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/help")
    told = page.evaluate(
        """async () => {
          const { countDown } = await import(document.querySelector('script[src*="pages.js"]').src);
          const soon = (seconds) => {
            const span = document.createElement("span");
            Object.assign(span.dataset, { rough: "", soon: "within minutes", before: "in " });
            span.dataset.until = new Date(Date.now() + 1000 * seconds).toISOString();
            const root = document.createElement("div");
            root.append(span);
            countDown(root);
            return span.textContent;
          };
          return [soon(9), soon(138), soon(1000), soon(8000)];
        }"""
    )
    assert told == ["within minutes", "within minutes", "in 20 min", "in 2 h 15 min"]
