"""A film that somebody asked for is made of one episode; what cannot be made is not tried again and again."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest

from nav_eval.evaluation.shard_protocol import Drawn, Ended, Filmed, Message, Purpose, Recorded
from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.database import Session
from nav_eval_store.submissions import films, queries
from nav_eval_store.submissions.films import FilmProgress, FilmState
from nav_eval_store.submissions.lifecycle import JobKind, SubmissionState
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.job_runner import run_next_job
from support.challenge import TEST
from support.scripted import Replay, ScriptedRuntime
from support.stack import Stack

pytestmark = pytest.mark.integration


def films_what_is_there(replay: Replay) -> Iterator[Message]:
    lines = (replay.work.folder / "episodes.jsonl").read_bytes().splitlines()
    for line in lines[: replay.work.episodes]:
        episode = msgspec.json.decode(line)["episode_id"]
        yield Filmed(episode_id=episode, replay=msgspec.Raw(msgspec.json.encode({"episode_id": episode})))
    yield Ended()


def cannot(replay: Replay) -> Iterator[Message]:
    del replay
    yield Ended(cause=Cause.INFRASTRUCTURE, detail="no OpenGL")


def completed(stack: Stack, context: WorkerContext) -> UUID:
    submission = stack.submit(stack.team("ada"))
    while run_next_job(context):
        pass
    with stack.database.read() as session:
        assert queries.get_submission(session, submission).state is SubmissionState.COMPLETED
    return submission


def ask(stack: Stack, submission: UUID, episode: str, kind: JobKind = JobKind.FILM) -> FilmState:
    return stack.database.run(
        lambda session: films.request_film(
            session, queries.get_submission(session, submission), episode, actor=TEST, kind=kind
        )
    )


def state(stack: Stack, submission: UUID, episode: str) -> FilmState:
    with stack.database.read() as session:
        return films.get_film_state(session, queries.get_submission(session, submission), episode)


@pytest.mark.usefixtures("plain_order")
def test_one_episode_is_filmed(stack: Stack, make_context: Any) -> None:
    runtime = ScriptedRuntime(replays=films_what_is_there)
    context = make_context(runtime, films=1)
    submission = completed(stack, context)
    before = len(runtime.replayed)
    ask(stack, submission, "d")
    assert run_next_job(context)
    assert context.blobs.exists(blob_keys.make_film_key(submission, "d"))
    assert not context.blobs.exists(blob_keys.make_film_key(submission, "c"))
    assert len(runtime.replayed) == before + 1
    assert state(stack, submission, "d") is FilmState.ENDED
    assert not run_next_job(context)


def test_one_that_cannot_be_made_ends_all_the_same(stack: Stack, make_context: Any) -> None:
    context = make_context(ScriptedRuntime(replays=cannot), films=1)
    submission = completed(stack, context)
    ask(stack, submission, "d")
    assert run_next_job(context)
    assert state(stack, submission, "d") is FilmState.ENDED
    assert not context.blobs.exists(blob_keys.make_film_key(submission, "d"))
    assert not run_next_job(context)


def test_a_worker_that_stops_leaves_it_to_another(stack: Stack, make_context: Any) -> None:
    def is_stopped(replay: Replay) -> Iterator[Message]:
        context.stopping.set()
        yield from cannot(replay)

    other = make_context(ScriptedRuntime(replays=films_what_is_there), films=1)
    submission = completed(stack, other)
    context = make_context(ScriptedRuntime(replays=is_stopped), films=1)
    ask(stack, submission, "d")
    assert run_next_job(context)
    assert state(stack, submission, "d") is FilmState.WAITING
    assert run_next_job(other)
    assert other.blobs.exists(blob_keys.make_film_key(submission, "d"))


def test_a_video_is_made_and_its_progress_is_known(stack: Stack, make_context: Any) -> None:
    seen: list[FilmProgress] = []

    def records(replay: Replay) -> Iterator[Message]:
        if replay.work.purpose is not Purpose.VIDEO:
            yield Ended()
            return
        yield Drawn(steps=40, total=120)
        with stack.database.read() as session:
            seen.append(find_progress(session, submission))
        yield Recorded(episode_id="d", video=b"moving pictures")
        yield Ended()

    context = make_context(ScriptedRuntime(replays=records), films=1)
    submission = completed(stack, context)
    ask(stack, submission, "d", kind=JobKind.VIDEO)
    assert run_next_job(context)
    assert seen == [FilmProgress(FilmState.MAKING, 40, 120)]
    assert context.blobs.get(blob_keys.make_video_key(submission, "d")) == b"moving pictures"
    assert not context.blobs.exists(blob_keys.make_film_key(submission, "d"))
    with stack.database.read() as session:
        assert find_progress(session, submission).state is FilmState.ENDED
        assert queries.get_submission(session, submission).state is SubmissionState.COMPLETED


def find_progress(session: Session, submission: UUID) -> FilmProgress:
    return films.get_film_progress(session, queries.get_submission(session, submission), "d", kind=JobKind.VIDEO)


def test_a_job_is_kept_when_nothing_can_be_measured(stack: Stack, make_context: Any) -> None:
    from nav_eval_store.work import leases
    from nav_eval_store.work.usage import AgentUsage
    from nav_eval_worker.lease_keeper import LeaseKeeper

    def broken() -> AgentUsage:
        raise OSError("no such cgroup")

    context = make_context()
    stack.submit(stack.team("ada"))
    lease = stack.database.run(lambda session: leases.claim_next_job(session, "w1"))
    assert lease is not None
    with LeaseKeeper(context, lease) as keeper, keeper.watch(lambda: None, measure=broken):
        keeper.add_usage(AgentUsage(2.0, None))
        time.sleep(1.2)  # two signs of life
        keeper.check()
        with stack.database.read() as session:
            assert leases.is_held(session, lease)


def test_what_an_agent_uses_is_known_before_the_score(stack: Stack, make_context: Any) -> None:
    from nav_eval_store.submissions.status import read_status
    from nav_eval_store.work.queues import JobQueue
    from nav_eval_store.work.usage import AgentUsage

    context = make_context()
    submission = stack.submit(stack.team("ada"))
    for queue in (JobQueue.QUICK, JobQueue.QUICK, JobQueue.SHARDS):  # validate, canary, shard
        assert run_next_job(context, [queue])
    with stack.database.read() as session:
        known = read_status(session, queries.get_submission(session, submission))
    assert known.used == AgentUsage(1.5, 1000)
    assert known.state is not SubmissionState.COMPLETED
