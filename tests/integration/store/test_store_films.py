"""Films on request are made once, in bounded numbers, and never touch a result."""

from datetime import timedelta
from uuid import UUID

import pytest

from nav_eval.records.results import Cause
from nav_eval_store.competitions import moderation
from nav_eval_store.database import ManualClock
from nav_eval_store.errors import Conflict, NotFound, PhaseNotOpen, QuotaExceeded
from nav_eval_store.submissions import films
from nav_eval_store.submissions.films import FilmState
from nav_eval_store.submissions.lifecycle import Deadlines, JobKind, RecoveryAction, SubmissionState
from nav_eval_store.work import jobs, leases, recovery
from nav_eval_store.work.leases import Lease
from support.challenge import TEST, Challenge, jobs_of, result

pytestmark = pytest.mark.integration
EPISODES = tuple("abcdefgh")


@pytest.fixture
def played(cup: Challenge) -> UUID:
    """A completed submission whose episodes can be replayed, but for the last."""
    submission = cup.queue(cup.team("Red"), shards=[EPISODES])
    lease = cup.claim_of(submission)
    with cup.database.begin() as session:
        for episode in EPISODES:
            key = None if episode == EPISODES[-1] else f"replays/{episode}"
            jobs.record_episode(session, lease, result(episode), replay_key=key)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    cup.score(submission)
    return submission


def ask(cup: Challenge, submission: UUID, episode: str) -> FilmState:
    return cup.do(lambda session: films.request_film(session, cup.get(submission), episode, actor=TEST))


def state(cup: Challenge, submission: UUID, episode: str) -> FilmState:
    with cup.database.read() as session:
        return films.get_film_state(session, cup.get(submission), episode)


def taken(cup: Challenge, submission: UUID, episode: str = "b") -> Lease:
    ask(cup, submission, episode)
    lease = cup.claim(JobKind.FILM)
    assert lease.submission_id == submission
    return lease


def test_asking_twice_is_asking_once(cup: Challenge, played: UUID) -> None:
    assert state(cup, played, "b") is FilmState.UNASKED
    assert [ask(cup, played, "b") for _ in range(3)] == [FilmState.WAITING] * 3
    lease = cup.claim()
    assert (lease.kind, lease.submission_id) == (JobKind.FILM, played)
    assert ask(cup, played, "b") is FilmState.MAKING
    with cup.database.read() as session:
        assert films.get_requested_episode(session, lease.job_id).episode_id == "b"
    cup.do(lambda session: films.finish_film(session, lease))
    assert state(cup, played, "b") is FilmState.ENDED
    assert cup.get(played).state is SubmissionState.COMPLETED


def test_what_cannot_be_filmed(cup: Challenge, played: UUID) -> None:
    running = cup.queue(cup.team("Blue"))
    with pytest.raises(Conflict, match="once a submission has its score"):
        ask(cup, running, "a")
    with pytest.raises(NotFound, match="no replay"):
        ask(cup, played, EPISODES[-1])
    with pytest.raises(NotFound, match="no such episode"):
        ask(cup, played, "../b")
    cup.do(lambda session: moderation.pause_phase(session, cup.phase(session), actor=TEST, reason="wait"))
    with pytest.raises(PhaseNotOpen, match="paused"):
        ask(cup, played, "a")


def test_few_wait_at_a_time(cup: Challenge, played: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    for episode in EPISODES[: films.AT_ONCE]:
        ask(cup, played, episode)
    with pytest.raises(QuotaExceeded, match="Other films") as refused:
        ask(cup, played, EPISODES[films.AT_ONCE])
    assert refused.value.retry_seconds == 30
    lease = cup.claim(JobKind.FILM)
    cup.do(lambda session: films.finish_film(session, lease))
    ask(cup, played, EPISODES[films.AT_ONCE])
    monkeypatch.setattr(films, "MOST", 4)
    lease = cup.claim(JobKind.FILM)
    cup.do(lambda session: films.finish_film(session, lease))
    with pytest.raises(QuotaExceeded, match="that is the limit"):
        ask(cup, played, EPISODES[4])


def test_films_to_keep_are_requests_of_their_own_within_the_same_bounds(
    cup: Challenge, played: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask_for_video(episode: str) -> FilmState:
        return cup.do(
            lambda session: films.request_film(session, cup.get(played), episode, actor=TEST, kind=JobKind.VIDEO)
        )

    assert (ask(cup, played, "a"), ask_for_video("a"), ask_for_video("b")) == (FilmState.WAITING,) * 3
    with pytest.raises(QuotaExceeded, match="Other films"):
        ask_for_video("c")
    monkeypatch.setattr(films, "AT_ONCE", 9)
    monkeypatch.setattr(films, "MOST", 3)
    with pytest.raises(QuotaExceeded, match="that is the limit"):  # whichever way: what they show is the same
        ask_for_video("c")
    lease = cup.claim(JobKind.VIDEO)
    cup.do(lambda session: films.record_progress(session, lease, steps_drawn=3, steps_total=9))
    with cup.database.read() as session:
        found = films.get_film_progress(session, cup.get(played), "a", kind=JobKind.VIDEO)
    assert found == (FilmState.MAKING, 3, 9)
    assert state(cup, played, "a") is FilmState.WAITING


def test_all_together_are_bounded(cup: Challenge, played: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(films, "EVERYWHERE", 1)
    ask(cup, played, "a")
    with pytest.raises(QuotaExceeded, match="Other films"):
        ask(cup, played, "b")


def test_one_that_failed_is_not_tried_again_at_once(cup: Challenge, played: UUID, clock: ManualClock) -> None:
    lease = taken(cup, played)
    cup.do(lambda session: films.finish_film(session, lease))  # and there is no film
    with pytest.raises(QuotaExceeded, match="try again in 10 min") as refused:
        ask(cup, played, "b")
    assert refused.value.values == {"minutes": 10}
    clock.advance(films.AGAIN)
    assert ask(cup, played, "b") is FilmState.WAITING


def test_a_lost_worker_costs_no_result(cup: Challenge, played: UUID, clock: ManualClock) -> None:
    deadlines = Deadlines(backoff=timedelta(0), attempts=2)
    taken(cup, played)
    clock.advance(timedelta(minutes=1))
    recovered = recovery.recover(cup.database, deadlines=deadlines)
    assert [duty.action for _, duty in recovered.done] == [RecoveryAction.REAP]
    assert [message.kind for message in recovered.messages] == [JobKind.FILM]
    assert recovery.recover(cup.database, deadlines=deadlines).messages == []  # told once
    lease = cup.claim(JobKind.FILM)
    cup.do(lambda session: jobs.fail_job(session, lease, Cause.INFRASTRUCTURE, "no disk", deadlines=deadlines))
    assert state(cup, played, "b") is FilmState.ENDED
    assert cup.get(played).state is SubmissionState.COMPLETED
    assert cup.get(played).cause is None


def test_films_come_last_and_cost_no_turn(cup: Challenge, played: UUID) -> None:
    ask(cup, played, "a")
    waiting = cup.queue(cup.team("Blue"))
    assert cup.claim().submission_id == waiting
    before = cup.get(played).team.checked_at
    assert cup.claim().kind is JobKind.FILM
    assert cup.get(played).team.checked_at == before


def test_requests_that_nobody_takes_are_given_up(cup: Challenge, played: UUID, clock: ManualClock) -> None:
    ask(cup, played, "a")
    clock.advance(films.STALE)
    assert cup.do(films.give_up_stale) == 1
    assert state(cup, played, "a") is FilmState.ENDED
    with cup.database.read() as session:
        assert [job.state for job in jobs_of(session, played) if job.kind == "film"] == ["dropped"]


def test_what_an_agent_used_adds_up_over_workers(cup: Challenge) -> None:
    from nav_eval_store.submissions.status import read_status
    from nav_eval_store.work.usage import AgentUsage

    submission = cup.queue(cup.team("Red"), shards=[["a", "b"], ["c"]])
    first, other = cup.claim(JobKind.SHARD), cup.claim(JobKind.SHARD, worker="w2")
    for lease, used in ((first, AgentUsage(1.0, 50)), (first, AgentUsage(2.5, 80)), (other, AgentUsage(4.0, 60))):
        cup.do(lambda session: leases.renew_lease(session, lease, used=used))  # noqa: B023
    cup.do(lambda session: leases.release_lease(session, first))
    again = cup.claim(JobKind.SHARD, worker="w3")
    cup.do(lambda session: leases.renew_lease(session, again, used=AgentUsage(0.5, None)))
    cup.do(lambda session: leases.renew_lease(session, again))  # one who cannot measure says nothing
    with cup.database.read() as session:
        assert read_status(session, cup.get(submission)).used == AgentUsage(7.0, 80)
