"""Scores by the rule of the benchmark, and what of them a team gets as files."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from nav_eval.config import load_benchmark
from nav_eval.evaluation.offline_scoring import compute_long_horizon_scores
from nav_eval.evaluation.shard_protocol import Ended, Message
from nav_eval.records.results import EpisodeOutcome
from nav_eval_store import blob_keys
from nav_eval_store.boards import leaderboard
from nav_eval_store.competitions.visibility import ORGANISER
from nav_eval_worker.job_runner import run_next_job
from nav_eval_worker.jobs.score import redact_outcomes
from nav_eval_worker.maintenance import Maintenance
from support.scripted import READY, ScriptedPair, ScriptedRuntime, played
from support.stack import Stack
from support.worker import room_benchmark_file

pytestmark = pytest.mark.integration

SUBTASK = {
    "success": True,
    "oracle_success": True,
    "navigation_error": 0.5,
    "ground_truth_distance": 4.0,
    "ground_truth_steps": 10,
    "steps": 12,
}


def plays_subtasks(pair: ScriptedPair) -> Iterator[Message]:
    """Unequal episodes: pooling their sub-tasks is not the mean over them."""
    yield READY
    for number, episode in enumerate(pair.work.episode_ids):
        failed = {**SUBTASK, "success": False, "navigation_error": 3.0, "ground_truth_steps": 30}
        subtasks = [SUBTASK, failed] if number else [SUBTASK, SUBTASK, SUBTASK]
        yield played(episode, subtasks=subtasks, scene_id="secret_house", instruction="find the secret")
    yield Ended()


@pytest.fixture
def reference_stack(tmp_path: Path, room_data: Path) -> Iterator[Stack]:
    benchmark = room_benchmark_file(tmp_path, room_data)
    benchmark.write_text(benchmark.read_text() + "  task:\n    scoring:\n      rule: reference\n")
    stack = Stack(tmp_path, database=f"sqlite:///{tmp_path / 'store.db'}", benchmark=benchmark, verify="none")
    yield stack
    stack.close()


@pytest.fixture
def stack(reference_stack: Stack) -> Stack:
    """What `make_context` works for."""
    return reference_stack


def test_the_reference_rule_pools_sub_tasks(stack: Stack, make_context) -> None:
    submission = stack.submit(stack.team("ada"))
    context = make_context(ScriptedRuntime(plays_subtasks))
    while run_next_job(context):
        pass
    stack.completed(submission)
    config = load_benchmark(str(stack.folder / "room_benchmark.yaml"), environ={}).model_dump(mode="json")
    outcomes = [msgspec.convert(line, EpisodeOutcome) for line in stack.episodes(submission).values()]
    row = compute_long_horizon_scores(config, outcomes)
    numbers = stack.scores(submission)
    assert row["isr"] == pytest.approx(6 / 9)  # of nine sub-tasks; the mean over episodes would be 5/8
    for name in ("tar", "isr", "csr", "cgt"):
        assert numbers[name][:4] == (row[name], None, None, None), name
    with stack.database.read() as session:
        (entry,) = leaderboard.build_board(session, stack.phase(session), ORGANISER).rows
    weights = {"tar": 0.4, "isr": 0.2, "csr": 0.2, "cgt": 0.2}
    assert entry.score.mean == pytest.approx(sum(weight * row[name] for name, weight in weights.items()))
    Maintenance(context).run_round()  # ranked bare: there is nothing to compare pair by pair
    with stack.database.read() as session:
        assert [row.rank for row in leaderboard.build_board(session, stack.phase(session), ORGANISER).rows] == [1]


def test_artifacts_keep_the_test_sets_secrets(stack: Stack, make_context) -> None:
    submission = stack.submit(stack.team("ada"))
    context = make_context(ScriptedRuntime(plays_subtasks))
    while run_next_job(context):
        pass
    stack.completed(submission)
    for name in ("results.json", "episodes.jsonl", "report.html"):
        data = stack.blobs.get(blob_keys.make_artifact_key(submission, name))
        assert data
        assert b"secret" not in data, name
        assert b"ground_truth" not in data, name
    lines = stack.blobs.get(blob_keys.make_artifact_key(submission, "episodes.jsonl")).splitlines()
    assert {json.loads(line)["scene_id"] for line in lines} == {"scene_00001"}


def test_scenes_keep_their_order_and_lose_their_names() -> None:
    def outcome(episode: str, scene: str | None) -> EpisodeOutcome:
        return EpisodeOutcome(episode_id=episode, status="completed", metrics={}, num_steps=1, scene_id=scene)

    renamed = redact_outcomes([outcome("1", "z"), outcome("2", "a"), outcome("3", None), outcome("4", "z")])
    assert [result.scene_id for result in renamed] == ["scene_00002", "scene_00001", None, "scene_00002"]
