"""What a board of 1,000 teams costs as a page, against the same board as JSON; and what travels to the browser.

The application is asked in this process, so that processor time is the server's alone; the two take turns, so that
whatever else the machine does hits both alike. "Kept" is a board that stands still (the usual case), "changed" one
that has to be rendered anew. The explorer of a submission with 5,000 episodes is asked in turns with one of 50.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from fastapi import FastAPI
from sqlalchemy import delete, insert, select, update
from starlette.types import Message

from bench.store import FEW, LINE, _filled
from nav_eval.records.results import EpisodeStatus
from nav_eval_gateway.app import create_app
from nav_eval_gateway.settings import GatewaySettings
from nav_eval_store.database import Database
from nav_eval_store.models import BoardEntry, EpisodeRow, Job, Phase
from nav_eval_store.settings import StoreSettings
from nav_eval_store.work.broker import Broker

PAGE = "/competitions/bench/dev/board"
JSON = "/api/v1/competitions/bench/phases/dev/leaderboard"


EXPLORED = {
    "first": "",
    "worst": "?sort=score",
    "failures": "?only=unsolved&sort=score&view=gallery",
    "last": "?sort=steps&order=desc",
}
"""Ways to look through episodes."""


class Answer(NamedTuple):
    status: int
    size: int


def run() -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        store = StoreSettings(database=f"sqlite:///{folder}/store.db", blobs=f"{folder}/blobs")
        database = store.open_database()
        _filled(database, FEW)
        few, many = _add_explored(database)
        settings = GatewaySettings(
            store=store,
            broker=Broker(f"filesystem://{Path(folder) / 'broker'}"),
            secret_key="bench" * 8,
            rate_limit=0,
            login_rate_limit=0,
        )
        return asyncio.run(_measure(create_app(settings), database, few, many))


async def _measure(app: FastAPI, database: Database, few: UUID, many: UUID) -> dict[str, object]:
    async with app.router.lifespan_context(app):
        page, json = _asking(app, PAGE), _asking(app, JSON)
        kept = await _in_turns(page, json, repeats=200)
        changed = await _in_turns(page, json, repeats=7, before=lambda: _touch(database))
        plain = await _asking(app, PAGE, gzip=False)()
        whole = await _asking(app, f"{PAGE}?rows=all")()
        explored = {
            name: await _in_turns(_exploring(app, many, query), _exploring(app, few, query), repeats=40)
            for name, query in EXPLORED.items()
        }
        return {
            **{f"explorer_{name}_milliseconds": many_ * 1e3 for name, (many_, _) in explored.items()},
            **{f"explorer_{name}_5000_over_50_ratio": many_ / few_ for name, (many_, few_) in explored.items()},
            "board_kept_milliseconds": kept[0] * 1e3,
            "json_kept_milliseconds": kept[1] * 1e3,
            "board_kept_over_json_ratio": kept[0] / kept[1],
            "board_changed_milliseconds": changed[0] * 1e3,
            "board_changed_over_json_ratio": changed[0] / changed[1],
            "board_kilobytes": plain.size / 1e3,
            "board_gzip_kilobytes": (await page()).size / 1e3,
            "board_all_rows_gzip_kilobytes": whole.size / 1e3,
        }


def _add_explored(database: Database) -> tuple[UUID, UUID]:
    """Two submissions of the board that show 50 and 5,000 episodes to everybody."""
    with database.begin() as session:
        phase = session.scalars(select(Phase)).one()
        phase.settings = {**phase.settings, "visibility": dict.fromkeys(("scores", "replays", "episodes"), "public")}
        first, second = session.scalars(select(BoardEntry.submission_id).limit(2)).all()
        for submission, count in ((first, 50), (second, 5000)):
            session.execute(delete(EpisodeRow).where(EpisodeRow.submission_id == submission))
            job = session.scalars(select(Job.id).where(Job.submission_id == submission).limit(1)).one()
            session.execute(insert(EpisodeRow), [_make_row(submission, job, n) for n in range(count)])
        return first, second


def _make_row(submission: UUID, job: UUID, number: int) -> dict[str, object]:
    value = number * 7919 % 5003 / 5003
    return {
        "submission_id": submission,
        "job_id": job,
        "episode_id": f"ep_{number}",
        "position": number,
        "scene_id": f"house_{number % 20}",
        "status": EpisodeStatus.COMPLETED,
        "success": value > 0.5,
        "num_steps": int(value * 500),
        "score": value,
        "outcome": LINE,
        "replay_key": f"replays/{number}",
    }


def _exploring(app: FastAPI, submission: UUID, query: str) -> Callable[[], Awaitable[Answer]]:
    return _asking(app, f"/submissions/{submission}/episodes{query}")


def _asking(app: FastAPI, path: str, *, gzip: bool = True) -> Callable[[], Awaitable[Answer]]:
    """A browser's request, without a network in between."""
    address, _, query = path.partition("?")
    headers = [(b"host", b"localhost"), (b"accept", b"text/html,application/json;q=0.9,*/*;q=0.8")]
    headers += [(b"accept-encoding", b"gzip")] if gzip else []

    async def ask() -> Answer:
        status, size = 0, 0

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": address,
            "raw_path": address.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        await app(scope, receive, send)
        assert status == 200, (path, status)
        return Answer(status, size)

    return ask


async def _in_turns(
    one: Callable[[], Awaitable[Answer]],
    other: Callable[[], Awaitable[Answer]],
    *,
    repeats: int,
    before: Callable[[], None] = lambda: None,
) -> tuple[float, float]:
    """Median processor seconds of both; a first turn is left out."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        for ask, kept in zip((one, other), times, strict=True):
            before()
            started = time.process_time()
            await ask()
            if turn:
                kept.append(time.process_time() - started)
    return statistics.median(times[0]), statistics.median(times[1])


def _touch(database: Database) -> None:
    """Something that the board shows has changed."""
    with database.begin() as session:
        session.execute(update(Phase).values(board_version=Phase.board_version + 1))
