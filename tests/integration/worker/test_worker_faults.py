"""Everything that can be killed is killed, in real processes; the scores come out the same to the last bit.

After each fault: nothing lost, nothing counted twice, nothing stuck, no process left.
"""

import os
import signal
import time
from uuid import UUID

import pytest

from nav_eval.records.results import Cause
from nav_eval_store.models import LeaseEnd
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import workers
from support.load import measure_slowdown
from support.stack import Stack, kill, pids_with
from support.worker import image_archive

pytestmark = pytest.mark.integration

SLOW = image_archive(environment={"STEP_SECONDS": "0.15"})
"""Two seconds per episode: time to strike in the middle of one."""


def simulators(stack: Stack) -> set[int]:
    return {pid for pid in pids_with(str(stack.folder)) if "nav_eval.evaluation.shard" in _command(pid)}


def agents(stack: Stack) -> set[int]:
    commands = {pid: _command(pid) for pid in pids_with(str(stack.folder))}
    return {pid for pid, command in commands.items() if "agent.py" in command and "process_reaper" not in command}


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_for_episodes(stack: Stack, submission: UUID, count: int) -> None:
    stack.wait_until(lambda: stack.finished(submission) >= count, what=f"Episode {count}")


def wait_for_silence(stack: Stack, *, seconds: float) -> None:
    """Until no process of any pair is left."""
    stack.wait_until(lambda: not simulators(stack) | agents(stack), seconds=seconds, what="The end of all processes")


def test_a_killed_worker_loses_the_episode_in_hand_only(make_stack, reference) -> None:
    stack: Stack = make_stack()
    submission = stack.submit(stack.team("ada"), SLOW)
    first = stack.start_worker("w1")
    wait_for_episodes(stack, submission, 2)
    kill(first)
    before = stack.finished(submission)
    wait_for_silence(stack, seconds=5)
    with stack.worker("w2"):
        stack.completed(submission)
    stack.assert_same(submission, reference)
    shards = stack.leases(submission)[2:-1]  # validate and canary come before, score after
    assert [(lease.worker, lease.end) for lease in shards] == [("w1", LeaseEnd.LOST), ("w2", LeaseEnd.DONE)]
    assert [row.fence for row in stack.rows(submission)] == [1] * before + [2] * (4 - before)


def test_redis_may_be_down_restart_or_lose_everything(make_stack, redis_server, reference) -> None:
    stack: Stack = make_stack()
    redis_server.stop(lose=True)
    submission = stack.submit(stack.team("ada"))
    with stack.worker():  # which finds no broker when it starts
        wait_for_episodes(stack, submission, 1)
        redis_server.start()
        stack.completed(submission)
    stack.assert_same(submission, reference)


def test_messages_that_were_lost_with_redis_are_sent_again(make_stack, redis_server) -> None:
    """This worker does nothing that it was not told to do."""
    stack: Stack = make_stack()
    team = stack.team("ada")
    with stack.worker("w1", "--beat", NAV_EVAL_WORKER_LOOK="3600"):
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1)
        assert stack.wait(stack.submit(team, b"no image")).cause is Cause.IMAGE_INVALID
        redis_server.restart(lose=True)
        assert stack.wait(stack.submit(team, b"no image")).cause is Cause.IMAGE_INVALID
        redis_server.stop(lose=True)
        submission = stack.submit(team, b"no image")
        time.sleep(3.0)  # the beat has tried to tell somebody, and failed
        redis_server.start()
        assert stack.wait(submission).cause is Cause.IMAGE_INVALID


def test_a_job_that_outlives_its_connection_to_redis_leaves_the_worker_standing(make_stack, redis_server) -> None:
    """Its message is acknowledged on a channel that was closed meanwhile."""
    stack: Stack = make_stack()
    team = stack.team("ada")
    with stack.worker("w1", "--beat", NAV_EVAL_WORKER_LOOK="3600") as worker:
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1)
        submission = stack.submit(team, SLOW)
        wait_for_episodes(stack, submission, 1)
        redis_server.restart(lose=True)
        stack.completed(submission)
        assert stack.wait(stack.submit(team, b"no image")).cause is Cause.IMAGE_INVALID
        assert worker.poll() is None


def test_a_crash_of_postgres_costs_nothing(make_stack, postgres_server, reference) -> None:
    stack: Stack = make_stack()
    stack.environment["NAV_EVAL_PATIENCE"] = "lease=120,backoff=0.2,dispatch=2"  # a busy machine starts Postgres slowly
    submission = stack.submit(stack.team("ada"), SLOW)
    with stack.worker():
        wait_for_episodes(stack, submission, 1)
        postgres_server.stop(crash=True)
        time.sleep(3.0)  # episodes end meanwhile
        postgres_server.start()
        stack.completed(submission)
    stack.assert_same(submission, reference)
    assert {lease.end for lease in stack.leases(submission)} == {LeaseEnd.DONE}
    assert len(stack.leases(submission)) == 4


def test_two_workers_share_the_shards_of_one_submission(make_stack, reference) -> None:
    stack: Stack = make_stack(shards=4)
    submission = stack.submit(stack.team("ada"), SLOW)
    with stack.worker("w1"), stack.worker("w2", "--concurrency", "1"):
        stack.completed(submission)
    stack.assert_same(submission, reference)
    shards = [lease for lease in stack.leases(submission) if lease.end is LeaseEnd.DONE]
    assert len(shards) == 4 + 3
    assert {lease.worker for lease in shards} == {"w1", "w2"}


def test_a_killed_simulator_is_ours_a_killed_agent_is_not(make_stack, reference) -> None:
    stack: Stack = make_stack()
    struck: dict[str, tuple[UUID, int]] = {}
    with stack.worker():
        for name, victims in (("ours", simulators), ("theirs", agents)):
            submission = stack.submit(stack.team(name), SLOW)
            wait_for_episodes(stack, submission, 1)
            struck[name] = submission, stack.finished(submission)
            for pid in victims(stack):
                os.kill(pid, signal.SIGKILL)
            stack.completed(submission)
    (ours, _), (theirs, finished) = struck["ours"], struck["theirs"]
    stack.assert_same(ours, reference)
    assert [lease.end for lease in stack.leases(ours)].count(LeaseEnd.FAILED) == 1
    causes = [result.get("cause") for result in stack.episodes(theirs).values()]
    assert causes.count("agent_crash") == 1
    assert causes.index("agent_crash") in (finished, finished + 1)
    crashed = list(stack.episodes(theirs).values())[causes.index("agent_crash")]
    assert "SIGKILL" in crashed["detail"]
    assert {lease.end for lease in stack.leases(theirs)} == {LeaseEnd.DONE}


def test_cancel_and_stop_end_the_processes_within_seconds(make_stack, reference) -> None:
    stack: Stack = make_stack()
    cancelled = stack.submit(stack.team("ada"), SLOW)
    worker = stack.start_worker("w1")
    wait_for_episodes(stack, cancelled, 1)
    assert len(simulators(stack)) > 0
    assert len(agents(stack)) > 0
    stack.cancel(cancelled)
    wait_for_silence(stack, seconds=5)
    assert stack.get(cancelled).state is SubmissionState.CANCELLED

    given_back = stack.submit(stack.team("bob"), SLOW)
    wait_for_episodes(stack, given_back, 1)
    worker.terminate()
    assert worker.wait(timeout=15 * measure_slowdown()) == 0
    assert [_command(pid) for pid in simulators(stack) | agents(stack)] == []
    assert stack.leases(given_back)[-1].end is LeaseEnd.RELEASED
    assert stack.get(given_back).state is SubmissionState.RUNNING
    with stack.worker("w2"):
        stack.completed(given_back)
    stack.assert_same(given_back, reference)
    assert stack.finished(cancelled) < 4
