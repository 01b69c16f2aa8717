"""Situated localization: the agent reads a description and answers where it stands. Nobody moves."""

from collections.abc import Sequence

from nav_eval.dataset.episode import Episode, Pose
from nav_eval.metrics.localization import UNANSWERED, LocalizationError, Numbers, accuracies, best_errors
from nav_eval.tasks.base import Moved, Progress, Task, TaskResult, TaskRules, World, register_task


@register_task("localization")
class LocalizationTask(Task):
    """Say up to three poses; the true one is the episode's start, in the dataset's own frame."""

    uses_motion = False

    def start(self, episode: Episode, world: World) -> "LocalizationProgress":
        return LocalizationProgress(episode.private.start, self.rules)


class LocalizationProgress(Progress):
    """Over as soon as an answer is given."""

    def __init__(self, truth: Pose, rules: TaskRules) -> None:
        self._truth = truth
        self._rules = rules
        self._error: LocalizationError = UNANSWERED

    def answer(self, *, positions: Sequence[Numbers], rotations: Sequence[Numbers]) -> None:
        """Judge the guesses; refuses more than three, none, and what is not a pose."""
        self._error = best_errors(
            position=self._truth.position,
            rotation=self._truth.rotation,
            guessed_positions=positions,
            guessed_rotations=rotations,
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
