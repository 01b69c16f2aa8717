"""A simulator: an empty floor without end. It needs no scene files and no graphics."""

from collections.abc import Iterable, Mapping

import numpy as np

from nav_eval.config.schema import PictureSensor
from nav_eval.dataset.episode import Episode
from nav_eval.scene.navigation import Ground, OpenPlane
from nav_eval.simulator.actions import Body
from nav_eval.simulator.base import Observations, Places, Simulator, SimulatorSetup
from nav_eval.simulator.motion import AgentState
from nav_eval.simulator.sensors import SENSORS, Moment


class Flatland(Simulator):
    """Motion and plain sensors are nav-eval's own; there is nothing to be seen."""

    def __init__(self, setup: SimulatorSetup) -> None:
        self._benchmark = setup.benchmark
        self._body = Body(setup.benchmark.task, OpenPlane(), sliding=True)

    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: Places | None = None
    ) -> Observations:
        suite = self._benchmark.sensors()
        self._sensors = {name: suite[name] for name in (suite if sensors is None else sensors)}
        self._episode = episode
        self._start = self._state = self._body.start(episode.private.start)
        return self.observe(out=out)

    def act(self, action: str, arguments: Mapping[str, float] = {}) -> AgentState:
        self._state = self._body.apply(self._state, action, arguments)
        return self._state

    def observe(self, *, out: Places | None = None) -> Observations:
        now = Moment(episode=self._episode, start=self._start.pose, now=self._state.pose, category_ids={})
        return {
            name: _blank(config) if isinstance(config, PictureSensor) else SENSORS.get(config.kind)(config).read(now)
            for name, config in self._sensors.items()
        }

    def get_agent_state(self) -> AgentState:
        return self._state

    @property
    def episode(self) -> Episode:
        return self._episode

    @property
    def ground(self) -> Ground:
        return OpenPlane()

    def close(self) -> None: ...


def _blank(camera: PictureSensor) -> np.ndarray:
    size, kinds = (camera.height, camera.width), {"rgb": np.uint8, "depth": np.float32}
    return np.zeros((*size, 3) if camera.kind == "rgb" else size, kinds.get(camera.kind, np.int32))
