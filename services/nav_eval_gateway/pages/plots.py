"""The diagrams of a board as numbers: where lines and dots go. Templates draw them, so every text is escaped."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate

from nav_eval.plots import AxisTick, Scale
from nav_eval_store.boards.leaderboard import Row, ScorePoint
from nav_eval_store.boards.rank_history import RankPoint

WIDTH, HEIGHT = 520, 300
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 30
COLOURS = 10
NAME_WIDTH, NAME_HEIGHT, LONGEST_NAME = 130, 13, 18
"""Pixels that a name beside a dot takes, and its letters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotDot:
    """A submission."""

    x: float
    y: float
    title: str
    kind: str = ""
    link: str = ""
    name: str = ""  #: written beside it; empty where there is no room

    @property
    def anchor(self) -> str:
        """Names do not leave the paper."""
        return "end" if self.x > WIDTH / 2 else "start"

    @property
    def name_x(self) -> float:
        return self.x - 9 if self.anchor == "end" else self.x + 9


@dataclass(frozen=True, kw_only=True, slots=True)
class PlotSeries:
    """A team over time."""

    name: str
    colour: int
    points: str  #: of the polyline: the best so far
    dots: Sequence[PlotDot]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """A diagram."""

    x_ticks: Sequence[AxisTick]
    y_ticks: Sequence[AxisTick]
    series: Sequence[PlotSeries] = ()
    dots: Sequence[PlotDot] = ()
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


class Axis:
    """Values to pixels, with round numbers for ticks."""

    def __init__(self, values: Sequence[float], start: float, stop: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # all the same, for all that one could see
            low, high = low - 0.5 * max(1.0, abs(low)), high + 0.5 * max(1.0, abs(high))
        room = 0.05 * (high - low)
        self._scale = Scale(low - room, high + room, start, stop)

    def at(self, value: float) -> float:
        return round(self._scale(value), 1)

    def ticks(self) -> list[AxisTick]:
        return [AxisTick(round(tick.at, 1), tick.label) for tick in self._scale.ticks(same_decimals=True)]


def plot_over_time(teams: Sequence[Sequence[ScorePoint]], *, keep: str) -> Plot | None:
    """The score that counts of each team, from its first submission to the newest of all."""
    known = [points for points in teams if points]
    scored = [point for points in known for point in points]
    if not scored:
        return None
    moments = [point.submitted_at.timestamp() for point in scored]
    x = Axis(moments, LEFT, WIDTH - RIGHT)
    y = Axis([point.score for point in scored], HEIGHT - BOTTOM, TOP)
    end = x.at(max(moments))
    return Plot(
        x_ticks=_make_day_ticks(min(moments), max(moments), x),
        y_ticks=y.ticks(),
        series=[_make_series(points, place % COLOURS, x, y, end, keep) for place, points in enumerate(known)],
    )


def _make_series(points: Sequence[ScorePoint], colour: int, x: Axis, y: Axis, end: float, keep: str) -> PlotSeries:
    corners: list[tuple[float, float]] = []
    for point in points:
        if point.is_best or keep == "last":
            place = (x.at(point.submitted_at.timestamp()), y.at(point.score))
            if corners:
                corners.append((place[0], corners[-1][1]))
            corners.append(place)
    if corners:
        corners.append((end, corners[-1][1]))
    dots = [
        PlotDot(
            x=x.at(point.submitted_at.timestamp()),
            y=y.at(point.score),
            title=f"{point.team}: {point.score:.3f}, {point.submitted_at:%Y-%m-%d %H:%M} UTC",
        )
        for point in points[-60:]
    ]
    return PlotSeries(
        name=points[-1].team, colour=colour, points=" ".join(f"{a:g},{b:g}" for a, b in corners), dots=dots
    )


def _make_day_ticks(first: float, last: float, x: Axis) -> list[AxisTick]:
    """A few dates; hours where all happened within two days, seconds within ten minutes."""
    form = "%m-%d" if last - first > 2 * 86400 else "%m-%d %H:%M" if last - first > 600 else "%H:%M:%S"
    count = 4 if last > first else 1
    moments = [first + (last - first) * part / max(1, count - 1) for part in range(count)]
    return [AxisTick(x.at(moment), datetime.fromtimestamp(moment, UTC).strftime(form)) for moment in moments]


def plot_ranks(points: Sequence[RankPoint]) -> Plot | None:
    """The rank of a team over time; the first is at the top."""
    if not points:
        return None
    moments = [point.at.timestamp() for point in points]
    x = Axis(moments, LEFT, WIDTH - RIGHT)
    lowest = max(2, *(point.rank for point in points))
    scale = Scale(0.5, lowest + 0.5, TOP, HEIGHT - BOTTOM)
    step = max(1, -(-(lowest - 1) // 5))
    places = [(x.at(point.at.timestamp()), round(scale(point.rank), 1)) for point in points]
    corners = [places[0]]
    for place in places[1:]:
        corners += [(place[0], corners[-1][1]), place]
    dots = [
        PlotDot(x=a, y=b, title=f"{point.rank} / {point.teams}, {point.at:%Y-%m-%d %H:%M} UTC")
        for point, (a, b) in zip(points, places, strict=True)
    ]
    line = PlotSeries(name="", colour=1, points=" ".join(f"{a:g},{b:g}" for a, b in corners), dots=dots)
    return Plot(
        x_ticks=_make_day_ticks(min(moments), max(moments), x),
        y_ticks=[AxisTick(round(scale(rank), 1), str(rank)) for rank in range(1, lowest + 1, step)],
        series=[line],
    )


def plot_metrics(rows: Sequence[Row], first: str, second: str) -> Plot | None:
    """A dot per row of the board; `score` is what ranks."""
    pairs = [(row, _get_value(row, first), _get_value(row, second)) for row in rows]
    known = [(row, a, b) for row, a, b in pairs if a is not None and b is not None]
    if not known:
        return None
    x = Axis([a for _, a, _ in known], LEFT, WIDTH - RIGHT)
    y = Axis([b for _, _, b in known], HEIGHT - BOTTOM, TOP)
    dots: list[PlotDot] = []
    for row, a, b in known[:300]:
        place = (x.at(a), y.at(b))
        link, title = f"/submissions/{row.submission_id}", f"{row.team}: {a:.3f}, {b:.3f}"
        name = shorten(row.team) if _has_room(place, dots) else ""
        dots.append(PlotDot(x=place[0], y=place[1], title=title, kind=row.kind, link=link, name=name))
    return Plot(x_ticks=x.ticks(), y_ticks=y.ticks(), dots=dots)


def _has_room(place: tuple[float, float], dots: Sequence[PlotDot]) -> bool:
    """Whether a name can be read there: no other one is near. The best come first, so theirs are written."""
    left, right = _get_extent(PlotDot(x=place[0], y=place[1], title=""))
    near = (_get_extent(dot) for dot in dots if dot.name and abs(dot.y - place[1]) < NAME_HEIGHT)
    return all(right < other_left or other_right < left for other_left, other_right in near)


def _get_extent(dot: PlotDot) -> tuple[float, float]:
    """Where a dot and the name beside it begin and end."""
    return (dot.x - NAME_WIDTH, dot.x + 5) if dot.anchor == "end" else (dot.x - 5, dot.x + NAME_WIDTH)


def shorten(name: str) -> str:
    """As much of a name as there is room for; a Chinese letter is as wide as two Latin ones."""
    widths = [2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name]
    if sum(widths) <= LONGEST_NAME:
        return name
    fits = sum(1 for width in accumulate(widths) if width < LONGEST_NAME)
    return f"{name[:fits]}…"


def _get_value(row: Row, name: str) -> float | None:
    cell = row.score if name == "score" else row.metrics.get(name)
    return None if cell is None else cell.mean
