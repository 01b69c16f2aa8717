"""A worker without processes: a real store, and a runtime that follows a script."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nav_eval_store.settings import StoreSettings
from nav_eval_worker.context import WorkerContext
from nav_eval_worker.dispatcher import Dispatcher
from nav_eval_worker.jobs import canary
from nav_eval_worker.settings import WorkerSettings
from support.scripted import ScriptedRuntime
from support.stack import Stack
from support.worker import room_benchmark_file

MakeContext = Callable[..., WorkerContext]


@pytest.fixture
def stack(request: pytest.FixtureRequest, tmp_path: Path, room_data: Path) -> Iterator[Stack]:
    """A competition in the room, on SQLite; nobody works yet. The parameter, if any, is what its phase verifies."""
    benchmark = room_benchmark_file(tmp_path, room_data)
    stack = Stack(
        tmp_path,
        database=f"sqlite:///{tmp_path / 'store.db'}",
        benchmark=benchmark,
        verify=getattr(request, "param", "none"),
    )
    yield stack
    stack.close()


@pytest.fixture
def make_context(stack: Stack) -> MakeContext:
    """`make_context(runtime, name="w1", concurrency=1)`: a worker's tools, in this process."""

    def make(runtime: ScriptedRuntime | None = None, **changes: object) -> WorkerContext:
        environment = {**stack.environment, "NAV_EVAL_PATIENCE": "lease=3,backoff=0"}
        settings = replace(WorkerSettings.from_environment(environment), name="w1", **changes)
        assert isinstance(settings.store, StoreSettings)
        return WorkerContext(
            settings=settings,
            database=stack.database,
            blobs=stack.blobs,
            runtime=runtime or ScriptedRuntime(),
            dispatcher=Dispatcher(settings.broker, stack.database, deadlines=settings.deadlines),
        )

    return make


@pytest.fixture
def plain_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes are played in the order of the file; otherwise it is drawn for each submission."""
    monkeypatch.setattr(canary, "draw_order", lambda episodes, seed, rules: [each.episode_id for each in episodes])
