"""What an operator sees of the work through Celery's own tools, with Redis and with a broker of files."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from nav_eval_store.models import LeaseEnd
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import workers
from support.stack import Stack, end
from support.worker import image_archive

pytestmark = pytest.mark.integration

SLOW = image_archive(environment={"STEP_SECONDS": "1"})


def celery(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`celery -A nav_eval_worker.app …`, as an operator types it."""
    command = [sys.executable, "-m", "celery", "-A", "nav_eval_worker.app", *arguments]
    environment = {**os.environ, **stack.environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def inspect(stack: Stack, what: str) -> Mapping[str, Any]:
    answered = celery(stack, "inspect", what, "--json", "--timeout", "3")
    assert answered.returncode == 0, answered.stderr + answered.stdout
    found: Mapping[str, Any] = json.loads(answered.stdout)
    return found


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_celery_shows_which_job_of_which_submission_runs(make_stack, kind: str) -> None:
    stack: Stack = make_stack(kind)
    submission = stack.submit(stack.team("ada"), SLOW)
    with stack.worker("w1"):
        stack.wait_until(lambda: stack.get(submission).state is SubmissionState.RUNNING, seconds=120)
        ((node, active),) = inspect(stack, "active").items()
        assert node.startswith("w1@")
        (task,) = active
        (lease,) = (lease for lease in stack.leases(submission) if lease.released_at is None)
        assert task["name"] == "nav_eval_worker.shard"
        assert task["kwargs"] == {"job_id": str(lease.job_id), "submission_id": str(submission)}
        assert task["delivery_info"]["routing_key"] == "shards"
        stack.wait_until(
            lambda: {queue["name"] for queue in inspect(stack, "active_queues")[node]} == {"quick"},
            what="That a worker whose slot for shards is taken takes no further shard",
        )
        stack.cancel(submission)
        stack.wait_until(
            lambda: {queue["name"] for queue in inspect(stack, "active_queues")[node]} == {"quick", "shards", "gpu"}
        )


def test_events_name_the_tasks(make_stack) -> None:
    """What Flower and `celery events` show."""
    stack: Stack = make_stack()
    with stack.worker("w1"):
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1)
        command = [sys.executable, "-m", "celery", "-A", "nav_eval_worker.app", "events", "--dump"]
        environment = {**os.environ, **stack.environment, "PYTHONUNBUFFERED": "1"}
        with (stack.folder / "events.txt").open("wb") as out:
            events = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
        try:
            stack.wait_until(lambda: "w1@" in (stack.folder / "events.txt").read_text(), what="A heartbeat")
            submission = stack.submit(stack.team("ada"), b"no image")
            stack.wait(submission)
            stack.wait_until(lambda: "task succeeded" in (stack.folder / "events.txt").read_text(), seconds=10)
        finally:
            end(events)
    seen = (stack.folder / "events.txt").read_text()
    assert "nav_eval_worker.validate" in seen
    assert str(submission) in seen


def test_queues_are_routed_to_workers(make_stack, reference) -> None:
    """One worker checks and scores, the other plays; a plain Celery worker is as good as ours."""
    stack: Stack = make_stack(shards=2)
    submission = stack.submit(stack.team("ada"))
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "nav_eval_worker.app",
        "worker",
        "-Q",
        "shards",
        "-n",
        "player@here",
    ]
    with stack.worker("checker", "--queues", "quick", "--beat"), (stack.folder / "player.log").open("wb") as log:
        player = subprocess.Popen(command, env={**os.environ, **stack.environment}, stdout=log, stderr=log)
        stack.workers.append(player)
        stack.completed(submission)
        end(player)
    stack.assert_same(submission, reference)
    doers = [(lease.job.kind.value, lease.worker) for lease in _load_leases(stack, submission)]
    assert sorted(doers) == [
        ("canary", "checker"),
        ("score", "checker"),
        ("shard", "player"),
        ("shard", "player"),
        ("validate", "checker"),
    ]


def _load_leases(stack: Stack, submission: Any) -> list[Any]:
    from sqlalchemy import select
    from sqlalchemy.orm import joinedload

    from nav_eval_store.models import Job, LeaseRow

    query = select(LeaseRow).join(Job).where(Job.submission_id == submission).options(joinedload(LeaseRow.job))
    return list(stack.read(lambda session: session.scalars(query).all()))


def test_a_draining_worker_consumes_nothing_until_it_may_again(make_stack) -> None:
    from support.challenge import TEST

    stack: Stack = make_stack("sqlite")
    with stack.worker("w1"):
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1)
        with stack.database.begin() as session:
            workers.drain_workers(session, ["w1"], actor=TEST, reason="maintenance")
        stack.wait_until(lambda: not any(inspect(stack, "active_queues").values()))
        submission = stack.submit(stack.team("ada"), b"no image")
        with stack.database.begin() as session:
            workers.undrain_workers(session, ["w1"], actor=TEST)
        assert stack.wait(submission).state is SubmissionState.FAILED
    assert [lease.end for lease in stack.leases(submission)] == [LeaseEnd.REVOKED]
