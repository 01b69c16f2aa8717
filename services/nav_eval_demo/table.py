"""The leaderboard on a terminal."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

COLUMNS = ("tar", "isr", "csr", "cgt")
UPPER_BOUND = "upper_bound"


def board_table(board: dict[str, Any]) -> Table:
    """Ranks, means and 95 % intervals, and whether each row was proven by replay."""
    table = Table(title="Leaderboard", title_justify="left", caption=caption(board), caption_justify="left")
    table.box, table.padding = None, (0, 2, 0, 0)  # fits into 80 columns
    table.add_column("rank", justify="right")
    table.add_column("team", no_wrap=True)
    for name in (*COLUMNS, "score"):
        table.add_column(name if name == "score" else name.upper(), justify="right")
    table.add_column("verified")
    for row in board["rows"]:
        table.add_row(*cells(row), style="dim" if row["kind"] == UPPER_BOUND else "")
    return table


def cells(row: dict[str, Any]) -> list[str | Text]:
    score, name = row["score"], row["team"]
    means = [_cell(row["scores"].get(column), row["intervals"].get(column)) for column in COLUMNS]
    return [
        "–" if row["rank"] is None else str(row["rank"]),
        f"{name}\nupper bound" if row["kind"] == UPPER_BOUND else name,
        *means,
        _cell(score["mean"], (score["ci_low"], score["ci_high"])),
        Text("replayed", style="green") if row["verified"] else Text("NO", style="red"),
    ]


def _cell(mean: float | None, interval: Sequence[float | None] | None) -> Text:
    if mean is None:
        return Text("–")
    low, high = interval or (None, None)
    text = Text(f"{mean:.3f}")
    if low is not None and high is not None:
        ends = dict.fromkeys((_short(low), _short(high)))  # one, where nothing varies
        text.append(f"\n{'–'.join(ends)}", style="dim")
    return text


def _short(value: float) -> str:
    """Two digits, without the zero in front that all share."""
    return f"{value:.2f}".replace("0.", ".", 1)


def caption(board: dict[str, Any]) -> str:
    weights = " + ".join(f"{weight:g}·{name.upper()}" for name, weight in board["ranking"]["weights"].items())
    return f"score = {weights}\nBelow each mean: its 95 % interval. Equal ranks: the episodes cannot tell them apart."
