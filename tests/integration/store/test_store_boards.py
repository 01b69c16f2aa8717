"""Boards: which submission counts, in what order, and who sees it."""

import csv
import io
from collections.abc import Callable
from uuid import UUID

import pytest
from sqlalchemy import select

from nav_eval.records.results import Cause
from nav_eval_store.boards import leaderboard, ranking, scores
from nav_eval_store.boards.leaderboard import Board
from nav_eval_store.competitions import moderation, visibility
from nav_eval_store.competitions.visibility import ANYBODY, ORGANISER, Viewer
from nav_eval_store.database import Session
from nav_eval_store.errors import Conflict, StoreError
from nav_eval_store.models import BoardEntry, EntryVisibility, Phase, Submission, Team, TeamKind
from nav_eval_store.people import teams
from nav_eval_store.submissions import creation, queries
from nav_eval_store.work import jobs
from support.challenge import GENEROUS, TEST, Challenge, competition_config, result

pytestmark = pytest.mark.integration

EPISODES = tuple(f"ep_{number:02}" for number in range(20))


def worth(value: float) -> dict[str, float]:
    """Metrics whose weighted sum is `value`."""
    return dict.fromkeys(("tar", "isr", "csr", "cgt"), value) | {"ne": 3.0}


def noisy(mean: float, spread: float, turn: int = 0) -> Callable[[str], dict[str, float]]:
    """Episodes that differ around a mean."""
    return lambda episode: worth(mean + (spread if (int(episode[3:]) + turn) % 2 else -spread))


def board(cup: Challenge, viewer: Viewer = ANYBODY, phase: str = "dev") -> Board:
    with cup.database.read() as session:
        return leaderboard.build_board(session, cup.phase(session, phase), viewer)


def rank(cup: Challenge) -> None:
    with cup.database.read() as session:
        phase = cup.phase(session).id
    assert ranking.update_ranks(cup.database, phase)


def summary(found: Board) -> list[tuple[int | None, str, float]]:
    return [(row.rank, row.team, round(row.score.mean or -1, 6)) for row in found.rows]


def test_the_best_of_each_team_counts(cup: Challenge, clock) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    cup.complete(red, worth(0.5))
    clock.advance(hours=1)
    best = cup.complete(red, worth(0.9))
    cup.complete(red, worth(0.7))
    cup.complete(blue, worth(0.6))
    found = board(cup)
    assert summary(found) == [(1, "Red", 0.9), (2, "Blue", 0.6)]
    assert found.rows[0].submission_id == best
    assert found.rows[0].submissions == 3
    assert [column.name for column in found.columns][:4] == ["sr", "osr", "spl", "ne"]
    assert not next(column for column in found.columns if column.name == "ne").higher_is_better
    assert found.rows[0].metrics["tar"].mean == 0.9


def test_the_last_of_each_team_counts_where_the_phase_says_so(database, clock) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "ranking": {"keep": "last"}}))
    red = cup.team("Red")
    cup.complete(red, worth(0.9))
    clock.advance(hours=1)
    cup.complete(red, worth(0.4))
    assert summary(board(cup)) == [(1, "Red", 0.4)]


def test_lower_is_better_where_the_phase_says_so(database) -> None:
    phase = {**GENEROUS, "ranking": {"metric": "ne", "direction": "lower"}}
    cup = Challenge(database, competition_config(phase))
    cup.complete(cup.team("Far"), {"ne": 5.0})
    cup.complete(cup.team("Near"), {"ne": 1.0})
    assert summary(board(cup)) == [(1, "Near", 1.0), (2, "Far", 5.0)]


def test_one_easy_episode_and_then_giving_up_is_no_rank(database) -> None:
    phase = {**GENEROUS, "ranking": {"metric": "ne", "direction": "lower"}}
    cup = Challenge(database, competition_config(phase))
    cup.complete(cup.team("Honest"), {"ne": 5.0})
    quitter = cup.queue(cup.team("Quitter"))
    lease = cup.claim_of(quitter)

    def give_up(session: Session) -> None:
        jobs.record_episode(session, lease, result("a", {"ne": 0.1}))
        jobs.fail_job(session, lease, Cause.AGENT_CRASH, "that was enough")

    cup.do(give_up)
    cup.score(quitter)
    assert summary(board(cup)) == [(1, "Honest", 5.0), (None, "Quitter", -1)]


def test_of_equal_scores_the_earlier_stands_first_and_both_share_the_rank(cup: Challenge, clock) -> None:
    for name in ("Late", "Early", "Worse"):
        cup.team(name)
    with cup.database.read() as session:
        ids = {team.name: team.id for team in session.scalars(select(Team))}
    cup.complete(ids["Early"], worth(0.5))
    clock.advance(hours=1)
    cup.complete(ids["Late"], worth(0.5))
    cup.complete(ids["Worse"], worth(0.1))
    assert summary(board(cup)) == [(1, "Early", 0.5), (1, "Late", 0.5), (3, "Worse", 0.1)]


def test_ranks_are_shared_where_the_episodes_show_no_difference(cup: Challenge) -> None:
    plan = {"shards": [EPISODES]}
    clear = cup.complete(cup.team("Clear"), noisy(0.9, 0.05), **plan)
    first = cup.complete(cup.team("First"), noisy(0.51, 0.4), **plan)
    second = cup.complete(cup.team("Second"), noisy(0.5, 0.4, turn=1), **plan)
    before = board(cup)
    assert before.provisional
    assert [row.rank for row in before.rows] == [1, 2, 3]
    rank(cup)
    after = board(cup)
    assert not after.provisional
    assert after.version > before.version
    rows = {row.submission_id: row for row in after.rows}
    assert [rows[key].rank for key in (clear, first, second)] == [1, 2, 2]
    assert rows[second].shares_with == first
    assert (rows[second].p_value or 0) > 0.05
    assert rows[first].shares_with is None


def test_a_change_makes_ranks_provisional_until_they_are_computed(cup: Challenge) -> None:
    red = cup.team("Red")
    cup.complete(red, worth(0.5))
    rank(cup)
    assert not board(cup).provisional
    cup.complete(red, worth(0.6))
    assert board(cup).provisional
    with cup.database.read() as session:
        assert list(ranking.list_unranked_phases(session)) == [cup.phase(session).id]
    rank(cup)
    version = board(cup).version
    rank(cup)
    assert board(cup).version == version, "nothing to do"


def test_ranks_of_a_board_that_has_changed_meanwhile_are_not_written(cup: Challenge, monkeypatch) -> None:
    red = cup.team("Red")
    cup.complete(red, worth(0.5))
    original, calls = ranking.compute_ranks, []

    def slow(*arguments, **options):
        places = original(*arguments, **options)
        if not calls:
            calls.append(1)
            cup.complete(red, worth(0.8))  # while the bootstrap runs
        return places

    monkeypatch.setattr(ranking, "compute_ranks", slow)
    rank(cup)
    assert summary(board(cup)) == [(1, "Red", 0.8)]
    assert not board(cup).provisional


@pytest.mark.parametrize("why", ["another episode set", "a missing value", "a score that is no mean"])
def test_where_pairs_cannot_be_compared_bare_scores_rank(cup: Challenge, why: str) -> None:
    first = cup.complete(cup.team("First"), worth(0.5))
    second = cup.complete(cup.team("Second"), worth(0.4))
    with cup.database.begin() as session:
        entry = session.get_one(BoardEntry, second)
        if why == "another episode set":
            entry.episodes_digest = "0" * 64
        elif why == "a missing value":
            entry.values = scores.pack_values(dict.fromkeys("abcd", None) | {"a": 0.4})
        else:
            entry.score = 0.45
    rank(cup)
    assert [(row.rank, row.submission_id, row.p_value) for row in board(cup).rows] == [
        (1, first, None),
        (2, second, None),
    ]


def test_without_shared_ranks_scores_alone_decide(database) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "ranking": {"shared_ranks": False}}))
    cup.complete(cup.team("Red"), worth(0.500001))
    cup.complete(cup.team("Blue"), worth(0.5))
    rank(cup)
    assert [row.rank for row in board(cup).rows] == [1, 2]


def test_hidden_and_disqualified_rows_are_for_organisers(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    good, better = cup.complete(red, worth(0.5)), cup.complete(red, worth(0.8))
    cup.complete(blue, worth(0.6))
    cup.do(lambda session: moderation.hide_submission(session, better, actor=TEST, reason="under review"))
    assert summary(board(cup)) == [(1, "Blue", 0.6), (2, "Red", 0.5)], "the team's next best counts"
    cup.do(lambda session: moderation.disqualify_submission(session, good, actor=TEST, reason="it phones home"))
    assert summary(board(cup)) == [(1, "Blue", 0.6)]
    withheld = board(cup, ORGANISER).withheld
    assert {(row.submission_id, row.visibility, row.reason) for row in withheld} == {
        (better, EntryVisibility.HIDDEN, "under review"),
        (good, EntryVisibility.DISQUALIFIED, "it phones home"),
    }
    assert board(cup).withheld == []
    cup.do(lambda session: moderation.show_submission(session, better, actor=TEST, reason="all is well"))
    assert summary(board(cup)) == [(1, "Red", 0.8), (2, "Blue", 0.6)]


def test_a_disqualified_team_is_gone_and_cannot_submit(cup: Challenge) -> None:
    red = cup.team("Red")
    cup.complete(red, worth(0.5))
    under_way = cup.queue(red)
    with cup.database.begin() as session:
        moderation.disqualify_team(session, session.get_one(Team, red), actor=TEST, reason="two accounts")
    assert board(cup).rows == []
    assert board(cup, ORGANISER).withheld[0].reason == "two accounts"
    assert cup.get(under_way).state == "cancelled"
    with pytest.raises(StoreError, match="two accounts"):
        cup.start(red)
    with cup.database.begin() as session:
        moderation.reinstate_team(session, session.get_one(Team, red), actor=TEST, reason="a mistake of ours")
    assert summary(board(cup)) == [(1, "Red", 0.5)]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_verb_without_a_reason_is_refused(cup: Challenge, reason: str) -> None:
    submission = cup.complete(cup.team("Red"))
    with pytest.raises(StoreError, match="why"):
        cup.do(lambda session: moderation.hide_submission(session, submission, actor=TEST, reason=reason))


def test_only_completed_submissions_can_be_hidden(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    with pytest.raises(Conflict, match="queued"):
        cup.do(lambda session: moderation.hide_submission(session, submission, actor=TEST, reason="x"))


BASELINES = [
    {"name": "Random", "agent": "baseline:random"},
    {"name": "Oracle", "agent": "baseline:oracle", "privileged": True},
]


def test_baselines_are_marked_and_upper_bounds_have_no_rank(database) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "baselines": BASELINES}))
    with database.begin() as session:
        started = moderation.run_baselines(session, cup.phase(session), actor=TEST)
        assert moderation.run_baselines(session, cup.phase(session), actor=TEST) == []
        ids = {session.get_one(Team, row.team_id).name: row.id for row in started}
    for name, value in (("Random", 0.1), ("Oracle", 1.0)):
        cup.prepare(ids[name])
        cup.run(ids[name], worth(value))
    cup.complete(cup.team("Red"), worth(0.5))
    rank(cup)
    found = board(cup)
    assert [(row.team, row.kind) for row in found.rows] == [
        ("Oracle", TeamKind.UPPER_BOUND),
        ("Red", TeamKind.TEAM),
        ("Random", TeamKind.BASELINE),
    ]
    ranks = {row.team: row.rank for row in found.rows}
    assert ranks["Oracle"] is None
    assert ranks["Red"] == 1
    assert cup.get(ids["Oracle"]).agent == "baseline:oracle"


def test_nothing_is_compared_to_a_score_that_is_hidden(database) -> None:
    """A p-value of the difference from another team's submission tells that team's score."""
    cup = Challenge(database, competition_config({**GENEROUS, "visibility": {"scores": "team"}}))
    ids = {name: cup.team(name) for name in ("Red", "Blue")}
    for name, value in (("Red", 0.5), ("Blue", 0.4999)):
        cup.complete(ids[name], worth(value))
    with database.begin() as session:
        phase_id = cup.phase(session).id
    ranking.update_ranks(database, phase_id)
    (whole,) = [row for row in board(cup, ORGANISER).rows if row.team == "Blue"]
    assert whole.shares_with is not None, "for organisers it is there"
    (own,) = board(cup, Viewer(ids["Blue"])).rows
    assert (own.rank, own.shares_with, own.p_value) == (whole.rank, None, None)


@pytest.mark.parametrize(
    ("scores_for", "anybody", "red", "blue", "organiser"),
    [
        ("public", {"Red", "Blue"}, {"Red", "Blue"}, {"Red", "Blue"}, {"Red", "Blue"}),
        ("team", set(), {"Red"}, {"Blue"}, {"Red", "Blue"}),
        ("organiser", set(), set(), set(), {"Red", "Blue"}),
    ],
)
def test_who_sees_the_board(
    database, scores_for: str, anybody: set[str], red: set[str], blue: set[str], organiser: set[str]
) -> None:
    cup = Challenge(database, competition_config({**GENEROUS, "visibility": {"scores": scores_for}}))
    ids = {name: cup.team(name) for name in ("Red", "Blue")}
    made = {name: cup.complete(team, worth(0.5)) for name, team in ids.items()}
    viewers = [ANYBODY, Viewer(ids["Red"]), Viewer(ids["Blue"]), ORGANISER]
    for viewer, expected in zip(viewers, (anybody, red, blue, organiser), strict=True):
        assert {row.team for row in board(cup, viewer).rows} == expected
        with database.read() as session:
            phase = cup.phase(session)
            assert {point.team for point in leaderboard.list_score_points(session, phase, viewer)} == expected
            row = queries.get_submission(session, made["Red"])
            seen = leaderboard.read_scores(session, row, viewer.audience(row.team_id))
            assert (seen is not None) is ("Red" in expected)
    with database.begin() as session:
        moderation.publish_board(session, cup.phase(session), actor=TEST)
    assert {row.team for row in board(cup).rows} == {"Red", "Blue"}
    with database.begin() as session:
        moderation.withdraw_board(session, cup.phase(session), actor=TEST, reason="too early")
    assert {row.team for row in board(cup).rows} == anybody


def test_history_shows_every_completed_submission(cup: Challenge, clock) -> None:
    red = cup.team("Red")
    for value in (0.3, 0.6, 0.5, 0.7):
        cup.complete(red, worth(value))
        clock.advance(hours=1)
    cup.complete(cup.team("Blue"), worth(0.1))
    with cup.database.read() as session:
        points = leaderboard.list_score_points(session, cup.phase(session), team=session.get_one(Team, red))
    assert [(round(point.score, 6), point.is_best) for point in points] == [
        (0.3, True),
        (0.6, True),
        (0.5, False),
        (0.7, True),
    ]


def test_reevaluating_all_replaces_each_when_it_is_done(cup: Challenge, clock) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    old_red, old_blue = cup.complete(red, worth(0.9)), cup.complete(blue, worth(0.5))
    cup.do(lambda session: moderation.hide_submission(session, old_blue, actor=TEST, reason="under review"))
    clock.advance(days=1)
    again = cup.do(
        lambda session: [
            row.id for row in moderation.reevaluate_all(session, cup.phase(session), actor=TEST, reason="a wrong scene")
        ]
    )
    assert len(again) == 2
    assert cup.do(lambda session: moderation.reevaluate_all(session, cup.phase(session), actor=TEST, reason="x")) == []
    assert summary(board(cup)) == [(1, "Red", 0.9)], "the old row stands until the new one is done"
    with cup.database.read() as session:
        new = {row.rerun_of: row.id for row in session.scalars(select(Submission).where(Submission.id.in_(again)))}
    for original, value in ((old_red, 0.7), (old_blue, 0.6)):
        cup.prepare(new[original])
        cup.run(new[original], worth(value))
    assert summary(board(cup)) == [(1, "Red", 0.7)], "what was hidden stays hidden"
    assert cup.get(old_red).superseded_by == new[old_red]
    with cup.database.read() as session:
        original, entry = session.get_one(BoardEntry, old_red), session.get_one(BoardEntry, new[old_red])
        assert entry.submitted_at == original.submitted_at, "its place in time is the original's"
        assert session.get_one(BoardEntry, new[old_blue]).visibility is EntryVisibility.HIDDEN


def test_a_teams_rerun_stands_beside_the_original(cup: Challenge) -> None:
    red = cup.team("Red")
    original = cup.complete(red, worth(0.5))
    again = cup.do(lambda session: creation.rerun_submission(session, original, actor=TEST).id)
    cup.prepare(again)
    cup.run(again, worth(0.4))
    assert summary(board(cup)) == [(1, "Red", 0.5)]
    empty = cup.start(red)
    cup.do(lambda session: creation.cancel_open_submission(session, empty, actor=TEST, reason="x"))
    with pytest.raises(Conflict, match="no image"):
        cup.do(lambda session: creation.rerun_submission(session, empty, actor=TEST))


def test_a_verified_row_says_so(cup: Challenge, clock) -> None:
    submission = cup.complete(cup.team("Red"))
    assert board(cup).rows[0].verified_at is None
    cup.do(lambda session: moderation.mark_verified(session, submission, actor=TEST))
    assert board(cup).rows[0].verified_at == clock.now()


def test_two_submissions_are_compared_pair_by_pair(cup: Challenge) -> None:
    plan = {"shards": [EPISODES]}
    first = cup.complete(cup.team("First"), noisy(0.8, 0.1), **plan)
    second = cup.complete(cup.team("Second"), noisy(0.5, 0.1, turn=1), **plan)
    with cup.database.read() as session:
        one, other = queries.get_submission(session, first), queries.get_submission(session, second)
        found = scores.compare_submissions(session, one, other)
    tar = found["tar"]
    assert tar is not None
    assert tar.difference == pytest.approx(0.3)
    assert tar.significant
    assert found["sr"] is None, "neither run reported it"


def test_submissions_that_cannot_be_compared(database) -> None:
    cup = Challenge(database, competition_config(GENEROUS, {"name": "test", **GENEROUS}))
    red = cup.team("Red")
    first, running = cup.complete(red), cup.queue(red)
    elsewhere = cup.complete(red, phase="test")
    fewer = cup.complete(red, shards=[["a"]])
    with database.read() as session:
        rows = {key: queries.get_submission(session, key) for key in (first, running, elsewhere, fewer)}
        with pytest.raises(Conflict, match="queued"):
            scores.compare_submissions(session, rows[first], rows[running])
        with pytest.raises(Conflict, match="different phases"):
            scores.compare_submissions(session, rows[first], rows[elsewhere])
        with pytest.raises(Conflict, match="different episodes"):
            scores.compare_submissions(session, rows[first], rows[fewer])


def test_the_board_as_csv(cup: Challenge) -> None:
    team = cup.team("Red")
    cup.complete(team, worth(0.25))
    with cup.database.begin() as session:
        teams.rename_team(session, session.get_one(Team, team), '=HYPERLINK("x")', actor=TEST)
    rows = list(csv.DictReader(io.StringIO(leaderboard.format_board_csv(board(cup)))))
    assert rows[0]["rank"] == "1"
    assert rows[0]["team"] == '\'=HYPERLINK("x")', "no spreadsheet runs it"
    assert float(rows[0]["ranking_score"]) == pytest.approx(0.25)
    assert rows[0]["tar"] == "0.25"


def test_the_values_behind_a_board_are_not_loaded_to_show_it(cup: Challenge) -> None:
    cup.complete(cup.team("Red"))
    with cup.database.read() as session:
        (entry,) = leaderboard.list_counting_entries(session, cup.phase(session))
        assert "values" not in entry.__dict__


def test_who_may_see_logs_and_replays(cup: Challenge) -> None:
    with cup.database.read() as session:
        phase = session.scalars(select(Phase)).one()
    team = UUID(int=1)
    assert not visibility.may_see(phase, "logs", ANYBODY.audience(team))
    assert not visibility.may_see(phase, "logs", Viewer(UUID(int=2)).audience(team))
    assert visibility.may_see(phase, "logs", Viewer(team).audience(team))
    assert visibility.may_see(phase, "replays", ORGANISER.audience(team))
