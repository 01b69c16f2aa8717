"""What each ending of a pair means for a submission; the simulator's words come from a script."""

import threading
import time
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from sqlalchemy import select

from nav_eval.evaluation.aliases import draw_sample
from nav_eval.evaluation.shard_protocol import Beat, Checked, Ended, Message, Purpose
from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.audit import make_system_actor
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions import moderation
from nav_eval_store.competitions.visibility import ORGANISER
from nav_eval_store.models import AuditEvent, EntryVisibility, LeaseEnd
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import workers
from nav_eval_worker import lease_keeper
from nav_eval_worker.archives import ArchiveInvalid
from nav_eval_worker.job_runner import run_next_job
from nav_eval_worker.jobs import canary, score, shard
from nav_eval_worker.runtime.agent_end import AgentEnd
from support.challenge import TEST
from support.load import measure_slowdown
from support.scripted import READY, Replay, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration


def test_a_submission_goes_all_the_way(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime()
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    kinds = []
    while run_next_job(context):
        kinds.append(len(runtime.pairs))
    ended = stack.completed(submission)
    assert kinds == [0, 1, 2, 2]  # validate, canary, shard, score
    canary, whole = (pair.work.episode_ids for pair in runtime.pairs)
    assert (canary, sorted(whole)) == (whole[:1], ["a", "b", "c", "d"])
    assert ended.canary["agent"] == {"name": "Scripted", "version": "1"}
    assert ended.canary["steps"] == 3
    assert stack.scores(submission)["tar"][0] == 0.5
    assert ended.provenance["usage"]["memory_bytes"] == 1000
    assert stack.blobs.get(blob_keys.make_episode_log_key(submission, whole[1])) == b"words\n"
    assert (
        stack.blobs.get(blob_keys.make_episode_log_key(submission, whole[3])) == b"words\n" * 3
    )  # with what came after the end
    assert stack.blobs.get(blob_keys.make_replay_key(submission, "c")).startswith(b'{"episode_id":"c"')


def test_the_canary_is_cut_short_and_the_shard_is_not(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime()
    context = make_context(runtime)
    stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    trial, real = (pair.work.benchmark.evaluation.max_steps for pair in runtime.pairs)
    assert (trial, real) == (12, 12)
    long = runtime.pairs[1].work.benchmark.model_copy(
        update={"evaluation": runtime.pairs[1].work.benchmark.evaluation.model_copy(update={"max_steps": 500})}
    )
    assert canary.shorten_benchmark(long).evaluation.max_steps == canary.STEPS


def test_a_line_is_not_torn_where_an_episode_ends(stack: Stack, make_context) -> None:
    """A program may write a line and its end one after the other: the line goes where its end goes."""

    def script(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        printed = (b"one\ntw", b"o\nthree", b"\n", b"x" * 5000)
        for episode, words in zip(pair.work.episode_ids, printed, strict=True):
            pair.words = words
            yield played(episode)
        pair.words = b""
        yield Ended()

    runtime = ScriptedRuntime(plays_all, script)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    logs = [blob_keys.make_episode_log_key(submission, episode) for episode in runtime.pairs[1].work.episode_ids]
    assert [stack.blobs.get(log) for log in logs] == [b"one\n", b"two\n", b"three\n", b"x" * 5000]


def crashes_at(episode: str, cause: Cause = Cause.AGENT_OOM) -> "Iterator[Message]":
    def script(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        for known in pair.work.episode_ids:
            if known == episode:
                pair.end = AgentEnd(cause=cause, detail="killed at 16 GB")
                yield played(known, status="failed", cause="agent_crash", detail="the connection broke")
                yield Ended(cause=Cause.AGENT_CRASH, detail="the connection broke")
                return
            yield played(known)
        yield Ended()

    return script


@pytest.mark.usefixtures("plain_order")
def test_a_dead_agent_costs_its_episode_and_is_started_again(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime(plays_all, crashes_at("b"), plays_all)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert [pair.work.episode_ids for pair in runtime.pairs[1:]] == [("a", "b", "c", "d"), ("c", "d")]
    results = stack.episodes(submission)
    assert [result["status"] for result in results.values()] == ["completed", "failed", "completed", "completed"]
    assert (results["b"]["cause"], results["b"]["detail"]) == ("agent_oom", "killed at 16 GB")  # who started it knows


def test_an_agent_that_brings_down_the_simulator_is_to_blame(
    stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a fork bomb does in a pod: the simulator ends without a word, or says that it cannot start a thread."""

    def starves(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield Ended(cause=Cause.INFRASTRUCTURE, detail="RuntimeError: can't start new thread")

    blamed = AgentEnd(cause=Cause.AGENT_CRASH, detail="The agent started so many processes that none was left.")
    monkeypatch.setattr(ScriptedPair, "find_sabotage", lambda self, said: blamed if "thread" in said else None)
    context = make_context(ScriptedRuntime(starves))
    submission = stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.get(submission)
    assert (ended.state, ended.cause) == (SubmissionState.FAILED, Cause.AGENT_CRASH)


@pytest.mark.usefixtures("plain_order")
def test_an_agent_that_was_killed_by_others_plays_its_episode_again(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime(plays_all, crashes_at("b", Cause.INFRASTRUCTURE), plays_all)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert [pair.work.episode_ids for pair in runtime.pairs[1:]] == [("a", "b", "c", "d"), ("b", "c", "d")]
    assert {result["status"] for result in stack.episodes(submission).values()} == {"completed"}


@pytest.mark.parametrize(("answers", "starts"), [(True, 2), (False, 3)])
def test_an_agent_that_always_dies_is_given_up(
    stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch, answers: bool, starts: int
) -> None:
    """Sooner if it does not even answer any more."""
    monkeypatch.setattr(shard, "MOST_FRUITLESS_STARTS", 2 if answers else 10)

    def dies(pair: ScriptedPair) -> Iterator[Message]:
        if answers:
            yield READY
            yield played(pair.work.episode_ids[0], status="failed", cause="agent_crash", metrics={})
        yield Ended(cause=Cause.AGENT_CRASH, detail="gone")

    runtime = ScriptedRuntime(plays_all, dies)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert len(runtime.pairs) == 1 + starts
    assert [result["cause"] for result in stack.episodes(submission).values()] == ["agent_crash"] * 4
    assert stack.scores(submission)["tar"][0] == 0.0


@pytest.mark.parametrize("cause", [cause for cause in Cause if cause.name.startswith(("AGENT", "PROTOCOL"))])
def test_the_canary_tells_the_team_what_is_wrong(stack: Stack, make_context, cause: Cause) -> None:
    def refuses(pair: ScriptedPair) -> Iterator[Message]:
        yield Ended(cause=cause, detail="because of this")

    context, submission = make_context(ScriptedRuntime(refuses)), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.get(submission)
    assert (ended.state, ended.cause, ended.detail) == (SubmissionState.FAILED, cause, "because of this")
    assert ended.canary == {"passed": False, "cause": cause, "detail": "because of this"}
    assert stack.blobs.get(blob_keys.make_agent_log_key(submission)).startswith(b"words\n")


def test_an_agent_that_dies_before_it_answers_is_not_waited_for(stack: Stack, make_context) -> None:
    def waits(pair: ScriptedPair) -> Iterator[Message]:
        pair.end = AgentEnd(cause=Cause.AGENT_CRASH, detail="exit code 1")
        while True:
            yield Beat()

    context, submission = make_context(ScriptedRuntime(waits)), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    assert (stack.get(submission).cause, stack.get(submission).detail) == (Cause.AGENT_CRASH, "exit code 1")


def test_a_slow_agent_passes_the_canary(stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "_compute_timeout", lambda *_: 0.05)

    def is_slow(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        while True:
            time.sleep(0.02)
            yield Beat()

    context, submission = make_context(ScriptedRuntime(is_slow, plays_all)), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    assert stack.completed(submission).canary["steps"] is None


@pytest.mark.usefixtures("plain_order")
def test_a_simulator_that_dies_is_our_fault(stack: Stack, make_context) -> None:
    """Tried again from where it was; what was finished stays; the team hears no secrets."""

    def dies(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played(pair.work.episode_ids[0])

    runtime = ScriptedRuntime(plays_all, dies, plays_all)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert [pair.work.episode_ids for pair in runtime.pairs[1:]] == [("a", "b", "c", "d"), ("b", "c", "d")]
    failed = [lease for lease in stack.leases(submission) if lease.end is LeaseEnd.FAILED]
    assert len(failed) == 1
    assert "secret" not in (failed[0].detail or "")


def test_we_give_up_after_three_failures_and_charge_nothing(stack: Stack, make_context) -> None:
    def dies(pair: ScriptedPair) -> Iterator[Message]:
        yield Ended(cause=Cause.INFRASTRUCTURE, detail="/data/test/secret.glb is missing")

    runtime = ScriptedRuntime(dies)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.get(submission)
    assert (ended.state, ended.cause, len(runtime.pairs)) == (SubmissionState.FAILED, Cause.INFRASTRUCTURE, 3)
    assert "secret" not in (ended.detail or "")


def test_an_image_that_is_refused_fails_with_the_reason(stack: Stack, make_context) -> None:
    class Strict(ScriptedRuntime):
        def admit(self, archive, *, limits=None):
            raise ArchiveInvalid("Two images: save one.")

    context, submission = make_context(Strict()), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.get(submission)
    assert (ended.state, ended.cause, ended.detail) == (
        SubmissionState.FAILED,
        Cause.IMAGE_INVALID,
        "Two images: save one.",
    )


def test_an_unexpected_error_is_ours_and_says_no_more_than_its_kind(stack: Stack, make_context) -> None:
    class Broken(ScriptedRuntime):
        def admit(self, archive, *, limits=None):
            raise OSError("disk /secret is full")

    context, submission = make_context(Broken()), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.get(submission)
    assert (ended.state, ended.cause) == (SubmissionState.FAILED, Cause.INFRASTRUCTURE)
    assert "OSError" in ended.detail
    assert "secret" not in ended.detail


def endless(pair: ScriptedPair) -> Iterator[Message]:
    """Plays its first episode and then for ever, but listens to `stop`."""
    yield READY
    yield played(pair.work.episode_ids[0])
    while not pair.stopped.wait(0.02):
        yield Beat()


def working(context, submission: UUID, stack: Stack) -> threading.Thread:
    """Somebody who works in a thread until the shard's first episode is done."""

    def work() -> None:
        while not context.stopping.is_set() and run_next_job(context):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    stack.wait_until(lambda: stack.finished(submission) == 1, seconds=20)
    return thread


def test_a_cancelled_submission_stops_within_seconds(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime(plays_all, endless)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    thread = working(context, submission, stack)
    stack.cancel(submission)
    thread.join(timeout=5 * measure_slowdown())
    assert not thread.is_alive()
    assert runtime.pairs[-1].stopped.is_set()
    assert stack.get(submission).state is SubmissionState.CANCELLED
    assert stack.finished(submission) == 1


@pytest.mark.usefixtures("plain_order")
def test_a_worker_that_stops_gives_its_shard_back(stack: Stack, make_context) -> None:
    context, submission = (
        make_context(ScriptedRuntime(plays_all, endless), grace_seconds=0.1),
        stack.submit(stack.team("ada")),
    )
    thread = working(context, submission, stack)
    context.stopping.set()
    thread.join(timeout=5 * measure_slowdown())
    assert not thread.is_alive()
    assert stack.leases(submission)[-1].end is LeaseEnd.RELEASED
    again = make_context(ScriptedRuntime())
    while run_next_job(again):
        pass
    stack.completed(submission)
    assert again.runtime.pairs[-1].work.episode_ids == ("b", "c", "d")


def test_a_simulator_that_falls_silent_is_ended(stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_keeper, "SILENCE_SECONDS", 0.2)

    def hangs(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        pair.stopped.wait(30)

    runtime = ScriptedRuntime(hangs, plays_all)
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    began = time.monotonic()
    while run_next_job(context):
        pass
    assert time.monotonic() - began < 15 * measure_slowdown()
    stack.completed(submission)
    assert "hung" in str(next(lease.detail for lease in stack.leases(submission) if lease.end is LeaseEnd.FAILED))


def test_what_comes_after_the_lease_is_lost_is_not_written(stack: Stack, make_context) -> None:
    """A worker that was given up for dead plays on, and another one plays the same shard."""
    other = make_context(ScriptedRuntime())

    def is_overtaken(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        job = stack.leases(submission)[-1].job_id
        with stack.database.begin() as session:
            row = stack.leases(submission)[-1]
            session.merge(row).expires_at = session.now()
        from nav_eval_store.work import leases

        with stack.database.begin() as session:
            assert leases.expire_lease(session, job, deadlines=context.deadlines)
        while run_next_job(other):
            pass
        yield played("a", metrics={"tar": 99.0})
        yield Ended()

    context, submission = make_context(ScriptedRuntime(plays_all, is_overtaken)), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert stack.episodes(submission)["a"]["metrics"]["tar"] == 0.5


def test_a_draining_worker_takes_nothing(stack: Stack, make_context) -> None:
    context, submission = make_context(), stack.submit(stack.team("ada"))
    with stack.database.begin() as session:
        workers.register_worker(session, "w1", host="here", version="1")
        workers.drain_workers(session, ["w1"], actor=TEST, reason="new kernel")
    assert not run_next_job(context)
    assert stack.get(submission).state is SubmissionState.VALIDATING
    with stack.database.begin() as session:
        workers.undrain_workers(session, ["w1"], actor=TEST)
    assert run_next_job(context)


def test_other_rules_than_those_submitted_to_are_never_played(stack: Stack, make_context) -> None:
    runtime = ScriptedRuntime()
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    file = stack.folder / "room_benchmark.yaml"
    file.write_text(file.read_text().replace("max_steps: 12", "max_steps: 13"))
    while run_next_job(context):
        pass
    assert stack.get(submission).cause is Cause.INFRASTRUCTURE
    assert "other rules" in stack.get(submission).detail
    assert runtime.pairs == []


def replays(*messages: Message) -> Callable[[Replay], Iterator[Message]]:
    return lambda _: iter(messages)


@pytest.mark.parametrize(
    ("stack", "found", "limit", "is_verified"),
    [
        ("all", Checked(episodes=4, steps=12), None, True),
        ("all", Checked(episodes=4, steps=12, differences=("spl is 1.0",)), None, False),
        ("sample", Checked(episodes=4, steps=12), score.SAMPLE, False),
    ],
    indirect=["stack"],
)
def test_only_what_was_replayed_as_a_whole_is_verified(
    stack: Stack, make_context, found: Checked, limit: int | None, is_verified: bool
) -> None:
    runtime = ScriptedRuntime(replays=replays(found, Ended()))
    context, submission = make_context(runtime), stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    ended = stack.completed(submission)
    assert [(work.purpose, work.episodes) for work in runtime.replayed] == [(Purpose.CHECK, limit)]
    assert is_marked_verified(stack) is is_verified
    assert ended.provenance["verification"] == {"episodes": 4, "steps": 12, "equal": found.equal}


def is_marked_verified(stack: Stack) -> bool:
    with stack.database.read() as session:
        board = leaderboard.build_board(session, stack.phase(session), ORGANISER)
        (row,) = (*board.rows, *board.withheld)
        return row.verified_at is not None


@pytest.mark.parametrize("stack", ["sample"], indirect=True)
def test_a_run_that_does_not_replay_is_held_back(stack: Stack, make_context) -> None:
    """It is completed and has its score, but no rank; the organiser reads what differs, and lets it go or not."""
    differs = Checked(episodes=4, steps=12, differences=("episode 'c': spl is 1.0, the run says 0.2",))
    context, submission = (
        make_context(ScriptedRuntime(replays=replays(differs, Ended()))),
        stack.submit(stack.team("ada")),
    )
    while run_next_job(context):
        pass
    stack.completed(submission)
    with stack.database.read() as session:
        board = leaderboard.build_board(session, stack.phase(session), ORGANISER)
        assert board.rows == []
        (row,) = board.withheld
        assert (row.visibility, row.rank) == (EntryVisibility.HELD, None)
        assert "spl" not in (row.reason or ""), "the team reads the reason; what differs is of the test set"
        (line,) = session.scalars(select(AuditEvent).where(AuditEvent.action == "submission.held"))
        assert line.details["difference"] == differs.differences[0]
    with stack.database.begin() as session:
        moderation.show_submission(session, submission, actor=make_system_actor("olga"), reason="our renderer's fault")
        phase = stack.phase(session).id
    ranking.update_ranks(stack.database, phase)
    with stack.database.read() as session:
        (row,) = leaderboard.build_board(session, stack.phase(session)).rows
        assert row.rank == 1


@pytest.mark.parametrize("stack", ["sample"], indirect=True)
def test_the_sample_is_drawn_after_the_upload(stack: Stack, make_context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score, "SAMPLE", 2)
    team, drawn = stack.team("ada"), set()
    runtime = ScriptedRuntime()
    context = make_context(runtime)
    for _ in range(8):
        submission = stack.submit(team)
        while run_next_job(context):
            pass
        seed = stack.completed(submission).provenance["episode_seed"]
        work = runtime.replayed[-1]
        assert work.episode_ids == draw_sample(("a", "b", "c", "d"), seed, 2)
        drawn.add(frozenset(work.episode_ids or ()))
    assert len(drawn) > 1, "it is not always the same"


def test_each_submission_has_its_own_names_and_order(stack: Stack, make_context) -> None:
    """The order in which episodes are played and the ids that the agent sees are drawn for each submission."""
    runtime, team = ScriptedRuntime(), stack.team("ada")
    context = make_context(runtime)
    for _ in range(6):
        stack.submit(team)
        while run_next_job(context):
            pass
    played = [pair.work for pair in runtime.pairs if len(pair.work.episode_ids) > 1]
    assert {frozenset(work.episode_ids) for work in played} == {frozenset("abcd")}
    assert len({work.episode_ids for work in played}) > 1
    assert len({work.episode_seed for work in played}) == len(played) == 6


@pytest.mark.parametrize("stack", ["all"], indirect=True)
def test_a_replay_that_dies_is_our_fault_and_tried_again(stack: Stack, make_context) -> None:
    told: list[list[Message]] = [[], [Checked(episodes=4, steps=12), Ended()]]
    context = make_context(ScriptedRuntime(replays=lambda _: iter(told.pop(0))))
    submission = stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    stack.completed(submission)
    assert is_marked_verified(stack)
    assert [lease.end for lease in stack.leases(submission)][-2:] == [LeaseEnd.FAILED, LeaseEnd.DONE]
