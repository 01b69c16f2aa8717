"""Trajectories with observations, in HDF5 that robomimic also reads.

    data                    attributes: total, env_args, format
    data/demo_0             attributes: num_samples, head (JSON)
        actions             T × n float32; attribute `names`
        action_index        T int64, the task's own numbers
        rewards, dones      T; the reward is 1 at the end of a success
        states              T × 4 float32, pose in the frame of the start; attribute `names`
        positions, yaws     T + 1, in the world
        frames/NAME         T + 1 observations of a sensor, one chunk each
        obs/NAME            the first T of them, next_obs/NAME the last T: views, not copies

Whole frames are chunks and are compressed without loss, so a reader touches only what it asks for.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import h5py  # type: ignore[import-untyped,import-not-found,unused-ignore]
import msgspec
import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.action_vectors import STATE_NAMES, ActionVectors, compute_relative_states
from nav_eval.dataset.trajectory import Frames, Trajectory, TrajectoryHead
from nav_eval.errors import RecordError

FORMAT = "nav-eval/trajectories/1"
_HEAD = msgspec.json.Decoder(TrajectoryHead)
_WHOLE = msgspec.json.Decoder(Trajectory)


class Hdf5TrajectoryFile:
    """Writes trajectories into one file."""

    def __init__(self, path: Path, *, vectors: ActionVectors, about: str = "nav-eval", compression: int = 1) -> None:
        self._file = h5py.File(path, "w", libver="latest")
        self._vectors = vectors
        self._compression = compression
        self._data = self._file.create_group("data")
        self._data.attrs["format"] = FORMAT
        self._data.attrs["env_args"] = json.dumps({"env_name": about, "type": 2, "env_kwargs": {}})
        self._data.attrs["total"] = 0

    def write(self, trajectory: Trajectory, frames: Iterable[Frames] = ()) -> None:
        demo = self._data.create_group(f"demo_{len(self._data)}")
        count = len(trajectory.actions)
        demo.attrs["num_samples"] = count
        demo.attrs["head"] = _encode_json(trajectory)
        self._write_numbers(demo, trajectory)
        self._write_frames(demo, frames, moments=count + 1)
        self._data.attrs["total"] += count

    def mask(self, name: str, demos: Iterable[int]) -> None:
        """Name a part of the file, as robomimic's filter keys do."""
        members = np.array([f"demo_{number}" for number in demos], dtype="S")
        self._file.require_group("mask").create_dataset(name, data=members)

    def close(self) -> None:
        self._file.close()

    def _write_numbers(self, demo: Any, trajectory: Trajectory) -> None:  # noqa: ANN401 - h5py has no types
        actions = [parse_action(entry) for entry in trajectory.actions]
        width = len(self._vectors.names)
        vectors = np.array([self._vectors.encode(*action) for action in actions], np.float32).reshape(-1, width)
        demo.create_dataset("actions", data=vectors).attrs["names"] = list(self._vectors.names)
        demo.create_dataset("action_index", data=np.array([self._vectors.index(name) for name, _ in actions], np.int64))
        demo.create_dataset("rewards", data=make_sparse_rewards(trajectory))
        dones = np.zeros(len(actions), np.int64)
        dones[-1:] = 1
        demo.create_dataset("dones", data=dones)
        states = compute_relative_states(trajectory.positions, trajectory.yaws)
        demo.create_dataset("states", data=states[:-1]).attrs["names"] = list(STATE_NAMES)
        demo.create_dataset("positions", data=np.array(trajectory.positions, np.float64).reshape(-1, 3))
        demo.create_dataset("yaws", data=np.array(trajectory.yaws, np.float64))

    def _write_frames(self, demo: Any, frames: Iterable[Frames], *, moments: int) -> None:  # noqa: ANN401
        datasets: dict[str, Any] = {}
        for moment, frame in enumerate(frames):
            for name, array in frame.items():
                if name not in datasets:
                    datasets[name] = self._frame_dataset(demo, name, array, moments)
                datasets[name][moment] = array
        for name, dataset in datasets.items():
            _add_views(demo, name, dataset, moments)

    def _frame_dataset(self, demo: Any, name: str, array: NDArray[Any], moments: int) -> Any:  # noqa: ANN401
        return demo.create_dataset(
            f"frames/{name}",
            (moments, *array.shape),
            array.dtype,
            chunks=(1, *array.shape),
            compression="gzip" if self._compression else None,
            compression_opts=self._compression or None,
            shuffle=array.dtype != np.uint8,
        )


class Hdf5Source:
    """Reads such a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as file:
            if "data" not in file or file["data"].attrs.get("format") != FORMAT:
                raise RecordError(f"{path} is HDF5, but not a file of our trajectories.")

    def heads(self) -> Iterator[tuple[TrajectoryHead, str]]:
        with self._open() as file:
            for name in sorted(file["data"], key=lambda demo: int(demo.removeprefix("demo_"))):
                yield self._decode_head(_HEAD, file, name), name

    def load(self, key: str) -> Trajectory:
        with self._open() as file:
            head: Trajectory = self._decode_head(_WHOLE, file, key)
            demo = file["data"][key]
            positions = tuple(map(tuple, demo["positions"][()].tolist()))
            return msgspec.structs.replace(head, positions=positions, yaws=tuple(demo["yaws"][()].tolist()))

    def frames(self, key: str) -> Iterator[Frames]:
        with self._open() as file:
            kept = file["data"][key].get("frames", {})
            moments = min((len(dataset) for dataset in kept.values()), default=0)
            for moment in range(moments):
                yield {name: dataset[moment] for name, dataset in kept.items()}

    def _open(self) -> Any:  # noqa: ANN401
        try:
            return h5py.File(self._path, "r")
        except OSError as error:
            raise RecordError(f"Cannot read {self._path} as HDF5: {error}.") from error

    def _decode_head(self, decoder: "msgspec.json.Decoder[Any]", file: Any, demo: str) -> Any:  # noqa: ANN401
        try:
            return decoder.decode(file["data"][demo].attrs["head"])
        except (KeyError, msgspec.MsgspecError) as error:
            raise RecordError(f"{self._path} {demo}: not a trajectory ({error}).") from error


def parse_action(entry: Any) -> tuple[str, dict[str, float]]:  # noqa: ANN401 - a logged action
    """Name and arguments of a logged action."""
    return (entry, {}) if isinstance(entry, str) else (entry["action"], dict(entry.get("action_args") or {}))


def make_sparse_rewards(trajectory: Trajectory) -> NDArray[np.float32]:
    """1 at the end of a success, 0 everywhere else."""
    rewards = np.zeros(len(trajectory.actions), np.float32)
    rewards[-1:] = float(trajectory.success)
    return rewards


def _encode_json(trajectory: Trajectory) -> str:
    """All but the poses, which are arrays of their own."""
    return msgspec.json.encode(msgspec.structs.replace(trajectory, positions=(), yaws=())).decode()


def _add_views(demo: Any, name: str, dataset: Any, moments: int) -> None:  # noqa: ANN401
    """`obs` and `next_obs` as robomimic wants them, without storing a frame twice."""
    source = h5py.VirtualSource(dataset)
    for group, part in (("obs", slice(0, moments - 1)), ("next_obs", slice(1, moments))):
        view = h5py.VirtualLayout((moments - 1, *dataset.shape[1:]), dataset.dtype)
        view[...] = source[part]
        demo.create_virtual_dataset(f"{group}/{name}", view)
