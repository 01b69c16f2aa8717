"""Trajectories written, read again, filtered and split."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import h5py
import numpy as np
import pytest

from nav_eval.config.schema import TaskConfig
from nav_eval.dataset.action_vectors import ActionVectors, compute_relative_states
from nav_eval.dataset.trajectory import Trajectory, TrajectoryDataset, TrajectoryWriter
from nav_eval.errors import RecordError

TASK = {"type": "vln", "actions": ["stop", "move_forward", "turn_left", "turn_right"], "metrics": ["success"]}
VECTORS = ActionVectors(TaskConfig.model_validate(TASK))


def trajectory(number: int, *, steps: int = 4, scene: str = "s0", success: bool = True) -> Trajectory:
    return Trajectory(
        episode_id=f"e{number}",
        scene_id=scene,
        length=steps,
        metrics={"spl": number / 10, "ne": None},
        success=success,
        instruction="走到椅子",
        actions=("move_forward",) * (steps - 1) + ("stop",),
        positions=tuple((0.1 * n, 0.0, -0.25 * n) for n in range(steps + 1)),
        yaws=tuple(0.1 * n for n in range(steps + 1)),
        subtasks=({"target": "chair", "success": True},),
        metadata={"agent": "oracle"},
    )


def pictures(count: int) -> list[dict[str, np.ndarray]]:
    draw = np.random.default_rng(0)
    return [
        {"rgb": draw.integers(0, 256, (6, 8, 3), np.uint8), "depth": draw.random((6, 8), np.float32)}
        for _ in range(count)
    ]


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".hdf5"])
@pytest.mark.parametrize("count", [0, 1, 12])
def test_what_is_written_is_read(suffix: str, count: int, tmp_path: Path) -> None:
    path = tmp_path / f"set{suffix}"
    written = [trajectory(number) for number in range(count)]
    with TrajectoryWriter(path, vectors=VECTORS) as writer:
        for one in written:
            writer.write(one)
        assert not path.exists()  # it appears when it is whole
    assert list(TrajectoryDataset.open(path)) == written


def test_frames_come_back_as_they_were(tmp_path: Path) -> None:
    frames = pictures(5)
    with TrajectoryWriter(tmp_path / "set.hdf5", vectors=VECTORS) as writer:
        writer.write(trajectory(0), frames)
        writer.write(trajectory(1))
    dataset = TrajectoryDataset.open(tmp_path / "set.hdf5")
    read = list(dataset.frames(0))
    assert len(read) == 5
    for one, other in zip(frames, read, strict=True):
        np.testing.assert_array_equal(one["rgb"], other["rgb"])
        np.testing.assert_array_equal(one["depth"], other["depth"])
    assert list(dataset.frames(1)) == []


def test_the_file_is_what_robomimic_reads(tmp_path: Path) -> None:
    frames = pictures(5)
    with TrajectoryWriter(tmp_path / "set.hdf5", vectors=VECTORS, about="room") as writer:
        writer.write(trajectory(0), frames)
    with h5py.File(tmp_path / "set.hdf5") as file:
        demo = file["data/demo_0"]
        assert file["data"].attrs["total"] == demo.attrs["num_samples"] == 4
        assert "env_name" in file["data"].attrs["env_args"]
        np.testing.assert_array_equal(demo["actions"], [[0.25, 0, 0]] * 3 + [[0, 0, 1]])
        np.testing.assert_array_equal(demo["action_index"], [1, 1, 1, 0])
        np.testing.assert_array_equal(demo["rewards"], [0, 0, 0, 1])
        np.testing.assert_array_equal(demo["dones"], [0, 0, 0, 1])
        one = trajectory(0)
        np.testing.assert_array_equal(demo["states"], compute_relative_states(one.positions, one.yaws)[:-1])
        np.testing.assert_array_equal(demo["obs/rgb"], [frame["rgb"] for frame in frames[:-1]])
        np.testing.assert_array_equal(demo["next_obs/rgb"], [frame["rgb"] for frame in frames[1:]])
        assert demo["obs/rgb"].is_virtual  # no frame is stored twice
        assert demo["frames/depth"].chunks == (1, 6, 8)


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with TrajectoryWriter(tmp_path / "set.jsonl") as writer:
            writer.write(trajectory(0))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_all_of_its_files_and_the_last_word_counts(tmp_path: Path) -> None:
    for name, numbers in (("a.jsonl", [1, 2]), ("b.json", [3]), ("c.hdf5", [4, 1])):
        with TrajectoryWriter(tmp_path / name, vectors=VECTORS) as writer:
            for number in numbers:
                writer.write(trajectory(number, success=name != "a.jsonl"))
    dataset = TrajectoryDataset.open(tmp_path)
    assert sorted(head.episode_id for head in dataset.heads) == ["e1", "e2", "e3", "e4"]
    assert {head.episode_id: head.success for head in dataset.heads}["e1"] is True


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.jsonl", b'{"episode_id": 7}\n', "line 1"),
        ("x.jsonl", b'{"episode_id": "a"}\n{oops\n', "line 2"),
        ("x.json", b"{}", "not a trajectory"),
        ("x.hdf5", b"not hdf5", "HDF5"),
        ("x.csv", b"", "allowed endings"),
    ],
)
def test_files_that_are_none_are_named(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordError, match=said):
        TrajectoryDataset.open(tmp_path / name)


def test_other_peoples_hdf5_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        file["data/demo_0/actions"] = [1, 2]
    with pytest.raises(RecordError, match="not a file of our trajectories"):
        TrajectoryDataset.open(tmp_path / "x.hdf5")


def test_wrong_ends_and_missing_vectors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="allowed endings"):
        TrajectoryWriter(tmp_path / "set.csv")
    with pytest.raises(RecordError, match="vectors"):
        TrajectoryWriter(tmp_path / "set.hdf5")
    with pytest.raises(RecordError, match="no trajectories"):
        TrajectoryDataset.open(tmp_path)
    with pytest.raises(RecordError, match="There is no"):
        TrajectoryDataset.open(tmp_path / "nothing.jsonl")


@pytest.fixture
def many(tmp_path: Path) -> TrajectoryDataset:
    with TrajectoryWriter(tmp_path / "many.jsonl") as writer:
        for number in range(60):
            writer.write(trajectory(number, steps=2 + number, scene=f"s{number % 6}", success=number % 2 == 0))
    return TrajectoryDataset.open(tmp_path / "many.jsonl")


def test_filtering_keeps_the_order(many: TrajectoryDataset) -> None:
    chosen = many.filter("success and spl >= 0.8 and length < 20 and scene != s2")
    assert [head.episode_id for head in chosen.heads] == ["e10", "e12", "e16"]
    assert chosen[0] == many[10]
    assert len(many[:5].filter("agent == oracle")) == 5


@pytest.mark.parametrize("by", ["scene", "episode"])
def test_a_split_shares_nothing_and_loses_nothing(by: str, many: TrajectoryDataset) -> None:
    parts = many.split({"train": 0.5, "val": 0.25, "test": 0.25}, by=by, seed=3)
    names = Counter(head.episode_id for part in parts.values() for head in part.heads)
    assert len(names) == sum(names.values()) == 60
    groups = [{h.scene_id if by == "scene" else h.episode_id for h in part.heads} for part in parts.values()]
    assert not any(one & other for one, other in combinations(groups, 2))
    assert sorted(len(part) for part in parts.values()) == ([10, 20, 30] if by == "scene" else [15, 15, 30])
    again = many.split({"train": 0.5, "val": 0.25, "test": 0.25}, by=by, seed=3)
    assert [p.heads for p in again.values()] == [p.heads for p in parts.values()]


def test_a_split_depends_on_its_seed(many: TrajectoryDataset) -> None:
    first = {tuple(h.episode_id for h in many.split({"a": 1, "b": 1}, seed=seed)["a"].heads) for seed in range(5)}
    assert len(first) > 1
    with pytest.raises(RecordError, match="Shares"):
        many.split({"a": -1.0, "b": 2.0})


def test_path_length() -> None:
    assert trajectory(0).path_length == pytest.approx(4 * math.hypot(0.1, 0.25))
