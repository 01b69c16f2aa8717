"""What a simulator is, whatever it is made of.

The contract: `reset` begins an episode and returns its first observation; `step` applies one action and
returns the next one. `act` moves without looking, for replays and for agents that answer with several
actions at once; `observe` looks without moving, as often as wanted, and always sees the same. Nothing
here scores: tasks do, and they ask the simulator only for its ground.

Who looks may offer arrays to write into (`out`, by sensor). It is an offer: an observation holds either the
very array that was given, filled, or another one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import SimulatorError
from nav_eval.records.geometry import Vec3
from nav_eval.registry import Registry
from nav_eval.scene.model import Semantics
from nav_eval.scene.navigation import Ground
from nav_eval.sensors import SensorValue
from nav_eval.simulator.controller import LocalController
from nav_eval.simulator.goal_follower import GoalRequest, GoalWalk
from nav_eval.simulator.motion import NO_ARGUMENTS, ActionRefused, AgentState

Observations: TypeAlias = dict[str, SensorValue]
"""What the sensors of one moment say, by sensor name."""

ObservationBuffers: TypeAlias = Mapping[str, NDArray[Any]]
"""Arrays to write readings into, by sensor; each of its sensor's shape and type, C-contiguous."""


def place_readings(readings: Observations, out: ObservationBuffers | None) -> Observations:
    """The readings, each in its place where there is one; what was made there is not copied."""
    return {name: _place(name, value, (out or {}).get(name)) for name, value in readings.items()}


def _place(name: str, value: SensorValue, place: NDArray[Any] | None) -> SensorValue:
    if place is None or place is value or not isinstance(value, np.ndarray):
        return value
    if (place.shape, place.dtype) != (value.shape, value.dtype):
        needed, given = f"{value.dtype}{value.shape}", f"{place.dtype}{place.shape}"
        raise SimulatorError(f"The sensor {name!r} needs a place for {needed}, but was given {given}.")
    np.copyto(place, value)
    return place


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatorSetup:
    """Everything that a simulator is made from."""

    benchmark: BenchmarkConfig
    cache: Path  #: where prepared scenes are kept between processes
    pictures: bool = True  #: False: no renderer is opened, and cameras are left out of observations
    run_seed: int = 0  #: what domain randomisation draws from when the scenario has no seed of its own


class Simulator(ABC):
    """One agent in one scene at a time. Not thread-safe; every worker has its own."""

    @abstractmethod
    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        """Begin an episode; only `sensors` are delivered from now on, all of them if None."""

    @abstractmethod
    def act(self, action: str, arguments: Mapping[str, float] = NO_ARGUMENTS) -> AgentState:
        """Apply one action. Refuses actions that the task does not have."""

    @abstractmethod
    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        """What the agent senses where it is."""

    @abstractmethod
    def get_agent_state(self) -> AgentState:
        """Where the agent is."""

    @property
    @abstractmethod
    def episode(self) -> Episode:
        """The current episode, with the goals that only the scene knows filled in."""

    @property
    @abstractmethod
    def ground(self) -> Ground:
        """What the current scene's floor allows."""

    @property
    def semantics(self) -> Semantics:
        """What the current scene's annotation names; nothing where the simulator does not know it."""
        return Semantics()

    @property
    def randomization(self) -> dict[str, object] | None:
        """What domain randomisation drew for the current episode, to be kept with its result."""
        return None

    @property
    def controller(self) -> LocalController | None:
        """Who walks to goals that an agent names; None where the task or the simulator has none."""
        return None

    def start_walk(self, request: GoalRequest) -> GoalWalk:
        """Begin to walk to a goal; refuses what the task does not allow."""
        raise ActionRefused(f"This simulator cannot walk to goals; {request.name} is not available.")

    @abstractmethod
    def close(self) -> None:
        """Give everything back; the simulator cannot be used afterwards."""

    def step(
        self, action: str, arguments: Mapping[str, float] = NO_ARGUMENTS, *, out: ObservationBuffers | None = None
    ) -> Observations:
        """Apply one action and look."""
        self.act(action, arguments)
        return self.observe(out=out)

    def geodesic_distance(self, start: Vec3, end: Vec3) -> float:
        """Metres of the shortest way; infinite without one."""
        return self.ground.geodesic_distance(start, end)

    def is_navigable(self, position: Vec3) -> bool:
        return self.ground.is_navigable(position)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


SimulatorFactory: TypeAlias = Callable[[SimulatorSetup], Simulator]
F = TypeVar("F", bound=SimulatorFactory)

SIMULATORS: Registry[SimulatorFactory] = Registry("simulator", entry_point_group="nav_eval.simulators")


def register_simulator(name: str) -> Callable[[F], F]:
    """Decorator: make a simulator available to configurations as `simulator.backend: name`."""

    def add(factory: F) -> F:
        SIMULATORS.register(name)(factory)
        return factory

    return add


@register_simulator("moderngl")
def open_moderngl(setup: SimulatorSetup) -> Simulator:
    from nav_eval.simulator.moderngl_simulator import ModernGLSimulator

    return ModernGLSimulator(setup)


def open_simulator(setup: SimulatorSetup) -> Simulator:
    """The simulator that the benchmark asks for."""
    return SIMULATORS.get(setup.benchmark.simulator.backend)(setup)
