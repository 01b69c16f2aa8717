"""What a worker does without being told: recovery, ranks, a clean host; whatever the clock says."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from nav_eval.evaluation.shard_protocol import Ended, Message
from nav_eval_store import boards, leases, ranking, workers
from nav_eval_store.clock import ManualClock
from nav_eval_store.database import Database
from nav_eval_store.lifecycle import JobKind, State
from nav_eval_store.messages import Broker
from nav_eval_store.models import LeaseEnd, LeaseRow
from nav_eval_store.viewing import ORGANISER
from nav_eval_worker.attendance import AFTERWORK, Broom, attending
from nav_eval_worker.beat import Beat
from nav_eval_worker.bell import Bell
from nav_eval_worker.doing import do_next
from nav_eval_worker.hands import Hands
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played, plays_all
from support.stack import Stack

pytestmark = pytest.mark.integration


def test_the_beat_ranks_and_tells(stack: Stack, make_shop) -> None:
    shop = make_shop()
    beat = Beat(shop)
    submission = stack.submit(stack.team("ada"))
    assert beat.round() == 1  # tells about the job that waits
    assert beat.round() == 0  # once
    Hands(shop).work()
    stack.completed(submission)
    assert stack.read(ranking.unranked_phases)
    beat.round()
    assert not stack.read(ranking.unranked_phases)
    with stack.database.read() as session:
        assert not boards.leaderboard(session, stack.phase(session), ORGANISER).provisional


def test_what_nobody_heard_is_told_again(stack: Stack, make_shop) -> None:
    shop = make_shop()
    shop.bell = Bell(Broker("redis://127.0.0.1:1/0"))
    stack.submit(stack.team("ada"))
    assert Beat(shop).round() == 1
    assert Beat(shop).round() == 1  # at once, not after a minute


def test_a_step_that_fails_does_not_keep_the_others_from_being_done(
    stack: Stack, make_shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError

    shop = make_shop()
    monkeypatch.setattr(ranking, "unranked_phases", fails)
    stack.submit(stack.team("ada"))
    assert Beat(shop).round() == 1


def test_a_worker_is_listed_while_it_is_there(stack: Stack, make_shop) -> None:
    shop = make_shop(concurrency=3, look_seconds=0.05)
    submission = stack.submit(stack.team("ada"))
    with attending(shop, Hands(shop)):
        (listed,) = stack.read(workers.alive)
        assert (listed.name, listed.slots, listed.abilities["express"]) == ("w1", 3, True)
        stack.completed(submission)  # it looks by itself: nobody told it anything
        assert (shop.settings.folder / "alive" / "w1").exists()  # for a health check
    assert stack.read(workers.alive) == []


def test_what_a_dead_worker_left_is_swept(stack: Stack, make_shop) -> None:
    swept: list[str] = []

    class Messy(ScriptedRuntime):
        def sweep(self, is_active) -> int:
            swept.extend(run for run in (str(lease.id), "dead") if not is_active(run))
            return len(swept)

    shop = make_shop(Messy())
    stack.submit(stack.team("ada"))
    lease = stack.database.run(lambda session: leases.claim_next(session, "w1"))
    assert lease is not None
    runs = shop.settings.folder / "runs"
    for name in (str(lease.id), "dead"):
        (runs / name).mkdir(parents=True)
    assert Broom(shop).sweep() == 1
    assert swept == ["dead"]
    assert [folder.name for folder in runs.iterdir()] == [str(lease.id)]


@pytest.mark.parametrize(
    ("end", "seconds", "is_swept"),
    [
        (LeaseEnd.DONE, 1, False),  # it may be making films
        (LeaseEnd.DONE, AFTERWORK.total_seconds() + 1, True),
        (LeaseEnd.LOST, 1, True),
    ],
)
def test_a_job_that_is_done_has_time_for_its_films(
    stack: Stack, make_shop, end: LeaseEnd, seconds: float, is_swept: bool
) -> None:
    clock = ManualClock()
    shop = make_shop()
    shop.database = stack.database = Database(stack.environment["NAV_EVAL_DATABASE"], clock=clock)
    stack.submit(stack.team("ada"))
    lease = shop.database.run(lambda session: leases.claim_next(session, "w1"))
    with shop.database.begin() as session:
        row = session.get_one(LeaseRow, lease.id)
        row.end, row.released_at = end, clock.now()
    clock.advance(seconds=seconds)
    folder = shop.settings.folder / "runs" / str(lease.id)
    folder.mkdir(parents=True)
    Broom(shop).sweep()
    assert folder.exists() is not is_swept


def test_what_a_lost_worker_left_is_swept_when_its_lease_has_run_out(stack: Stack, make_shop) -> None:
    """Nobody has to start anything again: a worker that is there looks often enough."""
    shop = make_shop(look_seconds=0.05)
    shop.settings = replace(shop.settings, patience=replace(shop.patience, lease=timedelta(seconds=0.3)))
    stack.submit(stack.team("ada"))
    lost = stack.database.run(lambda session: leases.claim_next(session, "w0", patience=shop.patience))
    left = shop.settings.folder / "runs" / str(lost.id)
    left.mkdir(parents=True)
    with attending(shop, Hands(shop)):
        time.sleep(0.4)
        Beat(shop).round()
        stack.wait_until(lambda: not left.exists(), seconds=10)


@pytest.mark.parametrize(
    ("jump", "reaped"),
    [
        ({"days": 1}, True),  # every lease looks long dead, and is taken from its worker
        ({"days": -1}, False),  # none ever gets old
        ({"seconds": 2}, False),
    ],
)
def test_a_clock_that_jumps_costs_time_and_nothing_else(
    stack: Stack, make_shop, jump: dict[str, float], reaped: bool
) -> None:
    """The clock jumps in the middle of a shard, and the beat looks at once."""
    clock = ManualClock()
    shop = make_shop()
    shop.database = stack.database = Database(stack.environment["NAV_EVAL_DATABASE"], clock=clock)
    beat = Beat(shop)

    def jumps(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played("a")
        stack.wait_until(lambda: stack.finished(submission) == 1)
        clock.advance(**jump)
        beat.round()
        for episode in ("b", "c", "d"):
            yield played(episode)
        yield Ended()

    shop.runtime = ScriptedRuntime(plays_all, jumps, plays_all)
    submission = stack.submit(stack.team("ada"))
    for _ in range(10):
        while do_next(shop):
            pass
        clock.advance(seconds=30)
        beat.round()
    ended = stack.completed(submission)
    assert ended.state is State.COMPLETED
    assert len(stack.episodes(submission)) == 4
    assert stack.scores(submission)["tar"] == (0.5, 0.0, 0.5, 0.5, 4)
    ends = [lease.end.value for lease in stack.leases(submission)]
    assert ("lost" in ends) is reaped
    assert len(ends) == 4 + reaped


def test_the_patience_of_a_worker_is_its_leases(stack: Stack, make_shop) -> None:
    shop = make_shop()
    shop.settings = replace(shop.settings, patience=replace(shop.patience, lease=shop.patience.lease * 10))
    submission = stack.submit(stack.team("ada"))
    assert do_next(shop, (JobKind.VALIDATE,))
    (lease,) = stack.leases(submission)
    assert (lease.expires_at - lease.acquired_at).total_seconds() == pytest.approx(30, abs=5)


def test_a_worker_waits_for_what_is_in_its_hands(stack: Stack, make_shop) -> None:
    """Told to stop, it comes to its end only when the episode has, and says that it stopped last of all."""

    def is_slow(pair: ScriptedPair) -> Iterator[Message]:
        yield READY
        yield played("a")
        shop.stopping.set()
        time.sleep(0.5)
        yield played("b")
        yield Ended()

    shop = make_shop(ScriptedRuntime(plays_all, is_slow), look_seconds=0.05)
    submission = stack.submit(stack.team("ada"))
    with attending(shop, Hands(shop)):
        assert shop.stopping.wait(20)
    assert shop.runtime.pairs[-1].stopped.is_set()
    assert stack.leases(submission)[-1].end is LeaseEnd.RELEASED
    assert stack.finished(submission) >= 1


def test_a_worker_whose_row_is_gone_registers_again(stack: Stack, make_shop) -> None:
    shop = make_shop(look_seconds=0.05)
    with attending(shop, Hands(shop)):
        with stack.database.begin() as session:
            session.delete(session.get_one(workers.Worker, "w1"))
        stack.wait_until(lambda: len(stack.read(workers.alive)) == 1, seconds=10)
