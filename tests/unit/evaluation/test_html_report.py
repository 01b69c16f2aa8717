"""The page: self-contained, harmless, and it says what results.json says."""

import math
import re
from html.parser import HTMLParser

import pytest
from report_samples import episode, played

from nav_eval.evaluation.aggregation import FinalAggregator, build_report
from nav_eval.evaluation.html_report import MOST_EPISODES, render_html, write_html
from nav_eval.evaluation.report import ReportHeader
from nav_eval.metrics.statistics import Bootstrap
from nav_eval.records.results import EpisodeStatus

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} ]]> &amp;"
VOID = {"meta", "br", "line", "circle", "rect", "img", "link", "input"}


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.ids, self.open = [], [], "", [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def page(results, header=None, **settings):
    final = FinalAggregator(bootstrap=Bootstrap(replicates=99), **settings)
    return Page(render_html(build_report(results, header=header or ReportHeader(benchmark="Bench"), final=final)))


def hostile_run():
    bad = {
        "episode_id": HOSTILE,
        "scene_id": HOSTILE,
        "instruction": HOSTILE,
        "cause": HOSTILE,
        "detail": HOSTILE,
        "status": EpisodeStatus.FAILED,
        "metrics": {HOSTILE: 0.5, "success": 0.0},
    }
    header = ReportHeader(benchmark=HOSTILE, config={HOSTILE: HOSTILE}, digests={HOSTILE: HOSTILE}, timestamp=HOSTILE)
    return page([*played(30), episode(99, **bad)], header)


def test_hostile_text_is_text():
    result = hostile_run()
    assert "script" not in result.tags
    assert "img" not in result.tags
    assert not [name for _, name, _ in result.attributes if name.startswith("on")]
    assert result.text.count(HOSTILE) >= 8


def test_the_page_asks_nobody_for_anything():
    result = hostile_run()
    assert not {"link", "script", "iframe", "object", "embed", "form", "base"} & set(result.tags)
    assert not [a for a in result.attributes if a[1] in {"src", "href", "srcset", "action", "style", "xlink:href"}]
    policy = next(v for _, name, v in result.attributes if name == "content" and "default-src" in v)
    assert "default-src 'none'" in policy
    assert "url(" not in result.text
    assert "@import" not in result.text


def test_tags_nest_and_ids_are_unique():
    result = page(played(30))
    assert result.open == []
    assert len(result.ids) == len(set(result.ids))
    references = [r for _, name, value in result.attributes if name == "aria-labelledby" for r in value.split()]
    assert set(references) <= set(result.ids)


def test_every_plot_has_a_name_and_a_description_and_numbers_in_a_table():
    text = render_html(build_report(played(40), header=ReportHeader()))
    plots = re.findall(r"<svg (?!class=.inline)(.*?)</svg>", text, flags=re.DOTALL)
    assert len(plots) >= 3 + 4 + 1  # a histogram per metric, four groupings, the scatter plot
    for plot in plots:
        assert 'role="img"' in plot
        assert "<title id=" in plot
        assert "<desc id=" in plot
    assert text.count("<table") >= 6


def test_both_colour_schemes_are_there():
    text = render_html(build_report(played(3), header=ReportHeader()))
    assert "prefers-color-scheme: dark" in text
    assert "color-scheme: light dark" in text


def test_the_page_shows_the_numbers_of_the_report():
    results = played(40)
    report = build_report(results, header=ReportHeader(benchmark="My Bench"))
    text = Page(render_html(report)).text
    for name, item in report.aggregated.items():
        assert name in text
        assert (f"{item.mean:.3f}" if item.max <= 1 else f"{item.mean:.2f}") in text
    assert "navigation_error ↓" in text
    assert "spl ↑" in text
    assert "My Bench" in text


@pytest.mark.parametrize(
    "results",
    [
        [],
        [episode(1)],
        [episode(1, metrics={})],
        [episode(1, metrics={"spl": math.nan})],
        [episode(1, metrics={"spl": None, "success": True}, scene_id=None)],
        [episode(i, metrics={"ne": 7.0}) for i in range(5)],  # all equal
        [episode(i, metrics={"ne": -3.5 - i, "big": 1e90 * i, "tiny": 1e-90 * i}) for i in range(5)],
        [episode(i, status=EpisodeStatus.CANCELLED, metrics={"spl": 0.5}) for i in range(3)],
        [episode(i, shortest_path_length=0.0) for i in range(3)],
    ],
)
def test_odd_runs_have_a_page_too(results):
    assert "Metrics" in page(results).text


def test_a_big_run_has_a_page_of_bearable_size():
    results = [episode(i, scene_id=f"scene_{i % 300}", shortest_path_length=i / 10) for i in range(MOST_EPISODES + 500)]
    results.append(episode(99_999, status=EpisodeStatus.FAILED, cause="agent_oom"))
    final = FinalAggregator(bootstrap=Bootstrap(replicates=99))
    text = render_html(build_report(results, header=ReportHeader(), final=final))
    assert len(text) < 2_000_000
    assert "ep_99999" in text  # failures are never cut
    assert f"{MOST_EPISODES} of {MOST_EPISODES + 501} episodes" in text
    assert "60 of 300 groups drawn" in text


def test_the_file_is_the_page(tmp_path):
    report = build_report(played(3), header=ReportHeader())
    write_html(tmp_path / "deep" / "report.html", report)
    assert (tmp_path / "deep" / "report.html").read_text(encoding="utf-8") == render_html(report)
