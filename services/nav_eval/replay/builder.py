"""Where replays are made: a run's folder, its benchmark's simulator, and one episode at a time."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import msgspec

from nav_eval.config import BenchmarkConfig
from nav_eval.errors import UnknownName
from nav_eval.evaluation.episode_verification import verify_episode
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import RunFolder
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import EpisodeResult
from nav_eval.replay import model
from nav_eval.replay.floor_plan import EmptyStorey, Storeys, find_storeys, make_plan_camera
from nav_eval.replay.model import Replay
from nav_eval.replay.trace import (
    Trace,
    find_reference_paths,
    is_on_the_scenes_map,
    make_guesses,
    make_spot,
    trace_episode,
)
from nav_eval.replay.video import (
    CameraFrames,
    CameraReplay,
    PictureSize,
    choose_cameras,
    encode_picture,
)
from nav_eval.replay.view_kinds import ViewKind, add_twins, find_kind, name_view
from nav_eval.replay.view_recorder import ViewRecorder
from nav_eval.simulator.base import SimulatorSetup, open_simulator
from nav_eval.tasks import TaskStage
from nav_eval.tasks.base import build_task


class ReplayBuilder:
    """Replays of one run. Opens a simulator when the first one is asked for."""

    def __init__(
        self,
        run: Path,
        *,
        cache: Path,
        sensors: Sequence[str] | None = None,
        size: PictureSize | None = None,
        kinds: Sequence[ViewKind] = (),
    ) -> None:
        """`sensors` are the cameras to show; None shows the benchmark's colour cameras, () none.

        `kinds` are what is shown of each of them beside what it is there for.
        """
        folder = RunFolder(run)
        self._manifest = folder.manifest()
        self._cache, self._sensors, self._size = cache, sensors, size or PictureSize()
        self._kinds = kinds
        self.benchmark = BenchmarkConfig.model_validate(self._manifest.config)
        self.results = {result.episode_id: result for result in folder.results()}
        self._task = build_task(self.benchmark.task, self.benchmark.evaluation)
        self._run = run

    def __enter__(self) -> Self:
        self._episodes = load_episodes(self.benchmark)
        benchmark = add_twins(self.benchmark, self._kinds)
        setup = SimulatorSetup(benchmark=benchmark, cache=self._cache, run_seed=self._manifest.run_seed)
        self._simulator = open_simulator(setup)
        return self

    def __exit__(self, *_: object) -> None:
        self._simulator.close()

    def replay(self, episode_id: str) -> Replay:
        """Everything about an episode but its camera pictures."""
        result = self._get_result(episode_id)
        episode = self._episodes.by_id(episode_id)
        found = verify_episode(result, episode, task=self._task, simulator=self._simulator)
        differences = [str(difference) for difference in found]
        way = trace_episode(episode, result, task=self._task, simulator=self._simulator)
        if way.broken:
            differences.append(f"The log could be carried out up to step {way.carried_out}: {way.broken}")
        made = self._make_walked(way, result) if self._task.uses_motion else self._make_answered(way, result)
        return msgspec.structs.replace(made, differences=differences, goal_picture=self._draw_goal(way))

    def with_views(self, replay: Replay) -> Replay:
        """The replay with the pictures of its cameras."""
        cameras = self._choose_cameras(replay)
        recorders = self._make_recorders(replay, cameras)
        for shot in self._draw(replay, list(recorders)):
            for name, picture in shot.items():
                recorders[name].add(picture)
        views = [recorder.make_view() for recorder in recorders.values() if recorder.is_worth_showing]
        return msgspec.structs.replace(replay, views=views)

    def _make_recorders(self, replay: Replay, cameras: Sequence[str]) -> dict[str, ViewRecorder]:
        """By the sensors that are drawn: the cameras themselves, then what else is shown of them."""
        suite = self.benchmark.sensors(self._episodes.by_id(replay.episode_id).private.robot)
        side = self._size.longest(len(cameras))
        own = {name: find_kind(suite[name]) for name in cameras}
        views = [(name, name, own[name]) for name in cameras]
        views += [
            (name_view(name, suite[name], kind), name, kind)
            for name in cameras
            for kind in self._kinds
            if kind is not own[name]
        ]
        return {
            drawn: ViewRecorder(camera, kind, side=side, quality=self._size.quality) for drawn, camera, kind in views
        }

    def shots(self, replay: Replay) -> Iterator[CameraFrames]:
        """What the cameras see at every step of a replay, in full size; empty pictures without cameras."""
        return self._draw(replay, self._choose_cameras(replay))

    def _choose_cameras(self, replay: Replay) -> list[str]:
        robot = self._episodes.by_id(replay.episode_id).private.robot
        return choose_cameras(self.benchmark, robot, self._sensors)

    def _draw(self, replay: Replay, cameras: Sequence[str]) -> Iterator[CameraFrames]:
        if not cameras:
            yield from ({} for _ in replay.steps)
            return
        benchmark, episode = add_twins(self.benchmark, self._kinds), self._episodes.by_id(replay.episode_id)
        film = CameraReplay(benchmark, self._simulator, task=self._task, cameras=cameras)
        yield from film.shots(episode, self._get_result(replay.episode_id), entries=replay.last_step)

    def _get_result(self, episode_id: str) -> EpisodeResult:
        if episode_id not in self.results:
            some = ", ".join(list(self.results)[:5])
            raise UnknownName(
                f"{self._run} has no episode {episode_id!r}; it has {some or 'none'}"
                f"{', …' if len(self.results) > 5 else ''}. `nav-eval replay {self._run}` lists them."
            )
        return self.results[episode_id]

    def _draw_goal(self, way: Trace) -> model.Picture | None:
        picture = CameraReplay(self.benchmark, self._simulator, task=self._task, cameras=()).goal_picture(way.episode)
        return None if picture is None else encode_picture(picture, self._size)

    def _make_walked(self, way: Trace, result: EpisodeResult) -> Replay:
        ground = self._simulator.ground
        kind, ways = find_reference_paths(way.episode, way.stages, ground)
        shown = [*(step.position for step in way.steps), *(point for points in ways for point in points)]
        shown += [goal.position for stage in way.stages for goal in stage.goals]
        atlas = _Atlas(self._find_storeys(way, shown), shown)
        return self._make_replay(
            way,
            result,
            steps=[msgspec.structs.replace(step, floor=atlas.index(step.position)) for step in way.steps],
            stages=list(_make_stages(way, atlas)),
            paths=[
                model.ReplayPath(points=points, floors=[atlas.index(point) for point in points], kind=kind)
                for points in ways
            ],
            floors=atlas.floors,
        )

    def _make_answered(self, way: Trace, result: EpisodeResult) -> Replay:
        truth, ours = way.episode.private.start, is_on_the_scenes_map(way.episode)
        guesses = make_guesses(truth, way.answers, ours=ours)
        spot = make_spot(truth, ours=ours)
        shown = [spot.position, *(guess.position for guess in guesses)]
        atlas = _Atlas(self._find_storeys(way, shown) if ours else EmptyStorey(shown), shown)
        floor = atlas.index(spot.position)
        return self._make_replay(
            way,
            result,
            steps=[
                model.ReplayStep(position=spot.position, yaw=spot.yaw, action=s.action, text=s.text, floor=floor)
                for s in way.steps
            ],
            stages=[],
            paths=[],
            floors=atlas.floors,
            guesses=[msgspec.structs.replace(guess, floor=atlas.index(guess.position)) for guess in guesses],
        )

    def _find_storeys(self, way: Trace, shown: Sequence[Vec3]) -> Storeys:
        camera = make_plan_camera(self.benchmark, way.episode, cache=self._cache)
        return find_storeys(self._simulator.ground, camera, shown)

    def _make_replay(
        self,
        way: Trace,
        result: EpisodeResult,
        *,
        steps: list[model.ReplayStep],
        stages: list[model.ReplayStage],
        paths: list[model.ReplayPath],
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


def _make_stages(way: Trace, atlas: _Atlas) -> Iterator[model.ReplayStage]:
    closed = {event.stage: event for event in way.events if event.kind == "closed"}
    last = way.steps[-1].position
    for number, stage in enumerate(way.stages):
        event = closed.get(number)
        distance = way.steps[event.step].distance if event else model.to_finite(stage.field.distance(last))
        yield model.ReplayStage(
            name=stage.name,
            region=stage.region,
            targets=list(_make_targets(stage, atlas)),
            success=bool(event and event.success),
            closed_at=event.step if event else None,
            distance=distance,
        )


def _make_targets(stage: TaskStage, atlas: _Atlas) -> Iterator[model.ReplayTarget]:
    for goal in stage.goals:
        yield model.ReplayTarget(
            position=goal.position,
            floor=atlas.index(goal.position),
            name=goal.category or "",
            view_points=[pose.position for pose in goal.view_points],
        )
