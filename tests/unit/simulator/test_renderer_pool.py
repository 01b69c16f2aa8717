"""Simulators of one process draw with one renderer per scene, and every one of them gets its own pictures."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.config.schema.benchmark import RenderingConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.simulator import renderer_pool
from nav_eval.simulator.base import Simulator, SimulatorSetup, open_simulator
from nav_eval.simulator.renderer_pool import RendererPool
from nav_eval.simulator.rendering import Device, PendingFrames, Renderer
from nav_eval.simulator.scene_manager import NavigableScene, SceneManager

ACTIONS = ["move_forward", "turn_left", "move_forward", "turn_right", "turn_right"]


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> RendererPool:
    monkeypatch.setattr(renderer_pool, "RENDERERS", RendererPool())  # other tests may have left theirs open
    return renderer_pool.RENDERERS


@pytest.fixture
def open_another(
    pool: RendererPool, room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> Iterator[Callable[[], Simulator]]:
    benchmark = room_benchmark()
    episode = next(iter(load_episodes(benchmark)))
    with ExitStack() as stack:

        def open_one() -> Simulator:
            simulator = stack.enter_context(open_simulator(SimulatorSetup(benchmark=benchmark, cache=tmp_path)))
            simulator.reset(episode)
            return simulator

        yield open_one


def walk(simulator: Simulator) -> list[bytes]:
    seen = [simulator.step(action) for action in ACTIONS * 3]
    return [value.tobytes() for moment in seen for value in moment.values() if isinstance(value, np.ndarray)]


def test_episodes_in_threads_share_a_renderer_and_see_what_one_alone_sees(
    pool: RendererPool, open_another: Callable[[], Simulator]
) -> None:
    alone = walk(open_another())
    players = [open_another() for _ in range(4)]
    with ThreadPoolExecutor(len(players)) as threads:
        assert all(seen == alone for seen in threads.map(walk, players))
    assert len(pool) == 1


def test_one_thread_draws_for_all_as_soon_as_a_second_one_asks(pool: RendererPool) -> None:
    ours = threading.get_ident()
    assert [pool.draw(threading.get_ident) for _ in range(3)] == [ours] * 3
    with ThreadPoolExecutor(4) as players:
        drew = set(players.map(lambda _: pool.draw(threading.get_ident), range(20)))
    drawer = pool.draw(threading.get_ident)
    assert drew == {drawer}
    assert drawer != ours


def test_what_fails_while_it_is_drawn_fails_for_its_own_episode_alone(pool: RendererPool) -> None:
    def look(number: int) -> int:
        return pool.draw(lambda: 60 // number)

    with ThreadPoolExecutor(4) as players:
        looks = [players.submit(look, number) for number in (1, 2, 0, 3, 0, 4)]
    assert [str(each.exception()) if each.exception() else each.result() for each in looks] == [
        *(60, 30, "integer division or modulo by zero", 20, "integer division or modulo by zero", 15)
    ]


def test_a_renderer_lives_until_its_last_simulator_is_closed(
    pool: RendererPool, open_another: Callable[[], Simulator]
) -> None:
    first, second = open_another(), open_another()
    first.close()
    assert walk(second)
    assert len(pool) == 1
    second.close()
    assert len(pool) == 0


@pytest.mark.parametrize(
    ("settings", "trilinear"),
    [
        ({}, None),  # as the device likes it
        ({"filter": "trilinear"}, True),
        ({"filter": "bilinear"}, False),
        ({"render_quality": "low"}, False),
        ({"render_quality": "low", "filter": "trilinear"}, True),  # who names a filter gets it
    ],
)
def test_the_filter_is_the_configured_one(settings: dict[str, str], trilinear: bool | None) -> None:
    assert renderer_pool._choose_filter(RenderingConfig(**settings)) is trilinear


def test_episodes_at_once_share_a_scene_and_its_ground(
    room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path
) -> None:
    """Meshes with distance fields, and what is drawn, are in memory once, and no longer than they are used."""
    benchmark = room_benchmark()
    episode = next(iter(load_episodes(benchmark)))

    def open_place(cache: Path) -> NavigableScene:
        return SceneManager(benchmark, cache=cache).open(episode.scene_id, benchmark.robot(None))

    one, other, elsewhere = open_place(tmp_path / "a"), open_place(tmp_path / "a"), open_place(tmp_path / "b")
    assert one is not other
    assert one.ground is other.ground
    assert one.prepared is other.prepared
    assert elsewhere.ground is not one.ground
    watched = weakref.ref(one.ground)
    del one, other
    gc.collect()
    assert watched() is None


def test_on_a_graphics_card_the_next_episode_is_drawn_before_pixels_are_fetched(
    pool: RendererPool, open_another: Callable[[], Simulator], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Software stands in for the card: two episodes ask while the drawing thread is busy."""
    monkeypatch.setattr(Device, "is_software", property(lambda _: False))
    order: list[str] = []
    submit, collect = Renderer.submit, PendingFrames.collect
    monkeypatch.setattr(Renderer, "submit", lambda *given, **named: order.append("drawn") or submit(*given, **named))
    monkeypatch.setattr(PendingFrames, "collect", lambda pending: order.append("fetched") or collect(pending))
    alone = walk(open_another())
    players = [open_another(), open_another()]
    with ThreadPoolExecutor(3) as threads:
        busy = threading.Event()
        list(threads.map(lambda _: pool.draw(threading.get_ident), range(3)))  # from now on one thread draws
        held = threads.submit(pool.draw, busy.wait)
        order.clear()
        looks = [threads.submit(player.observe) for player in players]
        while pool._drawer is None or pool._drawer._work_queue.qsize() < len(players):
            time.sleep(0.001)
        busy.set()
        assert held.result()
        assert all(look.result() for look in looks)
        first_fetch = order.index("fetched")
        assert order[:first_fetch].count("drawn") == order.count("drawn") >= len(players)
        assert all(seen == alone for seen in threads.map(walk, players))
