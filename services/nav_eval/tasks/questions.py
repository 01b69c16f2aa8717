"""Questions about a place: the agent reads a situation and a question, and answers in words. Nobody moves.

What counts is an exact match with one of the accepted answers (`metrics.answers`); results are grouped by the type of
the question, as SQA3D reports them.
"""

from collections.abc import Sequence

from nav_eval.dataset.episode import Episode
from nav_eval.errors import DatasetError
from nav_eval.metrics.answers import EXACT_MATCH, find_question_type, is_exact_match
from nav_eval.tasks.base import Moved, Progress, Task, TaskResult, TaskRules, World, register_task


@register_task("sqa3d_qa")
class QuestionAnsweringTask(Task):
    """Say one answer; the accepted ones stand in `info["answers"]`."""

    uses_motion = False
    answers_in_words = True
    stop_meaning = "none"

    def start(self, episode: Episode, world: World) -> Progress:
        return _AnswerProgress(
            read_accepted_answers(episode), str(episode.private.info.get("question", "")), self.rules
        )


def read_accepted_answers(episode: Episode) -> list[str]:
    """What counts as right: texts, or SQA3D's records with `answer`."""
    given = episode.private.info.get("answers") or []
    texts = [entry.get("answer") if isinstance(entry, dict) else entry for entry in given]
    accepted = [text for text in texts if isinstance(text, str)]
    if not accepted:
        raise DatasetError(f"Episode {episode.episode_id!r} has no answers; a split without them cannot be scored.")
    return accepted


class _AnswerProgress(Progress):
    """Over as soon as an answer is given."""

    def __init__(self, accepted: Sequence[str], question: str, rules: TaskRules) -> None:
        self._accepted, self._rules = accepted, rules
        self._type = find_question_type(question)
        self._match = False

    def answer_in_words(self, text: str) -> None:
        self._match = is_exact_match(text, self._accepted)
        self.steps, self.over = 1, True

    def advance(self, moved: Moved) -> None:
        """A stop without an answer gives the episode up."""
        self.steps, self.over = self.steps + 1, True

    def result(self) -> TaskResult:
        known = {EXACT_MATCH: float(self._match)}
        return TaskResult(
            metrics={name: known[name] for name in self._rules.metrics},
            steps=self.steps,
            stopped=self.over,
            groups={"question_type": self._type},
        )
