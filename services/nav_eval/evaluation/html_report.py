"""The report as one HTML file: no scripts, no requests, readable in light and dark, and as text.

Everything that comes from a run (ids, instructions, causes, configuration) is escaped by the
template; a content security policy in the page forbids whatever might still slip through.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from nav_eval import plots
from nav_eval.evaluation.report import GROUP_TITLES, Report, format_number, get_path_length
from nav_eval.evaluation.terminal_report import (
    choose_headline_metrics,
    get_arrow,
    list_failure_details,
    list_notes,
)
from nav_eval.metrics.statistics import Statistics
from nav_eval.records.results import EpisodeOutcome, EpisodeStatus
from nav_eval.records.scoring import get_scored_value, is_higher_better, is_scored
from nav_eval.whole_files import write_atomically

MOST_GROUPS = 60  #: groups in one plot; the table below it has all
MOST_EPISODES = 2_000  #: rows of the episode table; failures come first


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupView:
    """One way to divide the episodes, as the page shows it."""

    name: str
    plot: plots.Whiskers | None
    metrics: list[str]  #: columns of the table
    table: dict[str, dict[str, Statistics]]


def write_html(path: Path, report: Report) -> None:
    """Write the page whole or not at all."""
    write_atomically(path, render_html(report).encode())


def render_html(report: Report) -> str:
    """The page as text."""
    environment = Environment(
        loader=PackageLoader("nav_eval.evaluation", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": format_number, "unit": _format_coordinate}
    environment.globals["arrow"] = lambda metric: get_arrow(metric, report.higher_is_better)
    return environment.get_template("report.html.j2").render(
        report=report,
        headline=_choose_headline(report),
        scales={name: _make_scale(name, item) for name, item in report.aggregated.items()},
        histograms=list(_make_histograms(report)),
        groups=list(_make_group_views(report)),
        scatter=_make_scatter(report),
        notes=list_notes(report),
        failure_details=list_failure_details(report),
        episodes=_list_episodes(report.episodes),
        config=yaml.safe_dump(report.config, sort_keys=False, allow_unicode=True) if report.config else "",
    )


def _format_coordinate(value: float) -> str:
    """A coordinate: a tenth of a unit is finer than any screen."""
    return f"{value:.1f}".removesuffix(".0")


def _choose_headline(report: Report) -> list[str]:
    return choose_headline_metrics(report.aggregated, limit=4)


def _make_scale(name: str, item: Statistics) -> plots.Whiskers | None:
    """The small interval plot inside a table row, for metrics between 0 and 1."""
    if item.min is None or item.max is None or item.min < 0.0 or item.max > 1.0:
        return None
    return plots.make_whiskers(name, {name: item}, width=170.0, left=6.0, right=164.0)


def _make_histograms(report: Report) -> Iterable[plots.Histogram]:
    for name, item in report.aggregated.items():
        values = [value for _, value in _iter_scored_values(report, name)]
        if values:
            yield plots.make_histogram(name, values, mean=item.mean, width=300.0, height=130.0)


def _make_group_views(report: Report) -> Iterable[GroupView]:
    metrics = choose_headline_metrics(report.aggregated, limit=5)
    for name, table in sorted(report.groups.items(), key=lambda item: len(item[1])):
        if len(table) < 2 or not metrics:
            continue
        lead = {label: statistics[metrics[0]] for label, statistics in list(table.items())[:MOST_GROUPS]}
        plot = plots.make_whiskers(metrics[0], lead, width=720.0, left=190.0, right=660.0)
        yield GroupView(name=GROUP_TITLES.get(name, name), plot=plot, metrics=metrics, table=table)


def _make_scatter(report: Report) -> plots.Scatter | None:
    """Is it the long paths that fail? Shortest path against SPL, or the next best of each."""
    y_name = next((name for name in ("spl", "soft_spl", *_choose_headline(report)) if name in report.aggregated), None)
    if y_name is None:
        return None
    points = [
        plots.ScatterPoint(length, value, outcome.episode_id, outcome.status is not EpisodeStatus.COMPLETED)
        for outcome, value in _iter_scored_values(report, y_name)
        if (length := get_path_length(outcome)) is not None
    ]
    return plots.make_scatter(points, x_name="shortest path (m)", y_name=y_name, width=720.0, height=320.0)


def _iter_scored_values(report: Report, name: str) -> Iterable[tuple[EpisodeOutcome, float]]:
    higher = is_higher_better(name, report.higher_is_better)
    for outcome in report.episodes:
        value = get_scored_value(outcome, name, higher_is_better=higher) if is_scored(outcome) else None
        if value is not None:
            yield outcome, value


def _list_episodes(episodes: list[EpisodeOutcome]) -> list[EpisodeOutcome]:
    failures_first = sorted(episodes, key=lambda episode: episode.status is EpisodeStatus.COMPLETED)
    return failures_first[:MOST_EPISODES]
