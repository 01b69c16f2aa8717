"""The dialogues of several episodes, played by one thread.

While agents think about some episodes, others are moved and drawn. With a thread for each, every step would wake
several threads and hand Python's lock between them, and start on a core whose caches know nothing of the scene. So one
thread hears all agents' answers and plays whatever episode has its answer.

It does what goes well, and nothing that waits for one agent alone: episodes begin and end in the thread of their
player, and a player gets its dialogue back as soon as the answer is late, will never come, or is wrong. What happens
then is told, timed and ended there, while the other dialogues go on.
"""

import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol, Self

from nav_eval.agents.client import EpisodeSession, Listener


class Dialogue(Protocol):
    """Questions to an agent and its answers, for one episode."""

    @property
    def session(self) -> EpisodeSession:
        """Has been asked something."""

    @property
    def is_over(self) -> bool:
        """There is nothing more to ask."""

    @property
    def keeps_thread(self) -> bool:
        """Only the thread that began it can play it."""

    def go_on(self) -> None:
        """Hear the answer, obey, and ask again unless it is over."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A dialogue that the loop has."""

    dialogue: Dialogue
    done: Future[None] = field(default_factory=Future)


class DialogueLoop:
    """The thread, while it is entered."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._given: deque[_Turn] = deque()  #: by players, and not looked at yet
        self._turns: deque[_Turn] = deque()  #: the one that has waited longest comes first
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="dialogues", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopped = True
        self._listener.wake()
        self._thread.join()

    def play(self, dialogue: Dialogue) -> None:
        """Play as long as answers come: returns when it is over or its player has to wait for the answer, at once if
        it cannot be played here. Raises what playing raised.
        """
        if dialogue.keeps_thread or not dialogue.session.is_listened_to:
            return
        turn = _Turn(dialogue)
        self._given.append(turn)
        self._listener.wake()
        turn.done.result()

    def _run(self) -> None:
        from nav_eval.simulator.renderer_pool import RENDERERS  # not before somebody plays

        with RENDERERS.draw_here():
            while not self._is_stopped:
                self._go_round()

    def _go_round(self) -> None:
        """Hear what has come; give back what is stuck, and play one step."""
        self._listener.listen(0.0 if self._find_answered() is not None else self._get_seconds_left())
        while self._given:
            self._turns.append(self._given.popleft())
        self._give_back_stuck()
        turn = self._find_answered()
        if turn is not None:
            self._turns.remove(turn)
            self._play(turn)

    def _play(self, turn: _Turn) -> None:
        try:
            turn.dialogue.go_on()
        except BaseException as error:  # noqa: BLE001 (raised again where its player waits)
            turn.done.set_exception(error)
            return
        if turn.dialogue.is_over:
            turn.done.set_result(None)
        else:
            self._turns.append(turn)

    def _find_answered(self) -> _Turn | None:
        return next((turn for turn in self._turns if turn.dialogue.session.has_answer), None)

    def _get_seconds_left(self) -> float:
        """Until the first answer is late."""
        first = min((turn.dialogue.session.deadline for turn in self._turns), default=float("inf"))
        return max(0.0, first - time.monotonic())

    def _give_back_stuck(self) -> None:
        now = time.monotonic()
        for turn in tuple(self._turns):
            session = turn.dialogue.session
            if not session.has_answer and (session.is_broken or session.deadline <= now):
                self._turns.remove(turn)
                turn.done.set_result(None)
