"""Boards as files: the CSV and the JSON that people take away."""

import csv
import io
from dataclasses import asdict
from typing import Any

from nav_eval_store.boards import Board, Cell, Row

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def board_csv(board: Board) -> str:
    """One line per row; each metric with the ends of its confidence interval."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [column.name for column in board.columns]
    interval = [f"{name}{part}" for name in ("ranking_score", *names) for part in ("", "_ci_low", "_ci_high")]
    writer.writerow(["rank", "team", "kind", "submission", "title", "submitted_at", "verified", *interval])
    for row in board.rows:
        writer.writerow([*_head(row), *_cells(row.score), *(part for name in names for part in _metric(row, name))])
    return out.getvalue()


def _head(row: Row) -> list[str]:
    return [
        "" if row.rank is None else str(row.rank),
        _harmless(row.team),
        row.kind,
        str(row.submission_id),
        _harmless(row.title),
        row.submitted_at.isoformat(),
        "yes" if row.verified_at else "no",
    ]


def _metric(row: Row, name: str) -> list[str]:
    cell = row.metrics.get(name)
    return ["", "", ""] if cell is None else _cells(cell)


def _cells(cell: Cell) -> list[str]:
    return ["" if value is None else repr(value) for value in (cell.mean, cell.ci_low, cell.ci_high)]


def _harmless(text: str) -> str:
    """A spreadsheet runs a cell that begins like a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def board_json(board: Board) -> dict[str, Any]:
    """The board as plain data."""
    return asdict(board)
