"""Results as tables that read well in a terminal of 80 columns.

Ids and names come from files, so they are shown as plain text: no markup, no control characters.
"""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from nav_eval.evaluation.report import Report, format_number
from nav_eval.metrics.comparison import Comparison, McNemar
from nav_eval.metrics.statistics import Statistics
from nav_eval.plain_text import clean_text
from nav_eval.records.results import Cause
from nav_eval.records.scoring import is_higher_better

BAR_WIDTH = 17
HEADLINES = ("score", "success", "sr", "spl", "isr", "tar", "ndtw", "navigation_error", "ne")
"""Metrics that a narrow table shows first, where a run has them."""


def get_arrow(metric: str, directions: Mapping[str, bool] | None = None) -> str:
    return "↑" if is_higher_better(metric, directions) else "↓"


def choose_headline_metrics(names: Iterable[str], limit: int) -> list[str]:
    """The `limit` most telling metrics of a run."""
    present = list(names)
    return ([name for name in HEADLINES if name in present] + [n for n in present if n not in HEADLINES])[:limit]


def print_report(console: Console, report: Report, *, group_by: str | None = None) -> None:
    """Header, metrics, failures, notes; groups on demand."""
    console.print(_make_header(report))
    _show(
        console, make_metrics_table(report.aggregated, report.higher_is_better, confidence=report.bootstrap.confidence)
    )
    if group_by is not None:
        _show(console, make_groups_table(group_by, report.groups[group_by], report.higher_is_better))
    if report.failed_episodes:
        _show(console, make_failures_table(report))
        print_notes(console, list_failure_details(report))
    print_notes(console, list_notes(report))


def print_comparison(
    console: Console,
    names: tuple[str, str],
    comparisons: Mapping[str, Comparison],
    directions: Mapping[str, bool] | None = None,
) -> None:
    """Two runs side by side, and what their difference shows."""
    legend = Table.grid(padding=(0, 2))
    for letter, name in zip("AB", names, strict=True):
        legend.add_row(Text(letter, style="bold"), Text(clean_text(name)))
    console.print()
    _show(console, legend)
    _show(console, make_comparison_table(comparisons, directions))
    print_notes(console, list_comparison_notes(comparisons))


def print_notes(console: Console, lines: Iterable[str]) -> None:
    table = Table.grid(padding=(0, 1))
    for line in lines:
        table.add_row(Text("•", style="dim"), Text(line, style="dim"))
    if table.row_count:
        _show(console, table)


def _show(console: Console, table: RenderableType) -> None:
    console.print(Padding(table, (0, 0, 1, 2)))


def _make_header(report: Report) -> RenderableType:
    counts = report.counts
    scenes = "1 scene" if counts.scenes == 1 else f"{counts.scenes} scenes"
    facts = [f"{counts.scored} of {counts.episodes} episodes scored", scenes]
    if counts.completed < counts.episodes:
        facts.append(f"{counts.episodes - counts.completed} not completed")
    title = Text(clean_text(report.benchmark), style="bold")
    if report.agent.get("name"):
        facts.insert(0, clean_text(f"agent {report.agent['name']} {report.agent.get('version', '')}".strip()))
    return Padding(Group(title, Text(" · ".join(facts), style="dim")), (1, 2))


def make_metrics_table(
    statistics: Mapping[str, Statistics], directions: Mapping[str, bool] | None = None, *, confidence: float = 0.95
) -> Table:
    """One row per metric: mean, interval, where it lies between 0 and 1, median, number of episodes."""
    table = _make_table("metric", "mean", f"{confidence:.0%} interval", "median", "n")
    table.columns[0].justify = "left"
    shares = any(_is_share(s) for s in statistics.values())
    some_invalid = any(s.invalid for s in statistics.values())
    if shares:
        table.add_column(Text("0" + "1".rjust(BAR_WIDTH - 1), style="dim"), no_wrap=True)
    if some_invalid:
        table.add_column("invalid", justify="right", style="red")
    for name, item in statistics.items():
        cells = [
            _format_name(name, directions),
            Text(format_number(item.mean, like=item.max), style="bold"),
            _format_interval(item),
        ]
        cells += [Text(format_number(item.q50, like=item.max)), Text(str(item.count))]
        cells += [_draw_bar(item)] if shares else []
        cells += [Text(str(item.invalid) if item.invalid else "")] if some_invalid else []
        table.add_row(*cells)
    return table


def make_groups_table(
    name: str, groups: Mapping[str, Mapping[str, Statistics]], directions: Mapping[str, bool] | None = None
) -> RenderableType:
    """One row per group: the headline metrics, each with half the width of its interval."""
    if not groups:
        return Padding(
            Text(f"No episode says what it is to be grouped by ({clean_text(name)}).", style="yellow"), (0, 2)
        )
    metrics = choose_headline_metrics(next(iter(groups.values())), limit=4)
    table = _make_table(
        f"by {clean_text(name)}", *(f"{clean_text(m)} {get_arrow(m, directions)}" for m in metrics), "n"
    )
    table.columns[0].justify = "left"
    for label, statistics in groups.items():
        count = max(item.count + item.invalid for item in statistics.values())
        table.add_row(Text(clean_text(label)), *(_format_half_width(statistics[m]) for m in metrics), Text(str(count)))
    return table


def make_failures_table(report: Report) -> Table:
    """One row per cause, with the first episodes that it ended."""
    table = _make_table("not completed", "episodes", "in the means", "for example")
    table.columns[0].justify = table.columns[3].justify = "left"
    for cause, count in report.failures.items():
        members = [failure for failure in report.failed_episodes if failure.reason == cause]
        examples = _format_ids([failure.episode_id for failure in members])
        scored = "yes" if members[0].scored else "no"
        table.add_row(Text(clean_text(cause), style="red"), str(count), scored, Text(examples, style="dim"))
    return table


def list_failure_details(report: Report) -> list[str]:
    """One line per cause: what the first such episode ended by, and what to do next."""
    return [_format_detail(cause, report) for cause in report.failures]


def _format_detail(cause: str, report: Report) -> str:
    first = next(failure for failure in report.failed_episodes if failure.reason == cause)
    said = clean_text(first.detail or "no reason given")
    advice = Cause(cause).advice if cause in set(Cause) else ""
    return f"{clean_text(cause)}: {said} ({clean_text(first.episode_id)}) {advice}".rstrip()


def list_notes(report: Report) -> list[str]:
    """What a reader must know before trusting the numbers above."""
    lines: dict[str, list[str]] = {}
    for metric, ids in report.invalid_values.items():
        line = f"no valid value in {len(ids)} scored episodes ({_format_ids(ids)}); they are not in the mean."
        lines.setdefault(line, []).append(metric)
    for metric, statistics in report.aggregated.items():
        if statistics.note:
            lines.setdefault(f"{statistics.note}.", []).append(metric)
    return [f"{_format_metrics(names, len(report.aggregated))}: {line}" for line, names in lines.items()]


def list_comparison_notes(comparisons: Mapping[str, Comparison]) -> list[str]:
    """The tests behind the table, and what limits them."""
    found = [_format_mcnemar(metric, item.mcnemar) for metric, item in comparisons.items() if item.mcnemar is not None]
    lines: dict[str, list[str]] = {}
    for metric, item in comparisons.items():
        if item.invalid:
            line = f"{item.invalid} pairs left out because a value is missing, NaN or infinite."
            lines.setdefault(line, []).append(metric)
        if item.note:
            lines.setdefault(f"{item.note}.", []).append(metric)
    return found + [f"{_format_metrics(metrics, len(comparisons))}: {line}" for line, metrics in lines.items()]


def _format_mcnemar(metric: str, test: McNemar) -> str:
    kind = "exact" if test.exact else "χ², corrected"
    p = format_p_value(test.p_value)
    return (
        f"{clean_text(metric)}: A alone succeeds in {test.only_first} episodes, B alone in {test.only_second}; "
        f"McNemar ({kind}): p {p if p.startswith('<') else f'= {p}'}."
    )


def _format_metrics(names: list[str], of: int) -> str:
    return "all metrics" if len(names) == of > 1 else ", ".join(map(clean_text, names))


def _format_ids(ids: list[str], shown: int = 3) -> str:
    return ", ".join(map(clean_text, ids[:shown])) + (", …" if len(ids) > shown else "")


def make_comparison_table(comparisons: Mapping[str, Comparison], directions: Mapping[str, bool] | None = None) -> Table:
    """One row per metric: both means, their difference with its interval, and which run it shows to be better."""
    table = _make_table("metric", "A", "B", "difference", "interval", "p", "better")
    table.columns[0].justify = table.columns[6].justify = "left"
    table.columns[4].no_wrap = True
    for metric, item in comparisons.items():
        scale = max(abs(item.first_mean), abs(item.second_mean))
        table.add_row(
            _format_name(metric, directions),
            format_number(item.first_mean, like=scale),
            format_number(item.second_mean, like=scale),
            Text(_format_signed(item.difference, scale), style="bold"),
            f"{_format_signed(item.ci_low, scale)} … {_format_signed(item.ci_high, scale)}",
            format_p_value(item.p_value),
            _format_better(metric, item, directions),
        )
    return table


def _format_better(metric: str, item: Comparison, directions: Mapping[str, bool] | None) -> Text:
    if not item.significant:
        return Text("undecided", style="dim")
    return Text("A" if (item.difference > 0) == is_higher_better(metric, directions) else "B", style="bold green")


def format_p_value(p_value: float) -> str:
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _make_table(*headers: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold cyan")
    for header in headers:
        table.add_column(Text(clean_text(header)), justify="right", overflow="fold")
    return table


def _format_name(metric: str, directions: Mapping[str, bool] | None) -> Text:
    return Text.assemble(clean_text(metric), (f" {get_arrow(metric, directions)}", "dim"))


def _format_interval(item: Statistics) -> Text:
    if item.ci_low is None or item.ci_high is None or item.ci_low == item.ci_high:
        return Text("–", style="dim")  # a point would be read as certainty
    return Text(f"{format_number(item.ci_low, like=item.max)} – {format_number(item.ci_high, like=item.max)}")


def _format_half_width(item: Statistics) -> Text:
    text = Text(format_number(item.mean, like=item.max))
    if item.ci_low is not None and item.ci_high is not None and item.ci_low < item.ci_high:
        text.append(f" ±{format_number((item.ci_high - item.ci_low) / 2, like=item.max)}", style="dim")
    return text


def _format_signed(value: float, scale: float) -> str:
    text = format_number(value, like=scale)
    return text if text.startswith("-") else f"+{text}"


def _is_share(item: Statistics) -> bool:
    """Whether a metric has its place on a scale from 0 to 1."""
    return item.min is not None and item.max is not None and item.min >= 0.0 and item.max <= 1.0


def _draw_bar(item: Statistics) -> Text:
    """The interval and the mean on a scale from 0 to 1."""
    if not _is_share(item) or item.mean is None:
        return Text()
    low, mean, high = (_to_cell(item.mean if end is None else end) for end in (item.ci_low, item.mean, item.ci_high))
    bar = Text().append("─" * low, style="dim")
    bar.append("━" * (mean - low), style="cyan").append("●", style="bold cyan").append(
        "━" * (high - mean), style="cyan"
    )
    return bar.append("─" * (BAR_WIDTH - 1 - high), style="dim")


def _to_cell(share: float) -> int:
    return round(share * (BAR_WIDTH - 1))
