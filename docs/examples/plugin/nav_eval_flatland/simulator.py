"""A simulator: an empty floor without end. It needs no scene files and no graphics."""

from collections.abc import Iterable, Mapping

from nav_eval.dataset.episode import Episode
from nav_eval.scene.navigation import Ground, OpenPlane
from nav_eval.sensors import BlankPictures, SensorContext
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, place_readings
from nav_eval.simulator.motion import AgentState, Body


class Flatland(Simulator):
    """Motion and sensors are nav-eval's own; there is nothing to be seen."""

    def __init__(self, setup: SimulatorSetup) -> None:
        self._setup = setup
        self._body = Body(setup.benchmark.task, OpenPlane(), sliding=True)

    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        suite = self._setup.benchmark.sensors()
        chosen = {name: suite[name] for name in (suite if sensors is None else sensors)}
        self._sensors = {name: s for name, s in chosen.items() if self._setup.pictures or not s.is_rendered}
        self._episode, self._steps = episode, 0
        self._start = self._state = self._body.start(episode.private.start)
        return self.observe(out=out)

    def act(self, action: str, arguments: Mapping[str, float] = {}) -> AgentState:
        self._state = self._body.apply(self._state, action, arguments)
        self._steps += 1
        return self._state

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        now = SensorContext(
            episode=self._episode,
            start=self._start.pose,
            now=self._state.pose,
            step=self._steps,
            seed=self._setup.benchmark.evaluation.seed,
            pictures=BlankPictures(),
        )
        return place_readings({name: sensor.read(name, now) for name, sensor in self._sensors.items()}, out)

    def get_agent_state(self) -> AgentState:
        return self._state

    @property
    def episode(self) -> Episode:
        return self._episode

    @property
    def ground(self) -> Ground:
        return OpenPlane()

    def close(self) -> None: ...
