"""The built-in simulator: our navigation, our motion, pictures by ModernGL."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from nav_eval.dataset.episode import Episode
from nav_eval.errors import SimulatorError
from nav_eval.records.geometry import MICRODEGREES, Vec3
from nav_eval.scene.model import Scene, Semantics
from nav_eval.scene.navigation import Ground
from nav_eval.sensors import CameraSensor, Channel, NoPictures, PictureSource, Sensor, SensorContext
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, place_readings
from nav_eval.simulator.controller import LocalController
from nav_eval.simulator.domain_randomization import DomainDraw, DomainRandomizationManager
from nav_eval.simulator.goal_follower import GoalFollower, GoalRequest, GoalWalk, make_controller
from nav_eval.simulator.motion import NO_ARGUMENTS, ActionRefused, AgentState, Body
from nav_eval.simulator.scene_manager import NavigableScene, SceneManager, resolve_goals

if TYPE_CHECKING:  # a replay without pictures does not wait for the renderer
    from nav_eval.simulator.camera_rig import CameraRig, RigPictures
    from nav_eval.simulator.rendering import PreparedScene, Renderer

Drawn = TypeVar("Drawn")


class EpisodeNotStarted(SimulatorError):
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
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        robot = self._benchmark.robot(episode.private.robot)
        place = self._scenes.open(episode.scene_id, robot)
        episode = resolve_goals(episode, place.semantics, place.ground)
        suite = self._benchmark.sensors(robot.name)
        chosen = {name: suite[name] for name in (suite if sensors is None else sensors)}
        if not self._setup.pictures:
            chosen = {name: sensor for name, sensor in chosen.items() if not sensor.is_rendered}
        body = Body(self._benchmark.task, place.ground, sliding=self._benchmark.simulator.physics.allow_sliding)
        draw = self._domain.draw(episode.episode_id)
        self._stage = _Stage(episode=episode, place=place, body=body, sensors=chosen, draw=draw)
        return self.observe(out=out)

    @property
    def episode(self) -> Episode:
        """The current episode, with the goals that the scene fills in."""
        return self._current.episode

    def act(self, action: str, arguments: Mapping[str, float] = NO_ARGUMENTS) -> AgentState:
        stage = self._current
        stage.ahead = None
        stage.state = stage.body.apply(stage.state, action, arguments)
        stage.steps += 1
        return stage.state

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        stage = self._current
        if not stage.takes_pictures:
            return self._read_sensors(stage, NoPictures(), out)
        if self._draws_on_gpu:  # which draws for other episodes, too, until it is our turn again
            self._draw(stage, lambda drawer: self._submit(stage, drawer, out))
        return self._draw(stage, lambda drawer: self._read_sensors(stage, self._face(stage, drawer, out), out))

    @property
    def _draws_on_gpu(self) -> bool:
        """Known from the second picture on."""
        return self._renderer is not None and not self._renderer[1].device.is_software

    def _submit(self, stage: "_Stage", renderer: "Renderer", out: ObservationBuffers | None) -> None:
        from nav_eval.simulator.camera_rig import draw_together

        if stage.ahead is None or stage.ahead[0] is not out:
            stage.ahead = out, stage.rig.face(renderer, stage.state.pose, tilt=stage.tilt, out=out)
            draw_together([stage.ahead[1]])

    def _face(self, stage: "_Stage", renderer: "Renderer", out: ObservationBuffers | None) -> "RigPictures":
        """What the cameras see now; drawn already if `draw_ahead` was asked to."""
        ahead, stage.ahead = stage.ahead, None
        if ahead is not None and ahead[0] is out:
            return ahead[1]
        pictures = stage.rig.face(renderer, stage.state.pose, tilt=stage.tilt, out=out)
        if len(stage.rig.drawn) > 1:
            from nav_eval.simulator.camera_rig import draw_together

            draw_together([pictures])
        return pictures

    def _read_sensors(self, stage: "_Stage", pictures: PictureSource, out: ObservationBuffers | None) -> Observations:
        context = SensorContext(
            episode=stage.episode,
            start=stage.start,
            now=stage.state.pose,
            step=stage.steps,
            seed=self._benchmark.evaluation.seed,
            category_ids=stage.place.category_ids,
            pictures=pictures,
        )
        return place_readings({name: sensor.read(name, context) for name, sensor in stage.sensors.items()}, out)

    def get_agent_state(self) -> AgentState:
        return self._current.state

    @property
    def randomization(self) -> dict[str, object] | None:
        draw = self._current.draw
        return None if draw is None else draw.record()

    @property
    def ground(self) -> Ground:
        return self._current.place.ground

    @property
    def semantics(self) -> Semantics:
        return self._current.place.semantics

    @property
    def controller(self) -> LocalController | None:
        return make_controller(self._benchmark.task)

    def start_walk(self, request: GoalRequest) -> GoalWalk:
        controller = self.controller
        if controller is None:
            return super().start_walk(request)
        return GoalFollower(self._benchmark.task, controller).start(request, self._current.state, self._find_point)

    def _find_point(self, camera: str, u: float, v: float) -> Vec3 | None:
        """The place that a pixel shows, by the true depth, whatever the agent's own camera makes of it."""
        from nav_eval.simulator.camera_rig import CameraJitter, Mount

        stage = self._current
        sensor = self._benchmark.sensors(self._benchmark.robot(stage.episode.private.robot).name).get(camera)
        if not isinstance(sensor, CameraSensor):
            raise ActionRefused(f"pixel_goal names the camera {camera!r}, which is none of this task.")
        if not (0.0 <= u < sensor.width and 0.0 <= v < sensor.height):
            raise ActionRefused(f"The pixel ({u:g}, {v:g}) is outside {camera!r} of {sensor.width} × {sensor.height}.")
        jitter = CameraJitter() if stage.draw is None else stage.draw.camera
        mount = Mount.from_settings(sensor).apply_jitter(jitter or CameraJitter())
        view = mount.make_camera(stage.state.pose, tilt=stage.tilt)
        depth = self._draw(stage, lambda renderer: renderer.render(view, [Channel.DEPTH]).depth)
        assert depth is not None  # it was asked for
        return view.find_point(u, v, depth=float(depth[int(v), int(u)]))

    def close(self) -> None:
        self._give_renderer_back()
        self._stage = None

    @property
    def _current(self) -> "_Stage":
        if self._stage is None:
            raise EpisodeNotStarted
        return self._stage

    def _draw(self, stage: "_Stage", work: "Callable[[Renderer], Drawn]") -> Drawn:
        """What `work` makes with the renderer of the stage, which nobody else uses meanwhile."""
        from nav_eval.simulator.renderer_pool import RENDERERS

        scene = stage.drawn  # made in our own thread: others draw meanwhile
        return RENDERERS.draw(lambda: work(self._choose_renderer(scene)))

    def _choose_renderer(self, scene: "Scene | PreparedScene") -> "Renderer":
        if self._renderer is not None and self._renderer[0] is not scene and self._renderer[1].can_repaint(scene):
            self._renderer[1].repaint(scene)
            self._renderer = scene, self._renderer[1]
        if self._renderer is None or self._renderer[0] is not scene:
            from nav_eval.simulator.renderer_pool import RENDERERS

            self._give_renderer_back()
            self._renderer = scene, RENDERERS.take(scene, self._benchmark.simulator.rendering)
        return self._renderer[1]

    def _give_renderer_back(self) -> None:
        if self._renderer is not None:
            from nav_eval.simulator.renderer_pool import RENDERERS

            renderer, self._renderer = self._renderer[1], None
            RENDERERS.give_back(renderer)


def draw_ahead(looks: Iterable[tuple[Simulator, ObservationBuffers | None]]) -> None:
    """Draw what simulators of this thread will observe next, into the places that they will be given: small pictures of
    one scene in one submission. What they observe is the same; who draws in another way draws when asked.
    """
    from nav_eval.simulator.camera_rig import draw_together

    scenes: dict[int, list[_Look]] = {}
    for simulator, out in looks:
        if isinstance(simulator, ModernGLSimulator) and simulator._current.takes_pictures:
            stage = simulator._current
            scenes.setdefault(id(stage.drawn), []).append((simulator, stage, out))

    def face_all(together: "Sequence[_Look]", renderer: "Renderer") -> None:
        for _, stage, out in together:
            stage.ahead = out, stage.rig.face(renderer, stage.state.pose, tilt=stage.tilt, out=out)
        draw_together([stage.ahead[1] for _, stage, _ in together if stage.ahead is not None])

    for together in (each for each in scenes.values() if len(each) > 1):
        first, shown, _ = together[0]
        first._draw(shown, partial(face_all, together))


@dataclass(kw_only=True, eq=False)
class _Stage:
    """One episode under way."""

    episode: Episode
    place: NavigableScene
    body: Body
    sensors: Mapping[str, Sensor]
    draw: DomainDraw | None
    steps: int = 0

    ahead: "tuple[ObservationBuffers | None, RigPictures] | None" = None  #: drawn for the next look into these places

    def __post_init__(self) -> None:
        self.state = self.body.start(self.episode.private.start)
        self.start = self.state.pose

    @property
    def tilt(self) -> float:
        """Degrees that the robot looks up."""
        return self.state.tilt / MICRODEGREES

    @cached_property
    def takes_pictures(self) -> bool:
        return any(sensor.is_rendered for sensor in self.sensors.values())

    @cached_property
    def rig(self) -> "CameraRig":
        from nav_eval.simulator.camera_rig import CameraRig

        return CameraRig(self.sensors, jitter=None if self.draw is None else self.draw.camera)

    @cached_property
    def drawn(self) -> "Scene | PreparedScene":
        """What is drawn: the place's scene, or what randomisation makes of it. Made only if a picture is taken."""
        if self.draw is None or not self.draw.changes_scene:
            return self.place.prepared
        return self.place.randomize(self.draw, self.episode)


_Look = tuple[ModernGLSimulator, _Stage, ObservationBuffers | None]
