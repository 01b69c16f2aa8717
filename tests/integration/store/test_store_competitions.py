"""Competitions as code: applied, changed, and protected from changes that would make numbers lie."""

from collections.abc import Callable
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig, load_competition
from nav_eval_store import audit
from nav_eval_store.boards import leaderboard
from nav_eval_store.competitions import configuration, moderation
from nav_eval_store.competitions.configuration import Change
from nav_eval_store.errors import Conflict, DangerousChange, NotFound
from nav_eval_store.models import BoardEntry, Team, TeamKind
from nav_eval_store.notifications import events
from support.challenge import GENEROUS, TEST, Challenge, benchmark, competition_config

pytestmark = pytest.mark.integration

WEIGHTS = {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}


def paths(changes: list[Change]) -> dict[str, bool]:
    """Path → whether it is dangerous."""
    return {change.path: change.danger is not None for change in changes}


def test_the_demo_competition_is_applied_and_stays_as_it_was(database) -> None:
    config = load_competition("demo", environ={})
    cup = Challenge(database, config)
    again = cup.apply(config)
    assert (again.created, list(again.changes)) == (False, [])
    with database.read() as session:
        competition = configuration.get_competition(session, "demo")
        assert competition.config == config, "what comes back is what went in"
        (phase,) = competition.phases
        assert phase.config == config.phases[0]
        assert phase.ranking == {"weights": WEIGHTS, "higher_is_better": True}
        assert [row.name for row in configuration.list_competitions(session)] == ["demo"]


def test_a_name_that_does_not_exist(cup: Challenge) -> None:
    with cup.database.read() as session:
        with pytest.raises(NotFound, match="'nope'"):
            configuration.get_competition(session, "nope")
        with pytest.raises(NotFound, match="no phase 'nope'"):
            cup.phase(session, "nope")


def test_changes_are_reported_and_written_down(cup: Challenge) -> None:
    phase = {"quota": {"per_day": 7, "concurrent": 1000}, "closes": "2027-01-01T00:00:00Z"}
    applied = cup.apply(competition_config(phase, {"name": "test", "requires": "dev"}, title="The Great Cup"))
    assert paths(list(applied.changes)) == {
        "title": False,
        "phases.dev.quota.per_day": False,
        "phases.dev.closes": False,
        "phases.test": False,
    }
    assert str(applied.changes[0]) == "title: 'The Cup' → 'The Great Cup'"
    with cup.database.read() as session:
        assert cup.competition(session).title == "The Great Cup"
        assert cup.phase(session).config.quota.per_day == 7
        assert [row.name for row in cup.competition(session).phases] == ["dev", "test"]
        newest = audit.list_audit_events(session).items[0]
        assert (newest.action, len(newest.details["changes"])) == ("competition.apply", 4)
        assert events.read_events_after(session, 0, kinds=[events.PHASE_CHANGED])


DANGEROUS: list[tuple[dict[str, Any], str]] = [
    ({"benchmark": "demo_vln"}, "different benchmarks"),
    ({"ranking": {"weights": {"tar": 0.5, "isr": 0.5}}}, "computed anew"),
    ({"ranking": {"keep": "last"}}, "another submission of a team counts"),
    ({"ranking": {"metric": "ne", "direction": "lower"}}, "computed anew"),
    ({"visibility": {"logs": "public"}}, "shown to the public"),
    ({"visibility": {"episodes": "public"}}, "shown to the public"),
    ({"name": "other"}, "has 1 submissions"),
]


@pytest.mark.parametrize(("change", "message"), DANGEROUS)
def test_dangerous_changes_are_refused_once_there_are_submissions(
    database, change: dict[str, Any], message: str
) -> None:
    cup = Challenge(database)
    changed = competition_config({**GENEROUS, **change})
    cup.start(cup.team("Red"))
    with pytest.raises(DangerousChange, match=message):
        cup.apply(changed)
    with database.read() as session:
        assert cup.competition(session).config == competition_config(GENEROUS), "nothing was changed"
    assert any(applied.danger for applied in cup.apply(changed, allow_dangerous=True).changes)


@pytest.mark.parametrize(("change", "_message"), DANGEROUS)
def test_nothing_is_dangerous_while_nobody_has_submitted(cup: Challenge, change: dict[str, Any], _message: str) -> None:
    applied = cup.apply(competition_config({**GENEROUS, **change}))
    assert applied.changes
    assert not any(change.danger for change in applied.changes)


@pytest.mark.parametrize("visibility", [{"logs": "organiser"}, {"replays": "organiser"}])
def test_showing_less_is_never_dangerous(cup: Challenge, visibility: dict[str, str]) -> None:
    cup.start(cup.team("Red"))
    assert not any(
        change.danger for change in cup.apply(competition_config({**GENEROUS, "visibility": visibility})).changes
    )


def with_other_steps() -> Callable[[str], BenchmarkConfig]:
    def of(name: str) -> BenchmarkConfig:
        known = benchmark(name)
        return known.model_copy(update={"evaluation": known.evaluation.model_copy(update={"max_steps": 7})})

    return of


def test_a_benchmark_that_was_edited_is_noticed(cup: Challenge) -> None:
    cup.start(cup.team("Red"))
    with pytest.raises(DangerousChange, match="evaluated by the old rules"):
        cup.apply(competition_config(GENEROUS), benchmark_of=with_other_steps())


def test_rows_by_old_rules_say_so_until_they_are_evaluated_again(cup: Challenge) -> None:
    cup.complete(cup.team("Red"))
    cup.apply(competition_config(GENEROUS), benchmark_of=with_other_steps(), allow_dangerous=True)
    with cup.database.begin() as session:
        assert [row.outdated for row in leaderboard.build_board(session, cup.phase(session)).rows] == [True]
        (again,) = moderation.reevaluate_all(session, cup.phase(session), actor=TEST, reason="new rules")
    cup.prepare(again.id)
    cup.run(again.id)
    with cup.database.read() as session:
        assert [row.outdated for row in leaderboard.build_board(session, cup.phase(session)).rows] == [False]


def test_another_ranking_scores_everything_anew(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    first = cup.complete(red, {"tar": 1.0, "isr": 0.0, "csr": 0.0, "cgt": 0.0})
    second = cup.complete(blue, {"tar": 0.0, "isr": 0.9, "csr": 0.0, "cgt": 0.0})
    cup.apply(competition_config({**GENEROUS, "ranking": {"weights": {"isr": 1.0}}}), allow_dangerous=True)
    with cup.database.read() as session:
        board = leaderboard.build_board(session, cup.phase(session))
        assert [(row.rank, row.team, row.score.mean) for row in board.rows] == [(1, "Blue", 0.9), (2, "Red", 0.0)]
        assert {first, second} == {row.submission_id for row in board.rows}
        assert session.get_one(BoardEntry, second).score == 0.9


def test_a_phase_without_submissions_can_go_and_come_back(cup: Challenge) -> None:
    cup.apply(competition_config(GENEROUS, {"name": "test"}))
    gone = cup.apply(competition_config(GENEROUS))
    assert paths(list(gone.changes)) == {"phases.test": False}
    with cup.database.read() as session:
        assert cup.phase(session, "test").archived_at is not None
    back = cup.apply(competition_config(GENEROUS, {"name": "test"}))
    assert paths(list(back.changes)) == {"phases.test": False}
    with cup.database.read() as session:
        assert cup.phase(session, "test").archived_at is None


def test_baselines_are_rows_of_their_own(database) -> None:
    two = [{"name": "Random", "agent": "baseline:random"}, {"name": "Best", "agent": "x:Y", "privileged": True}]
    cup = Challenge(database, competition_config({**GENEROUS, "baselines": two}))
    cup.apply(competition_config({**GENEROUS, "baselines": two}, {"name": "test", "baselines": two}))
    with database.read() as session:
        kinds = {team.name: team.kind for team in session.query(Team)}
    assert kinds == {"Random": TeamKind.BASELINE, "Best": TeamKind.UPPER_BOUND}


def test_a_baseline_cannot_take_a_teams_name(cup: Challenge) -> None:
    cup.team("Random")
    with pytest.raises(Conflict, match="another name"):
        cup.apply(competition_config({**GENEROUS, "baselines": [{"name": "random", "agent": "baseline:random"}]}))


@pytest.mark.parametrize(
    ("name", "weights"), [("demo_vln", {"spl": 1.0}), ("demo_objectnav", {"spl": 1.0}), ("demo_lh_vln", WEIGHTS)]
)
def test_what_ranks_when_nobody_says_so(database, name: str, weights: dict[str, float]) -> None:
    cup = Challenge(database, competition_config({"benchmark": name}))
    with database.read() as session:
        assert cup.phase(session).ranking["weights"] == weights
