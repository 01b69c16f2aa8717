"""Tables in a terminal of 80 columns."""

import io

import pytest
from report_samples import episode, played
from rich.console import Console

from nav_eval.evaluation.aggregation import FinalAggregator, build_report
from nav_eval.evaluation.report import ReportHeader
from nav_eval.evaluation.terminal_report import (
    choose_headline_metrics,
    clean_text,
    format_number,
    get_arrow,
    print_comparison,
    print_report,
)
from nav_eval.metrics.comparison import RunScores, compare
from nav_eval.metrics.statistics import Bootstrap
from nav_eval.records.results import EpisodeStatus

HOSTILE = "[red]x[/red] \x1b[2J\x07[link=http://evil]y"


def shown(results, *, width=80, group_by=None, benchmark="Bench"):
    final = FinalAggregator(bootstrap=Bootstrap(replicates=99))
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    print_report(
        console, build_report(results, header=ReportHeader(benchmark=benchmark), final=final), group_by=group_by
    )
    return console.file.getvalue()


def row_of(text, start):
    return next(line for line in text.splitlines() if line.strip().startswith(start))


def test_a_row_has_mean_interval_direction_and_count():
    results = played(40)
    cells = row_of(shown(results), "success").split()
    mean = sum(r.metrics["success"] for r in results) / 40
    assert cells[:3] == ["success", "↑", f"{mean:.3f}"]
    assert "40" in cells
    assert row_of(shown(results), "navigation_error").split()[1] == "↓"


def test_the_bar_shows_where_the_mean_lies():
    low = row_of(shown([episode(i, metrics={"spl": 0.1 + 0.001 * i}) for i in range(9)]), "spl")
    high = row_of(shown([episode(i, metrics={"spl": 0.9 + 0.001 * i}) for i in range(9)]), "spl")
    assert low.index("●") < high.index("●")


@pytest.mark.parametrize("group_by", [None, "scene", "subtasks", "instruction", "path"])
def test_no_line_is_longer_than_the_terminal(group_by):
    failed = episode(77, status=EpisodeStatus.FAILED, cause="agent_crash", metrics={})
    text = shown([*played(40), failed], group_by=group_by)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in row_of(text, "navigation_error")


def test_groups_are_shown_on_demand():
    assert "by subtasks" not in shown(played(12))
    text = shown(played(12), group_by="subtasks")
    assert [row_of(text, f"{n} ").split()[0] for n in (2, 3, 4)] == ["2", "3", "4"]
    assert "grouped by" in shown([episode(1)], group_by="subtasks")


def test_failures_and_invalid_values_are_named():
    results = [
        *played(10),
        episode(90, status=EpisodeStatus.FAILED, cause="agent_oom", metrics={}),
        episode(91, status=EpisodeStatus.FAILED, cause="infrastructure", metrics={}),
    ]
    text = shown(results)
    assert "11 of 12 episodes scored" in text
    assert row_of(text, "agent_oom").split() == ["agent_oom", "1", "yes", "ep_90"]
    assert row_of(text, "infrastructure").split() == ["infrastructure", "1", "no", "ep_91"]
    assert "navigation_error: no valid value in 1 scored episodes (ep_90)" in " ".join(text.split())


def test_hostile_text_neither_styles_nor_moves_the_cursor():
    bad = {"episode_id": HOSTILE, "cause": HOSTILE, "scene_id": HOSTILE, "status": EpisodeStatus.FAILED}
    text = shown([*played(8), episode(9, **bad, metrics={HOSTILE: 0.5})], group_by="scene", benchmark=HOSTILE)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]x[/red]" in text


def test_a_point_is_not_shown_as_an_interval():
    assert row_of(shown([episode(i) for i in range(5)]), "success").split()[3] == "–"


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (None, None, "–"),
        (float("nan"), None, "–"),
        (float("inf"), 1.0, "–"),
        (0.5, None, "0.500"),
        (0.5, 12.0, "0.50"),
        (12.345, None, "12.35"),
        (12345.6, None, "12346"),
        (-0.25, None, "-0.250"),
    ],
)
def test_numbers(value, like, text):
    assert format_number(value, like=like) == text


def test_plain_text_keeps_other_scripts():
    assert clean_text("去厨房 naïve ✓") == "去厨房 naïve ✓"
    assert clean_text("a\u202eb\nc") == "a�b�c"  # right-to-left override, newline


def test_arrows_and_headlines():
    assert (get_arrow("spl"), get_arrow("ne"), get_arrow("x", {"x": False})) == ("↑", "↓", "↓")
    assert choose_headline_metrics(["steps", "spl", "odd", "success"], limit=3) == ["success", "spl", "steps"]


def test_a_comparison_names_the_better_run():
    def scores(values):
        return RunScores(name="run", values={str(i): v for i, v in enumerate(values)})

    comparisons = {
        "success": compare(scores([1.0] * 60 + [0.0] * 20), scores([0.0] * 60 + [1.0] * 20)),
        "navigation_error": compare(scores([5.0 + i % 3 for i in range(80)]), scores([1.0 + i % 3 for i in range(80)])),
        "spl": compare(scores([0.5, 0.4] * 40), scores([0.4, 0.5] * 40)),
    }
    console = Console(file=io.StringIO(), width=80)
    print_comparison(console, ("runs/mine", "runs/[b]theirs"), comparisons)
    text = console.file.getvalue()
    assert "runs/[b]theirs" in text
    assert row_of(text, "success").split()[-1] == "A"
    assert row_of(text, "navigation_error").split()[-1] == "B"  # lower is better
    assert row_of(text, "spl").split()[-1] == "undecided"
    assert "A alone succeeds in 60 episodes, B alone in 20; McNemar" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
