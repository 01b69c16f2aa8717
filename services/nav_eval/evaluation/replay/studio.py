"""Where replays are made: a run's folder, its benchmark's simulator, and one episode at a time."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.dataset.episode import Vec3
from nav_eval.errors import UnknownName
from nav_eval.evaluation import verification
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.replay import model
from nav_eval.evaluation.replay.film import Film, PictureSize, Shot, cameras_of, jpeg, kept, shrunk
from nav_eval.evaluation.replay.floors import Sheet, Storeys, storeys_of
from nav_eval.evaluation.replay.localizing import guesses_of, is_on_the_scenes_map, spot_of
from nav_eval.evaluation.replay.model import Replay
from nav_eval.evaluation.replay.stages import Leg, reference_of
from nav_eval.evaluation.replay.trace import Trace, trace
from nav_eval.evaluation.results import EpisodeResult
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.simulator.backends import open_simulator
from nav_eval.simulator.base import SimulatorSetup
from nav_eval.tasks.build import build_task


class Studio:
    """Replays of one run. Opens a simulator when the first one is asked for."""

    def __init__(
        self, run: Path, *, cache: Path, sensors: Sequence[str] | None = None, size: PictureSize | None = None
    ) -> None:
        """`sensors` are the cameras to show; None shows the benchmark's colour cameras, () none."""
        folder = RunFolder(run)
        self._manifest = folder.manifest()
        self._cache, self._sensors, self._size = cache, sensors, size or PictureSize()
        self.benchmark = BenchmarkConfig.model_validate(self._manifest.config)
        self.results = {result.episode_id: result for result in folder.results()}
        self._task = build_task(self.benchmark.task, self.benchmark.evaluation)
        self._run = run

    def __enter__(self) -> Self:
        self._episodes = load_episodes(self.benchmark)
        setup = SimulatorSetup(benchmark=self.benchmark, cache=self._cache, run_seed=self._manifest.run_seed)
        self._simulator = open_simulator(setup)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._simulator.close()

    def replay(self, episode_id: str) -> Replay:
        """Everything about an episode but its camera pictures."""
        result = self._result(episode_id)
        episode = self._episodes.by_id(episode_id)
        checked = verification.Replay(episode, self._task, self._simulator)
        differences = [str(difference) for difference in checked.compare(result)]
        way = trace(episode, self._task, self._simulator, result)
        if way.broken:
            differences.append(f"The log could be carried out up to step {way.carried_out}: {way.broken}")
        made = self._walked(way, result) if self._task.uses_motion else self._answered(way, result)
        return msgspec.structs.replace(made, differences=differences, goal_picture=self._goal_picture(way))

    def with_views(self, replay: Replay) -> Replay:
        """The replay with the pictures of its cameras."""
        frames: dict[str, list[bytes]] = {}
        sizes: dict[str, tuple[int, int]] = {}
        for shot in self.shots(replay):
            for name, picture in shot.items():
                image = shrunk(picture, self._size.longest(len(shot)))
                sizes[name] = image.size
                frames.setdefault(name, []).append(jpeg(image, quality=self._size.quality))
        views = [
            model.View(sensor=name, width=sizes[name][0], height=sizes[name][1], frames=files)
            for name, files in frames.items()
        ]
        return msgspec.structs.replace(replay, views=views)

    def shots(self, replay: Replay) -> Iterator[Shot]:
        """What the cameras see at every step of a replay, in full size; empty pictures without cameras."""
        episode = self._episodes.by_id(replay.episode_id)
        cameras = cameras_of(self.benchmark, episode.private.robot, self._sensors)
        if not cameras:
            yield from ({} for _ in replay.steps)
            return
        film = Film(self.benchmark, self._simulator, cameras=cameras)
        yield from film.shots(episode, self._result(replay.episode_id), entries=replay.last_step)

    def _result(self, episode_id: str) -> EpisodeResult:
        if episode_id not in self.results:
            some = ", ".join(list(self.results)[:5])
            raise UnknownName(
                f"{self._run} has no episode {episode_id!r}; it has {some or 'none'}"
                f"{', …' if len(self.results) > 5 else ''}. `nav-eval replay {self._run}` lists them."
            )
        return self.results[episode_id]

    def _goal_picture(self, way: Trace) -> model.Picture | None:
        picture = Film(self.benchmark, self._simulator, cameras=()).goal_picture(way.episode)
        return None if picture is None else kept(picture, self._size)

    def _walked(self, way: Trace, result: EpisodeResult) -> Replay:
        ground = self._simulator.ground
        kind, ways = reference_of(way.episode, way.legs, ground)
        shown = [*(step.position for step in way.steps), *(point for points in ways for point in points)]
        shown += [goal.position for leg in way.legs for goal in leg.goals]
        atlas = _Atlas(self._storeys(way, shown), shown)
        return self._replay(
            way,
            result,
            steps=[msgspec.structs.replace(step, floor=atlas.index(step.position)) for step in way.steps],
            stages=list(_stages(way, atlas)),
            paths=[
                model.Path(points=points, floors=[atlas.index(point) for point in points], kind=kind) for points in ways
            ],
            floors=atlas.floors,
        )

    def _answered(self, way: Trace, result: EpisodeResult) -> Replay:
        truth, ours = way.episode.private.start, is_on_the_scenes_map(way.episode)
        guesses = guesses_of(truth, way.answers, ours=ours)
        spot = spot_of(truth, ours=ours)
        shown = [spot.position, *(guess.position for guess in guesses)]
        atlas = _Atlas(self._storeys(way, shown) if ours else Sheet(shown), shown)
        floor = atlas.index(spot.position)
        return self._replay(
            way,
            result,
            steps=[model.Step(position=spot.position, yaw=spot.yaw, action=s.action, floor=floor) for s in way.steps],
            stages=[],
            paths=[],
            floors=atlas.floors,
            guesses=[msgspec.structs.replace(guess, floor=atlas.index(guess.position)) for guess in guesses],
        )

    def _storeys(self, way: Trace, shown: Sequence[Vec3]) -> Storeys:
        from nav_eval.evaluation.replay.plan import plan_camera  # needs OpenGL

        return storeys_of(self._simulator.ground, plan_camera(self.benchmark, way.episode, cache=self._cache), shown)

    def _replay(
        self,
        way: Trace,
        result: EpisodeResult,
        *,
        steps: list[model.Step],
        stages: list[model.Stage],
        paths: list[model.Path],
        floors: list[model.Floor],
        guesses: Sequence[model.Guess] = (),
    ) -> Replay:
        episode, rules = way.episode, self._task.rules
        instruction = episode.instruction
        return Replay(
            benchmark=self.benchmark.name,
            task=self.benchmark.task.type,
            episode_id=episode.episode_id,
            scene_id=episode.scene_id,
            agent=self._manifest.agent,
            status=str(result.status),
            cause=result.cause,
            detail=result.detail,
            instruction=None if instruction is None else instruction.text,
            language=None if instruction is None else instruction.language,
            object_category=episode.public.object_category,
            steps=steps,
            stages=stages,
            events=way.events,
            floors=floors,
            paths=paths,
            guesses=list(guesses),
            metrics=result.metrics,
            success_distance=rules.success_distance,
            max_steps=rules.max_steps,
            randomization=self._simulator.randomization,
            engine_version=self._manifest.engine_version,
        )


class _Atlas:
    """The maps that are needed, in order, and which of them shows a place."""

    def __init__(self, storeys: Storeys, shown: Iterable[Vec3]) -> None:
        self._storeys = storeys
        maps = storeys.floors({storeys.of(point) for point in shown})
        self._places = {storey: place for place, storey in enumerate(maps)}
        self.floors = list(maps.values())

    def index(self, point: Vec3) -> int:
        return self._places[self._storeys.of(point)]


def _stages(way: Trace, atlas: _Atlas) -> Iterator[model.Stage]:
    closed = {event.stage: event for event in way.events if event.kind == "closed"}
    last = way.steps[-1].position
    for number, leg in enumerate(way.legs):
        event = closed.get(number)
        distance = way.steps[event.step].distance if event else model.finite(leg.field.distance(last))
        yield model.Stage(
            name=leg.name,
            region=leg.region,
            targets=list(_targets(leg, atlas)),
            success=bool(event and event.success),
            closed_at=event.step if event else None,
            distance=distance,
        )


def _targets(leg: Leg, atlas: _Atlas) -> Iterator[model.Target]:
    for goal in leg.goals:
        yield model.Target(
            position=goal.position,
            floor=atlas.index(goal.position),
            name=goal.category or "",
            view_points=[pose.position for pose in goal.view_points],
        )
