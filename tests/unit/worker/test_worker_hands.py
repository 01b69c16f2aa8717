"""Who starts when the bell rings, and whose turn it is."""

import threading
from collections.abc import Iterator
from uuid import UUID

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Message
from nav_eval_store.lifecycle import State
from nav_eval_worker.hands import Hands
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration


def test_one_ring_is_enough_for_everything_that_waits(stack: Stack, make_shop) -> None:
    shop = make_shop()
    submissions = [stack.submit(stack.team(name)) for name in ("ada", "bob")]
    assert Hands(shop).work() == 8
    assert {stack.get(submission).state for submission in submissions} == {State.COMPLETED}
    assert Hands(shop).work() == 0  # a message that came twice


def test_a_newcomer_does_not_wait_for_a_team_with_twenty_submissions(stack: Stack, make_shop) -> None:
    """The newcomer comes while the third of twenty is played, and is done before the fourth."""
    order: list[UUID] = []
    newcomer: list[UUID] = []

    def noted(pair: ScriptedPair) -> Iterator[Message]:
        if len(pair.work.episode_ids) > 1:
            order.append(stack.submission_of(pair.work.run))
            if len(order) == 3:
                newcomer.append(stack.submit(stack.team("newcomer")))
        yield from plays_all(pair)

    busy = stack.team("busy")
    twenty = [stack.submit(busy) for _ in range(20)]
    shop = make_shop(ScriptedRuntime(noted), express=False)
    hands = Hands(shop)
    hands.work()
    assert len(order) == 21
    assert order.index(newcomer[0]) == 3
    assert set(order) == {*twenty, *newcomer}


def test_a_verdict_does_not_wait_for_a_shard_to_end(stack: Stack, make_shop) -> None:
    """One hand plays a long shard; the express one checks, tries and refuses to play."""
    end = threading.Event()

    def long(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        if len(pair.work.episode_ids) > 1:
            end.wait(20)
        for episode in pair.work.episode_ids:
            yield played(episode)
        yield Ended()

    shop = make_shop(ScriptedRuntime(long))
    hands = Hands(shop)
    first = stack.submit(stack.team("first"))
    player = threading.Thread(target=hands.work)
    player.start()
    stack.wait_until(lambda: stack.get(first).state is State.RUNNING, seconds=20)
    second = stack.submit(stack.team("second"))
    assert hands.work() == 2  # validate and canary
    assert stack.get(second).state is State.QUEUED
    assert stack.get(second).canary["passed"]
    assert hands.work() == 0  # its shard waits for a hand that may play
    end.set()
    player.join(timeout=20)
    assert stack.get(second).state is State.COMPLETED  # by the hand that got free


def test_a_ring_while_all_hands_are_busy_is_not_forgotten(stack: Stack, make_shop) -> None:
    """What comes at the last moment of a hand's last look is still done."""
    late: list[UUID] = []
    shop = make_shop(express=False)
    hands = Hands(shop)
    look = hands._do_next

    def looks_then_rings(hand: object) -> bool:
        worked = look(hand)
        if not worked and not late:
            late.append(stack.submit(stack.team("late")))
            assert hands.work() == 0  # all hands are busy: this one rings and leaves
        return worked

    hands._do_next = looks_then_rings
    stack.submit(stack.team("early"))
    assert hands.work() == 8
    assert stack.get(late[0]).state is State.COMPLETED


def test_a_worker_that_stops_takes_nothing_new(stack: Stack, make_shop) -> None:
    shop = make_shop()
    stack.submit(stack.team("ada"))
    shop.stopping.set()
    assert Hands(shop).work() == 0


def test_two_workers_never_do_the_same(stack: Stack, make_shop) -> None:
    """Five submissions, two workers, two hands each: every episode is played once."""
    runtimes = [ScriptedRuntime(), ScriptedRuntime()]
    shops = [make_shop(runtime, concurrency=2) for runtime in runtimes]
    submissions = [stack.submit(stack.team(f"team-{number}")) for number in range(5)]
    threads = [threading.Thread(target=hands.work) for shop in shops for hands in [Hands(shop)] for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    for submission in submissions:
        stack.completed(submission, seconds=1)
    shards = [pair for runtime in runtimes for pair in runtime.pairs if len(pair.work.episode_ids) > 1]
    assert len(shards) == len(submissions)
