"""Situated localization: the agent reads a description and answers where it stands. Nobody moves.

The metric is SQA3D's and defined in its frame: Z up, positions compared in the x-y plane, rotations about z.
Episodes that are not SQA3D's (`info["frame"]` says whose they are) have their poses in our frame, Y up; truth and
guesses are turned alike before they are compared, so that one metric serves both.
"""

from collections.abc import Sequence

from nav_eval.dataset.episode import Episode, Pose
from nav_eval.errors import RecordError
from nav_eval.metrics.localization import UNANSWERED, LocalizationError, Numbers, accuracies, best_errors
from nav_eval.tasks.base import Moved, Progress, Task, TaskResult, TaskRules, World, register_task

#: the frame that the metric is defined in, as `info["frame"]` names it
METRIC_FRAME = "sqa3d"


@register_task("localization")
class LocalizationTask(Task):
    """Say up to three poses; the true one is the episode's start, in the dataset's own frame."""

    uses_motion = False

    def start(self, episode: Episode, world: World) -> "LocalizationProgress":
        is_y_up = episode.private.info.get("frame") != METRIC_FRAME
        return LocalizationProgress(episode.private.start, self.rules, is_y_up=is_y_up)


class LocalizationProgress(Progress):
    """Over as soon as an answer is given."""

    def __init__(self, truth: Pose, rules: TaskRules, *, is_y_up: bool = False) -> None:
        self._truth = truth
        self._rules = rules
        self._is_y_up = is_y_up
        self._error: LocalizationError = UNANSWERED

    def answer(self, *, positions: Sequence[Numbers], rotations: Sequence[Numbers]) -> None:
        """Judge the guesses; refuses more than three, none, and what is not a pose."""
        turn = z_up if self._is_y_up else _as_it_is
        self._error = best_errors(
            position=turn(self._truth.position),
            rotation=turn(self._truth.rotation),
            guessed_positions=[turn(guess) for guess in positions],
            guessed_rotations=[turn(guess) for guess in rotations],
        )
        self.steps, self.over = 1, True

    def advance(self, moved: Moved) -> None:
        """A stop without an answer gives the episode up."""
        self.steps, self.over = self.steps + 1, True

    def result(self) -> TaskResult:
        known = accuracies(self._error)
        return TaskResult(
            metrics={name: known[name] for name in self._rules.metrics}, steps=self.steps, stopped=self.over
        )


def z_up(numbers: Numbers) -> Numbers:
    """A position (x, y, z) or quaternion (x, y, z, w) of our frame in one whose z is up: our −z is its y."""
    if len(numbers) not in (3, 4):
        raise RecordError(f"a pose of this dataset has 3 numbers and a quaternion 4, not {len(numbers)}.")
    x, y, z, *w = numbers
    return (x, -z, y, *w)


def _as_it_is(numbers: Numbers) -> Numbers:
    return numbers
