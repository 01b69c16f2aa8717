"""Real workers, real agents: what a team and an organiser get to see."""

import json
import time

import pytest

from nav_eval.records.results import Cause
from nav_eval_store import blob_keys
from nav_eval_store.boards import leaderboard, ranking
from nav_eval_store.competitions import moderation
from nav_eval_store.competitions.visibility import ORGANISER
from nav_eval_store.models import TeamKind
from nav_eval_store.submissions.lifecycle import SubmissionState
from nav_eval_store.work import workers
from nav_eval_store.work.broker import Broker, make_sender, send_messages
from nav_eval_store.work.dispatch import dispatch_jobs
from support.challenge import TEST
from support.stack import Stack, pids_with
from support.worker import agent_source, image_archive

pytestmark = pytest.mark.integration
INSTRUCTION = "Go to the table, then to the chair."


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_submission_scores_what_the_command_line_says(make_stack, reference, kind: str) -> None:
    stack: Stack = make_stack(kind, verify="all")
    submission = stack.submit(stack.team("ada"))
    with stack.worker():
        ended = stack.completed(submission)
    stack.assert_same(submission, reference)
    assert ended.canary["passed"]
    assert ended.canary["seconds"] < 60
    assert ended.canary["agent"]["name"] == "Walker"
    assert ended.provenance["digests"]["rules"] == reference["digests"]["rules"]
    assert ended.provenance["digests"]["episodes"] == reference["digests"]["episodes"]
    assert ended.provenance["verification"] == {"episodes": 4, "steps": 48, "equal": True}
    assert ended.provenance["usage"]["memory_bytes"] > 1 << 20
    assert ended.provenance["usage"]["cpu_seconds"] > 0
    _check_files(stack, submission, reference)
    with stack.database.read() as session:
        board = leaderboard.build_board(session, stack.phase(session), ORGANISER)
        assert [(row.rank, row.verified_at is not None) for row in board.rows] == [(1, True)]
        assert [worker.stopped_at is not None for worker in session.query(workers.Worker)] == [True]
    assert pids_with(str(stack.folder)) == set()
    assert "score job" in stack.log()  # whatever Celery thinks of our logging


def _check_files(stack: Stack, submission, reference) -> None:
    """Logs and replays are where the gateway looks for them; what belongs to the test set is not in artifacts."""
    assert stack.blobs.get(blob_keys.make_agent_log_key(submission)).startswith(b"starting\n")
    logs = [stack.blobs.get(log.key) for log in stack.blobs.list(blob_keys.join_key("logs", submission, "episodes"))]
    assert b"".join(logs) == b"reset\n" * 4
    replay = json.loads(stack.blobs.get(blob_keys.make_replay_key(submission, "b")))
    assert replay["trajectory"] == reference["by_episode"]["b"]["trajectory"]
    assert replay["action_digest"] == reference["by_episode"]["b"]["action_digest"]
    assert replay["instruction"] == INSTRUCTION  # organisers read it, and all where replays are public
    results = json.loads(stack.blobs.get(blob_keys.make_artifact_key(submission, "results.json")))
    for metric, statistics in reference["aggregated"].items():
        assert results["aggregated"][metric] == statistics
    shown = b"".join(
        stack.blobs.get(blob_keys.make_artifact_key(submission, name)) for name in ("results.json", "episodes.jsonl")
    )
    for secret in (
        b"room",
        b"shortest_path",
        b"instruction_length",
        b"trajectory",
        b"ground_truth",
        b"data_path",
        INSTRUCTION.encode(),
    ):
        assert secret not in shown.replace(b'"benchmark": "Room"', b""), secret


def test_the_oracle_runs_without_an_image_and_is_an_upper_bound(make_stack) -> None:
    oracle = {"name": "Oracle", "agent": "baseline:oracle", "privileged": True}
    stack: Stack = make_stack("sqlite", baselines=[oracle, {"name": "Forward", "agent": "baseline:forward"}])
    with stack.database.begin() as session:
        started = [row.id for row in moderation.run_baselines(session, stack.phase(session), actor=TEST)]
    human = stack.submit(stack.team("ada"))
    with stack.worker("w1", "--beat", "--concurrency", "2"):
        for submission in (*started, human):
            stack.completed(submission)
        stack.wait_until(lambda: not stack.read(ranking.list_unranked_phases), what="Ranking")
    with stack.database.read() as session:
        rows = {row.team: row for row in leaderboard.build_board(session, stack.phase(session), ORGANISER).rows}
    assert {name: row.kind for name, row in rows.items()} == {
        "Oracle": TeamKind.UPPER_BOUND,
        "Forward": TeamKind.BASELINE,
        "ada": TeamKind.TEAM,
    }
    assert rows["Oracle"].rank is None


REFUSED = {
    "no-image": (b"this is no tar" * 100, Cause.IMAGE_INVALID, "archive"),
    "exits": (image_archive("raise SystemExit(3)"), Cause.AGENT_CRASH, "exit code 3"),
    "never-serves": (image_archive("import time; time.sleep(60)"), Cause.AGENT_START_TIMEOUT, "after 8 s"),
    "no-program": (image_archive(command=("no-such-program",)), Cause.AGENT_CRASH, "no-such-program"),
    "wrong-action": (image_archive(agent_source("return 'fly'")), Cause.PROTOCOL_ERROR, "fly"),
    "hangs": (image_archive(agent_source("time.sleep(60)")), Cause.AGENT_TIMEOUT, "No reply"),
    "says-no-memory": (
        image_archive(agent_source("print('MemoryError', flush=True); os._exit(1)")),
        Cause.AGENT_CRASH,
        "exit code 1",
    ),
}


def test_the_first_verdict_says_what_is_wrong(make_stack) -> None:
    stack: Stack = make_stack("sqlite", limits={"start_seconds": 8, "step_seconds": 3, "log_kb": 4})
    submissions = {name: stack.submit(stack.team(name), archive) for name, (archive, _, _) in REFUSED.items()}
    stack.run_once()
    for name, (_, cause, words) in REFUSED.items():
        ended = stack.get(submissions[name])
        assert (ended.state, ended.cause) == (SubmissionState.FAILED, cause), (name, ended.detail)
        assert words in (ended.detail or ""), name
    assert pids_with(str(stack.folder)) == set()


@pytest.mark.parametrize(
    ("act", "cause", "words"),
    [("os._exit(7)", "agent_crash", "exit code 7"), ("time.sleep(60)", "agent_timeout", "No reply")],
)
def test_an_agent_that_fails_now_and_then_loses_those_episodes_only(
    make_stack, reference, act: str, cause: str, words: str
) -> None:
    """It dies, or hangs, in the second episode of each of its lives; the canary is a life of one episode."""
    source = agent_source(f"Walker.lives > 1 and self.steps > 3 and {act}").replace(
        "self.steps, self.episode = 0, episode", "self.steps = 0; Walker.lives = getattr(Walker, 'lives', 0) + 1"
    )
    stack: Stack = make_stack("sqlite", limits={"step_seconds": 3, "log_kb": 4})
    submission = stack.submit(stack.team("ada"), image_archive(source))
    stack.run_once()
    stack.completed(submission)
    results = stack.episodes(submission)
    failed = {episode: result for episode, result in results.items() if "cause" in result}  # in an order that is drawn
    assert [(result["cause"], result["num_steps"]) for result in failed.values()] == [(cause, 3)] * 2
    assert all(words in result["detail"] for result in failed.values())
    for episode in results.keys() - failed.keys():
        assert results[episode]["metrics"] == reference["by_episode"][episode]["metrics"]


def test_a_message_is_done_at_once_and_ten_of_them_mean_the_same(make_stack) -> None:
    """The worker never looks by itself here: all it does, it does because a message says so."""
    stack: Stack = make_stack()
    with stack.worker("w1", "--concurrency", "1", NAV_EVAL_WORKER_LOOK="3600"):
        stack.wait_until(lambda: len(stack.read(workers.list_alive_workers)) == 1)
        time.sleep(1.0)  # its first look, at nothing
        submission = stack.submit(stack.team("ada"), b"no image")
        sender = make_sender(Broker(stack.environment["NAV_EVAL_BROKER"]))
        messages = stack.database.run(dispatch_jobs)
        for _ in range(10):
            send_messages(sender, messages)
        assert stack.wait(submission, seconds=15).cause is Cause.IMAGE_INVALID
    assert len(stack.leases(submission)) == 1
