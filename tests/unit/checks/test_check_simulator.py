"""Our own simulator keeps the contract; a simulator that breaks it is told how."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nav_eval.checks import ContractBroken, check_simulator
from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.dataset.loader import DatasetRequest, load_dataset
from nav_eval.records.geometry import Pose
from nav_eval.scene.navigation import Ground, OpenPlane
from nav_eval.sensors import BlankPictures, SensorContext
from nav_eval.simulator.base import (
    ObservationBuffers,
    Observations,
    Simulator,
    SimulatorSetup,
    open_simulator,
    place_readings,
)
from nav_eval.simulator.motion import ActionRefused, AgentState, Body

EPISODE = Episode(
    public=PublicEpisode(episode_id="e"), private=PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0)))
)
SENSORS = (
    "task.sensors={gps: {}, compass: {}, rgb: {width: 8, height: 6}, "
    "depth: {width: 8, height: 6, min_depth: 0.5, max_depth: 5.0}}"
)


@pytest.mark.parametrize("overrides", [(), ("task.sensors.depth.noise={model: redwood, intensity: 1.0}",)])
def test_ours_passes(
    overrides: tuple[str, ...], room_benchmark: Callable[..., BenchmarkConfig], room_data: Path, tmp_path: Path
) -> None:
    benchmark = room_benchmark("demo_vln", SENSORS, *overrides)
    episode = load_dataset(DatasetRequest(format="nav_eval", path=room_data / "val.json.gz"))[0]
    check_simulator(open_simulator, benchmark, episode, cache=tmp_path)


class Plane(Simulator):
    """A simulator that is in order; the broken ones below differ from it in one thing each."""

    def __init__(self, setup: SimulatorSetup) -> None:
        self.setup, self.steps = setup, 0
        self.body = Body(setup.benchmark.task, OpenPlane(), sliding=True)

    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        suite = self.setup.benchmark.sensors()
        chosen = {name: suite[name] for name in (suite if sensors is None else sensors)}
        self.sensors = {name: s for name, s in chosen.items() if self.setup.pictures or not s.is_rendered}
        self.played, self.steps = episode, 0
        self.start = self.state = self.body.start(episode.private.start)
        return self.observe(out=out)

    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        self.state = self.body.apply(self.state, action, arguments or {})
        self.steps += 1
        return self.state

    def read(self) -> Observations:
        now = SensorContext(
            episode=self.played, start=self.start.pose, now=self.state.pose, step=self.steps, pictures=BlankPictures()
        )
        return {name: sensor.read(name, now) for name, sensor in self.sensors.items()}

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        return place_readings(self.read(), out)

    def get_agent_state(self) -> AgentState:
        return self.state

    @property
    def episode(self) -> Episode:
        return self.played

    @property
    def ground(self) -> Ground:
        return OpenPlane()

    def close(self) -> None: ...


def test_a_plain_simulator_passes(room_benchmark: Callable[..., BenchmarkConfig]) -> None:
    check_simulator(Plane, room_benchmark("demo_vln", SENSORS), EPISODE)


class AcceptsAnything(Plane):
    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        try:
            return super().act(action, arguments)
        except ActionRefused:
            return self.state


class CrashesOnUnknown(Plane):
    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        if self.setup.benchmark.task.action(action) is None:
            raise KeyError(action)
        return super().act(action, arguments)


class StopDrifts(Plane):
    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        return super().act("move_forward" if action == "stop" else action, arguments)


class EndsAtTheFirstStop(Plane):
    is_over = False

    def reset(self, episode: Episode, **options: Any) -> Observations:
        self.is_over = False
        return super().reset(episode, **options)

    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        if self.is_over and action != "stop":
            raise RuntimeError("The episode is over.")
        state = super().act(action, arguments)
        self.is_over = action == "stop"
        return state


class LookingMoves(Plane):
    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        seen = super().observe(out=out)
        self.state = self.body.apply(self.state, "turn_left", {})
        return seen


class Flickers(Plane):
    looks = 0

    def read(self) -> Observations:
        self.looks += 1
        seen = super().read()
        if "rgb" in seen:
            seen["rgb"] = np.full_like(seen["rgb"], self.looks)
        return seen


class ReusesArrays(Plane):
    def read(self) -> Observations:
        self.buffers = getattr(self, "buffers", {})
        return {name: self.keep(name, value) for name, value in super().read().items()}

    def keep(self, name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        self.buffers.setdefault(name, value)[...] = value
        return self.buffers[name]


class IgnoresTheChoice(Plane):
    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        return super().reset(episode, out=out)


class FillsWrongly(Plane):
    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        seen = super().observe(out=out)
        return {name: out[name] if out and name in out else value for name, value in seen.items()} | (
            {"rgb": np.ones_like(out["rgb"])} if out and "rgb" in out else {}
        )


class WrongType(Plane):
    def read(self) -> Observations:
        return {name: np.asarray(v, np.float64) if name == "gps" else v for name, v in super().read().items()}


class OutOfBounds(Plane):
    def read(self) -> Observations:
        return {name: v * 0 - 1 if name == "depth" else v for name, v in super().read().items()}


class NeverLeaves(Plane):
    """A second episode begins where the first one ended."""

    def reset(self, episode: Episode, **options: Any) -> Observations:
        before = getattr(self, "state", None)
        super().reset(episode, **options)
        self.state = before or self.state
        return self.observe(out=options.get("out"))


class DrawsRegardless(Plane):
    def __init__(self, setup: SimulatorSetup) -> None:
        super().__init__(replace(setup, pictures=True))


class EachIsDifferent(Plane):
    made = 0

    def __init__(self, setup: SimulatorSetup) -> None:
        super().__init__(setup)
        type(self).made += 1
        self.offset = 0.01 * type(self).made

    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        state = super().act(action, arguments)
        if action == "move_forward":
            x, y, z = state.position
            self.state = state._replace(position=(x + self.offset, y, z))
        return self.state


class ForgetsToKeepTheState(Plane):
    def act(self, action: str, arguments: Mapping[str, float] | None = None) -> AgentState:
        return self.body.apply(self.state, action, arguments or {})


class ClosesOnce(Plane):
    is_closed = False

    def close(self) -> None:
        if self.is_closed:
            raise RuntimeError("closed already")
        self.is_closed = True


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (AcceptsAnything, "accepts an action that the task does not have; raise .*ActionRefused"),
        (CrashesOnUnknown, "an action that the task does not have with KeyError"),
        (StopDrifts, "moves the agent by a stop"),
        (EndsAtTheFirstStop, "raised RuntimeError: The episode is over"),
        (LookingMoves, "sees something else|moves the agent; it must only look"),
        (Flickers, "something else than reset"),
        (ReusesArrays, "overwrites arrays of an earlier one; deliver new ones"),
        (IgnoresTheChoice, r"but the sensors that are wanted are \['"),
        (FillsWrongly, "sees something else than observe"),
        (WrongType, r"'gps' gave float64\(2,\); its spec says float32\(2,\)"),
        (OutOfBounds, "'depth' reads outside of its bounds"),
        (NeverLeaves, "instead of .* when the episode is played a second time"),
        (DrawsRegardless, "but the sensors that are wanted are"),
        (EachIsDifferent, "in another simulator of the same setup"),
        (ForgetsToKeepTheState, r"but get_agent_state\(\) says something else"),
        (ClosesOnce, "may be called twice, must not raise here, but raised RuntimeError"),
    ],
)
def test_what_is_wrong_is_said(
    broken: type[Simulator], reason: str, room_benchmark: Callable[..., BenchmarkConfig]
) -> None:
    with pytest.raises(ContractBroken, match=reason):
        check_simulator(broken, room_benchmark("demo_vln", SENSORS), EPISODE)  # type: ignore[arg-type]
