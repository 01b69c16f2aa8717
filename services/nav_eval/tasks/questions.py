"""Questions about a place, answered in words.

In `sqa3d_qa` the agent reads a situation and a question, and nobody moves. In `eqa` it is in a house, walks and looks,
and answers when it knows. What counts is an exact match with one of the accepted answers (`metrics.answers`);
results are grouped by the type of the question.
"""

from collections.abc import Sequence

from nav_eval.dataset.episode import Episode
from nav_eval.errors import DatasetError
from nav_eval.metrics import EpisodeStart, MetricSuite, Step
from nav_eval.metrics.answers import EXACT_MATCH, find_question_type, is_exact_match, to_plain_answer
from nav_eval.records.geometry import Vec3
from nav_eval.scene.navigation.ground import DistanceField
from nav_eval.tasks.base import STOP, Moved, Progress, Task, TaskResult, TaskRules, World, register_task


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


@register_task("eqa")
class EmbodiedQuestionTask(Task):
    """Walk, look, and say one answer. Goals are places from which it is seen; a stop gives up without one."""

    answers_in_words = True
    stop_meaning = "ends_episode"

    def start(self, episode: Episode, world: World) -> Progress:
        return _WalkedAnswerProgress(episode, self.field(episode.goals, world), self.rules)


class _WalkedAnswerProgress(Progress):
    """Over with the answer, with a stop, or after the last step."""

    def __init__(self, episode: Episode, field: DistanceField, rules: TaskRules) -> None:
        self._accepted, self._rules, self._field = read_accepted_answers(episode), rules, field
        self._type = str(episode.private.info.get("question_type", "other"))
        self._position = episode.start_position
        self._match = self._stopped = False
        self._suite = MetricSuite(
            (name for name in rules.metrics if name != EXACT_MATCH), parameters=rules.metric_parameters
        )
        distance = field.distance(self._position)
        self._suite.reset(
            EpisodeStart(
                position=self._position,
                distance_to_goal=distance,
                shortest_path_length=distance,
                success_distance=rules.success_distance,
                stop_needed=rules.stop_needed,
            )
        )

    def answer_in_words(self, text: str) -> None:
        self._match = is_exact_match(text, self._accepted, normalize=to_plain_answer)
        self._take(self._position, stopped=True)

    def advance(self, moved: Moved) -> None:
        self._take(moved.position, stopped=moved.action == STOP, collided=moved.collided, seconds=moved.seconds)

    def _take(self, position: Vec3, *, stopped: bool, collided: bool = False, seconds: float = 0.0) -> None:
        self.steps, self._position, self._stopped = self.steps + 1, position, stopped
        distance = self._field.distance(position)
        self._suite.update(
            Step(position=position, distance_to_goal=distance, stopped=stopped, collided=collided, seconds=seconds)
        )
        self.over = stopped or self._rules.is_last_step(self.steps)

    def result(self) -> TaskResult:
        known = {**self._suite.values(aborted=self.aborted), EXACT_MATCH: float(self._match)}
        return TaskResult(
            metrics={name: known[name] for name in self._rules.metrics},
            steps=self.steps,
            stopped=self._stopped,
            groups={"question_type": self._type},
        )
