"""Looking through episodes: without a script, worst first, in a gallery; and the way to the best agent's replay."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from nav_eval_store import blob_keys
from support.browser import Window, World


def read_scores(page: Page) -> list[float]:
    return [float(text) for text in page.locator("td[data-label=Score]").all_inner_texts()]


def test_episodes_are_looked_through_without_a_script(window: Callable[..., Window], world: World) -> None:
    page = window(java_script_enabled=False).page()
    page.goto(f"{world.url}/submissions/{world.adas}/episodes")
    assert page.locator("table.explorer tbody tr").count() == 24
    page.get_by_role("link", name="Worst first").click()
    scores = read_scores(page)
    assert len(scores) == 24
    assert scores == sorted(scores)
    page.get_by_role("columnheader", name="Score").get_by_role("link").click()
    assert read_scores(page) == scores[::-1]
    page.get_by_label("Show").select_option("not solved")
    page.get_by_label("Scene").select_option("house_1")
    page.get_by_role("button", name="Filter").click()
    results = page.locator("td[data-label=Result]").all_inner_texts()
    assert results
    assert {text.strip() for text in results} == {"✗ not solved"}
    assert set(page.locator("td[data-label=Scene]").all_inner_texts()) == {"house_1"}
    page.get_by_label("Episode or instruction").fill("ep_02")
    page.get_by_role("button", name="Filter").click()
    assert page.locator("table.explorer tbody tr").count() <= 1
    page.goto(f"{world.url}/submissions/{world.adas}/episodes")
    page.get_by_role("link", name="Failure gallery").click()
    expect(page.locator(".gallery > li").first).to_contain_text("not solved")


def test_maps_are_small_pictures_of_the_way(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.hostile}/episodes")
    picture = page.locator("img.thumbnail").first
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("complete", value=True)
    assert picture.evaluate("picture => picture.naturalWidth") > 0


def test_the_best_agents_replay_is_three_clicks_from_the_front_page(
    window: Callable[..., Window], world: World
) -> None:
    page = window().page()
    page.goto(world.url)
    page.get_by_role("link", name="House Errands 2026").first.click()
    page.locator("a[href='/competitions/cup/dev/board']").first.click()
    page.get_by_role("link", name="Watch the best agent").click()
    page.wait_for_selector("#replay[data-ready=true]")
    assert f"/submissions/{world.hostile}/replay" in page.url  # the best entry, and an episode that has a film
    assert page.locator("#replay-cameras img").count() == 3


def test_tiles_say_what_was_solved(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.adas}")
    tiles = page.locator("#live-episodes .episodes a")
    labels = [tiles.nth(n).get_attribute("aria-label") or "" for n in range(tiles.count())]
    kinds = [tiles.nth(n).get_attribute("class") for n in range(tiles.count())]
    assert {"solved", "unsolved"} == set(kinds)
    assert all(label.endswith("not solved") == (kind == "unsolved") for label, kind in zip(labels, kinds, strict=True))
    page.get_by_role("link", name="Explore the episodes").click()
    expect(page.get_by_role("heading", name="24 episodes")).to_be_visible()


def test_a_mean_stands_apart_from_its_interval(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.adas}/breakdown?by=scene")
    cells = page.locator("td.num", has=page.locator("small"))
    assert cells.count() > 0
    for text in cells.all_inner_texts():
        mean, interval = text.split("\n")
        assert float(mean) >= 0
        assert " – " in interval


def test_the_agents_log_follows_its_replay(window: Callable[..., Window], world: World) -> None:
    key = blob_keys.make_episode_log_key(world.adas, "ep_04")
    world.site.blobs.put(key, b"ready\nstep 3: <b>door</b>\n  open\nstep 7: stop\n")
    page = window().enter("ada")
    page.goto(f"{world.url}/submissions/{world.adas}/replay?episode=ep_04#step=3")
    page.wait_for_selector("#replay[data-ready=true]")
    here = page.locator("#agent-log .here")
    expect(here).to_have_text(["step 3: <b>door</b>\n", "  open\n"], use_inner_text=False)
    page.locator("#agent-log a", has_text="step 7").click()
    expect(page.locator("#replay-step-link")).to_have_text("7")
    expect(here).to_have_count(1)
    stranger = window().page()
    stranger.goto(f"{world.url}/submissions/{world.adas}/replay?episode=ep_04")
    expect(stranger.locator("#agent-log-title")).to_have_count(0)
