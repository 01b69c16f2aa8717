"""Whole challenges with real workers: Postgres and Redis, or SQLite and files."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.postgres import PostgresServer, postgres_server
from support.redis import RedisServer, redis_server
from support.stack import Stack
from support.worker import agent_source, room_benchmark_file

__all__ = ["postgres_server", "redis_server"]  # a Postgres of its own, which tests crash

MakeStack = Callable[..., Stack]


@pytest.fixture(scope="session")
def engine_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is made from the room's scene, made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory, room_data: Path, engine_cache: Path) -> dict[str, Any]:
    """`nav-eval evaluate` of the same agent on the same benchmark: its results.json, episodes by id beside it."""
    folder = tmp_path_factory.mktemp("reference")
    benchmark = room_benchmark_file(folder, room_data)
    (folder / "agent.py").write_text(agent_source())
    command = [sys.executable, "-m", "nav_eval.cli", "evaluate", str(benchmark), "--out", str(folder / "run")]
    agent = f"{sys.executable} {folder / 'agent.py'}"
    environment = {**os.environ, "NAV_EVAL_CACHE": str(engine_cache)}
    subprocess.run([*command, "--agent", agent], check=True, capture_output=True, env=environment)
    report: dict[str, Any] = json.loads((folder / "run" / "results.json").read_text())
    lines = (folder / "run" / "episodes.jsonl").read_text().splitlines()
    report["by_episode"] = {line["episode_id"]: line for line in map(json.loads, lines)}
    return report


@pytest.fixture
def make_stack(
    request: pytest.FixtureRequest, tmp_path: Path, room_data: Path, engine_cache: Path
) -> Iterator[MakeStack]:
    """`make_stack()` is on Postgres and Redis, `make_stack("sqlite")` on SQLite and files."""
    made: list[Stack] = []

    def make(kind: str = "postgres", **phase: Any) -> Stack:
        if kind == "sqlite":
            database, broker = f"sqlite:///{tmp_path / 'store.db'}", None
        else:
            postgres: PostgresServer = request.getfixturevalue("postgres_server")
            redis: RedisServer = request.getfixturevalue("redis_server")
            database, broker = postgres.create_database(), redis.url
        benchmark = room_benchmark_file(tmp_path, room_data)
        phase.setdefault("verify", "none")
        stack = Stack(tmp_path, database=database, broker=broker, benchmark=benchmark, **phase)
        stack.environment |= {
            "NAV_EVAL_CACHE": str(engine_cache),
            "NAV_EVAL_PATIENCE": "lease=4,backoff=0.2,dispatch=2",
            "NAV_EVAL_WORKER_LOOK": "1",
        }
        made.append(stack)
        return stack

    yield make
    for stack in made:
        stack.close()
