"""A board as a reader wants it: sorted, filtered, in pages. Pure functions of the store's board."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast
from uuid import UUID

from starlette.datastructures import ImmutableMultiDict

from nav_eval_gateway.pages.context import make_path
from nav_eval_gateway.pages.jinja import format_metric_name, format_number
from nav_eval_store.boards.leaderboard import Board, Cell, Column, Row

ROWS = 100
"""In a page of the board; a phone should not have to draw a thousand."""
WIDTH, INSET = 118.0, 5.0
"""Pixels of a drawn interval, and of the room at its ends."""
KINDS = ("team", "baseline", "verified")
LONGEST = 80


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardQuery:
    """What a reader asked for, in the address of the page."""

    competition: str
    phase: str
    sort: str = "rank"  #: `rank`, `team`, `score`, `submitted`, `rig`, or a metric
    order: str = ""  #: `asc` or `desc`; empty is the usual one of the column
    search: str = ""  #: in names of teams and submissions
    kind: str = ""  #: only these rows
    page: int = 1
    all_rows: bool = False
    x: str = ""  #: metrics of the diagram
    y: str = ""
    columns: tuple[str, ...] = ()  #: metrics that are shown; none is all

    @classmethod
    def of(cls, competition: str, phase: str, asked: Mapping[str, str]) -> "BoardQuery":
        """From the query of an address; what makes no sense is left out."""
        order, kind, page = asked.get("order", ""), asked.get("kind", ""), asked.get("page", "1")
        return cls(
            competition=competition,
            phase=phase,
            sort=asked.get("sort", "rank")[:LONGEST],
            order=order if order in ("asc", "desc") else "",
            search=asked.get("q", "").strip()[:LONGEST],
            kind=kind if kind in KINDS else "",
            page=int(page) if page.isdecimal() and len(page) < 6 else 1,
            all_rows=asked.get("rows") == "all",
            x=asked.get("x", "")[:LONGEST],
            y=asked.get("y", "")[:LONGEST],
            columns=_read_columns(asked),
        )

    def canonical(self, board: Board) -> "BoardQuery":
        """The same wish in the one way that means it: what this board does not have is left out.

        An address has endless variants that show the same page. Pages are kept by what is returned here, so that there
        are only so many of them.
        """
        names = [column.name for column in board.columns]
        sort = (
            self.sort
            if self.sort in ("rank", "team", "score", "submitted", *(["rig"] if board.has_rigs else []), *names)
            else "rank"
        )
        wish = replace(
            self,
            sort=sort,
            order="" if self.order == _get_usual_order(sort, board) else self.order,
            x=self.x if self.x in (*names, "score") else "",
            y=self.y if self.y in (*names, "score") else "",
            columns=_choose_columns(self.columns, names),
        )
        found = sum(1 for _ in _filter_rows(board.rows, wish))
        pages = 1 if wish.all_rows else max(1, -(-found // ROWS))
        return replace(wish, page=min(max(1, wish.page), pages), all_rows=wish.all_rows and found > ROWS)

    def address(self, **changes: object) -> str:
        """The page with something else; what is usual is left out."""
        wish = replace(self, **changes)  # type: ignore[arg-type]
        return make_path(
            f"/competitions/{self.competition}/{self.phase}/board",
            {
                "sort": wish.sort if wish.sort != "rank" else "",
                "order": wish.order,
                "q": wish.search,
                "kind": wish.kind,
                "page": wish.page if wish.page > 1 else "",
                "rows": "all" if wish.all_rows else "",
                "x": wish.x,
                "y": wish.y,
                "columns": ",".join(wish.columns),
            },
        )


def _read_columns(asked: Mapping[str, str]) -> tuple[str, ...]:
    """From a form, which names each, or from an address of ours."""
    named = asked.getlist("column") if isinstance(asked, ImmutableMultiDict) else []
    return tuple(name[:LONGEST] for name in (*named[:50], *asked.get("columns", "").split(",")[:50]) if name)


def _choose_columns(wanted: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """In the order of the board; all of them is none in particular."""
    chosen = tuple(name for name in names if name in wanted)
    return () if len(chosen) == len(names) else chosen


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnInterval:
    """Where a mean and its interval are drawn."""

    low: float
    high: float
    mean: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Value:
    """A metric in a row."""

    label: str
    text: str
    interval: str  #: empty where there is none


@dataclass(frozen=True, kw_only=True, slots=True)
class BoardLine:
    """A row of the board, ready to be shown."""

    row: Row
    shared: bool  #: its rank is not its alone
    head: str | None  #: the team that it cannot be told from
    mine: bool
    drawn: DrawnInterval | None
    interval: str
    values: Sequence[Value]


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """A column, and what a click on its name does."""

    name: str
    label: str
    better: str  #: `higher`, `lower`, or empty where neither is
    sorted: str  #: `ascending`, `descending` or empty
    address: str
    weight: float | None = None


class Standing:
    """What one page of a board shows."""

    def __init__(self, board: Board, wish: BoardQuery, *, own_team: UUID | None = None) -> None:
        self.board, self.wish = board, wish
        self._own_team = own_team
        self._heads = {row.submission_id: row.team for row in board.rows}
        self._led = {row.shares_with for row in board.rows if row.shares_with is not None}
        self._scale = _make_scale(board.rows)
        self.found = list(_filter_rows(board.rows, wish))
        self._sorted = _sort_rows(self.found, wish, board)

    @cached_property
    def columns(self) -> list[Column]:
        """Those that have a value somewhere; the score that ranks has a place of its own."""
        rows = (*self.board.rows, *self.board.withheld)
        filled = {name for row in rows for name, cell in row.metrics.items() if cell.mean is not None}
        return [column for column in self.board.columns if column.name in filled and column.name != "score"]

    @property
    def shown_columns(self) -> list[Column]:
        """Those of them that the reader picked."""
        picked = self.wish.columns
        return [column for column in self.columns if not picked or column.name in picked]

    @property
    def pages(self) -> int:
        return 1 if self.wish.all_rows else max(1, -(-len(self.found) // ROWS))

    @property
    def page(self) -> int:
        return min(max(1, self.wish.page), self.pages)

    @cached_property
    def lines(self) -> list[BoardLine]:
        start = 0 if self.wish.all_rows else (self.page - 1) * ROWS
        stop = len(self._sorted) if self.wish.all_rows else start + ROWS
        return [self._make_line(row) for row in self._sorted[start:stop]]

    @property
    def withheld(self) -> list[BoardLine]:
        """What organisers see besides."""
        return [self._make_line(row) for row in self.board.withheld]

    def _make_line(self, row: Row) -> BoardLine:
        return BoardLine(
            row=row,
            shared=row.shares_with is not None or row.submission_id in self._led,
            head=self._heads.get(row.shares_with) if row.shares_with is not None else None,
            mine=row.team_id == self._own_team,
            drawn=self._scale(row.score),
            interval=format_interval(row.score),
            values=[_make_value(column, row.metrics.get(column.name)) for column in self.shown_columns],
        )

    @property
    def headings(self) -> list[Heading]:
        higher = self.board.higher_is_better
        fixed = [("rank", ""), ("team", ""), ("score", "higher" if higher else "lower")]
        metrics = [(column.name, "higher" if column.higher_is_better else "lower") for column in self.shown_columns]
        rig = [("rig", "")] if self.board.has_rigs else []
        return [self._make_heading(name, better) for name, better in (*fixed, *metrics, *rig, ("submitted", ""))]

    def _make_heading(self, name: str, better: str) -> Heading:
        usual = _get_usual_order(name, self.board)
        now = (self.wish.order or usual) if self.wish.sort == name else ""
        turned = {"asc": "desc", "desc": "asc"}[now] if now else usual
        wanted = "" if turned == usual else turned
        return Heading(
            name=name,
            label=format_metric_name(name),
            better=better,
            sorted={"asc": "ascending", "desc": "descending", "": ""}[now],
            address=self.wish.address(sort=name, order=wanted, page=1),
            weight=self.board.weights.get(name) if better and name != "score" else None,
        )


def _make_value(column: Column, cell: Cell | None) -> Value:
    mean = None if cell is None else cell.mean
    return Value(
        label=format_metric_name(column.name),
        text=format_number(mean),
        interval="" if cell is None else format_narrow_interval(cell),
    )


def format_interval(cell: Cell) -> str:
    if cell.ci_low is None or cell.ci_high is None:
        return ""
    return f"{format_number(cell.ci_low)} – {format_number(cell.ci_high)}"


def format_narrow_interval(cell: Cell) -> str:
    """The same where there is little room: `.417–.667`."""
    if cell.ci_low is None or cell.ci_high is None:
        return ""
    return "–".join(
        format_number(end).replace("0.", ".", 1) if 0 <= end < 1 else format_number(end)
        for end in (cell.ci_low, cell.ci_high)
    )


def _filter_rows(rows: Sequence[Row], wish: BoardQuery) -> Iterator[Row]:
    search = wish.search.casefold()
    for row in rows:
        if search and search not in f"{row.team} {row.title}".casefold():
            continue
        if wish.kind == "verified" and row.verified_at is None:
            continue
        if wish.kind in ("team", "baseline") and (row.kind == "team") != (wish.kind == "team"):
            continue
        yield row


def _get_usual_order(name: str, board: Board) -> str:
    """Best first, newest first, A to Z."""
    if name in ("rank", "team", "rig"):
        return "asc"
    if name == "score":
        return "desc" if board.higher_is_better else "asc"
    better = {column.name: column.higher_is_better for column in board.columns}
    return "desc" if better.get(name, True) else "asc"


def _sort_rows(rows: list[Row], wish: BoardQuery, board: Board) -> list[Row]:
    order = wish.order or _get_usual_order(wish.sort, board)
    if wish.sort == "rank":  # the store's own order: upper bounds and ties where they belong
        return rows if order == "asc" else rows[::-1]
    key = _make_sort_key(wish.sort)
    known = [(value, row) for row in rows if (value := key(row)) is not None]
    known.sort(key=lambda pair: cast(Any, pair[0]), reverse=order == "desc")
    return [row for _, row in known] + [row for row in rows if key(row) is None]


def _make_sort_key(name: str) -> Callable[[Row], float | str | None]:
    if name == "team":
        return lambda row: row.team.casefold()
    if name == "score":
        return lambda row: row.score.mean
    if name == "rig":
        return lambda row: row.rig
    if name == "submitted":
        return lambda row: row.submitted_at.timestamp()
    return lambda row: row.metrics[name].mean if name in row.metrics else None


def _make_scale(rows: Sequence[Row]) -> Callable[[Cell], DrawnInterval | None]:
    """One axis for all rows; from 0 to 1 where everything lies between."""
    cells = [row.score for row in rows]
    values = [value for cell in cells for value in (cell.mean, cell.ci_low, cell.ci_high) if value is not None]
    low, high = min((0.0, *values)), max((1.0, *values)) if not values or max(values) <= 1 else max(values)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return round(INSET + (WIDTH - 2 * INSET) * (value - low) / span, 1)

    def draw(cell: Cell) -> DrawnInterval | None:
        if cell.mean is None:
            return None
        ends = (cell.mean if cell.ci_low is None else cell.ci_low, cell.mean if cell.ci_high is None else cell.ci_high)
        return DrawnInterval(low=place(ends[0]), high=place(ends[1]), mean=place(cell.mean))

    return draw
