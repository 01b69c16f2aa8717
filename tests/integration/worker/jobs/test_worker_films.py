"""Films are kept as they come, within their time; that none can be made is nobody's fault."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nav_eval.evaluation.shard_protocol import Ended, Filmed, Message, Purpose
from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.work import leases
from nav_eval_store.work.leases import Lease
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.jobs import replay as replay_job
from nav_eval_worker.lease_keeper import LeaseKeeper
from nav_eval_worker.runtime.base import RuntimeUnavailable
from support.load import measure_slowdown
from support.scripted import Replay, ScriptedRuntime
from support.stack import Stack

pytestmark = pytest.mark.integration

FILM = Filmed(episode_id="a/b", replay=msgspec.Raw(b'{"episode_id":"a/b"}'))


@pytest.fixture
def lease(stack: Stack) -> Lease:
    stack.submit(stack.team("ada"))
    lease = stack.database.run(lambda session: leases.claim_next_job(session, "w1"))
    assert lease is not None
    return lease


def made(context: WorkerContext, lease: Lease, folder: Path) -> int:
    with LeaseKeeper(context, lease) as keeper:
        keeper.stop_renewing()
        return replay_job.make_films(context, keeper, folder)


def makes_one(replay: Replay) -> Iterator[Message]:
    yield FILM
    yield Ended()


def crashes(replay: Replay) -> Iterator[Message]:
    yield FILM


def cannot(replay: Replay) -> Iterator[Message]:
    yield Ended(cause=Cause.INFRASTRUCTURE, detail="no OpenGL")


def is_slow(replay: Replay) -> Iterator[Message]:
    replay.stopped.wait(60)
    yield FILM


def test_a_film_is_kept_where_pages_look_for_it(make_context: Any, lease: Lease, tmp_path: Path) -> None:
    context = make_context(ScriptedRuntime(replays=makes_one), films=2)
    assert made(context, lease, tmp_path) == 1
    assert b"a/b" in context.blobs.get(blob_keys.make_film_key(lease.submission_id, "a/b"))
    (work,) = context.runtime.replayed
    assert (work.run, work.purpose, work.episodes) == (str(lease.id), Purpose.FILM, 2)


@pytest.mark.parametrize(("script", "count"), [(crashes, 1), (cannot, 0)])
def test_a_simulator_that_fails_leaves_what_it_made(
    make_context: Any, lease: Lease, tmp_path: Path, script: Any, count: int
) -> None:
    assert made(make_context(ScriptedRuntime(replays=script), films=1), lease, tmp_path) == count


def test_a_runtime_that_fails_costs_nothing_but_the_films(make_context: Any, lease: Lease, tmp_path: Path) -> None:
    class Broken(ScriptedRuntime):
        def replay(self, work: object) -> Any:
            raise RuntimeUnavailable

    assert made(make_context(Broken(), films=1), lease, tmp_path) == 0


@pytest.mark.parametrize("why", ["the worker stops", "the time is up"])
def test_films_are_not_waited_for(
    make_context: Any, lease: Lease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    context = make_context(ScriptedRuntime(replays=is_slow), films=1)
    if why == "the worker stops":
        context.stopping.set()
    else:
        monkeypatch.setattr(replay_job, "FILM_SECONDS", 0.2)
    begun = time.monotonic()
    assert made(context, lease, tmp_path) == 0
    assert time.monotonic() - begun < 20 * measure_slowdown()


def test_films_can_be_switched_off(make_context: Any, lease: Lease, tmp_path: Path) -> None:
    context = make_context(ScriptedRuntime(replays=makes_one), films=0)
    assert made(context, lease, tmp_path) == 0
    assert context.runtime.replayed == []
