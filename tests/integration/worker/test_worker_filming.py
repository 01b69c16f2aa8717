"""A real worker leaves films, and the page of the site plays them."""

from collections.abc import Callable

import httpx
import pytest

from nav_eval.replay.model import decode_replay
from nav_eval_store import blob_keys
from nav_eval_store.settings import StoreSettings
from nav_eval_store.submissions import films, queries
from nav_eval_store.submissions.lifecycle import JobKind
from support.challenge import TEST
from support.gateway import Server, gateway_settings, replace, serving
from support.stack import Stack

pytestmark = pytest.mark.integration


def test_films_of_a_run_are_on_the_replay_page(make_stack: Callable[..., Stack]) -> None:
    stack = make_stack("sqlite", visibility={"replays": "public", "scores": "public", "episodes": "public"})
    submission = stack.submit(stack.team("ada"))
    keys = {episode: blob_keys.make_film_key(submission, episode) for episode in "abcd"}
    with stack.worker("w1", NAV_EVAL_FILMS="2"):
        stack.completed(submission)
        stack.wait_until(lambda: sum(map(stack.blobs.exists, keys.values())) == 2, seconds=90, what="two films")
        made = [episode for episode, key in keys.items() if stack.blobs.exists(key)]  # the first two as they were drawn
        asked = next(episode for episode in keys if episode not in made)
        stack.database.run(
            lambda session: films.request_film(session, queries.get_submission(session, submission), asked, actor=TEST)
        )
        stack.wait_until(lambda: stack.blobs.exists(keys[asked]), seconds=90, what="the film that was asked for")
        stack.database.run(
            lambda session: films.request_film(
                session, queries.get_submission(session, submission), asked, actor=TEST, kind=JobKind.VIDEO
            )
        )
        video = blob_keys.make_video_key(submission, asked)
        stack.wait_until(lambda: stack.blobs.exists(video), seconds=90, what="the film to keep")
    replay = decode_replay(stack.blobs.get(keys[made[0]]), where="the film")
    assert replay.differences == []
    assert len(replay.floors) == 1
    settings = gateway_settings(stack.folder, database=stack.environment["NAV_EVAL_DATABASE"])
    store = StoreSettings(database=stack.environment["NAV_EVAL_DATABASE"], blobs=stack.environment["NAV_EVAL_BLOBS"])
    with serving(replace(settings, store=store)) as server:
        path, others = (
            f"/submissions/{submission}/replay",
            [episode for episode in keys if episode not in (*made, asked)],
        )
        address = f"{server.url}/api/v1/submissions/{submission}/episodes/{asked}/video.mp4"
        assert httpx.get(address, headers={"Range": "bytes=4-7"}, timeout=60).content == b"ftyp"
        check_page(server, path, filmed=made[0], last_step=replay.last_step, other=others[0])


def check_page(server: Server, path: str, *, filmed: str, last_step: int, other: str) -> None:
    with httpx.Client(
        base_url=server.url, headers={"Accept": "text/html"}, params={"episode": filmed}, timeout=60
    ) as client:
        page = client.get(path)
        assert page.status_code == 200
        assert "Go to the table, then to the chair." in page.text
        assert len(client.get(f"{path}/data").json()["steps"]) == last_step + 1
        assert client.get(path, params={"episode": other}).status_code == 200  # without a film: a sketch
