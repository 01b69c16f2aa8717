"""What once was wrong on pages, as somebody sees it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from support.browser import Window, World

OVERLAPS = """names => { const boxes = names.map(name => name.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right && b.left < a.right
    && a.top + 3 < b.bottom && b.top + 3 < a.bottom)).length; }"""


def test_every_bar_of_a_comparison_has_its_own_scale(window: Callable[..., Window], world: World) -> None:
    """Metres beside shares: a significant TAR was a dot at zero."""
    page = window().page()
    page.goto(f"{world.url}/compare?entry={world.hostile}&entry={world.adas}")
    rows = page.locator("tr", has=page.locator(".significant"))
    assert rows.count() > 3
    away = rows.locator("svg.ci circle").evaluate_all("dots => dots.map(dot => Math.abs(dot.cx.baseVal.value - 59))")
    assert min(away) > 15, away


@pytest.mark.parametrize(
    ("language", "told"), [("en-GB", "1 Jun 2030, 14:00 CEST"), ("zh-CN", "2030年6月1日 GMT+2 14:00")]
)
def test_times_name_their_zone_the_readers_way(
    window: Callable[..., Window], world: World, language: str, told: str
) -> None:
    page = window(language=language, timezone_id="Europe/Berlin").page()
    page.goto(f"{world.url}/competitions/cup")
    closes = page.locator("time[datetime^='2030-06-01T12:00']").first
    expect(closes).to_have_text(told)
    assert "UTC" in (closes.get_attribute("title") or "")


@pytest.mark.parametrize("axes", ["x=tar&y=score", "x=ne&y=spl", "x=sr&y=csr"])
def test_names_in_a_plot_do_not_collide(window: Callable[..., Window], world: World, axes: str) -> None:
    page = window().page()
    page.goto(f"{world.url}/competitions/cup/dev/board?{axes}")
    names = page.locator("#scatter text.name")
    assert names.count() > 1
    assert names.evaluate_all(OVERLAPS) == 0


def test_the_breakdown_of_a_board_leads_on(window: Callable[..., Window], world: World) -> None:
    page = window(java_script_enabled=False).page()
    page.goto(f"{world.url}/competitions/cup/dev/board")
    page.get_by_role("link", name="Breakdown").click()
    expect(page.locator("table")).to_be_visible()
    page.locator("table a[href*='/submissions/']").first.click()
    expect(page.get_by_role("heading", name="Scores")).to_be_visible()
