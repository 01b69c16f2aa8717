"""Do a task and its metrics keep their contracts?

A task: a progress per episode that counts, ends, and says what it was worth. A metric: `reset`, one `update` per
action, `get` whenever somebody asks.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from nav_eval.checks.contract import call, is_same_number, require
from nav_eval.dataset.episode import Episode
from nav_eval.metrics import METRICS, EpisodeStart, Metric, Step
from nav_eval.metrics.registry import Parameters
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation import OpenPlane
from nav_eval.tasks import STOP, Moved, Progress, Task, TaskResult, TaskRules, World

MAX_STEPS = 6  #: of the episodes that are played here
_FORWARD = "move_forward"


def check_task(
    factory: Callable[[TaskRules], Task], episode: Episode, *, rules: TaskRules, world: World | None = None
) -> None:
    """Refuse a task that an evaluation could not rely on.

    `factory` is the task's class; `rules` are those of a benchmark (their step limit is replaced), `world` is the
    ground that distances are measured on, an endless floor if None.
    """
    player = _Player(factory, episode, dataclasses.replace(rules, max_steps=MAX_STEPS), world or OpenPlane())
    player.check_start()
    if not player.task.uses_motion:
        player.check_end(player.play([STOP]), what="a stop that gives up", is_stopped=None)
        return
    walked = player.play([_FORWARD] * MAX_STEPS)
    player.check_end(walked, what=f"{MAX_STEPS} actions, which is the limit", is_stopped=False)
    worth = player.read(walked)
    player.check_end(player.play([STOP] * MAX_STEPS), what="stops only", is_stopped=True)
    player.check_repetition(worth)
    player.check_independence(worth)


class _Player:
    """Plays an episode of one task, move by move, as an evaluation would."""

    def __init__(self, factory: Callable[[TaskRules], Task], episode: Episode, rules: TaskRules, world: World) -> None:
        self.episode, self.rules, self.world = episode, rules, world
        self.task = call("Making the task from its rules", lambda: factory(rules))
        require(isinstance(self.task, Task), f"The factory made {self.task!r}; it must make a nav_eval.tasks.Task.")
        self.name = type(self.task).__name__

    def start(self) -> Progress:
        progress = call(f"{self.name}.start()", lambda: self.task.start(self.episode, self.world))
        require(
            isinstance(progress, Progress), f"{self.name}.start() returned {progress!r}; return a Progress per episode."
        )
        return progress

    def check_start(self) -> None:
        progress = self.start()
        require(
            (progress.steps, progress.over) == (0, False),
            f"{self.name} begins with steps = {progress.steps!r}, over = {progress.over!r}; begin with 0 and False.",
        )
        require(not self.read(progress).stopped, f"{self.name} says stopped before anybody did anything.")

    def play(self, actions: Sequence[str]) -> Progress:
        """Carry out actions until the episode is over; each must be counted."""
        progress = self.start()
        for count, moved in enumerate(self.move(actions), start=1):
            if progress.over:
                break
            self.advance(progress, moved, count)
        return progress

    def advance(self, progress: Progress, moved: Moved, count: int) -> None:
        call(f"{self.name}: advance({moved.action}) number {count}", lambda: progress.advance(moved))
        require(
            progress.steps == count,
            f"{self.name} counts {progress.steps} steps after {count} actions; add 1 to self.steps in advance(), "
            "stops included.",
        )
        self.read(progress)

    def read(self, progress: Progress) -> TaskResult:
        """What the episode is worth as it stands; asking twice must change nothing."""
        first, again = (call(f"{self.name}: result()", progress.result) for _ in range(2))
        require(isinstance(first, TaskResult), f"{self.name}: result() returned {first!r}; return a TaskResult.")
        self._check_metrics(first)
        require(
            is_same_result(first, again),
            f"{self.name}: result() returned {first} and then {again} without a move between; it must change nothing.",
        )
        require(
            first.steps == progress.steps,
            f"{self.name}: result() says {first.steps} steps, the progress says {progress.steps}; they must be equal.",
        )
        return first

    def _check_metrics(self, result: TaskResult) -> None:
        require(
            tuple(result.metrics) == tuple(self.rules.metrics),
            f"{self.name} reports the metrics {list(result.metrics)}; the benchmark asks for "
            f"{list(self.rules.metrics)}, in this order and no others.",
        )
        for name, value in result.metrics.items():
            require(
                value is None or (isinstance(value, int | float) and math.isfinite(value)),
                f"{self.name} reports {name} = {value!r}; give a finite number, or None where there is none.",
            )

    def check_end(self, progress: Progress, *, what: str, is_stopped: bool | None) -> None:
        require(
            progress.over,
            f"{self.name} is not over after {what}; set self.over in advance() when the agent has stopped for the "
            "last time and at the latest after rules.max_steps actions.",
        )
        stopped = self.read(progress).stopped
        require(
            is_stopped is None or stopped is is_stopped,
            f"{self.name} says stopped = {stopped!r} after {what}; stopped means that the agent ended the episode.",
        )

    def check_repetition(self, expected: TaskResult) -> None:
        again = self.read(self.play([_FORWARD] * MAX_STEPS))
        require(
            is_same_result(expected, again),
            f"{self.name} gives {expected} and then {again} for the same moves; a score must depend on the moves only.",
        )

    def check_independence(self, expected: TaskResult) -> None:
        """A worker has one task and may play several episodes at once."""
        first, second = self.start(), self.start()
        for count, moved in enumerate(self.move([_FORWARD] * MAX_STEPS), start=1):
            self.advance(first, moved, count)
            if not second.over:
                second.advance(Moved(action=STOP, position=self.episode.start_position))
        require(
            is_same_result(expected, self.read(first)),
            f"Two episodes of one {self.name} disturb each other; keep what belongs to an episode in its Progress.",
        )

    def move(self, actions: Sequence[str]) -> list[Moved]:
        """What a body on an open floor would have done."""
        x, y, z = self.episode.start_position
        moves, forward = [], 0
        for action in actions:
            forward += action == _FORWARD
            place: Vec3 = (x, y, z - 0.25 * forward)
            moves.append(Moved(action=action, position=place, seconds=0.5))
        return moves


def is_same_result(first: TaskResult, second: TaskResult) -> bool:
    """Equal in everything that scores."""
    return (first.steps, first.stopped, first.subtasks, first.metrics.keys()) == (
        second.steps,
        second.stopped,
        second.subtasks,
        second.metrics.keys(),
    ) and all(is_same_number(value, second.metrics[name]) for name, value in first.metrics.items())


class _Case(NamedTuple):
    """An episode that a metric must be able to follow."""

    what: str
    start: EpisodeStart
    steps: tuple[Step, ...]


def check_metric(metric: type[Metric], parameters: Parameters | None = None) -> None:
    """Refuse a metric that a benchmark could not rely on; `parameters` are what a configuration would choose."""
    chosen = dict(parameters or {})
    _check_class(metric, chosen)
    cases = _make_cases()
    fresh = {case.what: _measure(_Followed(metric, chosen), case) for case in cases}
    used = _Followed(metric, chosen)
    for case in (*cases, *reversed(cases)):
        same = all(map(is_same_number, _measure(used, case), fresh[case.what]))
        require(
            same,
            f"{metric.__name__} gives another value for {case.what} after another episode; "
            "reset() must forget everything, and nothing may be kept in the class.",
        )
    _check_independence(metric, chosen, cases[0])


def _check_class(metric: type[Metric], chosen: Parameters) -> None:
    require(
        isinstance(metric, type) and issubclass(metric, Metric),
        f"{metric!r} is no subclass of nav_eval.metrics.Metric; derive it from Metric and pass the class.",
    )
    name = metric.__name__
    for label, words in (("requires", metric.requires), ("parameters", metric.parameters)):
        require(
            isinstance(words, tuple) and all(isinstance(word, str) for word in words),
            f"{name}.{label} is {words!r}; it must be a tuple of names, e.g. ('success',).",
        )
    require(
        isinstance(metric.higher_is_better, bool),
        f"{name}.higher_is_better is {metric.higher_is_better!r}; say True or False: reports and boards sort by it.",
    )
    for required in metric.requires:
        require(required in METRICS, f"{name} requires {required!r}, which is no metric; register it or take it out.")
    unknown = sorted(set(chosen) - set(metric.parameters))
    require(not unknown, f"{name} has no parameter {', '.join(unknown)}; name it in {name}.parameters.")


class _Followed:
    """A metric with those it requires, each updated after those that it builds on."""

    def __init__(self, metric: type[Metric], chosen: Parameters) -> None:
        others: dict[str, Metric] = {}
        _build(metric.requires, others)
        self.name = metric.__name__
        self._metric = call(f"{self.name}(others, chosen)", lambda: metric(others, chosen))
        self._all = [*others.values(), self._metric]

    def reset(self, start: EpisodeStart, what: str) -> None:
        for metric in self._all:
            call(f"{self.name}.reset() for {what}", lambda: metric.reset(start))  # noqa: B023 - called at once

    def update(self, step: Step, what: str) -> None:
        for metric in self._all:
            call(f"{self.name}.update() in {what}", lambda: metric.update(step))  # noqa: B023 - called at once

    def get(self, what: str) -> float:
        value = call(f"{self.name}.get() in {what}", self._metric.get)
        require(
            isinstance(value, int | float) and not isinstance(value, bool),
            f"{self.name}.get() returned {value!r} in {what}; return a float, NaN where there is no value.",
        )
        again = call(f"{self.name}.get() in {what}", self._metric.get)
        require(
            is_same_number(value, again),
            f"{self.name}.get() returned {value!r} and then {again!r} without a step between; it must change nothing.",
        )
        return value


def _build(names: Iterable[str], others: dict[str, Metric]) -> None:
    for name in names:
        if name not in others:
            metric = METRICS.get(name)
            _build(metric.requires, others)
            others[name] = metric(others, {})


def _measure(followed: _Followed, case: _Case) -> list[float]:
    """The values before the first step and after each."""
    followed.reset(case.start, case.what)
    values = [followed.get(case.what)]
    for step in case.steps:
        followed.update(step, case.what)
        values.append(followed.get(case.what))
    return values


def _check_independence(metric: type[Metric], chosen: Parameters, case: _Case) -> None:
    """Workers follow several episodes at once: two metrics of one class must not know of each other."""
    alone = _measure(_Followed(metric, chosen), case)[-1]
    first, second = _Followed(metric, chosen), _Followed(metric, chosen)
    first.reset(case.start, case.what)
    for step in case.steps:
        second.reset(case.start, case.what)
        first.update(step, case.what)
    require(
        is_same_number(first.get(case.what), alone),
        f"Two {metric.__name__} at once disturb each other; keep what it counts in self, not in the class or module.",
    )


def _make_cases() -> Sequence[_Case]:
    metres = [(0.0, 0.0, -0.25 * step) for step in range(9)]
    walk = tuple(
        Step(position=place, distance_to_goal=2.0 - 0.25 * step, stopped=step == 8, collided=step == 3, seconds=0.5)
        for step, place in enumerate(metres)
    )
    here = Step(position=metres[0], distance_to_goal=0.0, stopped=True)
    lost = tuple(Step(position=place, distance_to_goal=math.inf) for place in metres[:3])
    return (
        _Case("an episode that walks to its goal and stops", _make_start(2.0, tuple(metres)), walk),
        _Case("an episode that begins at its goal", _make_start(0.0), (here,)),
        _Case("an episode whose goal cannot be reached", _make_start(math.inf), lost),
    )


def _make_start(distance: float, reference: tuple[Vec3, ...] = ()) -> EpisodeStart:
    return EpisodeStart(
        position=(0.0, 0.0, 0.0),
        distance_to_goal=distance,
        shortest_path_length=distance,
        success_distance=1.0,
        reference_path=reference,
    )
