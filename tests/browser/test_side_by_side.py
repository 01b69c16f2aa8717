"""Two entries: what only one of them solved, the test in words, and an episode of both in step."""

from collections.abc import Callable

from playwright.sync_api import expect

from support.browser import Window, World
from support.site import long_replay


def test_a_comparison_leads_to_an_episode_that_only_one_solved(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/compare?entry={world.hostile}&entry={world.adas}")
    words = page.locator("#in-words")
    expect(words).to_contain_text("Over the 24 episodes that both played")
    expect(words).to_contain_text("If both were equally good")
    expect(words).to_contain_text("95 % confidence")
    counts = page.locator("#pairs p").first.inner_text()
    assert counts.startswith("Both solved ")
    names = page.locator("#pairs .only-solved a").all_inner_texts()
    assert names
    page.locator("#pairs .only-solved a").first.click()
    page.wait_for_selector("#pair[data-ready=true]")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Side by side: {names[0]}")


def test_two_agents_move_in_step_and_the_faster_one_waits(window: Callable[..., Window], world: World) -> None:
    site = world.site
    site.put_replay(world.hostile, long_replay("ep_17", 60))
    site.put_replay(world.adas, long_replay("ep_17", 20))
    page = window().page()
    page.set_viewport_size({"width": 1280, "height": 720})
    page.goto(f"{world.url}/side-by-side?entry={world.hostile}&entry={world.adas}&episode=ep_17#step=10")
    page.wait_for_selector("#pair[data-ready=true]")
    now = page.locator(".pane-now")
    expect(now.nth(0)).to_contain_text("Step 10 of 60")
    expect(now.nth(1)).to_contain_text("Step 10 of 20")
    page.get_by_role("slider").fill("45")
    expect(now.nth(0)).to_contain_text("Step 45 of 60")
    expect(now.nth(1)).to_contain_text("Step 20 of 20")
    expect(now.nth(1)).to_contain_text("episode ended")
    assert page.url.endswith("#step=45")
    expect(page.locator(".pane-cameras img[data-step='45']")).to_have_count(3)
    expect(page.locator(".pane-cameras img[data-step='20']")).to_have_count(3)
    for selector in ("#pair-time", "#pane-1 .pane-map", "#pane-2 .pane-map", "#pane-2 .pane-cameras"):
        box = page.locator(selector).bounding_box()
        assert box
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 720, selector
    page.get_by_role("button", name="▶ Play").click()
    expect(now.nth(0)).not_to_contain_text("Step 45 of 60")
