"""One thread plays whatever has its answer, and gives back what it would have to wait for."""

import math
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from nav_eval.agents.client import Listener
from nav_eval.evaluation import dialogue_loop
from nav_eval.evaluation.dialogue_loop import DialogueLoop


class Ears(Listener):
    """Hears what a test says."""

    def __init__(self) -> None:
        self._woken = threading.Event()

    def listen(self, seconds: float) -> None:
        self._woken.wait(None if seconds == math.inf else seconds)
        self._woken.clear()

    def wake(self) -> None:
        self._woken.set()


class Talk:
    """A dialogue whose answers come as soon as it has asked, or when a test says so."""

    keeps_thread = False

    def __init__(self, order: list[str], name: str = "", *, steps: int = 3, answered: bool = True) -> None:
        self.name, self._order, self._steps = name, order, steps
        self.session: Any = SimpleNamespace(
            is_listened_to=True, has_answer=answered, is_broken=False, deadline=math.inf
        )
        self.threads: set[int] = set()

    @property
    def is_over(self) -> bool:
        return self._steps == 0

    def go_on(self) -> None:
        assert self.session.has_answer
        self.threads.add(threading.get_ident())
        self._order.append(self.name)
        self._steps -= 1


@contextmanager
def play_all(loop: DialogueLoop, *talks: Talk) -> Iterator[None]:
    with ThreadPoolExecutor(len(talks)) as players:
        playing = [players.submit(loop.play, talk) for talk in talks]
        yield
    for each in playing:
        each.result()


def test_all_are_played_in_one_thread_which_is_no_players() -> None:
    talks = [Talk([], str(number)) for number in range(4)]
    with DialogueLoop(Ears()) as loop, play_all(loop, *talks):
        pass
    assert all(talk.is_over for talk in talks)
    (drawer,) = set.union(*(talk.threads for talk in talks))
    assert drawer != threading.get_ident()


@pytest.mark.parametrize(
    ("patience", "is_in_turns"),
    [
        (math.inf, False),  # who was played last goes on: its place is in the processor's caches
        (-math.inf, True),  # who has waited too long comes first
    ],
)
def test_who_is_next(patience: float, is_in_turns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue_loop, "PATIENCE", patience)
    ears = Ears()
    order: list[str] = []
    talks = [Talk(order, name, answered=False) for name in "abc"]
    for talk in talks:  # which are answered in the same moment
        talk.session = talks[0].session
    with DialogueLoop(ears) as loop, play_all(loop, *talks):
        while len(loop._turns) < len(talks):
            time.sleep(0.001)
        talks[0].session.has_answer = True
        ears.wake()
    once = order[:3] if is_in_turns else order[::3]
    assert sorted(once) == ["a", "b", "c"]
    assert order == (once * 3 if is_in_turns else [name for name in once for _ in range(3)])


@pytest.mark.parametrize("stuck", [{"is_broken": True}, {"deadline": -math.inf}])
def test_what_is_stuck_is_given_back_while_others_go_on(stuck: dict[str, Any]) -> None:
    order: list[str] = []
    silent, lively = Talk(order, answered=False), Talk(order, "lively", steps=50)
    vars(silent.session).update(stuck)
    with DialogueLoop(Ears()) as loop, play_all(loop, silent, lively):
        pass
    assert not silent.is_over
    assert order == ["lively"] * 50


def test_an_answer_that_came_in_time_is_heard_however_late_it_is_played() -> None:
    late = Talk([])
    late.session.deadline, late.session.is_broken = -math.inf, True
    with DialogueLoop(Ears()) as loop, play_all(loop, late):
        pass
    assert late.is_over


def test_what_goes_wrong_is_raised_where_its_player_waits() -> None:
    order: list[str] = []
    broken, sound = Talk(order), Talk(order)
    broken.go_on = lambda: exec("raise ZeroDivisionError")  # type: ignore[method-assign]
    with DialogueLoop(Ears()) as loop, ThreadPoolExecutor(2) as players:
        failed, played = players.submit(loop.play, broken), players.submit(loop.play, sound)
        assert isinstance(failed.exception(), ZeroDivisionError)
        played.result()
    assert sound.is_over


def test_players_that_are_left_alone_go_on_without_the_loop() -> None:
    waiting, later = Talk([], answered=False), Talk([])
    with ThreadPoolExecutor(1) as player:
        with DialogueLoop(Ears()) as loop:
            playing = player.submit(loop.play, waiting)
            while not loop._turns:
                time.sleep(0.001)
        playing.result()
        loop.play(later)
    assert not waiting.is_over
    assert not later.is_over


@pytest.mark.parametrize("other", ["thread", "protocol"])
def test_what_another_thread_must_play_is_left_to_it(other: str) -> None:
    talk = Talk([])
    talk.keeps_thread = other == "thread"
    talk.session.is_listened_to = other != "protocol"
    with DialogueLoop(Ears()) as loop:
        loop.play(talk)
    assert not talk.is_over
