"""Checks: does it act as the task allows, alone and beside other episodes?"""

from __future__ import annotations

import math
import threading
import time

from nav_eval_sdk.agent import Action
from nav_eval_sdk.checking.checks import STEPS, Checks, Context, Doubtful, Failed, NotApplicable
from nav_eval_sdk.errors import SdkError

CHECKS = Checks()


@CHECKS.add("it starts an episode", fix="Answer Reset within its time; do not load weights there.", essential=True)
def reset(context: Context) -> str:
    started = time.monotonic()
    episode = context.open()
    took = time.monotonic() - started
    episode.abandon()
    return f"in {took * 1000:.0f} ms"


@CHECKS.add(
    "it answers an observation", fix="Answer every Act with an ActReply that holds at least one action.", essential=True
)
def first_action(context: Context) -> str:
    context.first = context.play(5)
    if not all(reply.actions for reply in context.first):
        raise Failed("a reply has no action")
    return context.first[0].actions[0].name


def _actions(context: Context) -> list[Action]:
    return [action for reply in context.first for action in reply.actions]


@CHECKS.add("its actions exist in the task", fix="Answer with the names in Task.actions, letter by letter.")
def actions_known(context: Context) -> None:
    unknown = sorted({action.name for action in _actions(context)} - set(context.task.actions))
    if unknown:
        raise Failed(f"{', '.join(unknown)!r:.100}: not among {', '.join(context.task.actions)}")


@CHECKS.add(
    "its arguments are finite and within bounds",
    fix="Give only the arguments in ActionSpec.arguments, within their ranges.",
)
def arguments_valid(context: Context) -> None:
    for action in _actions(context):
        bounds = context.task.actions.get(action.name, {})
        for argument, value in action.arguments.items():
            low, high = bounds.get(argument, (math.nan, math.nan))
            if not low <= value <= high:
                raise Failed(f"{action.name}: {argument} = {value}")


@CHECKS.add("it answers no more actions than it said", fix="Raise max_actions in the description, or send fewer.")
def actions_counted(context: Context) -> None:
    most = max(len(reply.actions) for reply in context.first)
    if most > context.max_actions:
        raise Failed(f"{most} in one reply, and max_actions is {context.max_actions}")


@CHECKS.add(
    "its poses are poses",
    fix="Give 3 numbers of position, 4 of rotation (x, y, z, w), all finite, at most three poses.",
)
def poses_valid(context: Context) -> None:
    answers = [action for action in _actions(context) if action.name == "answer" or action.poses]
    if not answers:
        raise NotApplicable("no localization")
    for action in answers:
        numbers = [number for pose in action.poses for number in (*pose.position, *pose.rotation)]
        if not 1 <= len(action.poses) <= 3 or not all(math.isfinite(number) for number in numbers):
            raise Failed("an answer has no pose, more than three, or one that is not finite")
        if any(len(pose.position) != 3 or len(pose.rotation) != 4 or not any(pose.rotation) for pose in action.poses):
            raise Failed("a pose has the wrong number of numbers, or a rotation of zeros")


@CHECKS.add("it numbers its replies", fix="Echo `sequence`: mix-ups are then found instead of scored.")
def sequence_echoed(context: Context) -> None:
    if any(not reply.sequence for reply in context.first):
        raise Doubtful("it does not")
    if [reply.sequence for reply in context.first] != list(range(1, len(context.first) + 1)):
        raise Failed(f"it answers {[reply.sequence for reply in context.first]}")


@CHECKS.add("it does a longer episode", fix="Look at the agent's log: something breaks after a few steps.")
def longer_episode(context: Context) -> str:
    replies = context.play(STEPS)
    return f"{len(replies)} observations"


@CHECKS.add("it takes leave", fix="Answer End, then close the stream, and free what the episode needed.")
def end(context: Context) -> None:
    episode = context.open()
    context.act(episode, 0)
    if not episode.end():
        raise Doubtful("it does not serve End and learns of it by the next Reset")


@CHECKS.add(
    "an episode without a single observation is fine", fix="Accept End directly after Reset: a scene may fail to load."
)
def empty_episode(context: Context) -> None:
    context.open().end()


@CHECKS.add(
    "the next episode does not depend on the one before",
    fix="Forget everything in Reset: memory, hidden state, random seeds.",
)
def no_leftovers(context: Context) -> None:
    first, second = context.play(8), context.play(8)
    if [reply.actions for reply in first] != [reply.actions for reply in second]:
        raise Doubtful("the same observations get other actions: leftovers, or chance that is not seeded")


@CHECKS.add("it does as many episodes at once as it said", fix="Keep state by session_id, or lower max_episodes.")
def concurrent_episodes(context: Context) -> str:
    count = min(context.max_episodes, 8)
    if count == 1:
        raise NotApplicable("one at a time")
    _together(context, count)
    return f"{count} at once"


@CHECKS.add("episodes at once do not mix", fix="Keep state by session_id: each episode has its own memory.")
def episodes_apart(context: Context) -> None:
    if context.max_episodes == 1:
        raise NotApplicable("one at a time")
    alone = [reply.actions for reply in context.play(6)]
    if alone != [reply.actions for reply in context.play(6)]:
        raise NotApplicable("it acts by chance")
    if any(replies != alone for replies in _together(context, 2)):
        raise Failed("an episode gets other actions when another one runs beside it")


def _together(context: Context, count: int) -> list[list[tuple[Action, ...]]]:
    """As many episodes, truly at once."""
    results: list[list[tuple[Action, ...]]] = [[] for _ in range(count)]
    errors: list[SdkError] = []
    everyone = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            episode = context.open()
            for step in range(6):
                everyone.wait(context.probe.timeout)
                results[number].append(context.act(episode, step).actions)
            episode.end()
        except SdkError as error:
            errors.append(error)
            everyone.abort()
        except threading.BrokenBarrierError:
            pass

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise Failed(str(errors[0]))
    return results
