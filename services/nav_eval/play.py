"""One episode, played from actions: whoever decides them, this carries them out.

An agent's replies (`EpisodeExecutor`), a finished run's log (`verification`, `replay`, `EpisodeReplayer`) and a
learner's policy (`envs.Rollout`) drive the same object, so all of them move, judge and log alike:

    play = EpisodePlay(episode, task=task, simulator=simulator, sensors=["rgb"])
    while not play.is_over:
        play.apply(Action(name="move_forward"))
        play.observe()
    play.progress.result()

Every step is hashed together with the hash of the step before it: the action, its arguments and the exact pose it led
to. A replay that gets the same last link has gone the same way, bit for bit. Motion is exact and pictures are a
function of the pose, so a run need not keep its observations: `EpisodeReplayer` makes them again. It compares every
position with the log on the way; pictures of another place than the agent's are never delivered.
"""

import hashlib
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import msgspec

from nav_eval.agents.messages import ANSWER, Action
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.dataset.episode import Episode
from nav_eval.dataset.trajectory import LoggedAction
from nav_eval.errors import RecordError, UnknownName
from nav_eval.records.geometry import Pose, Vec3
from nav_eval.records.results import EpisodeResult
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, open_simulator
from nav_eval.simulator.motion import AgentState
from nav_eval.tasks import Moved, Task, TaskStage
from nav_eval.tasks.base import build_task

FORMAT = b"nav-eval action log 1"

_encoder = msgspec.json.Encoder(order="deterministic")


class ActionLog:
    """Grows by one entry per step. The chain is made when somebody asks for its digest."""

    def __init__(self, episode_id: str, start: AgentState) -> None:
        self.actions: list[LoggedAction] = []
        self._episode_id, self._start = episode_id, start
        self._states: list[AgentState | None] = []

    def append(self, action: Action, state: AgentState) -> None:
        """An action and where it led."""
        name, arguments = action.name, action.arguments
        self.actions.append({"action": name, "action_args": dict(arguments)} if arguments else name)
        self._states.append(state)

    def append_answer(self, poses: Sequence[Pose]) -> None:
        """A localization answer: nobody moves."""
        self.actions.append({"action": ANSWER, "poses": [[*pose.position, *pose.rotation] for pose in poses]})
        self._states.append(None)

    @property
    def trajectory(self) -> tuple[Vec3, ...]:
        """The start, and where each action led."""
        return (self._start.position, *(state.position for state in self._states if state is not None))

    @property
    def digest(self) -> str:
        """The last link of the chain."""
        link = hashlib.sha256(FORMAT + self._episode_id.encode() + _pack_pose(self._start)).digest()
        for entry, state in zip(self.actions, self._states, strict=True):
            led_to = b"" if state is None else _pack_pose(state)
            link = hashlib.sha256(link + _encoder.encode(entry) + led_to).digest()
        return link.hex()


def parse_entry(entry: Any) -> Action:  # noqa: ANN401 - comes out of a file
    """The action of one entry as it stands in a file."""
    if isinstance(entry, str):
        return Action(name=entry)
    if isinstance(entry, dict) and entry.get("action") == ANSWER:
        return Action(name=ANSWER, poses=_parse_poses(entry))
    if isinstance(entry, dict) and isinstance(entry.get("action"), str):
        arguments = entry.get("action_args") or {}
        if isinstance(arguments, dict) and all(isinstance(value, int | float) for value in arguments.values()):
            return Action(
                name=entry["action"], arguments={str(name): float(value) for name, value in arguments.items()}
            )
    raise RecordError(f"An action log holds {entry!r}; an entry is a name, or an object with action and action_args.")


def _parse_poses(entry: dict[str, Any]) -> tuple[Pose, ...]:
    try:
        return tuple(msgspec.convert({"position": row[:3], "rotation": row[3:]}, Pose) for row in entry["poses"])
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise RecordError(f"An action log holds the answer {entry!r}; poses are lists of seven numbers.") from error


def is_same_place(first: Sequence[float], second: Sequence[float]) -> bool:
    """Bit for bit, so that −0.0 is not 0.0."""
    return struct.pack("<3d", *first) == struct.pack("<3d", *second)


def _pack_pose(state: AgentState) -> bytes:
    return struct.pack("<3dqq?", *state.position, state.heading, state.tilt, state.collided)


class EpisodeOver(RecordError):
    """The episode is over: nothing can be done in it any more."""


class EpisodePlay:
    """An episode under way. It has the simulator to itself until the next one begins."""

    def __init__(
        self,
        episode: Episode,
        *,
        task: Task,
        simulator: Simulator,
        sensors: Iterable[str] = (),
        out: ObservationBuffers | None = None,
    ) -> None:
        """The agent is at the start, and has looked once; that costs no step."""
        self._simulator = simulator
        self.task = task
        #: what was sensed last
        self.observations: Observations = simulator.reset(episode, sensors=sensors, out=out)
        #: with the goals that only the scene knows
        self.episode = simulator.episode
        self.progress = task.start(self.episode, simulator.ground)
        #: where the agent is
        self.state: AgentState = simulator.get_agent_state()
        self.log = ActionLog(episode.episode_id, self.state)

    @property
    def is_over(self) -> bool:
        return self.progress.over

    @property
    def ground(self) -> Ground:
        return self._simulator.ground

    @property
    def randomization(self) -> dict[str, object] | None:
        """What domain randomisation drew for the episode."""
        return self._simulator.randomization

    def apply(self, action: Action, *, seconds: float = 0.0) -> AgentState:
        """Carry out an action without looking; `seconds` are what it took since the one before."""
        if self.progress.over:
            raise EpisodeOver
        if action.name == ANSWER:
            self.progress.answer(action.poses)
            self.log.append_answer(action.poses)
            return self.state
        self.state = state = self._simulator.act(action.name, action.arguments)
        self.log.append(action, state)
        self.progress.advance(
            Moved(action=action.name, position=state.position, collided=state.collided, seconds=seconds)
        )
        return state

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        """Look, as often as wanted; into the arrays of `out` where the simulator can."""
        self.observations = self._simulator.observe(out=out)
        return self.observations

    @cached_property
    def stages(self) -> tuple[TaskStage, ...]:
        """What has to be done, in order, as the task sees it."""
        return self.task.build_stages(self.episode, self.ground)

    @property
    def stage(self) -> int:
        """Index of the stage under way; of the last one once all are closed."""
        closed, count = self.progress.closed_stages, len(self.stages)
        return closed if closed < count else max(0, count - 1)

    def measure_distance(self, stage: int) -> float:
        """Metres from the agent to the nearest goal of a stage; infinite without one."""
        return self.stages[stage].field.distance(self.state.position) if self.stages else math.inf


class ReplayDiffers(RecordError):
    """A replay came to another place than the log says; the scenes or the engine are not those of the run."""


class ReplayedStep(NamedTuple):
    """One pose of an episode and what is seen from it."""

    step: int
    state: AgentState
    observations: Observations


class EpisodeReplayer:
    """Replays episodes of one benchmark with the sensors that are wanted."""

    def __init__(self, benchmark: BenchmarkConfig, *, sensors: Sequence[str], cache: Path, run_seed: int = 0) -> None:
        suite = benchmark.sensors()
        for name in sensors:
            if name not in suite:
                raise UnknownName(f"There is no sensor {name!r}; the benchmark has {', '.join(suite)}.")
        pictures = any(suite[name].is_rendered for name in sensors)
        self.sensors = tuple(sensors)
        self._task = build_task(benchmark.task, benchmark.evaluation)
        setup = SimulatorSetup(benchmark=benchmark, cache=cache, pictures=pictures, run_seed=run_seed)
        self._simulator = open_simulator(setup)

    def replay(self, episode: Episode, result: EpisodeResult) -> Iterator[ReplayedStep]:
        """Every pose in turn, the start first; each is made when it is asked for."""
        play = EpisodePlay(episode, task=self._task, simulator=self._simulator, sensors=self.sensors)
        _check_position(0, play.state, result)
        yield ReplayedStep(0, play.state, play.observations)
        for step, entry in enumerate(result.actions, start=1):
            state = play.apply(parse_entry(entry))
            _check_position(step, state, result)
            yield ReplayedStep(step, state, play.observe())

    def close(self) -> None:
        self._simulator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_position(step: int, state: AgentState, result: EpisodeResult) -> None:
    stated = result.trajectory
    if stated is None or (step < len(stated) and is_same_place(stated[step], state.position)):
        return
    raise ReplayDiffers(
        f"Episode {result.episode_id!r}: step {step} comes to {list(state.position)}, "
        "which is not what the run says. Use the scenes and the engine version that it was made with "
        "(`nav-eval verify` says more)."
    )
