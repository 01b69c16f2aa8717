"""Results as tables that read well in a terminal of 80 columns.

Ids and names come from files, so they are shown as plain text: no markup, no control characters.
"""

import math
from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nav_eval.evaluation.report import Report
from nav_eval.metrics.comparison import Comparison, McNemar
from nav_eval.metrics.statistics import Statistics, is_higher_better

BAR_WIDTH = 17
HEADLINES = ("score", "success", "sr", "spl", "isr", "tar", "ndtw", "navigation_error", "ne")
"""Metrics that a narrow table shows first, where a run has them."""


def plain(text: str) -> str:
    """Text from a file, made harmless: a terminal obeys control characters."""
    return "".join(character if character.isprintable() else "�" for character in text)


def number(value: float | None, *, like: float | None = None) -> str:
    """Three decimals for shares, fewer for larger numbers; `like` sets the scale of a column."""
    if value is None or not math.isfinite(value):
        return "–"
    scale = abs(value if like is None else like)
    return f"{value:.3f}" if scale <= 1.0 else f"{value:.2f}" if scale < 1000.0 else f"{value:.0f}"


def arrow(metric: str, directions: Mapping[str, bool] | None = None) -> str:
    return "↑" if is_higher_better(metric, directions) else "↓"


def headline_metrics(names: Iterable[str], limit: int) -> list[str]:
    """The `limit` most telling metrics of a run."""
    present = list(names)
    return ([name for name in HEADLINES if name in present] + [n for n in present if n not in HEADLINES])[:limit]


def print_report(console: Console, report: Report, *, group_by: str | None = None) -> None:
    """Header, metrics, failures, notes; groups on demand."""
    console.print(_header(report))
    _show(console, metrics_table(report.aggregated, report.higher_is_better, confidence=report.bootstrap.confidence))
    if group_by is not None:
        _show(console, groups_table(group_by, report.groups[group_by], report.higher_is_better))
    if report.failed_episodes:
        _show(console, failures_table(report))
    print_notes(console, notes(report))


def print_comparison(
    console: Console,
    names: tuple[str, str],
    comparisons: Mapping[str, Comparison],
    directions: Mapping[str, bool] | None = None,
) -> None:
    """Two runs side by side, and what their difference shows."""
    legend = Table.grid(padding=(0, 2))
    for letter, name in zip("AB", names, strict=True):
        legend.add_row(Text(letter, style="bold"), Text(plain(name)))
    console.print()
    _show(console, legend)
    _show(console, comparison_table(comparisons, directions))
    print_notes(console, comparison_notes(comparisons))


def print_notes(console: Console, lines: Iterable[str]) -> None:
    table = Table.grid(padding=(0, 1))
    for line in lines:
        table.add_row(Text("•", style="dim"), Text(line, style="dim"))
    if table.row_count:
        _show(console, table)


def _show(console: Console, table: RenderableType) -> None:
    console.print(Padding(table, (0, 0, 1, 2)))


def _header(report: Report) -> RenderableType:
    counts = report.counts
    facts = [f"{counts.scored} of {counts.episodes} episodes scored", f"{counts.scenes} scenes"]
    if counts.completed < counts.episodes:
        facts.append(f"{counts.episodes - counts.completed} not completed")
    title = Text(plain(report.benchmark), style="bold")
    return Padding(Group(title, Text(" · ".join(facts), style="dim")), (1, 2))


def metrics_table(
    statistics: Mapping[str, Statistics], directions: Mapping[str, bool] | None = None, *, confidence: float = 0.95
) -> Table:
    """One row per metric: mean, interval, where it lies between 0 and 1, median, number of episodes."""
    table = _table("metric", "mean", f"{confidence:.0%} interval", "median", "n")
    table.columns[0].justify = "left"
    shares = any(_is_share(s) for s in statistics.values())
    some_invalid = any(s.invalid for s in statistics.values())
    if shares:
        table.add_column(Text("0" + "1".rjust(BAR_WIDTH - 1), style="dim"), no_wrap=True)
    if some_invalid:
        table.add_column("invalid", justify="right", style="red")
    for name, item in statistics.items():
        cells = [_name(name, directions), Text(number(item.mean, like=item.max), style="bold"), _interval(item)]
        cells += [Text(number(item.q50, like=item.max)), Text(str(item.count))]
        cells += [_bar(item)] if shares else []
        cells += [Text(str(item.invalid) if item.invalid else "")] if some_invalid else []
        table.add_row(*cells)
    return table


def groups_table(
    name: str, groups: Mapping[str, Mapping[str, Statistics]], directions: Mapping[str, bool] | None = None
) -> RenderableType:
    """One row per group: the headline metrics, each with half the width of its interval."""
    if not groups:
        return Padding(Text(f"No episode says what it is to be grouped by ({plain(name)}).", style="yellow"), (0, 2))
    metrics = headline_metrics(next(iter(groups.values())), limit=4)
    table = _table(f"by {plain(name)}", *(f"{plain(m)} {arrow(m, directions)}" for m in metrics), "n")
    table.columns[0].justify = "left"
    for label, statistics in groups.items():
        count = max(item.count + item.invalid for item in statistics.values())
        table.add_row(Text(plain(label)), *(_with_half_width(statistics[m]) for m in metrics), Text(str(count)))
    return table


def failures_table(report: Report) -> Table:
    """One row per cause, with the first episodes that it ended."""
    table = _table("not completed", "episodes", "in the means", "for example")
    table.columns[0].justify = table.columns[3].justify = "left"
    for cause, count in report.failures.items():
        members = [failure for failure in report.failed_episodes if failure.reason == cause]
        examples = _some([failure.episode_id for failure in members])
        scored = "yes" if members[0].scored else "no"
        table.add_row(Text(plain(cause), style="red"), str(count), scored, Text(examples, style="dim"))
    return table


def notes(report: Report) -> list[str]:
    """What a reader must know before trusting the numbers above."""
    lines: dict[str, list[str]] = {}
    for metric, ids in report.invalid_values.items():
        line = f"no valid value in {len(ids)} scored episodes ({_some(ids)}); they are not in the mean."
        lines.setdefault(line, []).append(metric)
    for metric, statistics in report.aggregated.items():
        if statistics.note:
            lines.setdefault(f"{statistics.note}.", []).append(metric)
    return [f"{_metrics(names, len(report.aggregated))}: {line}" for line, names in lines.items()]


def comparison_notes(comparisons: Mapping[str, Comparison]) -> list[str]:
    """The tests behind the table, and what limits them."""
    found = [_mcnemar_note(metric, item.mcnemar) for metric, item in comparisons.items() if item.mcnemar is not None]
    lines: dict[str, list[str]] = {}
    for metric, item in comparisons.items():
        if item.invalid:
            line = f"{item.invalid} pairs left out because a value is missing, NaN or infinite."
            lines.setdefault(line, []).append(metric)
        if item.note:
            lines.setdefault(f"{item.note}.", []).append(metric)
    return found + [f"{_metrics(metrics, len(comparisons))}: {line}" for line, metrics in lines.items()]


def _mcnemar_note(metric: str, test: McNemar) -> str:
    kind = "exact" if test.exact else "χ², corrected"
    p = p_text(test.p_value)
    return (
        f"{plain(metric)}: A alone succeeds in {test.only_first} episodes, B alone in {test.only_second}; "
        f"McNemar ({kind}): p {p if p.startswith('<') else f'= {p}'}."
    )


def _metrics(names: list[str], of: int) -> str:
    return "all metrics" if len(names) == of > 1 else ", ".join(map(plain, names))


def _some(ids: list[str], shown: int = 3) -> str:
    return ", ".join(map(plain, ids[:shown])) + (", …" if len(ids) > shown else "")


def comparison_table(comparisons: Mapping[str, Comparison], directions: Mapping[str, bool] | None = None) -> Table:
    """One row per metric: both means, their difference with its interval, and which run it shows to be better."""
    table = _table("metric", "A", "B", "difference", "interval", "p", "better")
    table.columns[0].justify = table.columns[6].justify = "left"
    table.columns[4].no_wrap = True
    for metric, item in comparisons.items():
        scale = max(abs(item.first_mean), abs(item.second_mean))
        table.add_row(
            _name(metric, directions),
            number(item.first_mean, like=scale),
            number(item.second_mean, like=scale),
            Text(_signed(item.difference, scale), style="bold"),
            f"{_signed(item.ci_low, scale)} … {_signed(item.ci_high, scale)}",
            p_text(item.p_value),
            _better(metric, item, directions),
        )
    return table


def _better(metric: str, item: Comparison, directions: Mapping[str, bool] | None) -> Text:
    if not item.significant:
        return Text("undecided", style="dim")
    return Text("A" if (item.difference > 0) == is_higher_better(metric, directions) else "B", style="bold green")


def p_text(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        table.add_column(Text(plain(header)), justify="right", overflow="fold")
    return table


def _name(metric: str, directions: Mapping[str, bool] | None) -> Text:
    return Text.assemble(plain(metric), (f" {arrow(metric, directions)}", "dim"))


def _interval(item: Statistics) -> Text:
    if item.ci_low is None or item.ci_high is None or item.ci_low == item.ci_high:
        return Text("–", style="dim")  # a point would be read as certainty
    return Text(f"{number(item.ci_low, like=item.max)} – {number(item.ci_high, like=item.max)}")


def _with_half_width(item: Statistics) -> Text:
    text = Text(number(item.mean, like=item.max))
    if item.ci_low is not None and item.ci_high is not None and item.ci_low < item.ci_high:
        text.append(f" ±{number((item.ci_high - item.ci_low) / 2, like=item.max)}", style="dim")
    return text


def _signed(value: float, scale: float) -> str:
    text = number(value, like=scale)
    return text if text.startswith("-") else f"+{text}"


def _is_share(item: Statistics) -> bool:
    """Whether a metric has its place on a scale from 0 to 1."""
    return item.min is not None and item.max is not None and item.min >= 0.0 and item.max <= 1.0


def _bar(item: Statistics) -> Text:
    """The interval and the mean on a scale from 0 to 1."""
    if not _is_share(item) or item.mean is None:
        return Text()
    low, mean, high = (_cell(item.mean if end is None else end) for end in (item.ci_low, item.mean, item.ci_high))
    bar = Text().append("─" * low, style="dim")
    bar.append("━" * (mean - low), style="cyan").append("●", style="bold cyan").append(
        "━" * (high - mean), style="cyan"
    )
    return bar.append("─" * (BAR_WIDTH - 1 - high), style="dim")


def _cell(share: float) -> int:
    return round(share * (BAR_WIDTH - 1))
