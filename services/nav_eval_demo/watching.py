"""Progress to look at: a bar for all episodes of all submissions, and a line for each submission."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nav_eval_demo.server import Server
from nav_eval_sdk.client import FINAL, ChallengeClient, Submission

PAUSE = 0.6
PATIENCE = 600.0
"""Seconds in which something must happen: a busy machine compiles for minutes, but not for ever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """A submission to follow, with the token of somebody who may see it."""

    name: str
    submission_id: str
    token: str


def watch(console: Console, server: Server, watched: Sequence[Watched], *, episodes: int) -> dict[str, Submission]:
    """Show what happens until nothing more does; how each submission ended, by its name."""
    clients = [ChallengeClient(server.url, one.token) for one in watched]
    with bars(console) as progress:
        total = progress.add_task("all episodes", total=episodes * len(watched), state="")
        lines = [progress.add_task(one.name, total=episodes, state="") for one in watched]
        stall = Stall()
        while True:
            standing = [client.submission(one.submission_id) for client, one in zip(clients, watched, strict=True)]
            server.check(stalled=stall.is_over([(one.status, done(one)) for one in standing]))
            for line, submission in zip(lines, standing, strict=True):
                _show(progress, line, submission)
            progress.update(total, completed=sum(map(done, standing)))
            if all(submission.is_final for submission in standing):
                return {one.name: submission for one, submission in zip(watched, standing, strict=True)}
            time.sleep(PAUSE)


class Stall:
    """Notices when nothing changes any more."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._last: object = None
        self._since = time.monotonic()

    def is_over(self, seen: object) -> bool:
        if seen != self._last:
            self._last, self._since = seen, time.monotonic()
        return time.monotonic() - self._since > self._patience


def bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[state]}"),
        console=console,
    )


def _show(progress: Progress, line: TaskID, submission: Submission) -> None:
    progress.update(line, completed=done(submission), state=submission.status)
    if submission.status in FINAL:
        progress.stop_task(line)


def done(submission: Submission) -> int:
    """Episodes that have ended."""
    so_far: dict[str, Any] = submission.document.get("progress") or {}
    return int(so_far.get("done") or 0)


def failures(ended: dict[str, Submission]) -> Iterable[str]:
    """What went wrong, a sentence each."""
    for name, submission in ended.items():
        if submission.status != "completed":
            told = submission.document
            yield f"{name}: {submission.status}, {told.get('cause')}: {told.get('message') or 'no reason given'}"
