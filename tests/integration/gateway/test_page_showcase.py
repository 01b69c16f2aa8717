"""What a competition shows to the world, and that none of it shows what a phase keeps."""

import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID
from xml.etree import ElementTree as Xml

import httpx
import msgspec
import pytest
from PIL import Image

from nav_eval.replay import fonts
from nav_eval.replay.model import CameraView, encode_replay
from nav_eval_gateway.pages import card_picture
from nav_eval_gateway.security_headers import PAGE_POLICY
from nav_eval_store import blob_keys
from nav_eval_store.competitions import moderation
from nav_eval_store.models import EpisodeRow, Team
from support.challenge import TEST, Challenge, competition_config
from support.gateway import Server, gateway_settings, serving
from support.site import long_replay

pytestmark = pytest.mark.integration
QUOTA = {"quota": {"per_day": None, "concurrent": 1000}}
OPEN = {"preset": "practice", "replays": "public"}
SITE = "http://cup.example"
ATOM = "{http://www.w3.org/2005/Atom}"


@dataclass
class World:
    server: Server
    cup: Challenge
    entry: UUID

    def get(self, path: str, **headers: str) -> httpx.Response:
        return httpx.get(f"{self.server.url}{path}", headers={"Accept": "text/html", **headers}, timeout=60)


def make_view(count: int) -> CameraView:
    """A camera that turns from black to white."""
    frames = []
    for number in range(count):
        out = io.BytesIO()
        Image.new("RGB", (640, 480), (number * 18,) * 3).save(out, "JPEG")
        frames.append(out.getvalue())
    return CameraView(sensor="rgb", width=640, height=480, frames=frames)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(
        gateway_settings(Path(tmp_path_factory.mktemp("showcase")), docs_url="https://docs.example", base_url=SITE)
    ) as server:
        hidden = {"name": "test", "visibility": {"preset": "test", "scores": "organiser"}, **QUOTA}
        dev = {"name": "dev", "title": "Development", "visibility": OPEN, **QUOTA}
        cup = Challenge(server.database, competition_config(dev, hidden, description="Walk **far**."))
        team = cup.team("Ants")
        with server.database.begin() as session:
            session.get_one(Team, team).name = "Ants & <b>Co</b> {x}"
        entry = cup.complete(team)
        cup.complete(team, phase="test")
        film = msgspec.structs.replace(long_replay("a", 12), views=[make_view(13)])
        blobs = server.settings.store.open_blobs()
        blobs.put(blob_keys.make_film_key(entry, "a"), encode_replay(film))
        with server.database.begin() as session:
            session.get_one(EpisodeRow, (entry, "a")).replay_key = "replays/x"
        yield World(server, cup, entry)


def test_the_front_door_shows_the_best_at_work(world: World) -> None:
    page = world.get("/competitions/cup").text
    assert "Top entries: Development" in page
    assert "Ants &amp; &lt;b&gt;Co&lt;/b&gt; {x} at work" in page
    clip = f"/submissions/{world.entry}/replay/clip.webp?episode=a"
    assert f'<img src="{clip}"' in page
    assert '<source media="(prefers-reduced-motion: reduce)"' in page
    assert '<meta property="og:title" content="The Cup">' in page
    assert 'content="Walk far."' in page
    assert f'og:image" content="{SITE}/competitions/cup/card.png"' in page
    board = world.get("/competitions/cup/dev/board", Host="evil.example").text
    assert f'og:image" content="{SITE}/competitions/cup/dev/card.png"' in board
    assert 'id="phase-dev"' in page
    moving, still = world.get(clip), world.get(f"{clip}&still=true")
    with Image.open(io.BytesIO(moving.content)) as picture:
        assert getattr(picture, "n_frames", 1) > 5
    with Image.open(io.BytesIO(still.content)) as picture:
        assert getattr(picture, "n_frames", 1) == 1


def test_the_picture_for_other_sites_says_who_leads(world: World) -> None:
    answer = world.get("/competitions/cup/card.png")
    with Image.open(io.BytesIO(answer.content)) as picture:
        assert (picture.format, picture.size) == ("PNG", card_picture.SIZE)
    leader = card_picture.Leader(1, "Ants & <b>Co</b> {x}", "0.500")
    card = card_picture.Card(title="The Cup", name="cup", phase="Development", leaders=(leader,))
    assert answer.content == card_picture.draw_card(card)
    assert world.get("/competitions/cup/dev/card.png").content == answer.content
    again = world.get("/competitions/cup/card.png", **{"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


def test_the_picture_of_a_hidden_board_says_nobody(world: World) -> None:
    nobody = card_picture.Card(title="The Cup", name="cup", phase="test", leaders=())
    assert world.get("/competitions/cup/test/card.png").content == card_picture.draw_card(nobody)


@pytest.mark.parametrize("title", ["\u202e\u0000evil\n\n", "x" * 5000, "视觉" * 90, "\U0001f9ed", "", "word " * 90])
def test_any_title_makes_a_picture(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    for known in (fonts.FONTS, ()):
        monkeypatch.setattr(fonts, "FONTS", known)
        fonts.list_fonts.cache_clear()
        fonts.find_font.cache_clear()
        card = card_picture.Card(title=title, name="cup", phase=title, leaders=(card_picture.Leader(1, title, "0.1"),))
        drawn.append(card_picture.draw_card(card))
    monkeypatch.undo()
    fonts.list_fonts.cache_clear()
    fonts.find_font.cache_clear()
    assert all(picture.startswith(b"\x89PNG") for picture in drawn)


def test_there_is_no_empty_card(world: World) -> None:
    page = world.get("/competitions/cup").text
    assert "Baselines</h2>" not in page, "this competition has none"


def test_the_feed_can_be_read(world: World) -> None:
    answer = world.get("/competitions/cup/feed.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = Xml.fromstring(answer.text)
    (entry,) = feed.findall(f"{ATOM}entry")  # that of the hidden phase is not in it
    assert entry.findtext(f"{ATOM}title") == "Ants & <b>Co</b> {x}: 0.500 in Development"
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{world.entry}"


def test_one_page_alone_may_be_framed(world: World) -> None:
    embedded = world.get("/competitions/cup/dev/embed")
    policy = embedded.headers["content-security-policy"]
    assert "frame-ancestors *" in policy
    assert "script" not in policy
    assert "<script" not in embedded.text
    assert "<form" not in embedded.text
    assert "set-cookie" not in embedded.headers
    assert "0.500" in embedded.text
    for path in ("/", "/competitions/cup", "/competitions/cup/dev/board", f"/submissions/{world.entry}", "/help"):
        assert world.get(path).headers["content-security-policy"] == PAGE_POLICY, path
        assert world.get(path).headers["x-frame-options"] == "DENY"


def test_a_badge_and_a_citation(world: World) -> None:
    badge = world.get(f"/submissions/{world.entry}/badge.svg")
    assert Xml.fromstring(badge.text).findtext("{http://www.w3.org/2000/svg}title") == "The Cup: rank 1 · 0.500"
    assert badge.headers["cross-origin-resource-policy"] == "cross-origin"
    bibtex = world.get(f"/submissions/{world.entry}/cite.bib").text
    assert r"author = {{Ants \& <b>Co</b> \{x\}}}" in bibtex
    board = world.get("/api/v1/competitions/cup/phases/dev/leaderboard").json()
    rules = world.get("/api/v1/competitions/cup/phases/dev").json()["rules_digest"]
    row = board["rows"][0]
    said = {
        "competition": "cup",
        "phase": "dev",
        "rules_digest": rules,
        "submission_id": row["submission_id"],
        "score": row["score"]["mean"],
        "scores": row["scores"],
    }
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" in bibtex, "anybody can compute it from the JSON"
    assert "Cite this result" in world.get(f"/submissions/{world.entry}").text


def test_a_hidden_board_shows_nothing_anywhere(world: World) -> None:
    other = world.cup.team("Hidden")
    kept = world.cup.complete(other, phase="test")
    assert world.get(f"/submissions/{kept}/badge.svg").status_code == 404
    assert world.get(f"/submissions/{kept}/cite.bib").status_code == 404
    assert "Hidden" not in world.get("/competitions/cup/test/embed").text
    assert str(kept) not in world.get("/competitions/cup/feed.atom").text
    shown = world.cup.complete(other)
    assert str(shown) in world.get("/competitions/cup/feed.atom").text
    world.cup.do(lambda session: moderation.hide_submission(session, shown, actor=TEST, reason="x"))
    for path in ("/competitions/cup/feed.atom", "/competitions/cup/dev/embed", "/competitions/cup"):
        assert str(shown) not in world.get(path).text, path
    assert world.get(f"/submissions/{shown}/badge.svg").status_code == 404


def test_a_paused_phase_says_why_to_everybody(world: World) -> None:
    why = "The disk is <full>."
    world.cup.do(lambda s: moderation.pause_phase(s, world.cup.phase(s), actor=TEST, reason=why))
    assert "Paused: The disk is &lt;full&gt;." in world.get("/competitions/cup").text
    world.cup.do(lambda s: moderation.resume_phase(s, world.cup.phase(s), actor=TEST))


@pytest.mark.parametrize(("language", "said"), [("en", "The agent ran out of memory"), ("zh", "帮助")])
def test_there_is_help(world: World, language: str, said: str) -> None:
    page = world.get("/help", **{"Accept-Language": language}).text
    assert said in page
    assert 'href="https://docs.example"' in page
    assert 'href="/help"' in world.get("/").text
