"""Exports, read back by the libraries they are for."""

import builtins
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import pyarrow.parquet as pq
import pytest

from nav_eval.dataset.action_vectors import compute_relative_states
from nav_eval.dataset.trajectory import Trajectory, TrajectoryDataset
from nav_eval.dataset.trajectory_filter import BadFilter
from nav_eval.errors import ConfigError, RecordError, UnknownName
from nav_eval.evaluation.export import EXPORTERS, Exporter, ExportProgress, ExportSetup, export_run, register_exporter
from nav_eval.evaluation.export.exporters import OutExists
from nav_eval.evaluation.trajectories import RunTrajectories

FIRST_IMAGE = "observation.images.rgb_left"
Export = Callable[..., Path]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    def make(run: Path, form: str, **settings: Any) -> Path:
        out = tmp_path / settings.pop("out", f"made_{form}")
        export_run(run, form=form, out=out, cache=tmp_path / "cache", **settings)
        return out

    return make


@pytest.fixture(scope="module")
def lerobot_v3(mixed_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("v3")
    export_run(mixed_run, form="lerobot-v3", out=root / "set", cache=root / "cache", fps=5)
    return root / "set"


def replayed(run: Path, cache: Path, sensors: list[str]) -> list[list[dict[str, np.ndarray]]]:
    dataset = RunTrajectories(run, sensors=sensors, cache=cache).dataset
    return [list(dataset.frames(index)) for index in range(len(dataset))]


def decoded(path: Path) -> tuple[list[np.ndarray], list[float]]:
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    return [frame.to_ndarray(format="rgb24") for frame in frames], [float(frame.time) for frame in frames]


def closeness(first: np.ndarray, second: np.ndarray) -> float:
    """PSNR in decibels."""
    error = np.mean((first.astype(float) - second.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


def check_picture(decoded_picture: np.ndarray, drawn: list[np.ndarray], number: int) -> None:
    """It is the one that was drawn at its step, and not the one before or after it."""
    near = [closeness(decoded_picture[:35], picture) for picture in drawn]
    assert near[number] == max(near)
    assert near[number] > 25  # 48 × 36 pixels with colour at half of that


def test_json_lines_are_the_trajectories(mixed_run: Path, export: Export) -> None:
    out = export(mixed_run, "jsonl", out="set.jsonl")
    assert list(TrajectoryDataset.open(out)) == list(RunTrajectories(mixed_run).dataset)
    assert all(json.loads(line)["length"] for line in out.read_text().splitlines())


@pytest.mark.slow
def test_hdf5_holds_exactly_what_is_seen(oracle_run: Path, export: Export, tmp_path: Path) -> None:
    sensors = ["rgb_front", "depth_front", "semantic_front", "pose"]
    out = export(oracle_run, "hdf5", out="set.hdf5", sensors=sensors)
    expected = replayed(oracle_run, tmp_path / "cache", sensors)
    dataset = TrajectoryDataset.open(out)
    assert list(dataset) == list(RunTrajectories(oracle_run).dataset)
    for index, frames in enumerate(expected):
        for one, other in zip(frames, dataset.frames(index), strict=True):
            for name in sensors:
                np.testing.assert_array_equal(one[name], other[name])
    with h5py.File(out) as file:
        assert [name.decode() for name in file["mask/success"]] == ["demo_0", "demo_1", "demo_2", "demo_3"]


def check_rows(rows: dict[str, list[Any]], trajectory: Trajectory, *, fps: int) -> None:
    count = len(trajectory.actions)
    np.testing.assert_array_equal(rows["frame_index"], np.arange(count))
    np.testing.assert_allclose(rows["timestamp"], np.arange(count) / fps, atol=1e-5)
    states = compute_relative_states(trajectory.positions, trajectory.yaws)
    np.testing.assert_array_equal(np.array(rows["observation.state"], np.float32), states[:-1])
    order = ["stop", "turn_left", "move_forward", "turn_right"]
    assert [order[index] for index in rows["action.index"]] == list(trajectory.actions)
    assert [vector[2] == 1.0 for vector in rows["action"]] == [action == "stop" for action in trajectory.actions]
    assert rows["next.done"] == [False] * (count - 1) + [True]
    assert rows["next.reward"][-1] == float(trajectory.success)


def test_lerobot_v3(mixed_run: Path, lerobot_v3: Path, tmp_path: Path) -> None:
    out = lerobot_v3
    info = json.loads((out / "meta/info.json").read_text())
    dataset = RunTrajectories(mixed_run).dataset
    assert (info["codebase_version"], info["fps"], info["total_episodes"]) == ("v3.0", 5, 4)
    assert info["total_frames"] == dataset.steps
    assert info["features"]["action"]["names"] == ["forward_m", "yaw_rad", "stop"]
    assert info["features"][FIRST_IMAGE]["shape"] == [36, 48, 3]  # 35 rows are odd
    rows = pq.read_table(out / "data/chunk-000/file-000.parquet")
    assert str(rows.schema.field("action").type) == "fixed_size_list<element: float>[3]"
    np.testing.assert_array_equal(rows["index"], np.arange(dataset.steps))
    episodes = pq.read_table(out / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    frames = replayed(mixed_run, tmp_path / "cache", ["rgb_left"])
    pictures, times = decoded(out / f"videos/{FIRST_IMAGE}/chunk-000/file-000.mp4")
    np.testing.assert_allclose(times, np.arange(dataset.steps) / 5, atol=1e-9)
    for index, (trajectory, episode) in enumerate(zip(dataset, episodes, strict=True)):
        span = slice(episode["dataset_from_index"], episode["dataset_to_index"])
        check_rows(rows.slice(span.start, span.stop - span.start).to_pydict(), trajectory, fps=5)
        assert (episode["episode_id"], episode["length"]) == (trajectory.episode_id, trajectory.length)
        assert episode["metrics/spl"] == pytest.approx(trajectory.metrics["spl"])
        assert episode[f"videos/{FIRST_IMAGE}/from_timestamp"] == pytest.approx(span.start / 5)
        assert episode[f"videos/{FIRST_IMAGE}/to_timestamp"] == pytest.approx(span.stop / 5)
        for number in (0, trajectory.length - 1):  # each picture is at its own time, and not at its neighbour's
            check_picture(pictures[span.start + number], [frame["rgb_left"] for frame in frames[index]], number)


def test_lerobot_v3_describes_itself(mixed_run: Path, lerobot_v3: Path, tmp_path: Path) -> None:
    out = lerobot_v3
    stats = json.loads((out / "meta/stats.json").read_text())
    rows = pq.read_table(out / "data/chunk-000/file-000.parquet")
    actions = np.array(rows["action"].to_pylist())
    np.testing.assert_allclose(stats["action"]["mean"], actions.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats["action"]["std"], actions.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(stats["action"]["max"], actions.max(axis=0), rtol=1e-6)
    assert stats["action"]["count"] == [len(actions)]
    frames = replayed(mixed_run, tmp_path / "cache", ["rgb_left"])
    pixels = np.concatenate([frame["rgb_left"] for episode in frames for frame in episode[:-1]]) / 255
    mean = np.array(stats[FIRST_IMAGE]["mean"])
    assert mean.shape == (3, 1, 1)
    np.testing.assert_allclose(mean.ravel(), pixels.mean(axis=(0, 1)), atol=1e-6)
    np.testing.assert_allclose(np.ravel(stats[FIRST_IMAGE]["std"]), pixels.std(axis=(0, 1)), atol=1e-6)
    tasks = pq.read_table(out / "meta/tasks.parquet")
    notes = json.loads(tasks.schema.metadata[b"pandas"])
    assert notes["index_columns"] == ["__index_level_0__"]
    assert tasks["__index_level_0__"].to_pylist() == ["Go to the table, then to the chair."]
    assert tasks["task_index"].to_pylist() == [0]
    assert pq.read_table(out / "meta/subtasks.parquet")["__index_level_0__"].to_pylist() == ["chair"]


@pytest.mark.slow
def test_lerobot_v21(mixed_run: Path, export: Export, tmp_path: Path) -> None:
    out = export(mixed_run, "lerobot-v2.1", sensors=["rgb_left"])
    info = json.loads((out / "meta/info.json").read_text())
    lines = [json.loads(line) for line in (out / "meta/episodes.jsonl").read_text().splitlines()]
    stats = [json.loads(line) for line in (out / "meta/episodes_stats.jsonl").read_text().splitlines()]
    dataset = RunTrajectories(mixed_run).dataset
    frames = replayed(mixed_run, tmp_path / "cache", ["rgb_left"])
    assert (info["codebase_version"], info["total_videos"], info["total_chunks"]) == ("v2.1", 4, 1)
    assert json.loads((out / "meta/modality.json").read_text())["video"] == {"rgb_left": {"original_key": FIRST_IMAGE}}
    for index, trajectory in enumerate(dataset):
        names = {"episode_chunk": 0, "episode_index": index}
        check_rows(pq.read_table(out / info["data_path"].format(**names)).to_pydict(), trajectory, fps=10)
        pictures, times = decoded(out / info["video_path"].format(video_key=FIRST_IMAGE, **names))
        np.testing.assert_allclose(times, np.arange(trajectory.length) / 10, atol=1e-9)
        check_picture(pictures[-1], [frame["rgb_left"] for frame in frames[index]], trajectory.length - 1)
        assert lines[index]["length"] == trajectory.length
        assert stats[index]["stats"]["action"]["count"] == [trajectory.length]
        assert np.array(stats[index]["stats"][FIRST_IMAGE]["mean"]).shape == (3, 1, 1)


@pytest.mark.slow
def test_minari(mixed_run: Path, export: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    minari = pytest.importorskip("minari")
    out = export(mixed_run, "minari", sensors=["rgb_front", "depth_front"], name="room demo")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(out))
    loaded = minari.load_dataset("nav-eval/lh_vln/room_demo-v0")
    dataset = RunTrajectories(mixed_run).dataset
    frames = replayed(mixed_run, tmp_path / "cache", ["rgb_front", "depth_front"])
    assert (loaded.total_episodes, loaded.total_steps) == (4, dataset.steps)
    for index, (trajectory, episode) in enumerate(zip(dataset, loaded.iterate_episodes(), strict=True)):
        assert len(episode.actions) == trajectory.length
        assert all(loaded.action_space.contains(int(action)) for action in episode.actions)
        states = compute_relative_states(trajectory.positions, trajectory.yaws)
        np.testing.assert_array_equal(episode.observations["state"], states)
        depth = np.stack([frame["depth_front"] for frame in frames[index]])
        np.testing.assert_array_equal(episode.observations["depth_front"], depth)
        assert closeness(episode.observations["rgb_front"][3], frames[index][3]["rgb_front"]) > 30  # JPEG
        assert episode.observations["instruction"][0] == trajectory.instruction
        assert (bool(episode.terminations[-1]), bool(episode.truncations[-1])) == (
            trajectory.terminated,
            not trajectory.terminated,
        )
        assert bool(episode.infos["is_success"][-1]) is trajectory.success
        assert episode.rewards.sum() == float(trajectory.success)
    metadata = next(iter(loaded.storage.get_episode_metadata([0])))
    assert metadata["options"]["episode_id"] == "a"


@pytest.mark.skipif(importlib.util.find_spec("rerun") is None, reason="the extra `rerun` is not installed")
def test_rerun_recordings(oracle_run: Path, export: Export) -> None:
    out = export(oracle_run, "rrd", sensors=["rgb_front", "depth_front", "semantic_front"], limit=2)
    files = sorted(out.iterdir())
    assert [file.name for file in files] == ["a.rrd", "b.rrd"]
    assert all(file.read_bytes().startswith(b"RRF") for file in files)


def test_only_what_is_asked_for(mixed_run: Path, export: Export) -> None:
    seen: list[ExportProgress] = []
    out = export(mixed_run, "jsonl", where="success", out="good.jsonl", on_progress=seen.append)
    good = TrajectoryDataset.open(out)
    assert all(head.success for head in good.heads)
    assert [progress.episodes for progress in seen] == list(range(1, len(good) + 1))
    assert (seen[-1].steps, seen[-1].of_steps) == (good.steps, good.steps)
    assert len(TrajectoryDataset.open(export(mixed_run, "jsonl", limit=1, out="one.jsonl"))) == 1
    with pytest.raises(RecordError, match="no trajectory to export for which"):
        export(mixed_run, "jsonl", where="spl > 2", out="none.jsonl")
    with pytest.raises(BadFilter):
        export(mixed_run, "jsonl", where="spll > 2", out="none.jsonl")


def test_nothing_is_overwritten_and_nothing_half_is_left(oracle_run: Path, export: Export, tmp_path: Path) -> None:
    export(oracle_run, "jsonl", out="set.jsonl")
    with pytest.raises(OutExists, match=r"set\.jsonl exists"):
        export(oracle_run, "jsonl", out="set.jsonl")
    with pytest.raises(ConfigError, match="'depth_front' is depth"):
        export(oracle_run, "lerobot-v3", sensors=["depth_front"])
    with pytest.raises(UnknownName, match="sonar"):
        export(oracle_run, "hdf5", sensors=["sonar"])
    with pytest.raises(UnknownName, match=r"no export format 'tfrecord'.*lerobot-v3"):
        export(oracle_run, "tfrecord")
    assert [file.name for file in tmp_path.iterdir() if file.name != "cache"] == ["set.jsonl"]


def test_a_missing_library_is_named(oracle_run: Path, export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without_minari(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "minari":
            raise ModuleNotFoundError(name="minari")
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_minari)
    monkeypatch.delitem(sys.modules, "nav_eval.evaluation.export.minari", raising=False)
    with pytest.raises(ConfigError, match=r"needs minari.*nav-eval\[export\]"):
        export(oracle_run, "minari")


def test_others_can_add_a_format(oracle_run: Path, export: Export, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(setup: ExportSetup, episodes: Any) -> None:
        setup.out.write_text("\n".join(trajectory.episode_id for trajectory, _ in episodes))

    monkeypatch.setattr(EXPORTERS, "_entries", dict(EXPORTERS._entries))
    register_exporter("ids", Exporter(write=write, sensors=lambda _: ()))
    assert export(oracle_run, "ids").read_text() == "a\nb\nc\nd"
