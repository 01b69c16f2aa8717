"""The built-in simulator: our navigation, our motion, pictures by ModernGL."""

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from nav_eval.config.schema import ImageGoalSensor, PictureSensor, SensorConfig
from nav_eval.dataset.episode import Episode
from nav_eval.errors import DatasetError, SimulatorError
from nav_eval.scene.model import Scene
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.actions import Body
from nav_eval.simulator.base import Observations, Places, Simulator, SimulatorSetup
from nav_eval.simulator.goals import with_goals
from nav_eval.simulator.motion import MICRODEGREES, AgentState
from nav_eval.simulator.pictures import Pictures
from nav_eval.simulator.randomization import DomainDraw, DomainRandomizationManager, randomized
from nav_eval.simulator.rendering import Camera, Channel, Device, PreparedScene, Renderer
from nav_eval.simulator.scene_manager import Place, SceneManager
from nav_eval.simulator.sensors import SENSORS, Moment, Sensor

_NO_ARGUMENTS: Mapping[str, float] = {}


class NotStarted(SimulatorError):
    """No episode has been started; call reset first."""


class ModernGLSimulator(Simulator):
    """One robot in one scene, deterministic to the last bit of every pose."""

    def __init__(self, setup: SimulatorSetup) -> None:
        self._setup = setup
        self._benchmark = setup.benchmark
        self._scenes = SceneManager(setup.benchmark, cache=setup.cache)
        self._stage: _Stage | None = None
        self._renderer: tuple[Scene | PreparedScene, Renderer] | None = None
        self._domain = DomainRandomizationManager(
            setup.benchmark.scenario_config.domain_randomization, run_seed=setup.run_seed
        )

    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: Places | None = None
    ) -> Observations:
        robot = self._benchmark.robot(episode.private.robot)
        place = self._scenes.open(episode.scene_id, robot)
        episode = with_goals(episode, place.semantics, place.ground)
        suite = self._benchmark.sensors(robot.name)
        chosen = suite if sensors is None else {name: suite[name] for name in sensors}
        body = Body(self._benchmark.task, place.ground, sliding=self._benchmark.simulator.physics.allow_sliding)
        draw = self._domain.draw(episode.episode_id)
        self._stage = _Stage(episode=episode, place=place, body=body, sensors=chosen, draw=draw)
        return self.observe(out=out)

    @property
    def episode(self) -> Episode:
        """The current episode, with the goals that the scene fills in."""
        return self._current.episode

    def act(self, action: str, arguments: Mapping[str, float] = _NO_ARGUMENTS) -> AgentState:
        stage = self._current
        stage.state = stage.body.apply(stage.state, action, arguments)
        stage.steps += 1
        return stage.state

    def observe(self, *, out: Places | None = None) -> Observations:
        stage = self._current
        observations: Observations = {name: sensor.read(stage.moment()) for name, sensor in stage.plain.items()}
        if self._setup.pictures and (stage.cameras or stage.goal_pictures):
            observations |= self._pictures(stage, out)
        return observations

    def get_agent_state(self) -> AgentState:
        return self._current.state

    @property
    def randomization(self) -> dict[str, object] | None:
        draw = self._current.draw
        return None if draw is None else draw.record()

    @property
    def ground(self) -> Ground:
        return self._current.place.ground

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer[1].release()
        self._renderer, self._stage = None, None

    @property
    def _current(self) -> "_Stage":
        if self._stage is None:
            raise NotStarted
        return self._stage

    def _pictures(self, stage: "_Stage", out: Places | None) -> Observations:
        renderer = self._renderer_of(stage.drawn)
        if stage.goal_pictures and not stage.goal_observations:
            stage.goal_observations = {
                name: _goal_picture(stage.episode, config, renderer) for name, config in stage.goal_pictures.items()
            }
        noise = (self._benchmark.evaluation.seed, f"{stage.episode.episode_id}/{stage.steps}")
        tilt = stage.state.tilt / MICRODEGREES
        shots = stage.pictures.take(
            renderer, stage.state.pose, tilt=tilt, wanted=stage.cameras, noise_key=noise, out=out
        )
        return {**shots, **stage.goal_observations}

    def _renderer_of(self, scene: Scene | PreparedScene) -> Renderer:
        if self._renderer is None or self._renderer[0] is not scene:
            if self._renderer is not None:
                self._renderer[1].release()
            rendering = self._benchmark.simulator.rendering
            renderer = Renderer(
                scene,
                device=_device(rendering.gpu),
                trilinear=rendering.render_quality != "low",
                culling=rendering.culling,
            )
            self._renderer = (scene, renderer)
        return self._renderer[1]


class _Stage:
    """One episode under way."""

    def __init__(
        self,
        *,
        episode: Episode,
        place: Place,
        body: Body,
        sensors: Mapping[str, SensorConfig],
        draw: DomainDraw | None,
    ) -> None:
        self.episode = episode
        self.place = place
        self.draw = draw
        self.body = body
        self.state = body.start(episode.private.start)
        self.start = self.state.pose
        self.steps = 0
        self.cameras = [name for name, config in sensors.items() if isinstance(config, PictureSensor)]
        self.pictures = Pictures(sensors, jitter=None if draw is None else draw.camera)
        self.goal_pictures = {name: config for name, config in sensors.items() if isinstance(config, ImageGoalSensor)}
        self.goal_observations: Observations = {}
        self.plain: dict[str, Sensor] = {
            name: SENSORS.get(config.kind)(config)
            for name, config in sensors.items()
            if not isinstance(config, PictureSensor | ImageGoalSensor)
        }

    @cached_property
    def drawn(self) -> Scene | PreparedScene:
        """What is drawn: the place's scene, or what randomisation makes of it. Made only if a picture is taken."""
        if self.draw is None or not self.draw.changes_scene:
            return self.place.prepared
        return randomized(self.place.scene, self.draw, self.episode)

    def moment(self) -> Moment:
        return Moment(episode=self.episode, start=self.start, now=self.state.pose, category_ids=self.place.category_ids)


def _device(gpu: int | str) -> Device:
    """The device that the configuration names; never silently another one."""
    if gpu == "cpu":
        return Device.software()
    return Device.open(gpu if isinstance(gpu, int) else None)


def _goal_picture(
    episode: Episode, config: ImageGoalSensor, renderer: Renderer
) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    """What the goal looks like, through the camera that the episode states."""
    image = next((goal.image for goal in episode.goals if goal.image is not None), None)
    if image is None:
        raise DatasetError(f"Episode {episode.episode_id!r} has no goal picture, but the task has an imagegoal sensor.")
    camera = Camera(
        position=image.pose.position,
        rotation=image.pose.rotation,
        width=config.width or image.width,
        height=config.height or image.height,
        hfov=config.hfov or image.hfov,
    )
    picture = renderer.render(camera, [Channel.RGB]).rgb
    assert picture is not None
    return picture
