"""Checks: is the agent there, and what does it say about itself?"""

from __future__ import annotations

from nav_eval_sdk.checking.checks import Checks, Context, Doubtful, Failed, said
from nav_eval_sdk.checking.probe import NotServed
from nav_eval_sdk.checking.scene import offering

CHECKS = Checks()


@CHECKS.add(
    "the agent becomes ready", fix="Serve before you load weights, on the address that you check.", essential=True
)
def ready(context: Context) -> str:
    readiness = context.probe.wait_until_ready(context.start_seconds)
    return f"after {readiness.seconds:.1f} s"


@CHECKS.add(
    "it says when it is ready",
    fix="Serve grpc.health.v1.Health (or GET /health): without it the first episode may come before the weights.",
    protocols=("grpc", "rest"),
)
def health(context: Context) -> None:
    if not context.probe.wait_until_ready(context.start_seconds).has_health:
        raise Doubtful("there is no health service")


@CHECKS.add(
    "it describes itself",
    fix="Serve Describe (or POST /describe); without it you get every sensor, one action a reply.",
)
def describe(context: Context) -> str:
    try:
        context.described = context.probe.describe(context.task)
    except NotServed:
        raise Doubtful("it does not; the defaults hold") from None
    context.task = offering(context.task, context.described.description.sensors)
    return context.described.description.name


@CHECKS.add("it speaks version 1 of the protocol", fix="Put 1 into protocol_versions, or install the challenge's SDK.")
def protocol_version(context: Context) -> str:
    versions = said(context).protocol_versions
    if versions and 1 not in versions:
        raise Failed(f"it speaks {', '.join(map(str, versions))}")
    return "by default" if not versions else ""


@CHECKS.add("it has a name", fix="Set `name` in the description: the leaderboard shows it.")
def name(context: Context) -> str:
    given = said(context).description.name
    if not given:
        raise Doubtful("it has none")
    if len(given) > 200 or not given.isprintable():
        raise Failed("the name is too long, or has signs that cannot be shown")
    return given


@CHECKS.add(
    "it asks for sensors that exist",
    fix="Ask for sensors of the task, such as rgb or rgb_front; --sensor name:dtype:shape adds some to this check.",
)
def sensors_known(context: Context) -> str:
    unknown = sorted(set(said(context).description.sensors) - set(context.task.sensors))
    if unknown:
        raise Failed(f"{', '.join(unknown)}: not among {', '.join(context.task.sensors)}")
    return ", ".join(said(context).description.sensors) or "all"


@CHECKS.add(
    "it asks for few sensors",
    fix="Name the sensors that you use: whatever you do not ask for is neither rendered nor sent.",
)
def sensors_chosen(context: Context) -> None:
    if not said(context).description.sensors:
        raise Doubtful("it gets all of them")


@CHECKS.add("it asks for encodings that exist", fix="Use raw, jpeg or png.")
def encodings_known(context: Context) -> None:
    if said(context).unknown_encodings:
        raise Failed(f"unknown: {', '.join(said(context).unknown_encodings)}")


@CHECKS.add(
    "its number of episodes at once makes sense", fix="Set max_episodes to what fits into memory, between 1 and 64."
)
def max_episodes(context: Context) -> str:
    number = said(context).description.max_episodes
    if not 1 <= number <= 1024:
        raise Failed(f"it says {number}")
    if number > 64:
        raise Doubtful(f"{number} is a lot")
    return str(number)


@CHECKS.add(
    "its number of actions a reply makes sense", fix="Set max_actions to the length of your action chunks, at most 100."
)
def max_actions(context: Context) -> str:
    number = said(context).description.max_actions
    if not 1 <= number <= 100:
        raise Failed(f"it says {number}")
    return str(number)


@CHECKS.add(
    "it describes itself the same way twice",
    fix="Do not let the description depend on when it is asked.",
    protocols=("grpc", "rest"),
)
def describe_stable(context: Context) -> None:
    before = said(context).raw
    if context.probe.describe(context.task).raw != before:
        raise Failed("the second description differs")
