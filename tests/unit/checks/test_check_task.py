"""Our own tasks keep the contract; a task that breaks it is told how."""

from typing import Any

import pytest

from nav_eval.checks import ContractBroken, check_task
from nav_eval.dataset.episode import Episode, Goal, PrivateEpisode, PublicEpisode, Subtask
from nav_eval.records.geometry import Pose
from nav_eval.tasks import STOP, TASKS, Moved, Progress, Task, TaskResult, TaskRules, World

GOALS = (Goal(position=(0.0, 0.0, -1.0)), Goal(position=(0.0, 0.0, -3.0)))
EPISODE = Episode(
    public=PublicEpisode(episode_id="e"),
    private=PrivateEpisode(
        scene_id="s",
        start=Pose((0.0, 0.0, 0.0)),
        goals=GOALS,
        subtasks=tuple(Subtask(target=f"t{i}", goals=(goal,)) for i, goal in enumerate(GOALS)),
        info={"question": "How many chairs are there?", "answers": ["two"]},
    ),
)
METRICS = {
    "lh_vln": ("isr", "csr", "tar", "steps"),
    "localization": ("acc@0.5m", "acc@30deg"),
    "sqa3d_qa": ("exact_match",),
    "eqa": ("exact_match", "path_length", "steps"),
}


def make_rules(task: str = "vln") -> TaskRules:
    return TaskRules(metrics=METRICS.get(task, ("success", "spl", "distance_to_goal", "time")))


@pytest.mark.parametrize("name", TASKS.names())
def test_ours_pass(name: str) -> None:
    check_task(TASKS.get(name), EPISODE, rules=make_rules(name))


class Walk(Progress):
    """A progress that is in order; the broken ones below differ from it in one thing each."""

    def __init__(self, rules: TaskRules) -> None:
        self.rules, self.is_stopped = rules, False

    def advance(self, moved: Moved) -> None:
        self.steps += 1
        self.is_stopped = moved.action == STOP
        self.over = self.is_stopped or self.steps >= self.rules.max_steps

    def result(self) -> TaskResult:
        metrics: dict[str, float | None] = dict.fromkeys(self.rules.metrics, 0.0)
        return TaskResult(metrics=metrics, steps=self.steps, stopped=self.is_stopped)


def make_task(progress: type[Progress]) -> type[Task]:
    class Made(Task):
        def start(self, episode: Episode, world: World) -> Progress:
            return progress(self.rules)  # type: ignore[call-arg]

    return Made


def test_a_plain_task_passes() -> None:
    check_task(make_task(Walk), EPISODE, rules=make_rules())


class CountsNoStops(Walk):
    def advance(self, moved: Moved) -> None:
        super().advance(moved)
        self.steps -= moved.action == STOP


class NeverEnds(Walk):
    def advance(self, moved: Moved) -> None:
        super().advance(moved)
        self.over = self.is_stopped


class DeafToStops(Walk):
    def advance(self, moved: Moved) -> None:
        super().advance(moved)
        self.is_stopped, self.over = False, self.steps >= self.rules.max_steps


class BeginsOver(Walk):
    over = True


class ReportsOthers(Walk):
    def result(self) -> TaskResult:
        return TaskResult(metrics={"success": 1.0}, steps=self.steps, stopped=self.is_stopped)


class ReportsInfinity(Walk):
    def result(self) -> TaskResult:
        metrics: dict[str, float | None] = dict.fromkeys(self.rules.metrics, float("inf"))
        return TaskResult(metrics=metrics, steps=self.steps, stopped=self.is_stopped)


class ResultCounts(Walk):
    asked = 0

    def result(self) -> TaskResult:
        self.asked += 1
        metrics: dict[str, float | None] = dict.fromkeys(self.rules.metrics, float(self.asked))
        return TaskResult(metrics=metrics, steps=self.steps, stopped=self.is_stopped)


class ResultLate(Walk):
    def result(self) -> TaskResult:
        if not self.over:
            raise ValueError("not yet")
        return super().result()


class Remembers(Walk):
    played = 0

    def result(self) -> TaskResult:
        metrics: dict[str, float | None] = dict.fromkeys(self.rules.metrics, float(type(self).played))
        return TaskResult(metrics=metrics, steps=self.steps, stopped=self.is_stopped)

    def advance(self, moved: Moved) -> None:
        type(self).played += 1
        super().advance(moved)


class SharesPlaces(Walk):
    """What it reports is right when episodes are played one after the other only."""

    def __init__(self, rules: TaskRules) -> None:
        super().__init__(rules)
        type(self).stops = 0

    def advance(self, moved: Moved) -> None:
        super().advance(moved)
        type(self).stops += moved.action == STOP

    def result(self) -> TaskResult:
        metrics: dict[str, float | None] = dict.fromkeys(self.rules.metrics, float(type(self).stops))
        return TaskResult(metrics=metrics, steps=self.steps, stopped=self.is_stopped)


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (CountsNoStops, "counts 0 steps after 1 actions; add 1 to self.steps"),
        (NeverEnds, "not over after 6 actions, which is the limit; set self.over"),
        (DeafToStops, "says stopped = False after stops only"),
        (BeginsOver, "begins with steps = 0, over = True; begin with 0 and False"),
        (ReportsOthers, r"reports the metrics \['success'\]; the benchmark asks for \['success', 'spl'"),
        (ReportsInfinity, "reports success = inf; give a finite number, or None"),
        (ResultCounts, r"result\(\) returned .* without a move between; it must change nothing"),
        (ResultLate, r"result\(\) must not raise here, but raised ValueError: not yet"),
        (Remembers, "for the same moves; a score must depend on the moves only"),
        (SharesPlaces, "disturb each other; keep what belongs to an episode in its Progress"),
    ],
)
def test_what_is_wrong_is_said(broken: type[Progress], reason: str) -> None:
    with pytest.raises(ContractBroken, match=reason):
        check_task(make_task(broken), EPISODE, rules=make_rules())


@pytest.mark.parametrize("made", [None, "task"])
def test_what_is_no_task_is_refused(made: Any) -> None:
    with pytest.raises(ContractBroken, match=r"it must make a nav_eval\.tasks\.Task"):
        check_task(lambda rules: made, EPISODE, rules=make_rules())
