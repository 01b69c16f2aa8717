"""The dialogues of several episodes, played by one thread.

While agents think about some episodes, others are moved and drawn. With a thread for each, every step would wake
several threads and hand Python's lock between them, and start on a core whose caches know nothing of the scene. So one
thread hears all agents' answers and plays whatever episode has its answer.

Which episode is next decides what the processor's caches know: one that was drawn just now continues if its answer is
there. Agents that answer at once make that two episodes for a while, and the others a few times a second; those that
think for longer are played in turns.

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
from nav_eval.simulator.renderer_pool import RENDERERS

PATIENCE = 0.25  #: seconds in which others may be played first
NEAR = 2  #: a place is taken to be in the caches while no more than this have been drawn since


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
    played_at: float = field(default_factory=time.monotonic)
    number: int = 0  #: of its last step among those of all dialogues


class DialogueLoop:
    """The thread, while it is entered."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._given: deque[_Turn] = deque()  #: by players, and not looked at yet
        self._turns: list[_Turn] = []  #: in the order in which they were played last
        self._played = 0  #: steps
        self._giving = threading.Lock()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, name="dialogues", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._giving:
            self._is_stopped = True
        self._listener.wake()
        self._thread.join()
        for turn in (*self._turns, *self._given):  # of players that were left alone, as after Ctrl-C
            turn.done.set_result(None)

    def play(self, dialogue: Dialogue) -> None:
        """Play as long as answers come: returns when it is over or its player has to wait for the answer, at once if
        it cannot be played here. Raises what playing raised.
        """
        if dialogue.keeps_thread or not dialogue.session.is_listened_to:
            return
        turn = _Turn(dialogue)
        with self._giving:
            if self._is_stopped:
                return
            self._given.append(turn)
        self._listener.wake()
        turn.done.result()

    def _run(self) -> None:
        with RENDERERS.draw_here():
            while not self._is_stopped:
                self._go_round()

    def _go_round(self) -> None:
        """Hear what has come; give back what is stuck, and play one step."""
        self._listener.listen(0.0 if self._choose_answered() is not None else self._get_seconds_left())
        while self._given:
            self._turns.append(self._given.popleft())
        self._give_back_stuck()
        turn = self._choose_answered()
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
            self._played += 1
            turn.played_at, turn.number = time.monotonic(), self._played
            self._turns.append(turn)

    def _choose_answered(self) -> _Turn | None:
        """One that was played just now, or else the one that has waited longest; None where no answer has come."""
        answered = [turn for turn in self._turns if turn.dialogue.session.has_answer]
        if not answered:
            return None
        first, last = answered[0], answered[-1]
        is_near = self._played - last.number < NEAR
        return last if is_near and time.monotonic() - first.played_at <= PATIENCE else first

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
