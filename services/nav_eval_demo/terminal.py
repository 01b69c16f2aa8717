"""What the demo shows on a terminal: the progress of all submissions, and the leaderboard."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from nav_eval_demo.server import DemoServer
from nav_eval_sdk.client import FINAL, ChallengeClient, Submission

PAUSE = 0.6
PATIENCE = 600.0
"""Seconds in which something must happen: a busy machine compiles for minutes, but not for ever."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedSubmission:
    """A submission to follow, with the token of somebody who may see it."""

    name: str
    submission_id: str
    token: str


def watch_submissions(
    console: Console, server: DemoServer, watched: Sequence[WatchedSubmission], *, episodes: int
) -> dict[str, Submission]:
    """Show what happens until nothing more does; how each submission ended, by its name."""
    clients = [ChallengeClient(server.url, one.token) for one in watched]
    with make_progress_bars(console) as progress:
        total = progress.add_task("all episodes", total=episodes * len(watched), state="")
        lines = [progress.add_task(one.name, total=episodes, state="") for one in watched]
        stall = Stall()
        while True:
            standing = [client.submission(one.submission_id) for client, one in zip(clients, watched, strict=True)]
            server.check(stalled=stall.is_over([(one.status, count_done(one)) for one in standing]))
            for line, submission in zip(lines, standing, strict=True):
                _show_submission(progress, line, submission)
            progress.update(total, completed=sum(map(count_done, standing)))
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


def make_progress_bars(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[state]}"),
        console=console,
    )


def _show_submission(progress: Progress, line: TaskID, submission: Submission) -> None:
    progress.update(line, completed=count_done(submission), state=submission.status)
    if submission.status in FINAL:
        progress.stop_task(line)


def count_done(submission: Submission) -> int:
    """Episodes that have ended."""
    so_far: dict[str, Any] = submission.document.get("progress") or {}
    return int(so_far.get("done") or 0)


def list_failures(ended: dict[str, Submission]) -> Iterable[str]:
    """What went wrong, a sentence each."""
    for name, submission in ended.items():
        if submission.status != "completed":
            told = submission.document
            yield f"{name}: {submission.status}, {told.get('cause')}: {told.get('message') or 'no reason given'}"


COLUMNS = ("tar", "isr", "csr", "cgt")
UPPER_BOUND = "upper_bound"


def make_board_table(board: dict[str, Any]) -> Table:
    """Ranks, means and 95 % intervals, and whether each row was proven by replay."""
    table = Table(title="Leaderboard", title_justify="left", caption=make_caption(board), caption_justify="left")
    table.box, table.padding = None, (0, 2, 0, 0)  # fits into 80 columns
    table.add_column("rank", justify="right")
    table.add_column("team", no_wrap=True)
    for name in (*COLUMNS, "score"):
        table.add_column(name if name == "score" else name.upper(), justify="right")
    table.add_column("verified")
    for row in board["rows"]:
        table.add_row(*make_cells(row), style="dim" if row["kind"] == UPPER_BOUND else "")
    return table


def make_cells(row: dict[str, Any]) -> list[str | Text]:
    score, name = row["score"], row["team"]
    means = [_format_cell(row["scores"].get(column), row["intervals"].get(column)) for column in COLUMNS]
    return [
        "–" if row["rank"] is None else str(row["rank"]),
        f"{name}\nupper bound" if row["kind"] == UPPER_BOUND else name,
        *means,
        _format_cell(score["mean"], (score["ci_low"], score["ci_high"])),
        Text("replayed", style="green") if row["verified"] else Text("NO", style="red"),
    ]


def _format_cell(mean: float | None, interval: Sequence[float | None] | None) -> Text:
    if mean is None:
        return Text("–")
    low, high = interval or (None, None)
    text = Text(f"{mean:.3f}")
    if low is not None and high is not None:
        ends = dict.fromkeys((_shorten_number(low), _shorten_number(high)))  # one, where nothing varies
        text.append(f"\n{'–'.join(ends)}", style="dim")
    return text


def _shorten_number(value: float) -> str:
    """Two digits, without the zero in front that all share."""
    return f"{value:.2f}".replace("0.", ".", 1)


def make_caption(board: dict[str, Any]) -> str:
    weights = " + ".join(f"{weight:g}·{name.upper()}" for name, weight in board["ranking"]["weights"].items())
    return f"score = {weights}\nBelow each mean: its 95 % interval. Equal ranks: the episodes cannot tell them apart."
