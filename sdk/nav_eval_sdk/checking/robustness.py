"""Checks: does it bear what a long evaluation brings along?"""

from __future__ import annotations

import numpy as np

from nav_eval_sdk.agent import Observation, SensorSpec, Task
from nav_eval_sdk.checking.checks import INSTRUCTION, Checks, Context, Doubtful, Failed, NotApplicable, said
from nav_eval_sdk.checking.probe import NotServed, ProbeError

CHECKS = Checks()


@CHECKS.add(
    "it repeats a reply if asked again, as it said",
    fix="Answer the same sequence with the same reply and do not act twice, or do not say so.",
    protocols=("grpc", "rest"),
)
def replies_repeated(context: Context) -> None:
    if not said(context).repeats_replies:
        raise NotApplicable("it does not say so")
    episode = context.open()
    context.act(episode, 0)
    reply, again = context.act(episode, 1), episode.ask(context.see(1))
    episode.end()
    if (reply.sequence, reply.actions) != (again.sequence, again.actions):
        raise Failed("the second reply differs")


@CHECKS.add(
    "it reads shared memory",
    fix="Map the file read-only and send back its first 16 bytes, or leave the proof empty.",
    protocols=("grpc",),
)
def shared_memory(context: Context) -> str:
    proof = said(context).proof_is_right
    if proof is None:
        raise Doubtful("it does not: pictures travel by message, which takes several times the CPU on one host")
    if not proof:
        raise Failed("the proof is wrong: it did not read the file that was named")
    return "the proof is right"


@CHECKS.add(
    "shared memory shows it the same",
    fix="Read the region at `offset` of the file named in Reset, in C order.",
    protocols=("grpc",),
)
def shared_memory_equal(context: Context) -> None:
    if not said(context).proof_is_right:
        raise NotApplicable("no shared memory")
    by_message, again = context.play(8), context.play(8)
    if [reply.actions for reply in by_message] != [reply.actions for reply in again]:
        raise NotApplicable("it acts by chance")
    if [reply.actions for reply in context.play(8, shared=True)] != [reply.actions for reply in by_message]:
        raise Failed("it acts differently when the same pictures lie in shared memory")


@CHECKS.add(
    "it takes large observations",
    fix="Raise the server's limit for messages (grpc.max_receive_message_length), 4 MB by default.",
)
def large_observation(context: Context) -> str:
    pictures = [name for name, spec in context.task.sensors.items() if spec.shape and len(spec.shape) == 3]
    wanted = said(context).description.sensors if context.described else {}
    chosen = next((name for name in pictures if not wanted or name in wanted), None)
    if chosen is None:
        raise NotApplicable("it wants no pictures")
    large = SensorSpec("rgb", "uint8", (1536, 2048, 3))
    task = Task(**{**vars(context.task), "sensors": {**context.task.sensors, chosen: large}})
    episode = context.probe.open(task, instruction=INSTRUCTION)
    seen = context.see(0)
    picture = np.zeros(large.shape, np.uint8)
    try:
        episode.act(Observation(0, {**seen.sensors, chosen: picture}, seen.texts))
    except ProbeError as error:
        if "larger than max" in str(error) or "RESOURCE_EXHAUSTED" in str(error):
            raise Failed(str(error)) from None
        raise Doubtful(f"it cannot do with another resolution: {error}") from None
    finally:
        episode.abandon()
    return f"{picture.nbytes / 1e6:.0f} MB"


@CHECKS.add(
    "it reads every instruction",
    fix="Expect any text: none, very long, other alphabets, signs that tokenizers do not know.",
)
def odd_instructions(context: Context) -> None:
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
            raise Failed(f"{kind}: {error}") from None


@CHECKS.add(
    "an evaluator that vanishes does no harm", fix="End an episode whose stream breaks, and accept the next one."
)
def abandoned_episode(context: Context) -> None:
    for _ in range(context.max_episodes + 1):
        episode = context.open()
        context.act(episode, 0)
        episode.abandon()
    context.play(2)


@CHECKS.add(
    "it refuses what belongs to no episode",
    fix="Answer an unknown session_id with an error (INVALID_ARGUMENT or 400).",
    protocols=("grpc", "rest"),
)
def unknown_session(context: Context) -> None:
    try:
        context.probe.act_without_reset(context.see(0))
    except NotServed:
        raise NotApplicable("only streams are served") from None
    except ProbeError:
        return
    raise Doubtful("it acts without a Reset")


@CHECKS.add(
    "it survives a request that is garbage",
    fix="Let the server refuse it; one bad request must not end the process.",
    protocols=("grpc", "rest"),
)
def garbage_request(context: Context) -> None:
    context.probe.send_garbage()
    if not context.probe.is_serving():
        raise Failed("it does not answer any more")


@CHECKS.add(
    "it is fast enough", fix="Make `act` faster, answer several actions at once, or batch episodes with act_batch."
)
def latency(context: Context) -> str:
    middle, slow = context.latencies.percentile(0.5), context.latencies.percentile(0.95)
    limit = context.task.action_seconds
    text = f"median {middle * 1000:.1f} ms, 95 % within {slow * 1000:.1f} ms"
    if slow > limit:
        raise Failed(f"{text}; the limit is {limit:g} s")
    if slow > limit / 2:
        raise Doubtful(f"{text}; that is close to the limit of {limit:g} s")
    return text


@CHECKS.add("it still serves", fix="Look at the agent's log: it broke on the way.")
def still_serving(context: Context) -> None:
    if not context.probe.is_serving():
        raise Failed("it does not answer any more")
    context.play(2)
