"""What is worth telling of an episode: what was reached and closed, where it bumped, how it ended, what went wrong."""

from collections.abc import Iterator
from dataclasses import dataclass

from nav_eval.replay.model import Replay, ReplayEvent

APART = 3
"""Steps: bumps that follow each other this closely are one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Happening:
    """Something between two steps, mostly at one."""

    step: int
    last: int
    kind: str  #: of an event (`reached`, `closed`, `end`), or `bump`
    stage: int = 0
    count: int = 1  #: of bumps
    reason: str = ""  #: how it ended
    success: bool | None = None  #: None where nothing was to succeed

    @property
    def fault(self) -> str | None:
        """What went wrong, in a word; None for what went right."""
        if self.success is not False:
            return None
        return {"bump": "bump", "closed": "wrong_stop"}.get(self.kind) or (
            "time_out" if self.reason == "step limit" else "failure"
        )


def list_happenings(replay: Replay) -> list[Happening]:
    """Everything in order."""
    told = [_describe(event, replay) for event in replay.events]
    return sorted([*told, *_find_bumps(replay)], key=lambda happening: (happening.step, happening.kind == "end"))


def list_faults(replay: Replay) -> list[Happening]:
    """What went wrong, in order."""
    return [happening for happening in list_happenings(replay) if happening.fault is not None]


def _describe(event: ReplayEvent, replay: Replay) -> Happening:
    success = event.success
    if event.kind == "end" and (replay.cause is not None or event.reason == "step limit"):
        success = False
    return Happening(
        step=event.step, last=event.step, kind=event.kind, stage=event.stage, reason=event.reason, success=success
    )


def _find_bumps(replay: Replay) -> Iterator[Happening]:
    bumps = [number for number, step in enumerate(replay.steps) if step.collided]
    run: list[int] = []
    for number in bumps:
        if run and number - run[-1] > APART:
            yield _make_bump(run, replay)
            run = []
        run.append(number)
    if run:
        yield _make_bump(run, replay)


def _make_bump(run: list[int], replay: Replay) -> Happening:
    stage = replay.steps[run[0]].stage
    return Happening(step=run[0], last=run[-1], kind="bump", stage=stage, count=len(run), success=False)
