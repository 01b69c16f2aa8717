"""The page in a real Chromium, from disk: no console errors, no requests, keys, links and plots in step."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from replay_browser import Page, opened_page
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Goal, GoalImage
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.replay.builder import ReplayBuilder
from nav_eval.replay.page import write_page

pytestmark = [pytest.mark.integration, pytest.mark.browser, pytest.mark.slow]

STEPS = 500


@pytest.fixture(scope="module")
def replay_file(tmp_path_factory: pytest.TempPathFactory, room_data: Path) -> Path:
    """A 500-step episode with three cameras."""
    from nav_eval.config import load_benchmark

    folder = tmp_path_factory.mktemp("long")
    (folder / "agent.py").write_text(
        "class Wanderer:\n"
        "    def act(self, observation):\n"
        "        return 'turn_left' if observation.step % 4 == 0 else 'move_forward'\n"
    )
    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}", "dataset.episodes=1"]
    benchmark: BenchmarkConfig = load_benchmark(
        "demo_lh_vln", overrides=[*place, f"evaluation.max_steps={STEPS}"], environ={}
    )
    EvaluationOrchestrator(cache=folder / "cache").run_benchmark(
        benchmark, agent=f"{folder / 'agent.py'}:Wanderer", out=folder / "run"
    )
    with ReplayBuilder(folder / "run", cache=folder / "cache") as builder:
        replay = builder.with_views(builder.replay(next(iter(builder.results))))
    assert replay.last_step == STEPS
    assert len(replay.views) == 3
    write_page(folder / "out.html", replay)
    return folder / "out.html"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with opened_page(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest.fixture(scope="module")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engine_cache")


def step(page: Page) -> int:
    return int(page.evaluate("document.getElementById('replay-scrubber').value"))


def test_five_hundred_steps_are_small_and_open_fast(replay_file: Path, page: Page) -> None:
    assert replay_file.stat().st_size < 9e6
    assert min(page.open(replay_file, f"#step={k}") for k in (1, 2)) < 2.0
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert page.problems == []
    assert all(url.startswith(("file:", "data:")) for url in page.requests)


def test_a_link_opens_its_step_and_every_part_shows_it(replay_file: Path, page: Page) -> None:
    page.call("Page.navigate", url="about:blank")
    page.open(replay_file, "#step=42")
    assert step(page) == 42
    assert page.evaluate("document.getElementById('replay-step-link').textContent") == "42"
    assert float(page.evaluate("document.querySelector('#replay-plot .cursor').getAttribute('x1')")) == 42.5
    assert float(page.evaluate("document.querySelector('#replay-strip .cursor').getAttribute('x1')")) == 42.5
    pictures = "[...document.querySelectorAll('#replay-cameras img')]"
    assert (
        page.evaluate(
            f"Promise.all({pictures}.map((p) => p.decode())).then(() => {pictures}.map((p) => p.naturalWidth))"
        )
        == [183] * 3
    )


def test_keys_walk_through_the_episode(replay_file: Path, page: Page) -> None:
    page.open(replay_file, "#step=42")
    for key, code, modifiers, expected in [
        ("ArrowRight", 39, 0, 43),
        ("ArrowLeft", 37, 0, 42),
        ("ArrowRight", 39, 8, 52),
        ("Home", 36, 0, 0),
        ("ArrowLeft", 37, 0, 0),
        ("End", 35, 0, STEPS),
        ("ArrowRight", 39, 0, STEPS),
    ]:
        page.press(key, code=code, modifiers=modifiers)
        assert step(page) == expected, key
    assert page.evaluate("location.hash") == f"#step={STEPS}"


def test_space_plays_and_pauses(replay_file: Path, page: Page) -> None:
    page.open(replay_file, "#step=10")
    page.evaluate("document.getElementById('replay-speed').value = '50'")
    page.press(" ", code=32, text=" ")
    page.evaluate("new Promise((done) => setTimeout(done, 600))")
    page.press(" ", code=32, text=" ")
    reached = step(page)
    assert 15 < reached < 80
    page.evaluate("new Promise((done) => setTimeout(done, 200))")
    assert step(page) == reached
    assert page.problems == []


def test_controls_have_names_and_the_phone_does_not_scroll_sideways(replay_file: Path, page: Page) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    page.open(replay_file, "#step=5")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    focusable = [n for n in tree if n.get("role", {}).get("value") in ("button", "slider", "combobox", "link", "image")]
    assert focusable
    assert [n for n in focusable if not n.get("name", {}).get("value")] == []
    slider = next(n for n in focusable if n["role"]["value"] == "slider")
    assert slider["name"]["value"] == "Step of the episode"
    page.call("Emulation.clearDeviceMetricsOverride")


SPEAKER = """
SAID = [
    {"action": "turn_left", "text": "I look <b>around</b>."},
    {"action": "ask", "text": "How far is it?"},
    {"action": "stop", "text": "Here it is."},
]

class Speaker:
    def act(self, observation):
        return SAID[observation.step]
"""


def test_what_was_said_is_shown_at_its_step_and_in_a_list(
    page: Page, room_benchmark: Callable[..., BenchmarkConfig], engine_cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "speaker.py").write_text(SPEAKER)
    EvaluationOrchestrator(cache=engine_cache).run_benchmark(
        room_benchmark("demo_vln_ask", "dataset.episodes=1"),
        agent=f"{tmp_path}/speaker.py:Speaker",
        out=tmp_path / "run",
    )
    with ReplayBuilder(tmp_path / "run", cache=engine_cache, sensors=()) as builder:
        replay = builder.replay(next(iter(builder.results)))
    write_page(tmp_path / "out.html", replay)
    page.open(tmp_path / "out.html", "#step=1")
    assert "turn_left — “I look <b>around</b>.”" in page.evaluate(
        "document.getElementById('replay-action').textContent"
    )
    page.press("ArrowRight", code=39)
    reply = replay.steps[2].reply
    assert reply.startswith("About ")
    assert page.evaluate("document.getElementById('replay-action').textContent").endswith(
        f"“How far is it?” → “{reply}”"
    )
    rows = (
        "[...document.querySelectorAll('#replay-spoken tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    assert page.evaluate(rows) == [
        ["1", "turn_left", "I look <b>around</b>.", ""],
        ["2", "ask", "How far is it?", reply],
        ["3", "stop", "Here it is.", ""],
    ]
    page.evaluate("document.querySelector('#replay-spoken a[data-step=\"3\"]').click()")
    assert step(page) == 3
    assert page.problems == []


def test_an_answer_in_words_is_shown(
    page: Page, room_data: Path, room_benchmark: Callable[..., BenchmarkConfig], engine_cache: Path, tmp_path: Path
) -> None:
    asked = next(iter(load_dataset(DatasetRequest(format="nav_eval", path=room_data / "val.json.gz", split="val"))))
    info = {"question": "Is there a chair?", "question_type": "existence", "answers": ["yes"]}
    private = msgspec.structs.replace(asked.private, info=info)
    write_episodes(tmp_path / "q.json", [msgspec.structs.replace(asked, private=private)])
    (tmp_path / "speaker.py").write_text(
        "class Speaker:\n    def act(self, observation):\n        return {'action': 'answer', 'text': 'Yes.'}\n"
    )
    EvaluationOrchestrator(cache=engine_cache).run_benchmark(
        room_benchmark("demo_eqa", f"dataset.data_path={tmp_path / 'q.json'}"),
        agent=f"{tmp_path}/speaker.py:Speaker",
        out=tmp_path / "run",
    )
    with ReplayBuilder(tmp_path / "run", cache=engine_cache, sensors=()) as builder:
        write_page(tmp_path / "out.html", builder.replay(next(iter(builder.results))))
    page.open(tmp_path / "out.html", "#step=1")
    assert page.evaluate("document.getElementById('replay-action').textContent").endswith("answer — “Yes.”")
    assert "Yes." in page.evaluate("document.getElementById('replay-spoken').textContent")
    assert page.problems == []


LOCALIZER = """
class Localizer:
    def act(self, observation):
        return {"poses": [{"position": [-3.0, 0.0, 2.3], "rotation": [0.0, 0.0, 0.0, 1.0]}]}
"""
TASKS = {
    "demo_lh_vln": ("evaluation.max_steps=12",),
    "demo_vln": ("evaluation.max_steps=12",),
    "demo_objectnav": ("evaluation.max_steps=12",),
    "demo_imagenav": ("evaluation.max_steps=12", "evaluation.distance_to=point"),
    "pointnav_base": ("evaluation.max_steps=12", "dataset.format=nav_eval"),
    "demo_localization": (),
    "sqa3d_localization_base": ("dataset.format=nav_eval",),
}


@pytest.fixture
def with_goal_pictures(room_data: Path) -> Callable[[Path], Path]:
    """The room's episodes, with a picture of each goal."""

    def write(folder: Path) -> Path:
        episodes = []
        for episode in load_dataset(DatasetRequest(format="nav_eval", path=room_data / "val.json.gz", split="val")):
            image = GoalImage(pose=Pose((0.0, 1.2, 2.0)), hfov=60.0, width=200, height=100)
            goals = (Goal(position=episode.goals[0].position, image=image),)
            private = msgspec.structs.replace(episode.private, goals=goals)
            episodes.append(msgspec.structs.replace(episode, private=private))
        write_episodes(folder / "val.json.gz", episodes)
        return folder / "val.json.gz"

    return write


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("task", TASKS)
def test_the_command_writes_a_page_for_every_task(
    task: str,
    language: str,
    room_benchmark: Callable[..., BenchmarkConfig],
    with_goal_pictures: Callable[[Path], Path],
    page: Page,
    tmp_path: Path,
    engine_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`nav-eval replay RUN --episode ID --html out.html` opens from disk and complains about nothing."""
    (tmp_path / "agent.py").write_text(LOCALIZER)
    agent = f"{tmp_path / 'agent.py'}:Localizer" if "localization" in task else "baseline:oracle"
    run, out = tmp_path / "run", tmp_path / "out.html"
    overrides = [*TASKS[task], *([f"dataset.data_path={with_goal_pictures(tmp_path)}"] if "image" in task else [])]
    EvaluationOrchestrator(cache=engine_cache).run_benchmark(room_benchmark(task, *overrides), agent=agent, out=run)
    monkeypatch.setenv("NAV_EVAL_CACHE", str(engine_cache))
    options = ["--episode", "a", "--html", str(out), "--language", language]
    written = CliRunner().invoke(app, ["replay", str(run), *options])
    assert written.exit_code == 0, written.output
    page.problems.clear()
    page.requests.clear()
    page.open(out)
    page.evaluate("document.getElementById('replay-last').click()")
    page.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert page.evaluate("document.querySelectorAll('#replay-map svg, #replay-map img, #replay-map canvas').length") > 0
    assert page.problems == []
    assert all(url.startswith(("file:", "data:")) for url in page.requests)
