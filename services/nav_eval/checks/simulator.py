"""Do a simulator and its sensors keep their contracts?

A simulator: the same walk gives the same states and pictures, whoever looks and how often. A sensor: settings that can
be written down, and readings that are what it says.
"""

import dataclasses
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import numpy as np

from nav_eval.agents.messages import DTYPES
from nav_eval.checks.contract import ContractBroken, call, require
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.sensors import TEXT, Sensor, SensorContext, SensorValue, TextValue
from nav_eval.simulator.base import Observations, Simulator, SimulatorFactory, SimulatorSetup
from nav_eval.simulator.motion import VELOCITY_CONTROL, ActionRefused, AgentState
from nav_eval.tasks import STOP


def check_sensor(sensor: Sensor, context: SensorContext) -> None:
    """Refuse a sensor whose configuration or whose reading of `context` others could not rely on."""
    name = type(sensor).__name__
    field = type(sensor).model_fields.get("kind")
    kind = field.default if field else None
    require(
        isinstance(kind, str),
        f'{name} has no kind; give it a field `kind: Literal["…"] = "…"` with the name of its entry point.',
    )
    again = call(f"Validating what {name} wrote", lambda: type(sensor).model_validate_json(sensor.model_dump_json()))
    require(again == sensor, f"{name} is {again} once it was written and read; use types that JSON can hold.")
    spec = sensor.spec
    require(
        spec.kind == kind and (spec.dtype == TEXT or spec.dtype in DTYPES),
        f"{name}.spec is {spec}; its kind is {kind!r} and its dtype 'text' or one of {', '.join(sorted(DTYPES))}.",
    )
    first, second = (call(f"{name}.read()", lambda: sensor.read(sensor.kind, context)) for _ in range(2))
    check_reading(sensor.kind, sensor, first)
    require(
        is_same_reading(first, second),
        f"{name}.read() gives two values for one moment; draw noise from context.make_generator(name) only.",
    )


def check_reading(name: str, sensor: Sensor, value: SensorValue) -> None:
    """Refuse a reading that is not what the sensor's spec and bounds say."""
    spec = sensor.spec
    if spec.dtype == TEXT:
        require(isinstance(value, TextValue), f"The sensor {name!r} gave {value!r}; its spec says text: a TextValue.")
        return
    require(isinstance(value, np.ndarray), f"The sensor {name!r} gave {value!r}; its spec says an array of {spec}.")
    array = cast("np.ndarray[tuple[int, ...], np.dtype[np.generic]]", value)
    fits = len(array.shape) == len(spec.shape) and all(
        said in (0, extent) for said, extent in zip(spec.shape, array.shape, strict=True)
    )
    require(
        array.dtype == spec.dtype and fits,
        f"The sensor {name!r} gave {array.dtype}{array.shape}; its spec says {spec.dtype}{spec.shape}.",
    )
    low, high = (np.asarray(bound, spec.dtype) for bound in sensor.bounds)
    require(
        bool(np.all((array >= low) & (array <= high))),
        f"The sensor {name!r} reads outside of its bounds [{low}, {high}]; widen `bounds` or mend the reading.",
    )


def is_same_reading(first: SensorValue, second: SensorValue) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return isinstance(first, TextValue) and first == second


NO_ACTION = "no such action"
_ROUNDS = 2  #: how often every action of the task is carried out

Command = tuple[str, Mapping[str, float]]


def check_simulator(
    factory: SimulatorFactory, benchmark: BenchmarkConfig, episode: Episode, *, cache: Path | None = None
) -> None:
    """Refuse a simulator that an evaluation could not rely on.

    `factory` makes one from a `SimulatorSetup`; it walks `episode` by the actions of `benchmark` several times.
    """
    with tempfile.TemporaryDirectory() as folder:
        setup = SimulatorSetup(benchmark=benchmark, cache=cache or Path(folder))
        with _Walker(factory, setup, episode) as walker:
            walker.check_start()
            walker.check_looking()
            walker.check_actions()
            walker.check_places()
            walker.check_choice()
            walker.check_repetition()
        # every worker has a simulator of its own; verification walks without a renderer
        unseen = dataclasses.replace(setup, pictures=False)
        for other, when in ((setup, "in another simulator of the same setup"), (unseen, "without pictures")):
            with _Walker(factory, other, episode) as again:
                again.check_same(walker.history, when)


class _Walker:
    """One simulator and one episode, begun again for every check."""

    def __init__(self, factory: SimulatorFactory, setup: SimulatorSetup, episode: Episode) -> None:
        made = call("Making the simulator from its setup", lambda: factory(setup))
        require(isinstance(made, Simulator), f"The factory made {made!r}; it must make a subclass of Simulator.")
        self.simulator: Simulator = made
        self.name = type(made).__name__
        self.episode = episode
        self.benchmark = setup.benchmark
        suite = setup.benchmark.sensors(setup.benchmark.robot(episode.private.robot).name)
        self.sensors = {name: s for name, s in suite.items() if setup.pictures or not s.is_rendered}
        self.history: list[tuple[AgentState, Observations]] = []

    def __enter__(self) -> "_Walker":
        return self

    def __exit__(self, *_: object) -> None:
        for _again in range(2):
            call(f"{self.name}.close(), which may be called twice,", self.simulator.close)

    def check_start(self) -> None:
        self._check_readings(self._reset(), self.sensors)
        simulator = self.simulator
        require(
            simulator.episode.episode_id == self.episode.episode_id,
            f"{self.name}.episode is {simulator.episode.episode_id!r} after a reset to {self.episode.episode_id!r}.",
        )
        state = call(f"{self.name}.get_agent_state()", simulator.get_agent_state)
        require(
            isinstance(state, AgentState),
            f"{self.name}.get_agent_state() returned {state!r}; return a nav_eval.simulator.motion.AgentState.",
        )
        navigable = call(f"{self.name}.ground.is_navigable()", lambda: simulator.ground.is_navigable(state.position))
        require(navigable, f"{self.name} puts the agent at {state.position}, which its own ground calls not navigable.")

    def check_looking(self) -> None:
        """Looking changes nothing, and what was seen stays as it was seen."""
        first = self._reset()
        before, kept = self.simulator.get_agent_state(), _copy(first)
        self._require_same(self._observe(), first, "observe() after reset() sees something else than reset() returned")
        self._require_same(self._observe(), first, "observe() sees something else the second time")
        after = self.simulator.get_agent_state()
        require(after == before, f"{self.name}.observe() moves the agent; it must only look.")
        for step in self._list_steps():
            self._act(step)
            self._observe()
        self._require_same(first, kept, "a later observation overwrites arrays of an earlier one; deliver new ones")

    def check_actions(self) -> None:
        if not self.benchmark.task.actions:  # the task is answered, not walked
            return
        self._reset()
        before = self.simulator.get_agent_state()
        self._check_refusal(NO_ACTION, {}, "an action that the task does not have")
        self._check_refusal(self.benchmark.task.actions[0].name, {"no_such_argument": 1.0}, "an unknown argument")
        after = self.simulator.get_agent_state()
        require(after == before, f"{self.name} has moved by an action that it refused: {before} became {after}.")
        place = self._act((STOP, {})).position
        require(
            place == before.position,
            f"{self.name} moves the agent by a stop, from {before.position} to {place}; it must stay.",
        )
        for step in self._list_steps():  # a stop ends a sub-task, never the simulator
            self._act(step)

    def check_places(self) -> None:
        """An observation holds the very array that was given, filled, or another one; the values are the same."""
        plain = self._reset()
        places = {name: np.full_like(v, 7) for name, v in plain.items() if isinstance(v, np.ndarray)}
        filled = call(f"{self.name}.observe(out=…)", lambda: self.simulator.observe(out=places))
        self._require_same(filled, plain, "observe(out=…) sees something else than observe()")
        some = dict(list(places.items())[:1])
        again = call(f"{self.name}.reset(out=…)", lambda: self.simulator.reset(self.episode, out=some))
        self._require_same(again, plain, "reset(out=…) with places for some sensors sees something else than reset()")

    def check_choice(self) -> None:
        """Only the chosen sensors are delivered, from the reset on."""
        for name in list(self.sensors)[:2]:
            chosen = {name: self.sensors[name]}
            self._check_readings(self._reset(sensors=[name]), chosen)
            self._check_readings(self._observe(), chosen)

    def check_repetition(self) -> None:
        self.history = self.walk()
        self._compare(self.walk(), "when the episode is played a second time")

    def walk(self) -> list[tuple[AgentState, Observations]]:
        first = self._reset()
        history = [(self.simulator.get_agent_state(), _copy(first))]
        for step in self._list_steps():
            state = self._act(step)
            seen = self._observe()
            self._check_readings(seen, self.sensors)
            history.append((state, _copy(seen)))
        return history

    def check_same(self, expected: list[tuple[AgentState, Observations]], when: str) -> None:
        self.history = expected
        self._compare(self.walk(), when)

    def _compare(self, walked: list[tuple[AgentState, Observations]], when: str) -> None:
        for number, ((state, seen), (expected, then)) in enumerate(zip(walked, self.history, strict=True)):
            require(
                state == expected,
                f"{self.name} comes to {state} instead of {expected} at step {number} {when}; "
                "motion must depend on the episode and the actions only.",
            )
            self._require_same(seen, {name: then[name] for name in seen}, f"step {number} is seen differently {when}")

    def _list_steps(self) -> list[Command]:
        steps: list[Command] = []
        for action in self.benchmark.task.actions:
            halves: Mapping[str, float] = {}
            if action.name == VELOCITY_CONTROL:
                linear, angular = action.params["max_linear_speed"], action.params["max_angular_speed"]
                halves = {"linear_velocity": linear / 2, "angular_velocity": angular / 2}
            steps.append((action.name, halves))
        return steps * _ROUNDS

    def _reset(self, sensors: list[str] | None = None) -> Observations:
        return call(f"{self.name}.reset()", lambda: self.simulator.reset(self.episode, sensors=sensors))

    def _observe(self) -> Observations:
        return call(f"{self.name}.observe()", self.simulator.observe)

    def _act(self, step: Command) -> AgentState:
        state = call(f"{self.name}.act({step[0]!r})", lambda: self.simulator.act(*step))
        require(
            state == self.simulator.get_agent_state(),
            f"{self.name}.act({step[0]!r}) returned {state}, but get_agent_state() says something else.",
        )
        return state

    def _check_refusal(self, action: str, arguments: Mapping[str, float], what: str) -> None:
        try:
            self.simulator.act(action, arguments)
        except ActionRefused:
            return
        except Exception as error:
            raise ContractBroken(
                f"{self.name} answers {what} with {type(error).__name__}: {error} Raise "
                "nav_eval.simulator.motion.ActionRefused: it is the agent's fault, and not a crash."
            ) from error
        raise ContractBroken(f"{self.name} accepts {what}; raise nav_eval.simulator.motion.ActionRefused.")

    def _check_readings(self, seen: Observations, sensors: Mapping[str, Sensor]) -> None:
        require(
            set(seen) == set(sensors),
            f"{self.name} delivers {sorted(seen)}, but the sensors that are wanted are {sorted(sensors)}.",
        )
        for name, value in seen.items():
            check_reading(name, sensors[name], value)

    def _require_same(self, seen: Observations, expected: Observations, what: str) -> None:
        differing = [name for name in expected if name not in seen or not is_same_reading(seen[name], expected[name])]
        require(not differing, f"{self.name}: {what} (sensor {', '.join(differing)}).")


def _copy(seen: Observations) -> Observations:
    return {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in seen.items()}
