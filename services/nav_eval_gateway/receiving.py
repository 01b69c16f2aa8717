"""Bytes from a request into a blob, never more than a few of them in memory.

While a thread writes (and hashes) one block, the next one arrives. What came before a cut stays, so
that the upload goes on from there.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from nav_eval_gateway.errors import ChecksumMismatch, TooSlow
from nav_eval_gateway.tus import Checksum
from nav_eval_store.appending import Appender

T = TypeVar("T")
BLOCK = 4 << 20
"""Bytes that are written at once."""

Block = list[bytes]
Notice = Callable[[int], Awaitable[None]]


async def pieces(receive: Receive, *, idle_seconds: float) -> AsyncIterator[bytes]:
    """The body as it comes. A client that goes away, or falls silent, is told from one that is done."""
    more = True
    while more:
        try:
            async with asyncio.timeout(idle_seconds):
                message = await receive()
        except TimeoutError:
            raise TooSlow(
                "No byte came for {idle_seconds:g} s; what came before is kept, go on from there.",
                idle_seconds=idle_seconds,
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        more = message.get("more_body", False)
        if body := message.get("body", b""):
            yield body


async def receive_into(
    appending: AbstractContextManager[Appender],
    arriving: AsyncIterator[bytes],
    *,
    checksum: Checksum | None = None,
    notice: Notice | None = None,
) -> int:
    """Append what arrives; the new offset. `notice` hears the offset after every block."""
    async with _in_threads(appending) as appender:
        try:
            await _write_all(appender, arriving, checksum, notice)
        except BaseException:
            if checksum is not None:  # it cannot hold for a part of the bytes
                appender.undo()
            raise
        if checksum is not None and not checksum.holds:
            appender.undo()
            raise ChecksumMismatch
        return appender.offset


async def _write_all(
    appender: Appender, arriving: AsyncIterator[bytes], checksum: Checksum | None, notice: Notice | None
) -> None:
    """One block is being written while the next one is received."""
    writing: asyncio.Task[None] | None = None
    block: Block = []
    size = 0
    try:
        async for piece in arriving:
            block.append(piece)
            size += len(piece)
            if size >= BLOCK:
                if writing is not None:
                    await writing
                    if notice is not None:
                        await notice(appender.offset)
                writing = asyncio.create_task(run_in_threadpool(_write, appender, block, checksum))
                block, size = [], 0
    finally:  # the rest, also of a body that was cut
        if writing is not None:
            await writing
        if block:
            await run_in_threadpool(_write, appender, block, checksum)


def _write(appender: Appender, block: Block, checksum: Checksum | None) -> None:
    for piece in block:
        appender.write(piece)
        if checksum is not None:
            checksum.seen.update(piece)


@asynccontextmanager
async def _in_threads(manager: AbstractContextManager[T]) -> AsyncIterator[T]:
    """A context whose beginning and end take time: locks, and bytes on their way to the disk."""
    entered = await run_in_threadpool(manager.__enter__)
    try:
        yield entered
    except BaseException as error:
        await run_in_threadpool(manager.__exit__, type(error), error, error.__traceback__)
        raise
    else:
        await run_in_threadpool(manager.__exit__, None, None, None)
