"""A film to keep: asked for on the replay page, watched as it comes along, downloaded; by those who may look."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from nav_eval_store import blob_keys
from nav_eval_store.submissions import films
from nav_eval_store.submissions.lifecycle import JobKind
from support.accessibility import find_barriers
from support.browser import Window, World


def test_a_film_is_asked_for_watched_and_downloaded(
    window: Callable[..., Window], world: World, tmp_path: Path
) -> None:
    page = window().enter("ada")
    page.goto(f"{world.url}/submissions/{world.adas}/replay?episode=ep_03#step=5")
    page.wait_for_selector("#replay[data-ready=true]")
    page.get_by_role("button", name="Make a film (MP4)").click()
    expect(page.get_by_text("Waiting for a free worker")).to_be_visible()
    assert page.url.endswith("#step=5"), "nobody loses their place"
    database = world.site.database
    lease = world.site.challenge.claim(JobKind.VIDEO)
    database.run(lambda session: films.record_progress(session, lease, steps_drawn=12, steps_total=30))
    expect(page.get_by_text("Making the film 40 %")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Progress of the film")).to_have_attribute("value", "12")
    assert find_barriers(page) == []
    world.site.blobs.put(blob_keys.make_video_key(world.adas, "ep_03"), b"a film")
    database.run(lambda session: films.finish_film(session, lease))
    ready = page.get_by_role("link", name="Download the film (MP4)")
    expect(ready).to_be_visible()
    with page.expect_download() as found:
        ready.click()
    assert found.value.suggested_filename == "ep_03.mp4"
    assert Path(found.value.path()).read_bytes() == b"a film"


def test_visitors_download_what_is_there_and_log_in_for_more(window: Callable[..., Window], world: World) -> None:
    world.site.blobs.put(blob_keys.make_video_key(world.adas, "ep_04"), b"a film")
    page = window(java_script_enabled=False).page()
    page.goto(f"{world.url}/submissions/{world.adas}/replay?episode=ep_04")
    expect(page.get_by_role("link", name="Download the film (MP4)")).to_be_visible()
    page.goto(f"{world.url}/submissions/{world.adas}/replay?episode=ep_05")
    page.get_by_role("link", name="Log in to download the film (MP4)").click()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
