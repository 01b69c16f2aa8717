"""Replays of real runs: exact, for every task, and in what `evaluate` leaves behind."""

import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from nav_eval.cli import app
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Goal, GoalImage
from nav_eval.dataset.formats.native import write_episodes
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.errors import UnknownName
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.geometry import Pose
from nav_eval.records.results import EpisodeResult, read_results
from nav_eval.replay.builder import ReplayBuilder
from nav_eval.replay.model import Replay, decode_replay, encode_replay
from nav_eval.replay.page import render_page
from nav_eval.replay.view_kinds import ViewKind

pytestmark = pytest.mark.integration

MakeBenchmark = Callable[..., BenchmarkConfig]

WANDERER = """
class Wanderer:
    def act(self, observation):
        return ["turn_left", "move_forward", "move_forward", "move_forward", "stop"][observation.step % 5]
"""
LOCALIZER = """
class Localizer:
    def act(self, observation):
        return {"poses": [
            {"position": [-3.0, 0.0, 2.3], "rotation": [0.0, 0.0, 0.0, 1.0]},
            {"position": [1.0, 0.0, 0.0], "rotation": [0.0, 1.0, 0.0, 0.0]},
        ]}
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("replay_cache")


def evaluate(benchmark: BenchmarkConfig, agent: str, out: Path, cache: Path) -> dict[str, EpisodeResult]:
    EvaluationOrchestrator(cache=cache).run_benchmark(benchmark, agent=agent, out=out)
    return {line.episode_id: line for line in read_results(out / "episodes.jsonl", EpisodeResult)}


def replay_of(out: Path, cache: Path, episode: str = "a", *, views: bool = False) -> Replay:
    with ReplayBuilder(out, cache=cache) as builder:
        made = builder.replay(episode)
        return builder.with_views(made) if views else made


@pytest.mark.parametrize("rule", ["documented", "reference"])
@pytest.mark.parametrize("agent", ["baseline:oracle", "baseline:wall_follower", "wanderer"])
def test_long_horizon_data_are_the_runs_own(
    rule: str, agent: str, room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    (tmp_path / "agent.py").write_text(WANDERER)
    address = f"{tmp_path / 'agent.py'}:Wanderer" if agent == "wanderer" else agent
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=60", f"task.scoring.rule={rule}")
    for name, line in evaluate(benchmark, address, tmp_path / "run", cache).items():
        replay = replay_of(tmp_path / "run", cache, name)
        assert replay.differences == []
        assert tuple(step.position for step in replay.steps) == line.trajectory
        assert [step.action for step in replay.steps[1:]] == list(line.actions)
        assert replay.metrics == line.metrics
        assert [stage.success for stage in replay.stages] == [record.success for record in line.subtasks]
        for stage, record in zip(replay.stages, line.subtasks, strict=True):
            if record.navigation_error is not None:
                assert stage.distance == record.navigation_error
        assert replay.events[-1].kind == "end"
        assert replay.events[-1].step == line.num_steps


@pytest.mark.parametrize("task", ["demo_vln", "demo_objectnav"])
def test_single_goal_data_are_the_runs_own(
    task: str, room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    benchmark = room_benchmark(task, "evaluation.max_steps=80", "evaluation.distance_to=point")
    line = evaluate(benchmark, "baseline:oracle", tmp_path / "run", cache)["b"]
    replay = replay_of(tmp_path / "run", cache, "b", views=True)
    assert replay.differences == []
    assert tuple(step.position for step in replay.steps) == line.trajectory
    assert len(replay.stages) == 1
    assert replay.steps[-1].distance == next(
        v for k, v in line.metrics.items() if k in ("navigation_error", "distance_to_goal")
    )
    assert {view.sensor for view in replay.views}
    assert all(len(view.frames) == len(replay.steps) for view in replay.views)


def test_pictures_are_what_the_simulator_shows(room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path) -> None:
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:oracle", tmp_path / "run", cache)
    with ReplayBuilder(tmp_path / "run", cache=cache, sensors=["rgb_front", "depth_left"]) as builder:
        made = builder.replay("a")
        shots = list(builder.shots(made))
        kept = builder.with_views(made)
    assert [shot["rgb_front"].shape for shot in shots] == [(366, 366, 3)] * len(made.steps)
    assert [view.sensor for view in kept.views] == ["rgb_front", "depth_left"]
    view = kept.views[0]
    for shot, frame in zip(shots, view.frames, strict=True):
        image = Image.open(BytesIO(frame))
        assert image.size == (view.width, view.height) == (240, 240)
        small = Image.fromarray(shot["rgb_front"]).resize(image.size, Image.Resampling.BOX)
        assert np.abs(np.asarray(small, int) - np.asarray(image.convert("RGB"), int)).mean() < 6.0


def test_every_camera_shows_depth_and_categories_too(
    room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    cube = "{type: PrimitiveCubeCfg, name: cube, category: chair, size: [1, 1, 1], position: [-3, 0.5, -0.5]}"
    benchmark = room_benchmark("demo_vln", "evaluation.max_steps=6", f"scenario_config.objects=[{cube}]")
    evaluate(benchmark, "baseline:oracle", tmp_path / "run", cache)
    with ReplayBuilder(tmp_path / "run", cache=cache) as builder:
        plain = builder.with_views(builder.replay("a"))
    with ReplayBuilder(tmp_path / "run", cache=cache, kinds=tuple(ViewKind)) as builder:
        made = builder.with_views(builder.replay("a"))
        shots = list(builder.shots(made))
    assert made.differences == []
    assert [(view.sensor, view.kind) for view in made.views] == [
        *((view.sensor, "colour") for view in plain.views),
        *((view.sensor, kind) for view in plain.views for kind in ("depth", "semantic")),
    ]
    assert [view.frames for view in made.views[: len(plain.views)]] == [view.frames for view in plain.views]
    assert all(list(shot) == [view.sensor for view in plain.views] for shot in shots), "videos show cameras as before"
    assert all(len(view.frames) == len(made.steps) for view in made.views)
    depth, semantic = (Image.open(BytesIO(view.frames[0])) for view in made.views[-2:])
    assert depth.mode == "L"
    assert np.asarray(depth).std() > 5
    assert len(semantic.convert("RGB").getcolors() or ()) > 1, "edges are not blurred, the cube is not black"
    assert decode_replay(encode_replay(made), where="here") == made


def test_a_scene_that_nobody_annotated_has_no_categories_to_show(
    room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    evaluate(room_benchmark("demo_vln", "evaluation.max_steps=2"), "baseline:oracle", tmp_path / "run", cache)
    with ReplayBuilder(tmp_path / "run", cache=cache, kinds=tuple(ViewKind)) as builder:
        made = builder.with_views(builder.replay("a"))
    assert [view.kind for view in made.views] == ["colour", "depth"]


def test_places_on_the_map_are_where_the_house_has_them(
    room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=5"), "baseline:oracle", tmp_path / "run", cache)
    floor = replay_of(tmp_path / "run", cache).floors[0]
    plan = np.asarray(Image.open(BytesIO(floor.picture.data)).convert("RGB"), dtype=int)

    def colour(x: float, z: float) -> np.ndarray:
        column, row = floor.pixel((x, 0.0, z))
        return plan[int(row) - 2 : int(row) + 3, int(column) - 2 : int(column) + 3].reshape(-1, 3).mean(axis=0)

    table, chair, ground = colour(-2.0, -1.0), colour(2.5, -2.0), colour(-3.0, 2.0)
    assert np.abs(table - ground).max() > 30
    assert np.abs(chair - ground).max() > 30
    for x, z in ((-2.4, -1.4), (-1.6, -0.6)):  # the table is one metre wide, to the picture's own precision
        assert np.abs(colour(x, z) - table).max() < 12
    for x, z in ((-2.7, -1.0), (-1.3, -1.0), (-2.0, -0.3)):
        assert np.abs(colour(x, z) - ground).max() < np.abs(table - ground).max() / 2


def test_image_goals_are_shown(room_data: Path, room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path) -> None:
    episodes = []
    for episode in load_dataset(DatasetRequest(format="nav_eval", path=room_data / "val.json.gz", split="val")):
        goal = episode.goals[0]
        image = GoalImage(pose=Pose((0.0, 1.2, 2.0)), hfov=60.0, width=200, height=100)
        goals = (Goal(position=goal.position, image=image),)
        episodes.append(msgspec.structs.replace(episode, private=msgspec.structs.replace(episode.private, goals=goals)))
    write_episodes(tmp_path / "val.json.gz", episodes)
    benchmark = room_benchmark(
        "demo_imagenav",
        "evaluation.max_steps=40",
        "evaluation.distance_to=point",
        f"dataset.data_path={tmp_path / 'val.json.gz'}",
    )
    evaluate(benchmark, "baseline:oracle", tmp_path / "run", cache)
    replay = replay_of(tmp_path / "run", cache)
    assert replay.goal_picture is not None
    assert Image.open(BytesIO(replay.goal_picture.data)).size == (200, 100)


def test_localization_shows_truth_and_guesses(room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "agent.py").write_text(LOCALIZER)
    line = evaluate(room_benchmark("demo_localization"), f"{tmp_path / 'agent.py'}:Localizer", tmp_path / "run", cache)[
        "a"
    ]
    assert line.status == "completed", line.detail
    replay = replay_of(tmp_path / "run", cache, views=True)
    assert replay.differences == []
    assert [guess.position_error for guess in replay.guesses] == pytest.approx([0.3, np.hypot(4.0, 2.0)])
    assert [guess.rotation_error for guess in replay.guesses] == pytest.approx([0.0, 180.0])
    assert line.metrics["acc@0.5m"] == 1.0
    assert replay.floors[0].picture.width > 200
    assert "Answers" in render_page(replay)


def test_a_log_that_does_not_lead_there_is_said_to(room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path) -> None:
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=30"), "baseline:oracle", tmp_path / "run", cache)
    file = tmp_path / "run" / "episodes.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["actions"][3] = "turn_right" if lines[0]["actions"][3] != "turn_right" else "move_forward"
    lines[1]["actions"][2] = "fly"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    changed = replay_of(tmp_path / "run", cache, lines[0]["episode_id"])
    assert any("position" in text or "digest" in text for text in changed.differences)
    broken = replay_of(tmp_path / "run", cache, lines[1]["episode_id"])
    assert len(broken.steps) == 3
    assert any("fly" in text for text in broken.differences)


def test_randomised_scenes_are_replayed_as_they_were(
    room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path
) -> None:
    benchmark = room_benchmark("demo_lh_vln", "evaluation.max_steps=5", "scenario_config=dr_level_2")
    line = evaluate(benchmark, "baseline:oracle", tmp_path / "run", cache)["a"]
    assert line.randomization is not None
    assert replay_of(tmp_path / "run", cache).randomization == line.randomization


def test_evaluate_leaves_videos_and_maps(room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path) -> None:
    av = pytest.importorskip("av")
    plain = room_benchmark("demo_lh_vln", "evaluation.max_steps=12", "dataset.episodes=2")
    shown = room_benchmark(
        "demo_lh_vln",
        "evaluation.max_steps=12",
        "dataset.episodes=2",
        "output.save_video=true",
        "output.save_maps=true",
    )
    without = evaluate(plain, "baseline:oracle", tmp_path / "plain", cache)
    lines = evaluate(shown, "baseline:oracle", tmp_path / "run", cache)
    assert {n: (r.action_digest, r.metrics) for n, r in lines.items()} == {
        n: (r.action_digest, r.metrics) for n, r in without.items()
    }
    assert not (tmp_path / "plain" / "videos").exists()
    for name, line in lines.items():
        with av.open(str(tmp_path / "run" / "videos" / f"{name}.mp4")) as container:
            assert len(list(container.decode(video=0))) == line.num_steps + 1
        assert Image.open(tmp_path / "run" / "maps" / f"{name}.png").width > 300
    video = tmp_path / "run" / "videos" / f"{next(iter(lines))}.mp4"
    before = video.stat().st_mtime_ns
    evaluate(shown, "baseline:oracle", tmp_path / "run", cache)  # resumed: all is there already
    assert video.stat().st_mtime_ns == before


def test_the_command_lists_and_writes(
    room_benchmark: MakeBenchmark, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAV_EVAL_CACHE", str(cache))
    run = tmp_path / "run"
    evaluate(room_benchmark("demo_lh_vln", "evaluation.max_steps=12"), "baseline:oracle", run, cache)
    monkeypatch.chdir(tmp_path)  # the first page is written where one is
    listed = CliRunner().invoke(app, ["replay", str(run)])
    assert listed.exit_code == 0
    assert all(f" {name} " in listed.output for name in "abcd")
    page, data = tmp_path / "out.html", tmp_path / "out.json"
    options = ["--episode", "a", "--html", str(page), "--json", str(data), "--sensors", "none"]
    written = CliRunner().invoke(app, ["replay", str(run), *options])
    assert written.exit_code == 0, written.output
    assert json.loads(data.read_text())["episode_id"] == "a"
    assert page.stat().st_size < 300_000
    deep = ["--episode", "a", "--json", str(data), "--also", "depth", "--sensors", "rgb_front"]
    assert CliRunner().invoke(app, ["replay", str(run), *deep]).exit_code == 0
    assert [view["kind"] for view in json.loads(data.read_text())["views"]] == ["colour", "depth"]
    strange = CliRunner().invoke(app, ["replay", str(run), "--also", "smell"])
    assert "colour, depth, semantic" in str(strange.exception)
    missing = CliRunner().invoke(app, ["replay", str(run), "--episode", "z"])
    assert isinstance(missing.exception, UnknownName)
    unknown = CliRunner().invoke(app, ["replay", str(run), "--episode", "a", "--sensors", "rgb_back"])
    assert "rgb_front" in str(unknown.exception)
