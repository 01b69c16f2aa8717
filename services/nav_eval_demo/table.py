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
    table.add_column("rank", justify="right")
    table.add_column("team")
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
        f"{name}\n(upper bound)" if row["kind"] == UPPER_BOUND else name,
        *means,
        _cell(score["mean"], (score["ci_low"], score["ci_high"])),
        "by replay" if row["verified"] else Text("NO", style="red"),
    ]


def _cell(mean: float | None, interval: Sequence[float | None] | None) -> Text:
    if mean is None:
        return Text("–")
    low, high = interval or (None, None)
    text = Text(f"{mean:.3f}")
    if low is not None and high is not None:
        text.append(f"\n{low:.2f}–{high:.2f}", style="dim")
    return text


def caption(board: dict[str, Any]) -> str:
    weights = " + ".join(f"{weight:g}·{name.upper()}" for name, weight in board["ranking"]["weights"].items())
    return f"score = {weights}; below each mean its 95 % interval. Equal ranks: the episodes cannot tell them apart."
