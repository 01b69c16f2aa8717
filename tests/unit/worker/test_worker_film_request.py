"""A film that somebody asked for is made of one episode; what cannot be made is not tried again and again."""

import time
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec
import pytest

from nav_eval.causes import Cause
from nav_eval.evaluation.shard_protocol import Ended, Filmed, Message
from nav_eval_store import films, places, submissions
from nav_eval_store.films import FilmState
from nav_eval_store.lifecycle import State
from nav_eval_worker.doing import do_next
from nav_eval_worker.workshop import Workshop
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


def completed(stack: Stack, shop: Workshop) -> UUID:
    submission = stack.submit(stack.team("ada"))
    while do_next(shop):
        pass
    with stack.database.read() as session:
        assert submissions.get(session, submission).state is State.COMPLETED
    return submission


def ask(stack: Stack, submission: UUID, episode: str) -> FilmState:
    return stack.database.run(
        lambda session: films.ask(session, submissions.get(session, submission), episode, actor=TEST)
    )


def state(stack: Stack, submission: UUID, episode: str) -> FilmState:
    with stack.database.read() as session:
        return films.state(session, submissions.get(session, submission), episode)


def test_one_episode_is_filmed(stack: Stack, make_shop: Any) -> None:
    runtime = ScriptedRuntime(replays=films_what_is_there)
    shop = make_shop(runtime, films=1)
    submission = completed(stack, shop)
    before = len(runtime.replayed)
    ask(stack, submission, "d")
    assert do_next(shop)
    assert shop.blobs.exists(places.film(submission, "d"))
    assert not shop.blobs.exists(places.film(submission, "c"))
    assert len(runtime.replayed) == before + 1
    assert state(stack, submission, "d") is FilmState.ENDED
    assert not do_next(shop)


def test_one_that_cannot_be_made_ends_all_the_same(stack: Stack, make_shop: Any) -> None:
    shop = make_shop(ScriptedRuntime(replays=cannot), films=1)
    submission = completed(stack, shop)
    ask(stack, submission, "d")
    assert do_next(shop)
    assert state(stack, submission, "d") is FilmState.ENDED
    assert not shop.blobs.exists(places.film(submission, "d"))
    assert not do_next(shop)


def test_a_worker_that_stops_leaves_it_to_another(stack: Stack, make_shop: Any) -> None:
    def is_stopped(replay: Replay) -> Iterator[Message]:
        shop.stopping.set()
        yield from cannot(replay)

    other = make_shop(ScriptedRuntime(replays=films_what_is_there), films=1)
    submission = completed(stack, other)
    shop = make_shop(ScriptedRuntime(replays=is_stopped), films=1)
    ask(stack, submission, "d")
    assert do_next(shop)
    assert state(stack, submission, "d") is FilmState.WAITING
    assert do_next(other)
    assert other.blobs.exists(places.film(submission, "d"))


def test_a_job_is_kept_when_nothing_can_be_measured(stack: Stack, make_shop: Any) -> None:
    from nav_eval_store import leases
    from nav_eval_store.using import Used
    from nav_eval_worker.holding import Hold

    def broken() -> Used:
        raise OSError("no such cgroup")

    shop = make_shop()
    stack.submit(stack.team("ada"))
    lease = stack.database.run(lambda session: leases.claim_next(session, "w1"))
    assert lease is not None
    with Hold(shop, lease) as hold, hold.guarding(lambda: None, measure=broken):
        hold.spend(Used(2.0, None))
        time.sleep(1.2)  # two signs of life
        hold.check()
        with stack.database.read() as session:
            assert leases.is_held(session, lease)


def test_what_an_agent_uses_is_known_before_the_score(stack: Stack, make_shop: Any) -> None:
    from nav_eval_store.lifecycle import JobKind
    from nav_eval_store.status import status
    from nav_eval_store.using import Used

    shop = make_shop()
    submission = stack.submit(stack.team("ada"))
    for kind in (JobKind.VALIDATE, JobKind.CANARY, JobKind.SHARD):
        assert do_next(shop, (kind,))
    with stack.database.read() as session:
        known = status(session, submissions.get(session, submission))
    assert known.used == Used(1.5, 1000)
    assert known.state is not State.COMPLETED
