"""Fairness: one team cannot starve the others, and everybody knows when their turn comes."""

from datetime import timedelta
from uuid import UUID

import pytest

from nav_eval_store.competitions import moderation
from nav_eval_store.submissions import queries
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.submissions.status import SubmissionStatus, read_status
from nav_eval_store.work import fairness, jobs, leases, workers
from nav_eval_store.work.leases import Lease
from support.challenge import TEST, Challenge, result

pytestmark = pytest.mark.integration


def team_of(cup: Challenge, lease: Lease) -> UUID:
    return cup.get(lease.submission_id).team_id


def finish(cup: Challenge, lease: Lease) -> None:
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))


def test_teams_take_turns_whoever_floods_the_queue(cup: Challenge, clock) -> None:
    red, blue, green = cup.team("Red"), cup.team("Blue"), cup.team("Green")
    for _ in range(8):
        cup.queue(red, shards=[["a"], ["b"]])
        clock.advance(seconds=1)
    cup.queue(blue, shards=[["a"], ["b"]])
    cup.queue(green, shards=[["a"], ["b"]])
    clock.advance(seconds=1)
    served = []
    for _ in range(6):
        lease = cup.claim(JobKind.SHARD)
        served.append(team_of(cup, lease))
        clock.advance(seconds=1)
        finish(cup, lease)
    assert sorted(served[:3], key=str) == sorted([red, blue, green], key=str)
    assert sorted(served[3:], key=str) == sorted([red, blue, green], key=str)


def test_the_team_with_fewer_jobs_running_goes_first(cup: Challenge, clock) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    cup.queue(red, shards=[["a"], ["b"], ["c"]])
    first = cup.claim(JobKind.SHARD, worker="w1")
    clock.advance(seconds=1)
    cup.queue(blue, shards=[["a"], ["b"]])
    assert team_of(cup, first) == red
    order = [team_of(cup, cup.claim(JobKind.SHARD, worker=f"w{n}")) for n in range(2, 6)]
    assert order[0] == blue
    assert order.count(red) == order.count(blue) == 2


def test_checks_and_scores_go_before_shards(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    cup.queue(red, shards=[["a"], ["b"]])
    newcomer = cup.submit(blue)
    assert cup.claim().submission_id == newcomer


def test_priority_goes_first(cup: Challenge) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    cup.queue(red)
    urgent = cup.queue(blue)
    for _ in range(3):
        cup.queue(red)
    cup.do(lambda session: moderation.set_priority(session, urgent, 5, actor=TEST, reason="the demo is at noon"))
    assert cup.claim(JobKind.SHARD).submission_id == urgent


def status_of(cup: Challenge, submission: UUID) -> SubmissionStatus:
    with cup.database.read() as session:
        return read_status(session, queries.get_submission(session, submission))


def test_position_and_expected_times(cup: Challenge, clock) -> None:
    red, blue = cup.team("Red"), cup.team("Blue")
    with cup.database.begin() as session:
        workers.register_worker(session, "w1", host="h", version="1")
    done = cup.queue(red, shards=[["a", "b"]])
    lease = cup.claim_of(done)
    for episode in ("a", "b"):
        clock.advance(seconds=10)
        cup.do(lambda session: jobs.record_episode(session, lease, result(episode)))  # noqa: B023
    cup.do(lambda session: jobs.finish_shard(session, lease))
    cup.score(done)
    with cup.database.read() as session:
        assert fairness.measure_seconds_per_episode(session, cup.get(done).phase_id) == 10.0
    running, waiting = cup.queue(red), cup.queue(blue)
    clock.advance(seconds=1)
    last = cup.queue(blue)
    cup.claim_of(running)
    clock.advance(seconds=5)
    with cup.database.begin() as session:
        workers.record_heartbeat(session, "w1")
    now = clock.now()
    assert [status_of(cup, s).queue_position for s in (running, waiting, last)] == [None, 0, 1]
    assert status_of(cup, running).ends_at == now + timedelta(seconds=40)
    assert status_of(cup, waiting).starts_at == now + timedelta(seconds=40)
    assert status_of(cup, waiting).ends_at == now + timedelta(seconds=80)
    assert status_of(cup, last).starts_at == now + timedelta(seconds=80)
    clock.advance(minutes=5)
    assert status_of(cup, waiting).starts_at is None, "no worker gives a sign of life"
    assert status_of(cup, waiting).queue_position == 0


def test_the_forecast_is_what_happens(cup: Challenge, clock) -> None:
    names = ["Red", "Blue", "Green"]
    teams = [cup.team(name) for name in names]
    made = []
    for number in range(9):
        made.append(cup.queue(teams[(number * number) % 3]))
        clock.advance(seconds=1)
    expected = {submission: status_of(cup, submission).queue_position for submission in made}
    order: list[UUID] = []
    for number in range(9):
        lease = cup.do(lambda session: leases.claim_next_job(session, f"w{number}", kinds=[JobKind.SHARD]))  # noqa: B023
        assert lease is not None
        order.append(lease.submission_id)
        clock.advance(seconds=1)
    assert [expected[submission] for submission in order] == list(range(9))
