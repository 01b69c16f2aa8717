"""Quotas: counted exactly, even when everybody asks at once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from uuid import UUID

import pytest
from sqlalchemy import select

from nav_eval.records.results import Cause
from nav_eval_store.audit import make_user_actor
from nav_eval_store.competitions import moderation
from nav_eval_store.database import Session
from nav_eval_store.errors import NotAllowed, PhaseNotOpen, QuotaExceeded, StoreError
from nav_eval_store.models import AuditEvent, LedgerEntry, LedgerKind, Submission, Team
from nav_eval_store.people import accounts, teams
from nav_eval_store.submissions import creation, lifecycle, quota, transitions
from nav_eval_store.work import jobs
from support.challenge import TEST, Challenge, competition_config

pytestmark = pytest.mark.integration


def limited(**limits: int | None) -> dict[str, object]:
    return {"quota": {"per_day": None, "concurrent": 1000, **limits}}


def allowance(cup: Challenge, team: UUID) -> quota.Allowance:
    with cup.database.read() as session:
        return quota.compute_allowance(session, cup.phase(session), session.get_one(Team, team))


@pytest.mark.parametrize("limits", [{"per_day": 3}, {"total": 3}, {"concurrent": 3}])
def test_fifty_at_once_get_exactly_three(database, limits: dict[str, int]) -> None:
    cup = Challenge(database, competition_config(limited(**limits)))
    team = cup.team("Red")
    together = Barrier(50, timeout=60)

    def create(number: int) -> bool:
        together.wait()
        try:
            cup.start(team, title=str(number))
        except QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(50) as pool:
        outcomes = list(pool.map(create, range(50)))
    assert outcomes.count(True) == 3
    with database.read() as session:
        assert sorted(session.scalars(select(Submission.number))) == [1, 2, 3]
        assert len(session.scalars(select(LedgerEntry)).all()) == 3


def test_any_24_hours(database, clock) -> None:
    cup = Challenge(database, competition_config(limited(per_day=2)))
    team = cup.team("Red")
    cup.start(team)
    clock.advance(hours=10)
    cup.start(team)
    with pytest.raises(QuotaExceeded, match="2026-01-02 00:00:00 UTC"):
        cup.start(team)
    assert allowance(cup, team).next_at == clock.now().replace(day=2, hour=0)
    clock.advance(hours=14)
    assert allowance(cup, team).left == 1
    cup.start(team)
    with pytest.raises(QuotaExceeded, match="10:00"):
        cup.start(team)


def test_the_total_does_not_come_back(database, clock) -> None:
    cup = Challenge(database, competition_config(limited(total=1)))
    team = cup.team("Red")
    cup.start(team)
    clock.advance(days=400)
    with pytest.raises(QuotaExceeded, match="All 1 submissions of this phase"):
        cup.start(team)


def test_one_under_way_blocks_the_next_until_it_ends(database) -> None:
    cup = Challenge(database, competition_config(limited(concurrent=1)))
    team = cup.team("Red")
    first = cup.start(team)
    with pytest.raises(QuotaExceeded, match="cancel it"):
        cup.start(team)
    cup.do(lambda session: creation.cancel_open_submission(session, first, actor=TEST, reason="changed my mind"))
    cup.start(team)


def test_another_teams_submissions_do_not_count(database) -> None:
    cup = Challenge(database, competition_config(limited(per_day=1)))
    red, blue = cup.team("Red"), cup.team("Blue")
    cup.start(red)
    cup.start(blue)
    assert allowance(cup, blue).left_today == 0


def ledger(cup: Challenge, submission: UUID) -> list[LedgerKind]:
    with cup.database.read() as session:
        query = select(LedgerEntry.kind).where(LedgerEntry.submission_id == submission).order_by(LedgerEntry.id)
        return list(session.scalars(query))


R, C, B = LedgerKind.RESERVE, LedgerKind.CHARGE, LedgerKind.REFUND


def test_a_completed_one_is_charged(cup: Challenge) -> None:
    assert ledger(cup, cup.complete(cup.team("Red"))) == [R, C]


def test_cancelled_before_it_was_tried_is_given_back(cup: Challenge) -> None:
    submission = cup.submit(cup.team("Red"))
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="oops"))
    assert ledger(cup, submission) == [R, B]


def test_cancelled_during_its_evaluation_is_charged(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    cup.claim_of(submission)
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="oops"))
    assert ledger(cup, submission) == [R, C]


def test_our_own_failure_is_given_back(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    cup.claim_of(submission)

    def fail(session) -> None:
        row = transitions.lock_submission(session, submission)
        transitions.fail_submission(session, row, Cause.INFRASTRUCTURE, "the disk is full", actor=TEST)
        assert not quota.refund(session, row, "twice"), "given back once"

    cup.do(fail)
    assert ledger(cup, submission) == [R, C, B]


def test_first_verdicts_are_free_until_it_is_a_habit(database, clock) -> None:
    cup = Challenge(database, competition_config(limited()))
    team = cup.team("Red")
    used = []
    for _ in range(quota.FREE_VERDICTS + 2):
        submission = cup.submit(team)
        lease = cup.claim_of(submission)
        cup.do(lambda session: jobs.fail_job(session, lease, Cause.IMAGE_INVALID, "two images in one archive"))  # noqa: B023
        used.append(allowance(cup, team).used_today)
    assert used == [0] * quota.FREE_VERDICTS + [1, 2]
    clock.advance(hours=25)
    submission = cup.submit(team)
    lease = cup.claim_of(submission)
    cup.do(lambda session: jobs.fail_job(session, lease, Cause.IMAGE_INVALID, "again"))
    assert ledger(cup, submission) == [R, B]


def test_a_grant_adds_to_the_day_and_to_the_total(database, clock) -> None:
    cup = Challenge(database, competition_config(limited(per_day=1, total=1)))
    team = cup.team("Red")
    cup.start(team)
    with database.begin() as session:
        phase, row = cup.phase(session), session.get_one(Team, team)
        quota.grant_quota(session, phase, row, 2, actor=TEST, reason="our server was down")
        with pytest.raises(StoreError, match="between"):
            quota.grant_quota(session, phase, row, 0, actor=TEST, reason="x")
    have = allowance(cup, team)
    assert (have.per_day, have.total, have.left) == (3, 3, 2)
    clock.advance(hours=24)
    have = allowance(cup, team)
    assert (have.per_day, have.total, have.left) == (1, 3, 1), "the day's grant ends with the day"


@pytest.mark.parametrize(
    ("phase", "message"),
    [
        ({"opens": "2026-01-02T00:00:00Z"}, "opens at 2026-01-02"),
        ({"closes": "2026-01-01T00:00:00Z"}, "closed at 2026-01-01"),  # the very moment is too late
    ],
)
def test_a_phase_that_is_not_open(database, phase: dict[str, str], message: str) -> None:
    cup = Challenge(database, competition_config(phase))
    team = cup.team("Red")
    with pytest.raises(PhaseNotOpen, match=message):
        cup.start(team)


def test_a_phase_that_requires_another(database) -> None:
    cup = Challenge(database, competition_config(limited(), {"name": "test", "requires": "dev"}))
    team = cup.team("Red")
    with pytest.raises(NotAllowed, match=r"^Complete a submission in the phase 'dev' first\.$"):  # and nothing else
        cup.start(team, "test")
    cup.complete(team)
    cup.start(team, "test")


def found_team(cup: Challenge, user: str, name: str) -> UUID:
    """A team of somebody who may have left another one."""

    def act(session: Session) -> UUID:
        person = accounts.get_user(session, user)
        return teams.create_team(session, cup.competition(session), name, captain=person, actor=TEST).id

    return cup.do(act)


def leave(cup: Challenge, team: UUID, user: str) -> None:
    def act(session: Session) -> None:
        person = accounts.get_user(session, user)
        teams.remove_member(session, session.get_one(Team, team), person, actor=make_user_actor(person))

    cup.do(act)


@pytest.mark.parametrize("limits", [{"per_day": 2}, {"total": 2}])
def test_a_lone_member_who_founds_another_team_gains_nothing(database, limits: dict[str, int]) -> None:
    cup = Challenge(database, competition_config(limited(**limits)))
    team, started = cup.team("Red"), 0
    for number in range(4):
        for _ in range(3):
            with suppress(QuotaExceeded):
                cup.start(team)
                started += 1
        leave(cup, team, "red")
        team = found_team(cup, "red", f"Red {number}")
    assert started == 2
    assert allowance(cup, team).left == 0


def test_what_is_under_way_goes_with_its_people(database) -> None:
    cup = Challenge(database, competition_config(limited(concurrent=1)))
    team = cup.team("Red")
    cup.start(team)
    leave(cup, team, "red")
    with pytest.raises(QuotaExceeded, match="1 of 1"):
        cup.start(found_team(cup, "red", "Redder"))


def test_a_newcomer_brings_what_they_used_and_others_keep_theirs(database) -> None:
    """The team has what its busiest member has left; who did not use anything is free elsewhere."""
    cup = Challenge(database, competition_config(limited(total=3)))
    red, blue = cup.team("Red"), cup.team("Blue")
    for _ in range(3):
        cup.start(red)
    leave(cup, red, "red")

    def join(session: Session) -> None:
        invited = teams.invite(session, session.get_one(Team, blue), actor=TEST)
        person = accounts.get_user(session, "red")
        teams.accept_invitation(session, invited.secret, user=person, actor=make_user_actor(person))

    assert allowance(cup, blue).left == 3
    cup.do(join)
    assert allowance(cup, blue).left == 0
    leave(cup, blue, "red")
    assert allowance(cup, blue).left == 3


def test_a_disqualification_goes_with_its_people(database) -> None:
    """Another team, founded or joined, does not submit with them; those who only join a team answer for nobody."""
    cup = Challenge(database, competition_config(limited()))
    red, blue = cup.team("Red"), cup.team("Blue")
    submission = cup.start(red)
    cup.do(
        lambda session: moderation.disqualify_team(
            session, session.get_one(Team, red), actor=TEST, reason="read the test set"
        )
    )
    leave(cup, red, "red")
    redder = found_team(cup, "red", "Redder")
    for attempt in (
        lambda: cup.start(redder),
        lambda: cup.do(
            lambda session: creation.rerun_submission(session, _give(session, submission, redder), actor=TEST)
        ),
    ):
        with pytest.raises(NotAllowed, match="took part in the disqualified team 'Red'"):
            attempt()
    cup.start(blue)
    cup.do(
        lambda session: moderation.reinstate_team(
            session, session.get_one(Team, red), actor=TEST, reason="it was somebody else"
        )
    )
    cup.start(redder)


def _give(session: Session, submission: UUID, team: UUID) -> UUID:
    """One of another team, with an image that can be run again."""
    row = session.get_one(Submission, submission)
    row.image_key = "images/x"
    again = creation._add(session, row.phase, session.get_one(Team, team), user=None, title="")
    again.image_key, again.state = "images/x", lifecycle.SubmissionState.COMPLETED
    session.flush()
    return again.id


def test_what_was_given_back_is_given_back_to_everybody(database) -> None:
    cup = Challenge(database, competition_config(limited(total=1)))
    team = cup.team("Red")
    submission = cup.start(team)
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="typo"))
    leave(cup, team, "red")
    cup.start(found_team(cup, "red", "Redder"))


@pytest.mark.parametrize(("tried", "used"), [(False, 0), (True, 1)])
def test_cancelling_costs_a_slot_once_something_was_shown(database, tried: bool, used: int) -> None:
    """Before the agent was started nothing is known; from then on its log and the verdict are."""
    cup = Challenge(database, competition_config(limited(total=5)))
    team = cup.team("Red")
    submission = cup.submit(team)
    validation = cup.claim_of(submission)
    cup.do(lambda session: jobs.finish_validation(session, validation))
    if tried:
        cup.claim_of(submission)  # a worker has begun the canary
    cup.do(lambda session: creation.cancel_open_submission(session, submission, actor=TEST, reason="enough"))
    assert allowance(cup, team).used_total == used


@pytest.mark.parametrize(
    ("cause", "free"), [(Cause.IMAGE_INVALID, quota.FREE_VERDICTS), (Cause.INFRASTRUCTURE, 2)], ids=["verdict", "ours"]
)
def test_who_leaves_before_the_end_is_given_no_more_back(database, cause: Cause, free: int) -> None:
    """A new team for every try, left while the try is under way: free tries are counted by person all the same."""
    cup = Challenge(database, competition_config(limited(refunds_per_day=2)))
    team = cup.team("Red")
    for number in range(free + 2):
        submission = cup.submit(team)
        leave(cup, team, "red")

        def fail(session: Session, submission: UUID = submission) -> None:
            row = transitions.lock_submission(session, submission)
            transitions.fail_submission(session, row, cause, "x", actor=TEST)

        cup.do(fail)
        team = found_team(cup, "red", f"Red {number}")
    assert allowance(cup, team).used_today == 2


def test_our_failures_are_given_back_but_not_endlessly(database, clock) -> None:
    cup = Challenge(database, competition_config(limited(total=100, refunds_per_day=2)))
    team = cup.team("Red")

    def fail() -> None:
        submission = cup.queue(team)
        cup.claim_of(submission)

        def act(session: Session) -> None:
            row = transitions.lock_submission(session, submission)
            transitions.fail_submission(session, row, Cause.INFRASTRUCTURE, "x", actor=TEST)

        cup.do(act)

    for _ in range(5):
        fail()
    assert allowance(cup, team).used_total == 3
    with database.read() as session:
        (line,) = quota.list_refunds(session, cup.competition(session))
        assert (line.team, line.phase, line.reason, line.today, line.total) == ("Red", "dev", quota.OUR_FAILURE, 2, 2)
        refused = session.scalars(select(AuditEvent).where(AuditEvent.action == "quota.refund_refused")).all()
        assert len(refused) == 3
    clock.advance(hours=25)
    fail()
    assert allowance(cup, team).used_total == 3, "another day"
