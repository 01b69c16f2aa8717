"""The board cache: one look for all who wait, none for those who came too late, and bounded memory."""

import asyncio
import threading
import time
from uuid import uuid4

import pytest

from nav_eval_gateway.board_cache import BoardCache, BoardVersion, RenderedAnswer, SingleFlight
from nav_eval_store.errors import NotFound


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 20))


class Slow:
    """A value that is looked up slowly, while it changes."""

    def __init__(self) -> None:
        self.value, self.looks = 0, 0
        self.begun, self.go = threading.Event(), threading.Event()

    def look(self, _key: str) -> int:
        self.looks += 1
        seen = self.value
        self.begun.set()
        self.go.wait(60)
        return seen


def test_who_comes_while_a_look_runs_gets_the_next_one() -> None:
    async def play() -> None:
        slow = Slow()
        shared = SingleFlight(slow.look)
        first = shared.ask("board")
        await asyncio.to_thread(slow.begun.wait)
        slow.value = 1  # after the first look has read, before the others ask
        late = [shared.ask("board") for _ in range(50)]
        slow.go.set()
        assert await first == 0
        assert await asyncio.gather(*late) == [1] * 50
        assert slow.looks == 2

    run(play())


def test_one_who_leaves_takes_the_answer_from_nobody() -> None:
    async def play() -> None:
        slow = Slow()
        shared = SingleFlight(slow.look)
        leaves, stays = shared.ask("board"), shared.ask("board")
        leaves.cancel()
        slow.go.set()
        assert await stays == 0

    run(play())


def test_a_failed_look_is_everybodys_and_not_the_last() -> None:
    async def play() -> None:
        answers = iter([NotFound("no such board"), 7])

        def look(_key: str) -> int:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        shared = SingleFlight(look)
        with pytest.raises(NotFound):
            await shared.ask("board")
        assert await shared.ask("board") == 7

    run(play())


def edition(version: int, phase=uuid4()) -> BoardVersion:  # noqa: B008
    return BoardVersion(phase, uuid4(), version, "public")


def test_a_board_is_rendered_once_per_version_and_viewer() -> None:
    rendered: list[tuple[int, str]] = []

    def render(version: int, kind: str):
        def work() -> RenderedAnswer:
            time.sleep(0.02)
            rendered.append((version, kind))
            return RenderedAnswer(version, kind, f"{version} {kind}".encode())

        return work

    async def play() -> None:
        cache = BoardCache(None)
        for version in (1, 1, 2):
            asked = [cache.get(edition(version), kind, "json", render(version, kind)) for kind in ("public", "team")]
            answers = await asyncio.gather(
                *asked, *(cache.get(edition(version), "public", "json", render(version, "public")) for _ in range(9))
            )
            assert {answer.version for answer in answers} == {version}
        assert sorted(rendered) == [(1, "public"), (1, "team"), (2, "public"), (2, "team")]

    run(play())


def test_a_late_rendering_does_not_replace_a_newer_one() -> None:
    async def play() -> None:
        cache = BoardCache(None)
        gate = threading.Event()

        def old() -> RenderedAnswer:
            gate.wait(60)
            return RenderedAnswer(1, "public", b"old")

        slow = asyncio.create_task(cache.get(edition(1), "public", "json", old))
        await asyncio.sleep(0.01)
        await cache.get(edition(2), "public", "json", lambda: RenderedAnswer(2, "public", b"new"))
        gate.set()
        assert (await slow).body == b"old", "who asked for version 1 may have it"
        kept = await cache.get(edition(2), "public", "json", lambda: pytest.fail("rendered again"))
        assert kept.body == b"new"

    run(play())


def test_memory_is_bounded() -> None:
    async def play() -> None:
        cache = BoardCache(None, most_bytes=1000)
        for number in range(50):
            await cache.get(edition(1), str(number), "json", lambda: RenderedAnswer(1, "x", b"-" * 300))
        assert cache.size <= 1000
        await cache.get(edition(1), "large", "json", lambda: RenderedAnswer(1, "x", b"-" * 5000))
        assert cache.size == 5000, "the one in use stays"

    run(play())


def test_equal_versions_of_different_content_have_different_tags() -> None:
    assert RenderedAnswer(3, "public", b"a").etag != RenderedAnswer(3, "public", b"b").etag
    assert RenderedAnswer(3, "public", b"a").etag == RenderedAnswer(3, "public", b"a").etag
