"""Is one line of a run what its actions lead to? The episode is played again from its log and compared."""

from collections.abc import Iterator
from typing import Any

import msgspec

from nav_eval.action_log import is_same_place, parse_entry
from nav_eval.agents.messages import ANSWER
from nav_eval.dataset.episode import Episode
from nav_eval.errors import NavEvalError
from nav_eval.evaluation.differences import Difference, is_same_value
from nav_eval.evaluation.episodes import count_instruction_words
from nav_eval.play import EpisodePlay
from nav_eval.records.geometry import Vec3
from nav_eval.records.results import UNSCORED, Cause, EpisodeResult, get_status
from nav_eval.simulator.base import Simulator
from nav_eval.tasks import Task

NOT_COMPARED = frozenset({"time"})  #: metrics of the clock


def verify_episode(
    result: EpisodeResult, episode: Episode, *, task: Task, simulator: Simulator
) -> Iterator[Difference]:
    """What differs between a result's claims and what its actions lead to."""
    comparison = _Comparison(result, episode)
    yield from comparison.compare_labels()
    if has_not_begun(result):
        return
    try:
        yield from comparison.compare(EpisodePlay(episode, task=task, simulator=simulator))
    except NavEvalError as error:
        yield comparison.make_difference("cannot be played again", None, str(error))


def has_not_begun(result: EpisodeResult) -> bool:
    """A fault before the first observation leaves nothing to play again: no log, and no value of any metric."""
    said = (result.metrics, result.actions, result.subtasks, result.num_steps, result.trajectory, result.action_digest)
    return result.cause is not None and not any(said)


class _Comparison:
    """One result, and its episode as it is played again from the log."""

    def __init__(self, result: EpisodeResult, episode: Episode) -> None:
        self._result, self._episode = result, episode

    def compare_labels(self) -> Iterator[Difference]:
        """What a line says about its episode, and how it says that it ended."""
        result, instruction = self._result, self._episode.instruction
        stated: dict[str, object] = {"scene_id": result.scene_id}
        found: dict[str, object] = {"scene_id": self._episode.scene_id}
        if has_not_begun(result):  # of an episode that was played, the task knows the groups
            stated |= {"groups": result.groups, "randomization": result.randomization}
            found |= {"groups": {}, "randomization": None}
            facts = {
                "shortest_path_length": self._episode.private.shortest_path_length,
                "instruction_length": count_instruction_words(self._episode),
            }
            stated |= {name: getattr(result, name) for name in facts if getattr(result, name) is not None}
            found |= {name: value for name, value in facts.items() if name in stated}
        if result.instruction is not None:
            stated["instruction"] = result.instruction
            found["instruction"] = None if instruction is None else instruction.text
        for name, value in found.items():
            if stated[name] != value:
                yield self.make_difference(name, str(stated[name]), str(value))
        yield from self._compare_ending()
        for name, seconds in result.timing.items():
            if not seconds >= 0:
                yield self.make_difference(f"timing {name}", str(seconds), "seconds, not less than none")
        if result.cause is None and result.detail is not None:
            yield self.make_difference("detail", result.detail, "none without a cause")

    def _compare_ending(self) -> Iterator[Difference]:
        result = self._result
        if result.cause is not None and result.cause not in set(Cause):
            yield self.make_difference("cause", result.cause, f"one of {', '.join(Cause)}")
            return
        status = get_status(None if result.cause is None else Cause(result.cause))
        if result.status is not status:
            yield self.make_difference("status", result.status, f"{status}, with the cause {result.cause}")
        if result.cause == Cause.IMAGE_INVALID and not has_not_begun(result):
            yield self.make_difference("cause", result.cause, "another: what cannot be run does not act")

    def compare(self, play: EpisodePlay) -> Iterator[Difference]:
        for step, entry in enumerate(self._result.actions, start=1):
            if play.is_over:
                yield self.make_difference("episode", "going on", "over already", step=step)
                return
            try:
                action = parse_entry(entry)
                state = play.apply(action)
            except NavEvalError as error:
                yield self.make_difference(f"action {entry} cannot be carried out", None, str(error), step=step)
                return
            if action.reply != (said := parse_entry(play.log.actions[-1]).reply):
                yield self.make_difference("what the informant said", action.reply, said, step=step)
                return
            if action.name != ANSWER and not self._is_at(state.position, step):
                yield self.make_difference(
                    "position", str(self._get_stated_position(step)), str(state.position), step=step
                )
                return
        yield from self._compare_end(play)

    def _is_at(self, position: Vec3, step: int) -> bool:
        """Compared step by step where the trajectory was kept; the digest covers the rest."""
        stated = self._get_stated_position(step)
        return self._result.trajectory is None or (stated is not None and is_same_place(stated, position))

    def _get_stated_position(self, step: int) -> Vec3 | None:
        stated = self._result.trajectory
        return stated[step] if stated and step < len(stated) else None

    def _compare_end(self, play: EpisodePlay) -> Iterator[Difference]:
        result = self._result
        if result.cause is not None and result.cause not in UNSCORED:
            play.progress.abort()
        stated, found = _list_claims(result), _list_facts(play)
        if result.trajectory is None:
            del stated["trajectory"], found["trajectory"]
        for name in found:
            if not is_same_value(stated[name], found[name]):
                yield self.make_difference(name, str(stated[name]), str(found[name]))
        yield from self._compare_metrics(play)
        if result.cause is None and not play.is_over:
            yield self.make_difference("status", result.status, "not over after the last action")
        if result.cause is not None and play.is_over:
            yield self.make_difference("cause", result.cause, "none: the episode came to its end")

    def _compare_metrics(self, play: EpisodePlay) -> Iterator[Difference]:
        stated = _to_plain(self._result.metrics)
        found = _to_plain(dict(play.progress.result().metrics))
        for name in [*found, *(name for name in stated if name not in found)]:
            one, other = (values.get(name, "missing") for values in (stated, found))
            if name in NOT_COMPARED and name in found and name in stated:
                if not (isinstance(one, float) and one >= 0):
                    yield self.make_difference(name, str(one), "seconds, a number that is not less than none")
            elif not is_same_value(one, other):
                yield self.make_difference(name, str(one), str(other))

    def make_difference(self, what: str, stated: str | None, found: str, *, step: int | None = None) -> Difference:
        return Difference(
            where=f"episode {self._episode.episode_id!r}", what=what, stated=stated, found=found, step=step
        )


def _list_claims(result: EpisodeResult) -> dict[str, Any]:
    """What a line says and a replay can say as well, as it stands in a file."""
    return {
        "action digest": result.action_digest,
        "num_steps": result.num_steps,
        "actions": _to_plain(result.actions),
        "trajectory": _to_plain(result.trajectory),
        "subtasks": _to_plain(result.subtasks),
        "shortest_path_length": result.shortest_path_length,
        "instruction_length": result.instruction_length,
        "randomization": _to_plain(result.randomization),
        "groups": dict(result.groups),
    }


def _list_facts(play: EpisodePlay) -> dict[str, Any]:
    """The same, as the replay says it."""
    worth, episode = play.progress.result(), play.episode
    return {
        "action digest": play.log.digest,
        "num_steps": worth.steps,
        "actions": _to_plain(play.log.actions),
        "trajectory": _to_plain(play.log.trajectory),
        "subtasks": _to_plain(worth.subtasks),
        "shortest_path_length": episode.private.shortest_path_length,
        "instruction_length": count_instruction_words(episode),
        "randomization": _to_plain(play.randomization),
        "groups": dict(worth.groups),
    }


def _to_plain(value: object) -> Any:  # noqa: ANN401
    """As it would stand in a file: what is not a number is null."""
    return msgspec.json.decode(msgspec.json.encode(value))
