"""The checks, in the order in which they make sense. Each has a name, and says what to fix when it fails."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from nav_eval_sdk.agent import Action, Observation, SensorSpec, Task
from nav_eval_sdk.checking.probe import Described, Latencies, NotServed, Probe, ProbeEpisode, ProbeError, Reply
from nav_eval_sdk.checking.scene import moment
from nav_eval_sdk.errors import SdkError

STEPS = 30
INSTRUCTION = "Leave the bedroom, turn left at the sofa and wait by the kitchen table."


class Failed(Exception):
    """The agent does something wrong."""


class Doubtful(Exception):
    """The agent may do this, but it will probably be sorry."""


class NotApplicable(Exception):
    """There is nothing to check here."""


@dataclass
class Context:
    """What the checks share."""

    probe: Probe
    task: Task
    start_seconds: float
    described: Described | None = None
    latencies: Latencies = field(default_factory=Latencies)
    first: list[Reply] = field(default_factory=list)

    def see(self, step: int) -> Observation:
        wanted = self.described.description.sensors if self.described else ()
        return moment(self.task, step, wanted=wanted)

    def open(self, *, instruction: str = INSTRUCTION, shared: bool = False) -> ProbeEpisode:
        return self.probe.open(self.task, instruction=instruction, shared=shared)

    def act(self, episode: ProbeEpisode, step: int) -> Reply:
        reply = episode.act(self.see(step))
        self.latencies.seconds.append(reply.seconds)
        return reply

    def play(self, steps: int = 5, *, shared: bool = False) -> list[Reply]:
        episode = self.open(shared=shared)
        replies = [self.act(episode, step) for step in range(steps)]
        episode.end()
        return replies

    @property
    def max_actions(self) -> int:
        return self.described.description.max_actions if self.described else 1

    @property
    def max_episodes(self) -> int:
        return self.described.description.max_episodes if self.described else 1


@dataclass(frozen=True)
class Check:
    """One thing that an agent must do, or should."""

    name: str
    title: str  #: what is expected, in a few words
    fix: str  #: what to do when it is not so
    run: Callable[[Context], str | None]  #: returns a remark; raises when something is wrong
    protocols: tuple[str, ...] = ("grpc", "rest", "websocket")
    essential: bool = False  #: without it the others mean nothing


CHECKS: list[Check] = []


def check(
    title: str, *, fix: str, protocols: Iterable[str] = ("grpc", "rest", "websocket"), essential: bool = False
) -> Callable[[Callable[[Context], str | None]], Callable[[Context], str | None]]:
    def add(run: Callable[[Context], str | None]) -> Callable[[Context], str | None]:
        CHECKS.append(Check(run.__name__, title, fix, run, tuple(protocols), essential))
        return run

    return add


# Being there -----------------------------------------------------------------------------------------------


@check("the agent becomes ready", fix="Serve before you load weights, on the address that you check.", essential=True)
def ready(context: Context) -> str:
    readiness = context.probe.wait_until_ready(context.start_seconds)
    return f"after {readiness.seconds:.1f} s"


@check(
    "it says when it is ready",
    fix="Serve grpc.health.v1.Health (or GET /health): without it the first episode may come before the weights.",
    protocols=("grpc", "rest"),
)
def health(context: Context) -> None:
    if not context.probe.wait_until_ready(context.start_seconds).has_health:
        raise Doubtful("there is no health service")


@check(
    "it describes itself",
    fix="Serve Describe (or POST /describe); without it you get every sensor, one action a reply.",
)
def describe(context: Context) -> str:
    try:
        context.described = context.probe.describe(context.task)
    except NotServed:
        raise Doubtful("it does not; the defaults hold") from None
    return context.described.description.name


def _said(context: Context) -> Described:
    if context.described is None:
        raise NotApplicable("no description")
    return context.described


@check("it speaks version 1 of the protocol", fix="Put 1 into protocol_versions, or install the challenge's SDK.")
def protocol_version(context: Context) -> str:
    versions = _said(context).protocol_versions
    if versions and 1 not in versions:
        raise Failed(f"it speaks {', '.join(map(str, versions))}")
    return "by default" if not versions else ""


@check("it has a name", fix="Set `name` in the description: the leaderboard shows it.")
def name(context: Context) -> str:
    given = _said(context).description.name
    if not given:
        raise Doubtful("it has none")
    if len(given) > 200 or not given.isprintable():
        raise Failed("the name is too long, or has signs that cannot be shown")
    return given


@check(
    "it asks for sensors that exist",
    fix="Ask only for sensors of the task; --sensor name:dtype:shape adds some to this check.",
)
def sensors_known(context: Context) -> str:
    unknown = sorted(set(_said(context).description.sensors) - set(context.task.sensors))
    if unknown:
        raise Failed(f"{', '.join(unknown)}: not among {', '.join(context.task.sensors)}")
    return ", ".join(_said(context).description.sensors) or "all"


@check(
    "it asks for few sensors",
    fix="Name the sensors that you use: whatever you do not ask for is neither rendered nor sent.",
)
def sensors_chosen(context: Context) -> None:
    if not _said(context).description.sensors:
        raise Doubtful("it gets all of them")


@check("it asks for encodings that exist", fix="Use raw, jpeg or png.")
def encodings_known(context: Context) -> None:
    if _said(context).unknown_encodings:
        raise Failed(f"unknown: {', '.join(_said(context).unknown_encodings)}")


@check("its number of episodes at once makes sense", fix="Set max_episodes to what fits into memory, between 1 and 64.")
def max_episodes(context: Context) -> str:
    number = _said(context).description.max_episodes
    if not 1 <= number <= 1024:
        raise Failed(f"it says {number}")
    if number > 64:
        raise Doubtful(f"{number} is a lot")
    return str(number)


@check(
    "its number of actions a reply makes sense", fix="Set max_actions to the length of your action chunks, at most 100."
)
def max_actions(context: Context) -> str:
    number = _said(context).description.max_actions
    if not 1 <= number <= 100:
        raise Failed(f"it says {number}")
    return str(number)


@check(
    "it describes itself the same way twice",
    fix="Do not let the description depend on when it is asked.",
    protocols=("grpc", "rest"),
)
def describe_stable(context: Context) -> None:
    before = _said(context).raw
    if context.probe.describe(context.task).raw != before:
        raise Failed("the second description differs")


# Acting ----------------------------------------------------------------------------------------------------


@check("it starts an episode", fix="Answer Reset within its time; do not load weights there.", essential=True)
def reset(context: Context) -> str:
    started = time.monotonic()
    episode = context.open()
    took = time.monotonic() - started
    episode.abandon()
    return f"in {took * 1000:.0f} ms"


@check(
    "it answers an observation", fix="Answer every Act with an ActReply that holds at least one action.", essential=True
)
def first_action(context: Context) -> str:
    context.first = context.play(5)
    if not all(reply.actions for reply in context.first):
        raise Failed("a reply has no action")
    return context.first[0].actions[0].name


def _actions(context: Context) -> list[Action]:
    return [action for reply in context.first for action in reply.actions]


@check("its actions exist in the task", fix="Answer with the names in Task.actions, letter by letter.")
def actions_known(context: Context) -> None:
    unknown = sorted({action.name for action in _actions(context)} - set(context.task.actions))
    if unknown:
        raise Failed(f"{', '.join(unknown)!r:.100}: not among {', '.join(context.task.actions)}")


@check(
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


@check("it answers no more actions than it said", fix="Raise max_actions in the description, or send fewer.")
def actions_counted(context: Context) -> None:
    most = max(len(reply.actions) for reply in context.first)
    if most > context.max_actions:
        raise Failed(f"{most} in one reply, and max_actions is {context.max_actions}")


@check(
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


@check("it numbers its replies", fix="Echo `sequence`: mix-ups are then found instead of scored.")
def sequence_echoed(context: Context) -> None:
    if any(not reply.sequence for reply in context.first):
        raise Doubtful("it does not")
    if [reply.sequence for reply in context.first] != list(range(1, len(context.first) + 1)):
        raise Failed(f"it answers {[reply.sequence for reply in context.first]}")


@check("it does a longer episode", fix="Look at the agent's log: something breaks after a few steps.")
def longer_episode(context: Context) -> str:
    replies = context.play(STEPS)
    return f"{len(replies)} observations"


@check("it takes leave", fix="Answer End, then close the stream, and free what the episode needed.")
def end(context: Context) -> None:
    episode = context.open()
    context.act(episode, 0)
    if not episode.end():
        raise Doubtful("it does not serve End and learns of it by the next Reset")


@check(
    "an episode without a single observation is fine", fix="Accept End directly after Reset: a scene may fail to load."
)
def empty_episode(context: Context) -> None:
    context.open().end()


@check(
    "the next episode does not depend on the one before",
    fix="Forget everything in Reset: memory, hidden state, random seeds.",
)
def no_leftovers(context: Context) -> None:
    first, second = context.play(8), context.play(8)
    if [reply.actions for reply in first] != [reply.actions for reply in second]:
        raise Doubtful("the same observations get other actions: leftovers, or chance that is not seeded")


@check("it does as many episodes at once as it said", fix="Keep state by session_id, or lower max_episodes.")
def concurrent_episodes(context: Context) -> str:
    count = min(context.max_episodes, 8)
    if count == 1:
        raise NotApplicable("one at a time")
    _together(context, count)
    return f"{count} at once"


@check("episodes at once do not mix", fix="Keep state by session_id: each episode has its own memory.")
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


# Being robust ----------------------------------------------------------------------------------------------


@check(
    "it repeats a reply if asked again, as it said",
    fix="Answer the same sequence with the same reply and do not act twice, or do not say so.",
    protocols=("grpc", "rest"),
)
def replies_repeated(context: Context) -> None:
    if not _said(context).repeats_replies:
        raise NotApplicable("it does not say so")
    episode = context.open()
    context.act(episode, 0)
    reply, again = context.act(episode, 1), episode.ask(context.see(1))
    episode.end()
    if (reply.sequence, reply.actions) != (again.sequence, again.actions):
        raise Failed("the second reply differs")


@check(
    "it reads shared memory",
    fix="Map the file read-only and send back its first 16 bytes, or leave the proof empty.",
    protocols=("grpc",),
)
def shared_memory(context: Context) -> str:
    proof = _said(context).proof_is_right
    if proof is None:
        raise Doubtful("it does not: pictures travel by message, which takes several times the CPU on one host")
    if not proof:
        raise Failed("the proof is wrong: it did not read the file that was named")
    return "the proof is right"


@check(
    "shared memory shows it the same",
    fix="Read the region at `offset` of the file named in Reset, in C order.",
    protocols=("grpc",),
)
def shared_memory_equal(context: Context) -> None:
    if not _said(context).proof_is_right:
        raise NotApplicable("no shared memory")
    by_message, again = context.play(8), context.play(8)
    if [reply.actions for reply in by_message] != [reply.actions for reply in again]:
        raise NotApplicable("it acts by chance")
    if [reply.actions for reply in context.play(8, shared=True)] != [reply.actions for reply in by_message]:
        raise Failed("it acts differently when the same pictures lie in shared memory")


@check(
    "it takes large observations",
    fix="Raise the server's limit for messages (grpc.max_receive_message_length), 4 MB by default.",
)
def large_observation(context: Context) -> str:
    pictures = [name for name, spec in context.task.sensors.items() if spec.shape and len(spec.shape) == 3]
    wanted = _said(context).description.sensors if context.described else {}
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


@check(
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


@check("an evaluator that vanishes does no harm", fix="End an episode whose stream breaks, and accept the next one.")
def abandoned_episode(context: Context) -> None:
    for _ in range(context.max_episodes + 1):
        episode = context.open()
        context.act(episode, 0)
        episode.abandon()
    context.play(2)


@check(
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


@check(
    "it survives a request that is garbage",
    fix="Let the server refuse it; one bad request must not end the process.",
    protocols=("grpc", "rest"),
)
def garbage_request(context: Context) -> None:
    context.probe.send_garbage()
    if not context.probe.is_serving():
        raise Failed("it does not answer any more")


@check("it is fast enough", fix="Make `act` faster, answer several actions at once, or batch episodes with act_batch.")
def latency(context: Context) -> str:
    middle, slow = context.latencies.percentile(0.5), context.latencies.percentile(0.95)
    limit = context.task.action_seconds
    text = f"median {middle * 1000:.1f} ms, 95 % within {slow * 1000:.1f} ms"
    if slow > limit:
        raise Failed(f"{text}; the limit is {limit:g} s")
    if slow > limit / 2:
        raise Doubtful(f"{text}; that is close to the limit of {limit:g} s")
    return text


@check("it still serves", fix="Look at the agent's log: it broke on the way.")
def still_serving(context: Context) -> None:
    if not context.probe.is_serving():
        raise Failed("it does not answer any more")
    context.play(2)
