"""`simulator.backend: habitat`: our benchmarks on a habitat-sim that is installed, the real one or ours.

Ground and pictures are Habitat's: its navigation mesh says where one can stand and how far it is, its renderer what is
seen. Actions, episodes, tasks and scores stay ours, so that runs on both can be compared. Every mount of a robot is an
agent of Habitat's that is put where the camera is; so tilts and several cameras need nothing of its controls.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nav_eval.dataset.episode import Episode, GoalImage
from nav_eval.errors import NavigationMeshError, SimulatorError
from nav_eval.records.geometry import MICRODEGREES, Pose, Vec3
from nav_eval.scene.model import Semantics
from nav_eval.scene.navigation import AgentShape, StepResult
from nav_eval.scene.navigation.ground import Seed, as_goals
from nav_eval.sensors import CameraSensor, Channel, NoPictures, PictureSource, Sensor, SensorContext
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, place_readings
from nav_eval.simulator.camera_rig import CameraRig, Mount
from nav_eval.simulator.motion import NO_ARGUMENTS, AgentState, Body
from nav_eval.simulator.rendering import Camera
from nav_eval.simulator.scene_manager import SceneManager, SceneSource, find_scene, resolve_goals

COLLISION = 1e-5  #: Habitat's: a step has collided that is shorter than asked by more, in squared metres


class HabitatMissing(SimulatorError):
    """There is no habitat_sim in this environment; install habitat-sim, or nav-eval-habitat for ours."""


def open_habitat(setup: SimulatorSetup) -> Simulator:
    """The entry point of `simulator.backend: habitat`."""
    try:
        import habitat_sim
    except ImportError as error:
        raise HabitatMissing from error
    return HabitatSimulator(setup, habitat_sim)


def _to_vec3(point: Any) -> Vec3:
    x, y, z = (float(value) for value in point)
    return (x, y, z)


@dataclass(frozen=True, slots=True, eq=False)
class HabitatField:
    """Distances to the nearest of some goals, asked of Habitat each time."""

    ground: "HabitatGround"
    goals: tuple[Vec3, ...]

    def distance(self, position: Vec3) -> float:
        return self.ground.geodesic_distance(position, self.goals)


@dataclass(frozen=True, slots=True, eq=False)
class HabitatGround:
    """Habitat's PathFinder as a ground of ours."""

    habitat: ModuleType
    scene: "HabitatScene"

    @property
    def pathfinder(self) -> Any:
        return self.scene.sim.pathfinder

    def is_navigable(self, point: Vec3) -> bool:
        return bool(self.pathfinder.is_navigable(np.asarray(point, np.float32)))

    def snap_point(self, point: Vec3) -> Vec3 | None:
        snapped = _to_vec3(self.pathfinder.snap_point(np.asarray(point, np.float32)))
        return snapped if all(map(math.isfinite, snapped)) else None

    def island(self, point: Vec3) -> int | None:
        if not self.is_navigable(point):
            return None
        if not hasattr(self.pathfinder, "get_island"):  # before 0.2.4: one cannot ask, so there is one
            return 0
        return int(self.pathfinder.get_island(np.asarray(point, np.float32)))

    def try_step(self, start: Vec3, end: Vec3, *, sliding: bool) -> StepResult:
        step = self.pathfinder.try_step if sliding else self.pathfinder.try_step_no_sliding
        made = _to_vec3(step(np.asarray(start, np.float32), np.asarray(end, np.float32)))
        asked, went = (math.hypot(to[0] - start[0], to[2] - start[2]) ** 2 for to in (end, made))
        return StepResult(made, went + COLLISION < asked)

    def distance_field(self, goals: Sequence[Vec3]) -> HabitatField:
        return HabitatField(self, as_goals(goals))

    def geodesic_distance(self, start: Vec3, goal: Vec3 | Sequence[Vec3]) -> float:
        goals = as_goals(goal)
        if not goals:
            return math.inf
        path = self.habitat.MultiGoalShortestPath()
        path.requested_start = np.asarray(start, np.float32)
        path.requested_ends = [np.asarray(end, np.float32) for end in goals]
        return float(path.geodesic_distance) if self.pathfinder.find_path(path) else math.inf

    def shortest_path(self, start: Vec3, goal: Vec3) -> list[Vec3]:
        path = self.habitat.ShortestPath()
        path.requested_start, path.requested_end = (np.asarray(point, np.float32) for point in (start, goal))
        return [_to_vec3(point) for point in path.points] if self.pathfinder.find_path(path) else []

    def random_navigable_point(self, seed: Seed, *, island: int | None = None) -> Vec3:
        """Habitat draws from one generator of its own, which is seeded anew for every point."""
        random = np.random.default_rng(seed)
        self.pathfinder.seed(int(random.integers(2**31)))
        chosen = {} if island is None else {"island_index": island}
        point = _to_vec3(self.pathfinder.get_random_navigable_point(**chosen))
        if not all(map(math.isfinite, point)):
            raise NavigationMeshError("Habitat finds no navigable point; is the navigation mesh empty?")
        return point


@dataclass(frozen=True, kw_only=True, slots=True)
class HabitatView:
    """A lens and the channels that it delivers: one agent of Habitat's."""

    width: int
    height: int
    hfov: float
    near: float
    far: float
    channels: frozenset[Channel]

    @classmethod
    def from_mount(cls, mount: Mount, channels: Iterable[Channel]) -> "HabitatView":
        if mount.lens is not None:
            raise SimulatorError("The habitat backend draws pinhole cameras only; take `lens` away from the sensors.")
        return cls(
            width=mount.width,
            height=mount.height,
            hfov=mount.hfov,
            near=mount.near,
            far=mount.far,
            channels=frozenset(Channel.INSTANCE if c is Channel.SEMANTIC else c for c in channels),
        )


class HabitatScene:
    """One scene in Habitat, and as many agents as there are kinds of views."""

    def __init__(self, habitat: ModuleType, path: Path, shape: AgentShape, *, gpu: int | str, sliding: bool) -> None:
        self._habitat, self.path, self._shape = habitat, path, shape
        self._gpu, self._sliding = gpu, sliding
        self._views: list[HabitatView] = []
        self._sim: Any = None
        self.ground = HabitatGround(habitat, self)

    @property
    def sim(self) -> Any:
        if self._sim is None:
            self._sim = self._open()
        return self._sim

    def add_views(self, views: Iterable[HabitatView]) -> None:
        """Make room for views; Habitat's agents are made together with it, so it is opened anew for them."""
        fresh = [view for view in dict.fromkeys(views) if view not in self._views]
        if fresh:
            self._views += fresh
            self.close()

    def draw(self, view: HabitatView, camera: Camera) -> dict[Channel, NDArray[Any]]:
        """What a view shows from where a camera is."""
        self.add_views([view])
        number = self._views.index(view)
        state = self._habitat.AgentState()
        state.position = np.asarray(camera.position, np.float32)
        state.rotation = np.asarray(camera.rotation, np.float64).tolist()
        self.sim.get_agent(number).set_state(state)
        seen = self.sim.get_sensor_observations(agent_ids=[number])[number]
        return {channel: _to_channel(channel, seen[str(channel)]) for channel in view.channels}

    def close(self) -> None:
        if self._sim is not None:
            self._sim.close()
        self._sim = None

    def _open(self) -> Any:
        habitat, shape = self._habitat, self._shape
        settings = habitat.SimulatorConfiguration()
        settings.scene_id = str(self.path)
        settings.allow_sliding = self._sliding
        settings.create_renderer = bool(self._views)
        settings.gpu_device_id = self._gpu if isinstance(self._gpu, int) else 0
        agents = [self._make_agent(view) for view in self._views] or [self._make_agent(None)]
        sim = habitat.Simulator(habitat.Configuration(settings, agents))
        wanted = habitat.NavMeshSettings()
        wanted.set_defaults()
        wanted.agent_radius, wanted.agent_height = shape.radius, shape.height
        wanted.agent_max_climb, wanted.agent_max_slope = shape.max_climb, shape.max_slope_degrees
        wanted.cell_size = shape.cell_size
        if not self._is_made_for(sim.pathfinder) and not sim.recompute_navmesh(sim.pathfinder, wanted):
            raise NavigationMeshError(f"Habitat can build no navigation mesh of {self.path}.")
        return sim

    def _is_made_for(self, pathfinder: Any) -> bool:
        made = getattr(pathfinder, "nav_mesh_settings", None) if pathfinder.is_loaded else None
        if made is None:
            return False
        sizes = (made.agent_radius, self._shape.radius), (made.agent_height, self._shape.height)
        return all(abs(have - want) < 1e-3 for have, want in sizes)

    def _make_agent(self, view: HabitatView | None) -> Any:
        agent = self._habitat.AgentConfiguration()
        agent.radius, agent.height = self._shape.radius, self._shape.height
        agent.sensor_specifications = (
            [] if view is None else [self._make_sensor(view, c) for c in sorted(view.channels)]
        )
        return agent

    def _make_sensor(self, view: HabitatView, channel: Channel) -> Any:
        kinds = self._habitat.SensorType
        spec = self._habitat.CameraSensorSpec()
        spec.uuid = str(channel)
        spec.sensor_type = {Channel.RGB: kinds.COLOR, Channel.DEPTH: kinds.DEPTH}.get(channel, kinds.SEMANTIC)
        spec.resolution = [view.height, view.width]
        spec.position, spec.orientation = [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]
        spec.hfov, spec.near, spec.far = view.hfov, view.near, view.far
        return spec


def _to_channel(channel: Channel, picture: Any) -> NDArray[Any]:
    array = np.asarray(picture)
    if channel is Channel.RGB:
        array = array[..., :3]
    return np.ascontiguousarray(array, dtype=channel.dtype)


class HabitatPictures:
    """The picture source of one moment."""

    def __init__(self, scene: HabitatScene, rig: CameraRig, state: AgentState, categories: NDArray[np.int32]) -> None:
        self._scene, self._rig, self._state, self._categories = scene, rig, state, categories
        self._drawn: dict[Mount, dict[Channel, NDArray[Any]]] = {}

    def draw_camera(self, name: str, camera: CameraSensor) -> NDArray[Any]:
        mount = self._rig.mounts[name]
        if mount not in self._drawn:
            view = HabitatView.from_mount(mount, (twin.channel for twin in self._rig.passes[mount].values()))
            placed = mount.make_camera(self._state.pose, tilt=self._state.tilt / MICRODEGREES)
            self._drawn[mount] = self._scene.draw(view, placed)
        if camera.channel is not Channel.SEMANTIC:
            return self._drawn[mount][camera.channel].copy()
        ids = self._drawn[mount][Channel.INSTANCE]
        categories: NDArray[Any] = self._categories[np.minimum(ids, len(self._categories) - 1)]
        return categories

    def draw_goal(self, image: GoalImage) -> NDArray[np.uint8]:
        if image not in self._rig.goal_pictures:
            camera = Camera(
                position=image.pose.position,
                rotation=image.pose.rotation,
                width=image.width,
                height=image.height,
                hfov=image.hfov,
            )
            view = HabitatView(
                width=image.width,
                height=image.height,
                hfov=image.hfov,
                near=camera.near,
                far=camera.far,
                channels=frozenset({Channel.RGB}),
            )
            self._rig.goal_pictures[image] = self._scene.draw(view, camera)[Channel.RGB]
        return self._rig.goal_pictures[image]


def make_category_table(semantics: Semantics) -> NDArray[np.int32]:
    """Object id → category id, as the scene's annotation has them; 0 for ids that it does not know."""
    numbers = {name: number for number, name in enumerate(semantics.categories)}
    table = np.zeros(max((thing.object_id for thing in semantics.objects), default=0) + 2, dtype=np.int32)
    for thing in semantics.objects:
        table[thing.object_id] = numbers.get(thing.category, 0)
    return table


@dataclass(kw_only=True, eq=False)
class _Play:
    """One episode under way."""

    episode: Episode
    scene: HabitatScene
    body: Body
    rig: CameraRig
    sensors: Mapping[str, Sensor]
    semantics: Semantics
    start: Pose
    state: AgentState
    steps: int = 0


class HabitatSimulator(Simulator):
    """One robot in one scene of Habitat's."""

    def __init__(self, setup: SimulatorSetup, habitat: ModuleType) -> None:
        self._setup, self._habitat = setup, habitat
        self._benchmark = setup.benchmark
        self._shapes = SceneManager(setup.benchmark, cache=setup.cache)
        self._scene: tuple[tuple[Path, AgentShape], HabitatScene] | None = None
        self._play: _Play | None = None

    def reset(
        self, episode: Episode, *, sensors: Iterable[str] | None = None, out: ObservationBuffers | None = None
    ) -> Observations:
        robot = self._benchmark.robot(episode.private.robot)
        root = Path(self._benchmark.dataset.scene_path)
        path = find_scene(episode.scene_id, root)
        scene = self._open_scene(path, self._shapes.shape(robot))
        semantics = SceneSource(path=path, things=(), root=root, cache=self._setup.cache).semantics()
        suite = self._benchmark.sensors(robot.name)
        chosen = {name: suite[name] for name in (suite if sensors is None else sensors)}
        if not self._setup.pictures:
            chosen = {name: sensor for name, sensor in chosen.items() if not sensor.is_rendered}
        rig = CameraRig(chosen)
        scene.add_views(
            HabitatView.from_mount(mount, (camera.channel for camera in cameras.values()))
            for mount, cameras in rig.passes.items()
        )
        body = Body(self._benchmark.task, scene.ground, sliding=self._benchmark.simulator.physics.allow_sliding)
        state = body.start(episode.private.start)
        self._play = _Play(
            episode=resolve_goals(episode, semantics, scene.ground),
            scene=scene,
            body=body,
            rig=rig,
            sensors=chosen,
            semantics=semantics,
            start=state.pose,
            state=state,
        )
        return self.observe(out=out)

    @property
    def episode(self) -> Episode:
        return self._current.episode

    @property
    def ground(self) -> HabitatGround:
        return self._current.scene.ground

    def act(self, action: str, arguments: Mapping[str, float] = NO_ARGUMENTS) -> AgentState:
        play = self._current
        play.state = play.body.apply(play.state, action, arguments)
        play.steps += 1
        return play.state

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        play = self._current
        context = SensorContext(
            episode=play.episode,
            start=play.start,
            now=play.state.pose,
            step=play.steps,
            seed=self._benchmark.evaluation.seed,
            category_ids={name: number for number, name in enumerate(play.semantics.categories) if name},
            pictures=self._make_picture_source(play),
        )
        return place_readings({name: sensor.read(name, context) for name, sensor in play.sensors.items()}, out)

    def get_agent_state(self) -> AgentState:
        return self._current.state

    def close(self) -> None:
        if self._scene is not None:
            self._scene[1].close()
        self._scene, self._play = None, None

    def _make_picture_source(self, play: _Play) -> PictureSource:
        if not any(sensor.is_rendered for sensor in play.sensors.values()):
            return NoPictures()
        return HabitatPictures(play.scene, play.rig, play.state, make_category_table(play.semantics))

    def _open_scene(self, path: Path, shape: AgentShape) -> HabitatScene:
        if self._scene is None or self._scene[0] != (path, shape):
            self.close()
            physics, gpu = self._benchmark.simulator.physics, self._benchmark.simulator.rendering.gpu
            scene = HabitatScene(self._habitat, path, shape, gpu=gpu, sliding=physics.allow_sliding)
            self._scene = ((path, shape), scene)
        return self._scene[1]

    @property
    def _current(self) -> _Play:
        if self._play is None:
            raise SimulatorError("No episode has been started; call reset first.")
        return self._play
