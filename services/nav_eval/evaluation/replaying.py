"""Seeing a finished episode again: its actions are carried out once more, and this time somebody looks.

Motion is exact and pictures are a function of the pose, so a run need not keep its observations; this makes
them again, bit for bit. Every position is compared with the log on the way: pictures of another place than the
agent's are never delivered.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from nav_eval.config.schema import BenchmarkConfig, ImageGoalSensor, PictureSensor
from nav_eval.dataset.episode import Episode
from nav_eval.errors import RecordError, UnknownName
from nav_eval.evaluation.action_log import logged, same_place
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.simulator.backends import open_simulator
from nav_eval.simulator.base import Observations, SimulatorSetup
from nav_eval.simulator.motion import AgentState


class ReplayDiffers(RecordError):
    """A replay came to another place than the log says; the scenes or the engine are not those of the run."""


class Moment(NamedTuple):
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
        pictures = any(isinstance(suite[name], PictureSensor | ImageGoalSensor) for name in sensors)
        self.sensors = tuple(sensors)
        setup = SimulatorSetup(benchmark=benchmark, cache=cache, pictures=pictures, run_seed=run_seed)
        self._simulator = open_simulator(setup)

    def replay(self, episode: Episode, result: EpisodeResult) -> Iterator[Moment]:
        """Every pose in turn, the start first; each moment is made when it is asked for."""
        first = self._simulator.reset(episode, sensors=self.sensors)
        yield self._checked(Moment(0, self._simulator.get_agent_state(), first), result)
        for step, entry in enumerate(result.actions, start=1):
            state = self._simulator.act(*logged(entry))
            moment = Moment(step, state, self._simulator.observe())
            yield self._checked(moment, result)

    def close(self) -> None:
        self._simulator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @staticmethod
    def _checked(moment: Moment, result: EpisodeResult) -> Moment:
        stated = result.trajectory
        if stated is not None and not (
            moment.step < len(stated) and same_place(stated[moment.step], moment.state.position)
        ):
            raise ReplayDiffers(
                f"Episode {result.episode_id!r}: step {moment.step} comes to {list(moment.state.position)}, "
                "which is not what the run says. Use the scenes and the engine version that it was made with "
                "(`nav-eval verify` says more)."
            )
        return moment
