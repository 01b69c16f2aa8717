"""The replay as somebody works with it: one screen, a thin line, a map to enlarge and click on."""

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
from playwright.sync_api import Page, expect

from nav_eval.replay.model import Replay, encode_replay
from nav_eval_store import blob_keys
from support.browser import Window, World
from support.site import PIXEL, long_replay

THIN = {"offline": False, "latency": 40, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 1.6e6 / 8}
"""1.6 Mbit/s, in bytes per second, as Chromium wants it."""
ROUND_TRIPS = 5
"""The page, its scripts, the data, the pictures; and one to connect."""
RECEIVED = """['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
  .reduce((sum, entry) => sum + entry.transferSize, 0)"""
INSIDE = """selector => { const box = document.querySelector(selector).getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight && box.height > 30; }"""


def make_film(episode: str) -> Replay:
    """500 steps of three cameras whose pictures do not compress, with bumps and a stop that was wrong."""
    replay, rng = long_replay(episode), random.Random(7)
    frames = [base64.b64decode(PIXEL) + rng.randbytes(3000) for _ in replay.steps]
    steps = [msgspec.structs.replace(step, collided=100 <= n < 104) for n, step in enumerate(replay.steps)]
    closed = [msgspec.structs.replace(replay.events[0], success=False), *replay.events[1:]]
    views = [msgspec.structs.replace(view, frames=frames) for view in replay.views]
    return msgspec.structs.replace(replay, steps=steps, events=closed, views=views)


def open_film(page: Page, world: World, episode: str = "ep_15", *, step: int = 0) -> None:
    world.site.put_replay(world.hostile, make_film(episode))
    page.goto(f"{world.url}/submissions/{world.hostile}/replay?episode={episode}#step={step}")
    page.wait_for_selector("#replay[data-ready=true]")


def throttle(page: Page, conditions: dict[str, Any] = THIN) -> None:
    client = page.context.new_cdp_session(page)
    client.send("Network.enable")
    client.send("Network.emulateNetworkConditions", conditions)


def test_map_and_first_pictures_come_within_three_seconds_over_a_thin_line(
    window: Callable[..., Window], world: World
) -> None:
    """What the line needs for what came until then; how busy this machine is says nothing about it."""
    page = window().page()
    throttle(page)
    open_film(page, world)
    map_bytes = page.evaluate(RECEIVED)
    page.wait_for_selector("#replay[data-pictures=true]")
    picture_bytes = page.evaluate(RECEIVED)
    page.evaluate("Promise.all([...document.querySelectorAll('#replay-cameras img')].map(p => p.decode()))")
    assert 0 < map_bytes <= picture_bytes
    assert picture_bytes / THIN["downloadThroughput"] + ROUND_TRIPS * THIN["latency"] / 1000 < 3.0
    frames = page.evaluate(
        "performance.getEntriesByType('resource').map(e => e.name).filter(name => name.includes('/frames'))"
    )
    assert [url.partition("&start=")[2] for url in frames[:2]] == ["0&stop=8", "8&stop=16"]


def test_pictures_that_were_scrubbed_away_from_are_not_waited_for(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    asked: list[str] = []
    cancelled: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/replay/frames" in request.url else None)
    page.on("requestfailed", lambda request: cancelled.append(request.url))
    throttle(page, THIN | {"downloadThroughput": 25_000})
    open_film(page, world)
    while not asked:
        page.wait_for_timeout(20)
    page.locator("#replay-scrubber").fill("400")
    expect(page.locator("#replay-cameras img").first).to_have_attribute("data-step", "400", timeout=60_000)
    assert any("start=400&" in url for url in asked[:4]), asked  # at once, before what lies between
    assert any("start=0&" in url or "start=8&" in url for url in cancelled), cancelled


def test_everything_is_on_one_screen(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    page.set_viewport_size({"width": 1280, "height": 720})
    open_film(page, world)
    for selector in ("#replay-map", "#replay-cameras", ".now", ".happened", "#replay-plot", "#replay-time"):
        assert page.evaluate(INSIDE, selector), selector
    phone = window(phone=True).page()
    open_film(phone, world)
    phone.locator("#replay-map").scroll_into_view_if_needed()
    phone.evaluate("document.querySelector('.map').scrollIntoView()")
    for selector in ("#replay-map", "#replay-strip + *, #replay-time"):
        assert phone.evaluate(INSIDE, selector), selector
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_on_the_way_goes_to_its_step(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    open_film(page, world)
    place = page.evaluate(
        """() => { const svg = document.querySelector('#replay-map svg');
        const points = svg.querySelectorAll('polyline.later')[1].getAttribute('points').split(' ');
        const [x, y] = points[120].split(',').map(Number);
        const at = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM()); return [at.x, at.y]; }"""
    )
    page.mouse.click(*place)
    step = int(page.locator("#replay-step-link").inner_text())
    assert abs(step - 370) <= 2
    assert page.url.endswith(f"#step={step}")


def test_the_map_is_enlarged_moved_and_fitted_again(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    open_film(page, world)
    view_box = "document.querySelector('#replay-map svg').getAttribute('viewBox').split(' ').map(Number)"
    whole = page.evaluate(view_box)
    page.get_by_role("button", name="Zoom in").click()
    page.keyboard.press("+")
    zoomed = page.evaluate(view_box)
    assert zoomed[2] < whole[2] / 2
    box = page.locator("#replay-map").bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] - 60, middle[1] - 40, steps=4)
    page.mouse.up()
    moved = page.evaluate(view_box)
    assert moved[0] > zoomed[0]
    assert moved[1] > zoomed[1]
    assert page.locator("#replay-step-link").inner_text() == "0", "who drags has not clicked"
    page.keyboard.press("0")
    assert page.evaluate(view_box) == whole


def test_a_camera_is_shown_large_and_follows(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    open_film(page, world)
    page.wait_for_selector("#replay[data-pictures=true]")
    page.get_by_role("button", name="rgb_front").click()
    large = page.locator("#replay-large")
    expect(large).to_be_visible()
    before = large.locator("img").get_attribute("src")
    page.keyboard.press("ArrowRight")
    expect(large.locator("img")).not_to_have_attribute("src", before or "")
    page.keyboard.press("Escape")
    expect(large).to_be_hidden()


def test_what_went_wrong_is_marked_on_the_line(window: Callable[..., Window], world: World) -> None:
    page = window().page()
    open_film(page, world)
    marks = page.locator("#replay-marks a")
    names = [marks.nth(n).get_attribute("aria-label") for n in range(marks.count())]
    assert names == [
        "Step 100: collision (4 times)",
        "Step 250: stopped in the wrong place",
        "Step 500: episode ended at the step limit",
    ]
    marks.nth(1).click()
    expect(page.locator("#replay-step-link")).to_have_text("250")
    strip, mark = page.locator("#replay-strip").bounding_box(), marks.nth(1).bounding_box()
    assert strip
    assert mark
    assert abs((mark["x"] + mark["width"] / 2 - strip["x"]) / strip["width"] - 250.5 / 501) < 0.01


def test_depth_and_categories_come_when_somebody_switches_to_them(window: Callable[..., Window], world: World) -> None:
    """Camera by camera; what nobody looks at is not fetched, and what is shown large follows."""
    page = window().page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/replay/frames" in request.url else None)
    film = make_film("ep_16")
    kinds = [
        msgspec.structs.replace(view, kind=kind, frames=[frame + kind.encode() for frame in view.frames])
        for view in film.views
        for kind in ("depth", "semantic")
    ]
    world.site.put_replay(world.hostile, msgspec.structs.replace(film, views=[*film.views, *kinds]))
    page.goto(f"{world.url}/submissions/{world.hostile}/replay?episode=ep_16")
    page.wait_for_selector("#replay[data-pictures=true]")
    assert page.locator("#replay-cameras figure").count() == 3
    assert {url.partition("&views=")[2].partition("&")[0] for url in asked} == {"0,1,2"}
    front = page.get_by_label("View: rgb_front")
    assert front.locator("option").all_inner_texts() == ["Colour", "Depth", "Semantic"]
    page.get_by_role("button", name="rgb_front").click()
    front.select_option("Depth")
    wanted = base64.b64encode(kinds[2].frames[0]).decode()
    pictures = page.locator("#replay-cameras img")
    expect(pictures.nth(1)).to_have_attribute("src", f"data:image/png;base64,{wanted}")
    expect(page.locator("#replay-large img")).to_have_attribute("src", f"data:image/png;base64,{wanted}")
    assert {url.partition("&views=")[2].partition("&")[0] for url in asked} == {"0,1,2", "5"}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="One step forward").click()
    step = base64.b64encode(kinds[2].frames[1]).decode()
    expect(pictures.nth(1)).to_have_attribute("src", f"data:image/png;base64,{step}")
    expect(pictures.nth(0)).to_have_attribute(
        "src", f"data:image/png;base64,{base64.b64encode(film.views[0].frames[1]).decode()}"
    )


def test_a_replay_from_before_there_were_kinds_has_nothing_to_switch(
    window: Callable[..., Window], world: World
) -> None:
    film = make_film("ep_17")
    old = json.loads(encode_replay(film))
    for view in old["views"]:
        del view["kind"]
    key = blob_keys.make_film_key(world.hostile, "ep_17")
    world.site.blobs.put(key, json.dumps(old).encode())
    page = window().page()
    page.goto(f"{world.url}/submissions/{world.hostile}/replay?episode=ep_17")
    page.wait_for_selector("#replay[data-pictures=true]")
    assert page.locator("#replay-cameras select").count() == 0
