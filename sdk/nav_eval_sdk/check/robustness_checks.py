"""Checks: does it bear what a long evaluation brings along?"""

from __future__ import annotations

import numpy as np

from nav_eval_sdk.agent import Observation, SensorSpec, Task
from nav_eval_sdk.check.checks import (
    SAMPLE_INSTRUCTION,
    CheckContext,
    CheckDoubtful,
    CheckFailed,
    Checks,
    CheckSkipped,
    NotServed,
    ProbeError,
    require_description,
)

ROBUSTNESS_CHECKS = Checks()


@ROBUSTNESS_CHECKS.add(
    "it repeats a reply if asked again, as it said",
    fix="Answer the same sequence with the same reply and do not act twice, or do not say so.",
    protocols=("grpc", "rest"),
)
def check_replies_repeated(context: CheckContext) -> None:
    if not require_description(context).repeats_replies:
        raise CheckSkipped("it does not say so")
    episode = context.open()
    context.act(episode, 0)
    reply, again = context.act(episode, 1), episode.ask(context.see(1))
    episode.end()
    if (reply.sequence, reply.actions) != (again.sequence, again.actions):
        raise CheckFailed("the second reply differs")


@ROBUSTNESS_CHECKS.add(
    "it reads shared memory",
    fix="Map the file read-only and send back its first 16 bytes, or leave the proof empty.",
    protocols=("grpc",),
)
def check_shared_memory(context: CheckContext) -> str:
    proof = require_description(context).proof_is_right
    if proof is None:
        raise CheckDoubtful("it does not: pictures travel by message, which takes several times the CPU on one host")
    if not proof:
        raise CheckFailed("the proof is wrong: it did not read the file that was named")
    return "the proof is right"


@ROBUSTNESS_CHECKS.add(
    "shared memory shows it the same",
    fix="Read the region at `offset` of the file named in Reset, in C order.",
    protocols=("grpc",),
)
def check_shared_memory_equal(context: CheckContext) -> None:
    if not require_description(context).proof_is_right:
        raise CheckSkipped("no shared memory")
    by_message, again = context.play(8), context.play(8)
    if [reply.actions for reply in by_message] != [reply.actions for reply in again]:
        raise CheckSkipped("it acts by chance")
    if [reply.actions for reply in context.play(8, shared=True)] != [reply.actions for reply in by_message]:
        raise CheckFailed("it acts differently when the same pictures lie in shared memory")


@ROBUSTNESS_CHECKS.add(
    "it takes large observations",
    fix="Raise the server's limit for messages (grpc.max_receive_message_length), 4 MB by default.",
)
def check_large_observation(context: CheckContext) -> str:
    pictures = [name for name, spec in context.task.sensors.items() if spec.shape and len(spec.shape) == 3]
    wanted = require_description(context).description.sensors if context.described else {}
    chosen = next((name for name in pictures if not wanted or name in wanted), None)
    if chosen is None:
        raise CheckSkipped("it wants no pictures")
    large = SensorSpec("rgb", "uint8", (1536, 2048, 3))
    task = Task(**{**vars(context.task), "sensors": {**context.task.sensors, chosen: large}})
    episode = context.probe.open(task, instruction=SAMPLE_INSTRUCTION)
    seen = context.see(0)
    picture = np.zeros(large.shape, np.uint8)
    try:
        episode.act(Observation(0, {**seen.sensors, chosen: picture}, seen.texts))
    except ProbeError as error:
        if "larger than max" in str(error) or "RESOURCE_EXHAUSTED" in str(error):
            raise CheckFailed(str(error)) from None
        raise CheckDoubtful(f"it cannot do with another resolution: {error}") from None
    finally:
        episode.abandon()
    return f"{picture.nbytes / 1e6:.0f} MB"


@ROBUSTNESS_CHECKS.add(
    "it reads every instruction",
    fix="Expect any text: none, very long, other alphabets, signs that tokenizers do not know.",
)
def check_odd_instructions(context: CheckContext) -> None:
    odd = {
        "empty": "",
        "long": "turn left and then " * 600,
        "mixed": "走到厨房 🚪 «ванная» السرير\n\t\u200b",
        "nul": "a\0b",
    }
    for kind, text in odd.items():
        try:
            episode = context.open(instruction=text)
            context.act(episode, 0)
            episode.end()
        except ProbeError as error:
            raise CheckFailed(f"{kind}: {error}") from None


@ROBUSTNESS_CHECKS.add(
    "an evaluator that vanishes does no harm", fix="End an episode whose stream breaks, and accept the next one."
)
def check_abandoned_episode(context: CheckContext) -> None:
    for _ in range(context.max_episodes + 1):
        episode = context.open()
        context.act(episode, 0)
        episode.abandon()
    context.play(2)


@ROBUSTNESS_CHECKS.add(
    "it refuses what belongs to no episode",
    fix="Answer an unknown session_id with an error (INVALID_ARGUMENT or 400).",
    protocols=("grpc", "rest"),
)
def check_unknown_session(context: CheckContext) -> None:
    try:
        context.probe.act_without_reset(context.see(0))
    except NotServed:
        raise CheckSkipped("only streams are served") from None
    except ProbeError:
        return
    raise CheckDoubtful("it acts without a Reset")


@ROBUSTNESS_CHECKS.add(
    "it survives a request that is garbage",
    fix="Let the server refuse it; one bad request must not end the process.",
    protocols=("grpc", "rest"),
)
def check_garbage_request(context: CheckContext) -> None:
    context.probe.send_garbage()
    if not context.probe.is_serving():
        raise CheckFailed("it does not answer any more")


@ROBUSTNESS_CHECKS.add(
    "it is fast enough", fix="Make `act` faster, answer several actions at once, or batch episodes with act_batch."
)
def check_latency(context: CheckContext) -> str:
    middle, slow = context.latencies.percentile(0.5), context.latencies.percentile(0.95)
    limit = context.task.action_seconds
    text = f"median {middle * 1000:.1f} ms, 95 % within {slow * 1000:.1f} ms"
    if slow > limit:
        raise CheckFailed(f"{text}; the limit is {limit:g} s")
    if slow > limit / 2:
        raise CheckDoubtful(f"{text}; that is close to the limit of {limit:g} s")
    return text


@ROBUSTNESS_CHECKS.add("it still serves", fix="Look at the agent's log: it broke on the way.")
def check_still_serving(context: CheckContext) -> None:
    if not context.probe.is_serving():
        raise CheckFailed("it does not answer any more")
    context.play(2)
