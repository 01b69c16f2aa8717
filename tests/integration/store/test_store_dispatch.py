"""Which jobs a message is sent for, and what a worker does with one that comes late, twice or to the wrong place."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from nav_eval_store.competitions import moderation
from nav_eval_store.submissions.lifecycle import JobKind
from nav_eval_store.work import dispatch, jobs, leases, workers
from nav_eval_store.work.leases import ClaimRefusal, Lease
from nav_eval_store.work.queues import JobMessage, JobQueue
from support.challenge import TEST, Challenge, competition_config

pytestmark = pytest.mark.integration

SHARDS: Sequence[Sequence[str]] = [["a"], ["b"], ["c"], ["d"]]


def register(cup: Challenge, name: str = "w1", *, slots: int = 1, **abilities: object) -> None:
    cup.do(
        lambda session: workers.register_worker(
            session, name, host="h", version="1", slots=slots, abilities={"express": True, **abilities}
        )
    )


def send(cup: Challenge) -> list[JobMessage]:
    return cup.do(dispatch.dispatch_jobs)


def receive(cup: Challenge, message: JobMessage, worker: str = "w1") -> Lease | ClaimRefusal:
    return cup.do(lambda session: leases.claim_dispatched_job(session, message.job_id, worker))


def finish(cup: Challenge, lease: Lease) -> None:
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))


def test_a_message_names_its_job_its_submission_and_its_queue(cup: Challenge) -> None:
    submission = cup.submit(cup.team("Red"))
    (message,) = send(cup)
    assert (message.kind, message.submission_id, message.queue) == (JobKind.VALIDATE, submission, JobQueue.QUICK)
    lease = receive(cup, message)
    assert isinstance(lease, Lease)
    assert lease.job_id == message.job_id
    assert receive(cup, message, "w2") is ClaimRefusal.STALE, "it came twice"


def test_messages_are_sent_for_free_slots_and_one_lies_ready(cup: Challenge) -> None:
    register(cup, slots=2)
    cup.queue(cup.team("Red"), shards=SHARDS)
    sent = send(cup)
    assert [message.queue for message in sent] == [JobQueue.SHARDS] * 2
    assert send(cup) == []
    held = [receive(cup, message) for message in sent]
    assert len(send(cup)) == 1, "for the slot that gets free first"
    assert send(cup) == []
    finish(cup, held[0])
    assert send(cup) == [], "which is this one"


def test_a_newcomer_overtakes_the_message_that_lies_ready(cup: Challenge) -> None:
    """The team with four shards has one at work and one on its way; the newcomer's goes first."""
    register(cup)
    cup.queue(cup.team("Busy"), shards=SHARDS)
    (first,) = send(cup)
    running = receive(cup, first)
    (ready,) = send(cup)
    newcomer = cup.queue(cup.team("Newcomer"))
    assert send(cup) == []
    finish(cup, running)
    assert receive(cup, ready) is ClaimRefusal.NOT_ITS_TURN
    (instead,) = send(cup)
    assert instead.submission_id == newcomer
    assert isinstance(receive(cup, instead), Lease)
    assert [message.job_id for message in send(cup)] == [ready.job_id]


def test_teams_take_turns_among_the_messages_of_one_round(cup: Challenge) -> None:
    register(cup, slots=4)
    made = {name: cup.queue(cup.team(name), shards=SHARDS) for name in ("Red", "Blue")}
    sent = [message.submission_id for message in send(cup)]
    assert [sent.count(submission) for submission in made.values()] == [2, 2]


def test_a_message_is_lost_only_if_somebody_could_have_taken_it(cup: Challenge, clock) -> None:
    register(cup)
    cup.queue(cup.team("Red"), shards=SHARDS)
    (first,) = send(cup)
    clock.advance(seconds=59)
    cup.do(lambda session: workers.record_heartbeat(session, "w1"))
    assert send(cup) == []
    clock.advance(seconds=1)
    assert send(cup) == [first], "nobody took it for a minute"
    lease = receive(cup, first)
    assert len(send(cup)) == 1
    clock.advance(minutes=10)
    cup.do(lambda session: workers.record_heartbeat(session, "w1"))
    assert send(cup) == [], "the only worker is busy"
    assert isinstance(lease, Lease)


def test_the_quick_slot_is_not_for_shards(cup: Challenge) -> None:
    register(cup, slots=1)
    team = cup.team("Red")
    cup.queue(team, shards=SHARDS)
    (shard,) = send(cup)
    receive(cup, shard)
    cup.submit(team)
    with cup.database.read() as session:
        free = dispatch.count_free_slots(session, dispatch.QueueMap(session))
    assert (free[JobQueue.QUICK], free[JobQueue.SHARDS]) == (1, 0)
    assert {message.queue for message in send(cup)} == {JobQueue.QUICK, JobQueue.SHARDS}


def test_a_worker_counts_for_the_queues_that_it_serves(cup: Challenge) -> None:
    register(cup, "fast", slots=3, queues=["quick"], express=False)
    register(cup, "slow", slots=2, queues=["shards"], express=False)
    register(cup, "gone", slots=9)
    cup.do(lambda session: workers.drain_workers(session, ["gone"], actor=TEST, reason="maintenance"))
    with cup.database.read() as session:
        free = dispatch.count_free_slots(session, dispatch.QueueMap(session))
    assert [free[queue] for queue in JobQueue] == [3, 2, 0]


def test_agents_that_need_a_gpu_have_a_queue_of_their_own(database) -> None:
    cup = Challenge(database, competition_config({"limits": {"gpus": 1}}))
    submission = cup.submit(cup.team("Red"))
    kinds: list[tuple[JobKind, JobQueue]] = []
    while sent := send(cup):
        kinds += [(message.kind, message.queue) for message in sent]
        if kinds[-1][0] is JobKind.SHARD:
            break
        _pass(cup, submission)
    assert kinds == [
        (JobKind.VALIDATE, JobQueue.QUICK),
        (JobKind.CANARY, JobQueue.GPU),
        (JobKind.SHARD, JobQueue.GPU),
    ]


def _pass(cup: Challenge, submission: UUID) -> None:
    lease = cup.claim_of(submission)
    if lease.kind is JobKind.VALIDATE:
        cup.do(lambda session: jobs.finish_validation(session, lease, image_id="sha256:1"))
    else:
        cup.do(lambda session: jobs.finish_canary(session, lease, SHARDS[:1], verdict={}))


def test_a_draining_worker_and_a_paused_phase_put_the_job_back(cup: Challenge) -> None:
    register(cup)
    cup.queue(cup.team("Red"))
    (message,) = send(cup)
    cup.do(lambda session: workers.drain_workers(session, ["w1"], actor=TEST, reason="maintenance"))
    assert receive(cup, message) is ClaimRefusal.DRAINING
    (again,) = send(cup)
    with cup.database.begin() as session:
        moderation.pause_phase(session, cup.phase(session), actor=TEST, reason="the scenes are wrong")
    assert receive(cup, again, "w2") is ClaimRefusal.NOT_NOW
    assert send(cup) == []
    with cup.database.begin() as session:
        moderation.resume_phase(session, cup.phase(session), actor=TEST)
    assert [one.job_id for one in send(cup)] == [message.job_id]


def test_dispatchers_at_once_send_each_message_once(cup: Challenge) -> None:
    from concurrent.futures import ThreadPoolExecutor

    register(cup, slots=4)
    cup.queue(cup.team("Red"), shards=SHARDS)
    with ThreadPoolExecutor(4) as pool:
        rounds = list(pool.map(lambda _: send(cup), range(4)))
    sent = [message.job_id for messages in rounds for message in messages]
    assert len(sent) == len(set(sent)) == 4
