"""Situated localization: the agent reads a description and answers where it stands. Nobody moves.

The metric is SQA3D's and defined in its frame: Z up, positions compared in the x-y plane, rotations about z.
Episodes that are not SQA3D's (`info["frame"]` says whose they are) have their poses in our frame, Y up; truth and
guesses are turned alike before they are compared, so that one metric serves both.
"""

from collections.abc import Sequence

from nav_eval.dataset.episode import Episode
from nav_eval.metrics.localization import (
    UNANSWERED,
    LocalizationError,
    Numbers,
    compute_accuracies,
    compute_best_errors,
)
from nav_eval.records.geometry import Pose, to_z_up
from nav_eval.tasks.base import Moved, Progress, Task, TaskResult, TaskRules, World, register_task

#: the frame that the metric is defined in, as `info["frame"]` names it
METRIC_FRAME = "sqa3d"


@register_task("localization")
class LocalizationTask(Task):
    """Say up to three poses; the true one is the episode's start, in the dataset's own frame."""

    uses_motion = False
    stop_meaning = "none"

    def start(self, episode: Episode, world: World) -> Progress:
        return _LocalizationProgress(episode.private.start, self.rules, is_y_up=not is_in_metric_frame(episode))


def is_in_metric_frame(episode: Episode) -> bool:
    """Whether the episode's poses are in SQA3D's frame; otherwise they are in ours."""
    return episode.private.info.get("frame") == METRIC_FRAME


class _LocalizationProgress(Progress):
    """Over as soon as an answer is given."""

    def __init__(self, truth: Pose, rules: TaskRules, *, is_y_up: bool = False) -> None:
        self._truth = truth
        self._rules = rules
        self._is_y_up = is_y_up
        self._error: LocalizationError = UNANSWERED

    def answer(self, poses: Sequence[Pose]) -> None:
        """Judge the guesses; refuses more than three, and none."""
        self._error = compute_best_errors(
            position=self._turn(self._truth.position),
            rotation=self._turn(self._truth.rotation),
            guessed_positions=[self._turn(guess.position) for guess in poses],
            guessed_rotations=[self._turn(guess.rotation) for guess in poses],
        )
        self.steps, self.over = 1, True

    def advance(self, moved: Moved) -> None:
        """A stop without an answer gives the episode up."""
        self.steps, self.over = self.steps + 1, True

    def result(self) -> TaskResult:
        known = compute_accuracies(self._error)
        return TaskResult(
            metrics={name: known[name] for name in self._rules.metrics}, steps=self.steps, stopped=self.over
        )

    def _turn(self, numbers: Numbers) -> Numbers:
        """As the metric wants them."""
        return to_z_up(numbers) if self._is_y_up else numbers
