"""The page of a replay: hostile texts stay texts, and nothing is asked of the network."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from nav_eval.errors import RecordError, UnknownName
from nav_eval.evaluation.run_folder import make_file_name
from nav_eval.replay import page
from nav_eval.replay.model import (
    CameraView,
    Floor,
    Picture,
    Replay,
    ReplayEvent,
    ReplayStage,
    ReplayStep,
    ReplayTarget,
    decode_replay,
    encode_replay,
)
from nav_eval.replay.page import WORDS

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&\u2028"


def sample(text: str = "chair", *, steps: int = 3) -> Replay:
    picture = Picture(data=b"RIFF", width=40, height=30, media_type="image/webp")
    return Replay(
        benchmark=text,
        task="lh_vln",
        episode_id=text,
        scene_id=text,
        status="completed",
        agent={"name": text, text: text},
        instruction=text,
        cause=text,
        detail=text,
        steps=[ReplayStep(position=(float(k), 0.0, 0.0), yaw=0.0, action=text if k else None) for k in range(steps)],
        stages=[
            ReplayStage(
                name=text, region=text, targets=[ReplayTarget(position=(1.0, 0.0, 0.0), name=text)], distance=0.5
            )
        ],
        events=[ReplayEvent(step=steps - 1, kind="end", stage=0, reason=text)],
        floors=[Floor(height=0.0, left=-1.0, top=-1.0, pixels_per_metre=10.0, picture=picture)],
        paths=[],
        metrics={text: 1.0},
        success_distance=1.0,
        max_steps=500,
        randomization={text: text},
        differences=[text],
        views=[CameraView(sensor=text, width=4, height=4, frames=[b"\xff\xd8"] * steps)],
    )


class Elements(HTMLParser):
    """What a browser would see: tags with their attributes, and the text inside of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_hostile_texts_make_no_element() -> None:
    plain, hostile = (Elements(page.render_page(sample(text))) for text in ("chair", HOSTILE))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    assert not [name for _, attributes in hostile.tags for name in attributes if name.startswith("on")]


def test_hostile_texts_are_read_back_as_they_are() -> None:
    html = page.render_page(sample(HOSTILE))
    data = re.search(r'<script type="application/json" id="replay-data">(.*?)</script>', html, re.S)
    assert data
    read = json.loads(data[1])
    assert read["instruction"] == HOSTILE
    assert read["stages"][0]["name"] == HOSTILE


def test_the_policy_allows_the_two_inline_parts_and_no_request() -> None:
    html = page.render_page(sample())
    policy = next(a["content"] for tag, a in Elements(html).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    script = re.findall(r"<script>(.*?)</script>", html, re.S)
    style = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert len(script) == len(style) == 1
    for text in (script[0], style[0]):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy
    assert "default-src 'none'" in policy
    addresses = [value for _, a in Elements(html).tags for name in ("src", "href") if (value := a.get(name))]
    assert all(address.startswith(("#", "data:")) for address in addresses)


def test_the_body_for_a_server_has_nothing_inline() -> None:
    html = page.render_body(sample(HOSTILE), sources={"data": "/r/1.json?a=1&b=2", "frames": "/r/1/frames?e=1"})
    seen = Elements(html)
    assert not {tag for tag, _ in seen.tags} & {"script", "style"}
    assert not [name for _, attributes in seen.tags for name in attributes if name == "style" or name.startswith("on")]
    root = next(attributes for _, attributes in seen.tags if attributes.get("id") == "replay")
    assert (root["data-data"], root["data-frames"]) == ("/r/1.json?a=1&b=2", "/r/1/frames?e=1")


def test_the_data_leave_the_pictures_to_the_views() -> None:
    replay = sample(steps=5)
    assert json.loads(page.encode_data(replay))["views"][0]["frames"] == []
    assert len(json.loads(page.encode_frames(replay.views[0]))) == 5


def test_pictures_are_sent_in_pieces() -> None:
    views = [CameraView(sensor=name, width=4, height=4, frames=[bytes([k]) for k in range(5)]) for name in "ab"]
    replay = msgspec.structs.replace(sample(steps=7), views=views)
    piece = [[base64.b64decode(frame)[0] for frame in frames] for frames in read_piece(replay, 2, 4)]
    assert piece == [[2, 3], [2, 3]]
    assert [base64.b64decode(frame)[0] for frame in read_piece(replay, 4, 12)[0]] == [4, 4, 4]  # a camera ended early
    assert read_piece(replay, 40, 48) == [[], []]
    assert len(json.loads(page.encode_frame_range(replay, start=0, stop=2, views=[1]))) == 1


def read_piece(replay: Replay, start: int, stop: int) -> list[list[str]]:
    pieces: list[list[str]] = json.loads(page.encode_frame_range(replay, start=start, stop=stop))
    return pieces


def test_a_replay_survives_its_file() -> None:
    replay = sample(HOSTILE)
    assert decode_replay(encode_replay(replay), where="x.json") == replay
    with pytest.raises(RecordError, match=r"x\.json is not a replay"):
        decode_replay(b'{"steps": 3}', where="x.json")


def test_infinite_distances_do_not_break_the_data() -> None:
    replay = msgspec.structs.replace(sample(), metrics={"ne": float("inf")})
    assert json.loads(page.encode_data(replay))["metrics"] == {"ne": None}
    assert "Infinity" not in page.render_page(replay)


def test_every_language_has_every_word() -> None:
    assert {frozenset(words) for words in WORDS.values()} == {frozenset(WORDS["en"])}
    assert "回放" in page.render_page(sample(), language="zh")
    with pytest.raises(UnknownName, match="en, zh"):
        page.render_page(sample(), language="tlh")


def test_the_script_uses_only_words_that_exist() -> None:
    used = set(re.findall(r"words\.(\w+)", page.read_script()))
    assert used
    assert used <= set(WORDS["en"])


@pytest.mark.parametrize("sink", ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("])
def test_the_script_makes_no_html(sink: str) -> None:
    assert sink not in page.read_script()


def test_a_page_is_as_large_as_its_pictures() -> None:
    views = [CameraView(sensor=f"rgb_{k}", width=183, height=183, frames=[bytes(3700)] * 501) for k in range(3)]
    replay = msgspec.structs.replace(sample(steps=501), views=views)
    raw = 3 * 501 * 3700
    assert len(page.render_page(replay)) < raw * 4 / 3 + 300_000


@pytest.mark.parametrize(
    ("episode_id", "name"),
    [
        ("lh_vln_00001", "lh_vln_00001"),
        ("../../etc/passwd", r"etc_passwd-\w{12}"),
        (".hidden", r"hidden-\w{12}"),
        ("房间/一", r"episode-\w{12}"),
        ("", r"episode-\w{12}"),
        ("a" * 500, r"a{60}-\w{12}"),
    ],
)
def test_file_names_are_plain(episode_id: str, name: str) -> None:
    made = make_file_name(episode_id)
    assert re.fullmatch(name, made)
    assert Path(made).name == made


def test_different_ids_get_different_files() -> None:
    assert make_file_name("a/b") != make_file_name("a:b")
