"""Checks: is the agent there, what does it say about itself, and does it act as the task allows?"""

from __future__ import annotations

import math
import sys
import threading
import time

from nav_eval_sdk.agent import Action
from nav_eval_sdk.check.checks import (
    STEPS,
    CheckContext,
    CheckDoubtful,
    CheckFailed,
    Checks,
    CheckSkipped,
    NotServed,
    offer_sensors,
    require_description,
)
from nav_eval_sdk.check.vectors import keep_wanted, read_conversation
from nav_eval_sdk.errors import SdkError

DESCRIPTION_CHECKS = Checks()
PATIENCE = 3.0  #: seconds of waiting for an agent before that is said


@DESCRIPTION_CHECKS.add(
    "the agent becomes ready", fix="Serve before you load weights, on the address that you check.", essential=True
)
def check_ready(context: CheckContext) -> str:
    text = f"Waiting for the agent to become ready, for at most {context.start_seconds:g} s."
    timer = threading.Timer(PATIENCE, lambda: print(text, file=sys.stderr))
    timer.daemon = True
    timer.start()
    try:
        readiness = context.probe.wait_until_ready(context.start_seconds)
    finally:
        timer.cancel()
    return f"after {readiness.seconds:.1f} s"


@DESCRIPTION_CHECKS.add(
    "it says when it is ready",
    fix="Serve grpc.health.v1.Health (or GET /health): without it the first episode may come before the weights.",
    protocols=("grpc", "rest"),
)
def check_health(context: CheckContext) -> None:
    if not context.probe.wait_until_ready(context.start_seconds).has_health:
        raise CheckDoubtful("there is no health service")


@DESCRIPTION_CHECKS.add(
    "it describes itself",
    fix="Serve Describe (or POST /describe); without it you get every sensor, one action a reply.",
)
def check_describe(context: CheckContext) -> str:
    try:
        context.described = context.probe.describe(context.task)
    except NotServed:
        raise CheckDoubtful("it does not; the defaults hold") from None
    context.task = offer_sensors(context.task, context.described.description.sensors)
    return context.described.description.name


@DESCRIPTION_CHECKS.add(
    "it speaks version 1 of the protocol", fix="Put 1 into protocol_versions, or install the challenge's SDK."
)
def check_protocol_version(context: CheckContext) -> str:
    versions = require_description(context).protocol_versions
    if versions and 1 not in versions:
        raise CheckFailed(f"it speaks {', '.join(map(str, versions))}")
    return "by default" if not versions else ""


@DESCRIPTION_CHECKS.add("it has a name", fix="Set `name` in the description: the leaderboard shows it.")
def check_name(context: CheckContext) -> str:
    given = require_description(context).description.name
    if not given:
        raise CheckDoubtful("it has none")
    if len(given) > 200 or not given.isprintable():
        raise CheckFailed("the name is too long, or has signs that cannot be shown")
    return given


@DESCRIPTION_CHECKS.add(
    "it asks for sensors that exist",
    fix="Ask for sensors of the task, such as rgb or rgb_front; --sensor name:dtype:shape adds some to this check.",
)
def check_sensors_known(context: CheckContext) -> str:
    unknown = sorted(set(require_description(context).description.sensors) - set(context.task.sensors))
    if unknown:
        raise CheckFailed(f"{', '.join(unknown)}: not among {', '.join(context.task.sensors)}")
    return ", ".join(require_description(context).description.sensors) or "all"


@DESCRIPTION_CHECKS.add(
    "it asks for few sensors",
    fix="Name the sensors that you use: whatever you do not ask for is neither rendered nor sent.",
)
def check_sensors_chosen(context: CheckContext) -> None:
    if not require_description(context).description.sensors:
        raise CheckDoubtful("it gets all of them")


@DESCRIPTION_CHECKS.add("it asks for encodings that exist", fix="Use raw, jpeg or png.")
def check_encodings_known(context: CheckContext) -> None:
    if require_description(context).unknown_encodings:
        raise CheckFailed(f"unknown: {', '.join(require_description(context).unknown_encodings)}")


@DESCRIPTION_CHECKS.add(
    "its number of episodes at once makes sense", fix="Set max_episodes to what fits into memory, between 1 and 64."
)
def check_max_episodes(context: CheckContext) -> str:
    number = require_description(context).description.max_episodes
    if not 1 <= number <= 1024:
        raise CheckFailed(f"it says {number}")
    if number > 64:
        raise CheckDoubtful(f"{number} is a lot")
    return str(number)


@DESCRIPTION_CHECKS.add(
    "its number of actions a reply makes sense", fix="Set max_actions to the length of your action chunks, at most 100."
)
def check_max_actions(context: CheckContext) -> str:
    number = require_description(context).description.max_actions
    if not 1 <= number <= 100:
        raise CheckFailed(f"it says {number}")
    return str(number)


@DESCRIPTION_CHECKS.add(
    "it describes itself the same way twice",
    fix="Do not let the description depend on when it is asked.",
    protocols=("grpc", "rest"),
)
def check_describe_stable(context: CheckContext) -> None:
    before = require_description(context).raw
    if context.probe.describe(context.task).raw != before:
        raise CheckFailed("the second description differs")


ACTION_CHECKS = Checks()


@ACTION_CHECKS.add(
    "it starts an episode", fix="Answer Reset within its time; do not load weights there.", essential=True
)
def check_reset(context: CheckContext) -> str:
    started = time.monotonic()
    episode = context.open()
    took = time.monotonic() - started
    episode.abandon()
    return f"in {took * 1000:.0f} ms"


@ACTION_CHECKS.add(
    "it answers an observation", fix="Answer every Act with an ActReply that holds at least one action.", essential=True
)
def check_first_action(context: CheckContext) -> str:
    context.first = context.play(5)
    if not all(reply.actions for reply in context.first):
        raise CheckFailed("a reply has no action")
    return context.first[0].actions[0].name


def _list_actions(context: CheckContext) -> list[Action]:
    return [action for reply in context.first for action in reply.actions]


@ACTION_CHECKS.add("its actions exist in the task", fix="Answer with the names in Task.actions, letter by letter.")
def check_actions_known(context: CheckContext) -> None:
    unknown = sorted({action.name for action in _list_actions(context)} - set(context.task.actions))
    if unknown:
        raise CheckFailed(f"{', '.join(unknown)!r:.100}: not among {', '.join(context.task.actions)}")


@ACTION_CHECKS.add(
    "its arguments are finite and within bounds",
    fix="Give only the arguments in ActionSpec.arguments, within their ranges.",
)
def check_arguments_valid(context: CheckContext) -> None:
    for action in _list_actions(context):
        bounds = context.task.actions.get(action.name, {})
        for argument, value in action.arguments.items():
            low, high = bounds.get(argument, (math.nan, math.nan))
            if not low <= value <= high:
                raise CheckFailed(f"{action.name}: {argument} = {value}")


@ACTION_CHECKS.add(
    "it answers no more actions than it said", fix="Raise max_actions in the description, or send fewer."
)
def check_actions_counted(context: CheckContext) -> None:
    most = max(len(reply.actions) for reply in context.first)
    if most > context.max_actions:
        raise CheckFailed(f"{most} in one reply, and max_actions is {context.max_actions}")


@ACTION_CHECKS.add(
    "its poses are poses",
    fix="Give 3 numbers of position, 4 of rotation (x, y, z, w), all finite, at most three poses.",
)
def check_poses_valid(context: CheckContext) -> None:
    answers = [action for action in _list_actions(context) if action.name == "answer" or action.poses]
    if not answers:
        raise CheckSkipped("no localization")
    for action in answers:
        numbers = [number for pose in action.poses for number in (*pose.position, *pose.rotation)]
        if not 1 <= len(action.poses) <= 3 or not all(math.isfinite(number) for number in numbers):
            raise CheckFailed("an answer has no pose, more than three, or one that is not finite")
        if any(len(pose.position) != 3 or len(pose.rotation) != 4 or not any(pose.rotation) for pose in action.poses):
            raise CheckFailed("a pose has the wrong number of numbers, or a rotation of zeros")


@ACTION_CHECKS.add("it numbers its replies", fix="Echo `sequence`: mix-ups are then found instead of scored.")
def check_sequence_echoed(context: CheckContext) -> None:
    if any(not reply.sequence for reply in context.first):
        raise CheckDoubtful("it does not")
    if [reply.sequence for reply in context.first] != list(range(1, len(context.first) + 1)):
        raise CheckFailed(f"it answers {[reply.sequence for reply in context.first]}")


@ACTION_CHECKS.add("it does a longer episode", fix="Look at the agent's log: something breaks after a few steps.")
def check_longer_episode(context: CheckContext) -> str:
    replies = context.play(STEPS)
    return f"{len(replies)} observations"


@ACTION_CHECKS.add(
    "it answers a recorded conversation",
    fix="Play nav_eval_sdk/vectors against your code: each file says what is sent, and what may be answered.",
)
def check_recorded_conversation(context: CheckContext) -> str:
    """As an evaluator said it, geometry of cameras and motion included."""
    recorded = read_conversation("localization" if context.task.name == "localization" else "vln")
    wanted = tuple(context.described.description.sensors) if context.described else ()
    if not set(wanted) <= set(recorded.task.sensors):
        raise CheckSkipped("the agent wants sensors that the recording does not have")
    episode = context.probe.open(recorded.task, instruction=recorded.instruction)
    for seen in recorded.observations:
        for action in episode.act(keep_wanted(seen, wanted)).actions:
            if action.name not in recorded.task.actions:
                known = ", ".join(recorded.task.actions)
                raise CheckFailed(f"it answers {action.name!r} where the task has {known}")
    episode.end()
    return f"{len(recorded.observations)} observations"


@ACTION_CHECKS.add("it takes leave", fix="Answer End, then close the stream, and free what the episode needed.")
def check_end(context: CheckContext) -> None:
    episode = context.open()
    context.act(episode, 0)
    if not episode.end():
        raise CheckDoubtful("it does not serve End and learns of it by the next Reset")


@ACTION_CHECKS.add(
    "an episode without a single observation is fine", fix="Accept End directly after Reset: a scene may fail to load."
)
def check_empty_episode(context: CheckContext) -> None:
    context.open().end()


@ACTION_CHECKS.add(
    "the next episode does not depend on the one before",
    fix="Forget everything in Reset: memory, hidden state, random seeds.",
)
def check_no_leftovers(context: CheckContext) -> None:
    first, second = context.play(8), context.play(8)
    if [reply.actions for reply in first] != [reply.actions for reply in second]:
        raise CheckDoubtful("the same observations get other actions: leftovers, or chance that is not seeded")


@ACTION_CHECKS.add(
    "it does as many episodes at once as it said", fix="Keep state by session_id, or lower max_episodes."
)
def check_concurrent_episodes(context: CheckContext) -> str:
    count = min(context.max_episodes, 8)
    if count == 1:
        raise CheckSkipped("one at a time")
    _play_together(context, count)
    return f"{count} at once"


@ACTION_CHECKS.add("episodes at once do not mix", fix="Keep state by session_id: each episode has its own memory.")
def check_episodes_apart(context: CheckContext) -> None:
    if context.max_episodes == 1:
        raise CheckSkipped("one at a time")
    alone = [reply.actions for reply in context.play(6)]
    if alone != [reply.actions for reply in context.play(6)]:
        raise CheckSkipped("it acts by chance")
    if any(replies != alone for replies in _play_together(context, 2)):
        raise CheckFailed("an episode gets other actions when another one runs beside it")


def _play_together(context: CheckContext, count: int) -> list[list[tuple[Action, ...]]]:
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
        raise CheckFailed(str(errors[0]))
    return results
