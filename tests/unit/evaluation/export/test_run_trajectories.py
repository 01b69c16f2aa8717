"""A run's folder as a trajectory dataset, and what replay makes of it."""

import json
from pathlib import Path

import numpy as np
import pytest
from trajectory_support import SMALL

from nav_eval.action_log import parse_entry
from nav_eval.config import BenchmarkConfig, TaskConfig, load_benchmark
from nav_eval.dataset.trajectory import TrajectoryDataset
from nav_eval.errors import RecordError, UnknownName
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.evaluation.trajectories import Facing, RunTrajectories, TrajectoryRecorder
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.play import EpisodeReplayer, ReplayDiffers
from nav_eval.records.geometry import MICRODEGREES, Pose
from nav_eval.scene.navigation import OpenPlane
from nav_eval.simulator.motion import Body


def test_a_run_is_a_dataset(mixed_run: Path) -> None:
    dataset = RunTrajectories(mixed_run).dataset
    assert [head.episode_id for head in dataset.heads] == ["a", "b", "c", "d"]
    assert {head.metadata["agent"] for head in dataset.heads} == {"oracle"}
    results = {result.episode_id: result for result in RunFolder(mixed_run).results()}
    for index, head in enumerate(dataset.heads):
        trajectory = dataset[index]
        result = results[head.episode_id]
        assert trajectory.length == len(trajectory.actions) == result.num_steps
        assert trajectory.positions == result.trajectory
        assert trajectory.metrics == result.metrics
        assert trajectory.success == (result.metrics["sr"] == 1.0)
        assert trajectory.terminated == (trajectory.length < 70 or trajectory.actions[-1] == "stop")
        assert [subtask["target"] for subtask in trajectory.subtasks] == ["chair", "chair"]
    good = dataset.filter("success and spl > 0.1")
    assert len(good) == sum(head.success for head in dataset.heads)
    assert 0 < len(good) < 4


def test_facing_follows_from_the_actions_alone(trajectory_runs, tmp_path: Path) -> None:
    looking = (
        "task.actions=[{name: stop}, {name: move_forward}, {name: turn_left}, {name: turn_right}, {name: look_up}]"
    )
    run, benchmark = trajectory_runs("demo_vln", "baseline:random?seed=4", looking, "evaluation.max_steps=40")
    results = RunFolder(run).results()
    actions = json.loads((run / "episodes.jsonl").read_text().splitlines()[0])["actions"]
    actions = ["look_up"] * 8 + [a for a in actions if a != "stop"]  # 120° asked for, 90° had
    source = RunTrajectories(run)
    episodes = load_episodes(benchmark)
    with EpisodeReplayer(benchmark, sensors=(), cache=tmp_path / "cache") as replayer:
        for result in results:
            states = [moment.state for moment in replayer.replay(episodes.by_id(result.episode_id), result)]
            trajectory = source.trajectory_of(result)
            assert trajectory.yaws == tuple(state.yaw for state in states)
            assert trajectory.positions == tuple(state.position for state in states)
    yaws, tilts = source._facing.along((0.0, 0.0, 0.0, 1.0), actions)
    assert len(yaws) == len(tilts) == len(actions) + 1
    assert tilts[8] == pytest.approx(np.pi / 2)
    assert MICRODEGREES == 1_000_000


def test_replayed_pictures_are_what_the_agent_saw(trajectory_runs, tmp_path: Path) -> None:
    """The keyword agent looks; what it acted on is what replay shows."""
    run, benchmark = trajectory_runs("demo_lh_vln", "baseline:wall_follower", "evaluation.max_steps=12")
    from nav_eval.agents.baselines import BaselineContext, make_baseline
    from nav_eval.agents.messages import Observation

    episodes = load_episodes(benchmark)
    with EpisodeReplayer(benchmark, sensors=["depth_front"], cache=tmp_path / "cache") as replayer:
        for result in RunFolder(run).results():
            episode = episodes.by_id(result.episode_id)
            agent = make_baseline("wall_follower", BaselineContext(benchmark=benchmark, episodes={}))
            agent.reset(episode.public)
            for moment, action in zip(replayer.replay(episode, result), result.actions, strict=False):
                assert agent.act(Observation(step=moment.step, sensors=moment.observations)) == action


def test_a_replay_elsewhere_is_refused(oracle_run: Path, tmp_path: Path) -> None:
    for file in oracle_run.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    first["trajectory"][3][0] += 1e-9
    (tmp_path / "episodes.jsonl").write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n")
    dataset = RunTrajectories(tmp_path, sensors=["pose"], cache=tmp_path / "cache").dataset
    with pytest.raises(ReplayDiffers, match=f"{first['episode_id']!r}: step 3"):
        list(dataset.frames(0))


def test_velocities_turn_exactly_too() -> None:
    task = TaskConfig.model_validate(
        {"type": "vln", "actions": ["stop", "velocity_control"], "metrics": ["success"], "sensors": {}}
    )
    entries = [
        {"action": "velocity_control", "action_args": {"linear_velocity": 0.1 * n, "angular_velocity": 7.3 * n - 20}}
        for n in range(5)
    ] * 3
    body = Body(task, OpenPlane(), sliding=False)
    start = (0.0, 0.6, 0.0, 0.8)
    states = [body.start(Pose((0.0, 0.0, 0.0), start))]
    for entry in entries:
        action = parse_entry(entry)
        states.append(body.apply(states[-1], action.name, action.arguments))
    assert Facing(task).along(start, entries) == (tuple(state.yaw for state in states), ())


def test_a_run_is_not_a_file_of_trajectories(oracle_run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is a run"):
        TrajectoryDataset.open(oracle_run)
    (tmp_path / "run.json").write_bytes((oracle_run / "run.json").read_bytes())
    with pytest.raises(RecordError, match="no finished episode"):
        RunTrajectories(tmp_path)


def test_unknown_sensors_and_answered_tasks_are_refused(oracle_run: Path, tmp_path: Path) -> None:
    dataset = RunTrajectories(oracle_run, sensors=["sonar"], cache=tmp_path / "cache").dataset
    with pytest.raises(UnknownName, match="sonar"):
        next(dataset.frames(0))
    manifest = json.loads((oracle_run / "run.json").read_text())
    (tmp_path / "episodes.jsonl").touch()
    manifest["config"]["task"]["type"] = manifest["config"]["dataset"]["type"] = "localization"
    (tmp_path / "run.json").write_text(json.dumps(manifest))
    with pytest.raises(RecordError, match="answers but no trajectories"):
        RunTrajectories(tmp_path)


@pytest.mark.parametrize(
    ("settings", "suffix", "frames"),
    [
        (["output.trajectory_format=hdf5"], ".hdf5", 0),
        (["output.trajectory_format=json"], ".json", 0),
        (["output.save_observations=true"], ".hdf5", 8),
    ],
)
def test_recording_while_a_run_goes_on(settings, suffix, frames, room_data, tmp_path: Path) -> None:
    place = [f"dataset.data_path={room_data / 'val.json.gz'}", f"dataset.scene_path={room_data}", "dataset.episodes=2"]
    overrides = [*place, *SMALL, "evaluation.max_steps=7", *settings]
    benchmark: BenchmarkConfig = load_benchmark("demo_lh_vln", overrides=overrides, environ={})
    run, cache = tmp_path / "run", tmp_path / "cache"
    EvaluationOrchestrator(cache=cache).run_benchmark(benchmark, agent="baseline:forward", out=run)
    assert sorted(file.suffix for file in (run / "trajectories").iterdir()) == [suffix] * 2
    recorded, of_run = TrajectoryDataset.open(run / "trajectories"), RunTrajectories(run).dataset
    for one, other in zip(recorded, of_run, strict=True):
        assert (one.actions, one.positions, one.yaws) == (other.actions, other.positions, other.yaws)
    lost = next((run / "trajectories").iterdir())
    lost.unlink()  # as if the run had been cut off between playing and recording
    EvaluationOrchestrator(cache=cache).run_benchmark(benchmark, agent="baseline:forward", out=run)
    assert lost.exists()
    seen = list(recorded.frames(0))
    assert len(seen) == frames
    assert all("depth_left" in frame and frame["rgb_front"].shape == (35, 48, 3) for frame in seen)


def test_plain_runs_record_nothing_more(room_benchmark) -> None:
    assert not TrajectoryRecorder.is_wanted(room_benchmark())
