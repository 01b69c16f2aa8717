"""The parts of pages that need no server: words, standings, diagrams, sketches, files."""

import ast
import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from string import Formatter
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nav_eval_gateway.app
import nav_eval_store
from nav_eval.config_model import ANSWER_METRICS, LH_VLN_METRICS, LOCALIZATION_METRICS
from nav_eval.metrics import METRICS as NAVIGATION_METRICS
from nav_eval.replay.page import encode_data
from nav_eval_gateway import pages
from nav_eval_gateway.pages import plots, static_files
from nav_eval_gateway.pages.jinja import (
    format_duration,
    format_metric_name,
    format_moment,
    format_number,
    format_size,
    render,
)
from nav_eval_gateway.pages.leaderboard_table import ROWS, BoardQuery, Standing
from nav_eval_gateway.pages.markdown import extract_text, render_markdown
from nav_eval_gateway.pages.replay import sketch_replay
from nav_eval_gateway.pages.translations import (
    LANGUAGES,
    Translator,
    choose_language,
    load_catalogue,
    load_refusals,
    make_translator,
)
from nav_eval_store.boards.leaderboard import Board, Cell, Column, Row
from nav_eval_store.errors import Conflict, Refusal
from nav_eval_store.models import EntryVisibility, TeamKind
from nav_eval_store.submissions.lifecycle import JobKind, SubmissionState

FOLDER = Path(pages.__file__).parent
NOW = datetime(2026, 9, 1, 12, tzinfo=UTC)


def used_keys() -> set[str]:
    sources = [*FOLDER.glob("templates/*.j2"), *FOLDER.glob("*.py")]
    return {key for source in sources for key in re.findall(r'\b_?t\("([a-z0-9_.]+)"[,)]', source.read_text("utf-8"))}


def prefixes() -> set[str]:
    """Keys that are put together: `t("state." ~ state)`."""
    sources = FOLDER.glob("templates/*.j2")
    return {key for source in sources for key in re.findall(r'\bt\("([a-z0-9_.]+[._])" ~', source.read_text("utf-8"))}


def test_every_language_says_the_same_things() -> None:
    english = load_catalogue("en")
    for language in LANGUAGES:
        assert load_catalogue(language).keys() == english.keys(), language
        for key, text in load_catalogue(language).items():
            assert text, f"{language} {key}"
            assert names(text) == names(english[key]), f"{language} {key}"


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_no_page_uses_a_word_that_is_not_there() -> None:
    assert used_keys() - load_catalogue("en").keys() == set()
    assert len(used_keys()) > 200
    for prefix in prefixes():
        assert any(key.startswith(prefix) for key in load_catalogue("en")), prefix


def test_no_word_is_left_over() -> None:
    of_values = (
        "part.",
        "purpose.",
        "form.",
        "task.about.",
    )  # named by what a refusal says, or by the kind of a mistake
    together = (*prefixes(), *of_values, "refusal.", "field.", "cause.", "advice.", "upload.js.", "column.")
    unused = {key for key in load_catalogue("en") if not key.startswith(together)} - used_keys()
    assert {key for key in unused if not key.endswith(".one")} == set()


@pytest.mark.parametrize("kind", JobKind)
def test_every_kind_of_job_has_a_name(kind: JobKind) -> None:
    assert all(f"job.{kind}" in load_catalogue(language) for language in LANGUAGES)


@pytest.mark.parametrize("state", SubmissionState)
def test_every_state_has_a_name_and_a_reason(state: SubmissionState) -> None:
    for language in LANGUAGES:
        assert {f"state.{state}", f"reason.{state}"} <= load_catalogue(language).keys()


@pytest.mark.parametrize(
    ("wish", "accept", "language"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr;q=0.9, en;q=0.5, zh;q=0.7", "zh"),
        ("en", "zh", "en"),  # a choice beats the browser
        ("xx", "zh", "zh"),
        (None, "fr;q=nonsense", "en"),
    ],
)
def test_languages_are_agreed_on(wish: str | None, accept: str, language: str) -> None:
    assert choose_language(wish, accept) == language


def test_words_know_one_from_many() -> None:
    assert Translator("en")("board.submissions", count=1) == "1 submission"
    assert Translator("en")("board.submissions", count=2) == "2 submissions"


def row(team: str, score: float | None, *, kind: TeamKind = TeamKind.TEAM, **changes: object) -> Row:
    cell = Cell(
        mean=score, ci_low=None if score is None else score - 0.1, ci_high=None if score is None else score + 0.1
    )
    fields: dict[str, object] = {
        "rank": 1,
        "team": team,
        "team_id": uuid4(),
        "kind": kind,
        "submission_id": uuid4(),
        "title": "",
        "submitted_at": NOW,
        "score": cell,
        "metrics": {"tar": cell, "ne": Cell(mean=None if score is None else 9 - score, ci_low=None, ci_high=None)},
        "submissions": 1,
        "shares_with": None,
        "p_value": None,
        "verified_at": None,
        "outdated": False,
        "visibility": EntryVisibility.SHOWN,
        "reason": None,
    }
    return Row(**{**fields, **changes})  # type: ignore[arg-type]


def board(*rows: Row) -> Board:
    columns = [Column(name="tar", higher_is_better=True), Column(name="ne", higher_is_better=False)]
    return Board(
        version=1,
        columns=columns,
        weights={"tar": 1.0},
        higher_is_better=True,
        provisional=False,
        rows=rows,
        withheld=(),
    )


def standing(*rows: Row, own: UUID | None = None, **wish: str) -> Standing:
    return Standing(board(*rows), BoardQuery.of("cup", "dev", wish), own_team=own)


def teams_of(found: Standing) -> list[str]:
    return [line.row.team for line in found.lines]


ABC = (row("B", 0.5), row("a", 0.9), row("C", None), row("d", 0.7, kind=TeamKind.BASELINE))


@pytest.mark.parametrize(
    ("wish", "order"),
    [
        ({}, ["B", "a", "C", "d"]),  # as the store has it
        ({"sort": "team"}, ["a", "B", "C", "d"]),
        ({"sort": "team", "order": "desc"}, ["d", "C", "B", "a"]),
        ({"sort": "score"}, ["a", "d", "B", "C"]),  # no number comes last
        ({"sort": "score", "order": "asc"}, ["B", "d", "a", "C"]),
        ({"sort": "ne"}, ["a", "d", "B", "C"]),  # lower is better: best first
        ({"sort": "nonsense"}, ["B", "a", "C", "d"]),
        ({"q": "D"}, ["d"]),
        ({"kind": "team"}, ["B", "a", "C"]),
        ({"kind": "baseline"}, ["d"]),
        ({"kind": "verified"}, []),
        ({"page": "99999999"}, ["B", "a", "C", "d"]),
    ],
)
def test_boards_are_sorted_and_filtered(wish: dict[str, str], order: list[str]) -> None:
    assert teams_of(standing(*ABC, **wish)) == order


def test_pages_of_a_board_hold_every_row_once() -> None:
    rows = [row(f"t{n:03}", n / 250) for n in range(250)]
    shown = [team for page in ("1", "2", "3") for team in teams_of(standing(*rows, page=page))]
    assert shown == [r.team for r in rows]
    assert standing(*rows).pages == -(-250 // ROWS)
    assert len(standing(*rows, rows="all").lines) == 250


def test_a_second_click_turns_the_order() -> None:
    heading = {h.name: h for h in standing(*ABC, sort="tar").headings}["tar"]
    assert (heading.sorted, heading.better) == ("descending", "higher")
    assert heading.address == "/competitions/cup/dev/board?sort=tar&order=asc"


def test_shared_ranks_name_the_one_they_cannot_be_told_from() -> None:
    head = row("Head", 0.9)
    tail = row("Tail", 0.88, shares_with=head.submission_id, p_value=0.4)
    first, second = standing(head, tail, own=tail.team_id).lines
    assert (first.shared, first.head, first.mine) == (True, None, False)
    assert (second.shared, second.head, second.mine) == (True, "Head", True)


@given(st.lists(st.floats(-1e6, 1e6), max_size=8))
def test_drawn_intervals_stay_on_their_paper(scores: list[float]) -> None:
    for line in standing(*(row("x", score) for score in scores)).lines:
        assert line.drawn is not None
        assert 0 <= line.drawn.low <= line.drawn.mean <= line.drawn.high <= 118


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_axes_hold_all_values_and_have_a_few_round_ticks(values: list[float]) -> None:
    axis = plots.Axis(values, 0, 500)
    assert all(0 <= axis.at(value) <= 500 for value in values)
    assert 1 <= len(axis.ticks()) <= 11


def test_a_diagram_leaves_out_what_has_no_number() -> None:
    plot = plots.plot_metrics(ABC, "tar", "score")
    assert plot is not None
    assert len(plot.dots) == 3
    assert plots.plot_metrics([row("x", None)], "tar", "score") is None


def test_a_sketch_of_an_answer_shows_the_answer() -> None:
    line = {"episode_id": "a", "actions": [{"action": "answer", "poses": [[1.0, 2.0, 3.0, 0, 0, 0, 1]]}]}
    replay = sketch_replay({**line, "trajectory": [[7.0, 7.0, 7.0]]}, benchmark="demo")
    assert {step.position for step in replay.steps} == {(1.0, 2.0, 3.0)}
    assert replay.events[-1].reason == "answer"


def test_a_sketch_has_a_step_per_action() -> None:
    line = {
        "episode_id": "a/b",
        "status": "completed",
        "actions": ["move_forward", {"action": "turn_left", "action_args": {"degrees": 30}}, "stop"],
        "trajectory": [[0, 0, 0], [0, 0, -1], [0, 0, -1], [0, 0, -1]],
        "metrics": {"sr": True},
    }
    replay = sketch_replay(line, benchmark="demo")
    assert [step.action for step in replay.steps] == [None, "move_forward", "turn_left", "stop"]
    assert replay.steps[2].arguments == {"degrees": 30.0}
    assert replay.steps[0].yaw == 0.0  # towards −Z
    assert json.loads(encode_data(replay))["events"][-1]["reason"] == "stop"
    column, line_ = replay.floors[0].pixel((0, 0, -1))
    assert 0 <= column <= replay.floors[0].picture.width
    assert 0 <= line_ <= replay.floors[0].picture.height


@pytest.mark.parametrize(
    "line", [{"episode_id": "x"}, {"episode_id": "x", "actions": ["stop"], "cause": "agent_crash"}]
)
def test_a_sketch_needs_hardly_anything(line: dict[str, object]) -> None:
    assert sketch_replay(line, benchmark="demo").steps[0].position == (0.0, 0.0, 0.0)


def test_files_are_addressed_by_their_content() -> None:
    assert static_files.make_asset_url("pages.css") == f"/static/{static_files.compute_digest()}/pages.css"
    assert {"replay.js", "replay.css", "board.js"} <= static_files.load_assets().keys()
    assert sum(len(asset.compressed) for asset in static_files.load_assets().values()) < 60_000


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (format_number(None), "–"),
        (format_number(0.12345), "0.123"),
        (format_metric_name("tar"), "TAR"),
        (format_metric_name("path_length"), "path length"),
        (format_size(999), "999 B"),
        (format_size(2_500_000_000), "2.5 GB"),
        (format_duration(3661), "1 h 1 min"),
        (format_duration(timedelta(days=2, seconds=5)), "2 d 5 s"),
        (format_duration(0), "0 s"),
        (format_duration(3661, make_translator("zh")("units").split()), "1 小时 1 分"),
        (str(format_moment(NOW)), '<time datetime="2026-09-01T12:00:00Z">2026-09-01 12:00 UTC</time>'),
    ],
)
def test_values_look_as_people_read_them(shown: str, text: str) -> None:
    assert shown == text


def refusals(kind: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    """All kinds that there are: the application has imported them."""
    yield kind
    for leaf in kind.__subclasses__():
        yield from refusals(leaf)


def patterns() -> Iterator[str]:
    """The texts of all refusals that can reach a page, as they stand in the code."""
    shown = {kind.__name__ for kind in refusals() if kind.is_translated}
    for package in (nav_eval_store, nav_eval_gateway):
        for module in Path(package.__path__[0]).rglob("*.py"):
            yield from _told(ast.parse(module.read_text("utf-8")), shown)


def _told(tree: ast.AST, shown: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            first, kind = node.args[0], ast.unparse(node.func).rpartition(".")[2]
            assert kind not in shown or not isinstance(first, ast.JoinedStr), (
                f"give values by name, so that it can be translated, or raise an OperatorError: {ast.unparse(node)}"
            )
            if kind in shown and isinstance(first, ast.Constant):
                yield first.value


@pytest.mark.parametrize("language", [language for language in LANGUAGES if language != "en"])
def test_every_refusal_that_a_page_can_show_is_translated(language: str) -> None:
    found = set(patterns())
    assert len(found) > 70
    assert found - load_refusals(language).keys() == set()
    for pattern, text in load_refusals(language).items():
        assert names(text) == names(pattern), pattern


def test_a_refusal_is_told_in_the_language_of_the_page() -> None:
    error = Conflict("It is still {state}; cancel it first, or wait.", state=SubmissionState.RUNNING)
    assert str(error) == "It is still running; cancel it first, or wait."
    assert make_translator("en").refusal(error.pattern, error.values) == str(error)
    assert make_translator("zh").refusal(error.pattern, error.values) == "它仍为“运行中”；请先取消或等待。"
    hostile = Conflict("The team {name!r} is full: it may have {most} members.", name="{0.__class__}", most=3)
    assert "{0.__class__}" in make_translator("zh").refusal(hostile.pattern, hostile.values)
    assert make_translator("zh").refusal("Nobody has {translated} this.", {}) == "Nobody has {translated} this."


def test_names_beside_dots_keep_clear_of_each_other() -> None:
    rows = [row(f"team {number}", 0.5 + 0.001 * number) for number in range(20)] + [row("x" * 40, 0.9)]
    plot = plots.plot_metrics(rows, "tar", "score")
    assert plot is not None
    named = [dot for dot in plot.dots if dot.name]
    assert len(plot.dots) == 21
    assert len(named) < 6
    assert max(len(dot.name) for dot in named) == plots.LONGEST_NAME
    assert all(0 <= dot.name_x <= plots.WIDTH for dot in named)


METRICS = ("sr", "osr", "spl", "ne", "isr", "csr", "cgt", "tar", "score")


def rendered(lines: Sequence[Row], **asked: str) -> bytes:
    """The part of a board's page that grows with the board, as a stranger gets it."""
    full = Board(
        version=1,
        columns=[Column(name=name, higher_is_better=name != "ne") for name in METRICS],
        weights={"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2},
        higher_is_better=True,
        provisional=False,
        rows=lines,
        withheld=(),
    )
    wish = BoardQuery.of("cup", "dev", asked)
    return render(
        "board_part.html.j2",
        t=make_translator("en"),
        competition=SimpleNamespace(name="cup", title="The Cup"),
        phase=SimpleNamespace(name="dev"),
        title="Development",
        keep="best",
        board=full,
        wish=wish,
        standing=Standing(full, wish),
        names=list(METRICS[:-1]),
        x="sr",
        y="score",
        over_time=None,
        scatter=plots.plot_metrics(lines, "sr", "score"),
        is_organiser=False,
        shows_episodes=True,
        shows_replays=True,
        shows_results=True,
    ).encode()


def test_a_board_of_a_thousand_rows_stays_small() -> None:
    """Under 300 kB with frame, style and scripts; all rows at once travel compressed."""
    rng = random.Random(1)
    rows = []
    for place in range(1000):
        cells = {name: _cell(rng.random()) for name in METRICS}
        rows.append(row(f"A team with a long name {place}", rng.random(), title="cross-modal, v2", metrics=cells))
    files = sum(
        len(static_files.load_assets()[name].body) for name in ("pages.css", "pages.js", "board.js", "mark.svg")
    )
    frame = 5000
    assert len(rendered(rows)) + files + frame < 300_000
    assert rendered(rows).count(b'name="entry"') == ROWS
    everything = rendered(rows, rows="all")
    assert everything.count(b'name="entry"') == 1000
    assert len(gzip.compress(everything, 1)) < 300_000


def _cell(value: float) -> Cell:
    return Cell(mean=value, ci_low=value * 0.9, ci_high=min(1.0, value * 1.1))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Rules\n\nBe *fair*.", "<h3>Rules</h3>\n<p>Be <em>fair</em>.</p>\n"),
        ("a\nb", "<p>a<br />\nb</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("[x](https://a.example)", '<p><a href="https://a.example" rel="nofollow noopener">x</a></p>\n'),
        ("[x](javascript:alert%281%29)", "<p>[x](javascript:alert%281%29)</p>\n"),
        ("[x](data:text/html,1)", "<p>[x](data:text/html,1)</p>\n"),
        ("<javascript:alert(1)>", "<p>&lt;javascript:alert(1)&gt;</p>\n"),
        ("![x](https://a.example/p.png)", '<p>!<a href="https://a.example/p.png" rel="nofollow noopener">x</a></p>\n'),
    ],
)
def test_markdown_shows_what_it_says_and_does_nothing(text: str, html: str) -> None:
    assert render_markdown(text) == html


@given(st.text(alphabet="<>[]()!\"'`&#*_:/=\n aejpsvx", max_size=60))
def test_markdown_never_lets_an_element_of_the_writer_through(text: str) -> None:
    elements = set(re.findall(r"<\s*([^\s>/]+)", str(render_markdown(text))))
    assert elements <= {"p", "br", "em", "strong", "code", "pre", "a", "ul", "ol", "li", "hr", "blockquote"} | {
        f"h{level}" for level in range(3, 7)
    }


def test_a_card_has_the_words_of_a_description() -> None:
    assert extract_text("# Find it\n\nIn *new* houses,\nwith [rules](/rules).\n\n- one\n- two") == (
        "Find it In new houses, with rules. one two"
    )


def test_every_metric_of_ours_is_explained() -> None:
    known = {*NAVIGATION_METRICS.names(), *LH_VLN_METRICS, *LOCALIZATION_METRICS, *ANSWER_METRICS}
    assert {
        key.removeprefix("metric.about.") for key in load_catalogue("en") if key.startswith("metric.about.")
    } == known


def test_names_beside_dots_never_cover_each_other() -> None:
    """Names of the left half run to the right and those of the right half to the left: they meet in the middle."""
    random_values = random.Random(4)
    rows = [row(f"team {n}", random_values.random()) for n in range(60)]
    drawn = plots.plot_metrics(rows, "tar", "score")
    assert drawn is not None
    named = [dot for dot in drawn.dots if dot.name]
    assert len(named) > 3
    for place, dot in enumerate(named):
        for other in named[:place]:
            if abs(dot.y - other.y) < plots.NAME_HEIGHT:
                spans = [
                    (d.name_x - plots.NAME_WIDTH + 9, d.name_x)
                    if d.anchor == "end"
                    else (d.name_x, d.name_x + plots.NAME_WIDTH - 9)
                    for d in (dot, other)
                ]
                assert spans[0][1] <= spans[1][0] or spans[1][1] <= spans[0][0], (dot.title, other.title)


AMERICAN = re.compile(
    r"\b(color|center|behavior|favor|canceled|labeled|gray|catalog|defense|"
    r"(organ|recogn|random|optim|initial|summar|visual|synchron)iz\w*|analyz\w*)\b",
    re.IGNORECASE,
)


def test_our_english_is_british() -> None:
    assert {key: text for key, text in load_catalogue("en").items() if AMERICAN.search(text)} == {}


def test_our_chinese_has_chinese_punctuation() -> None:
    """A comma or colon of another script between two characters is a slip of the keyboard."""
    slip = re.compile(r"[\u4e00-\u9fff][,;:?!]|[,;?!][\u4e00-\u9fff]")
    texts = {**load_catalogue("zh"), **load_refusals("zh")}
    assert {key: text for key, text in texts.items() if slip.search(text)} == {}
