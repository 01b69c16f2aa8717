"""Results arrive one by one, are counted once, and bring a submission to its score."""

import json
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import select

from nav_eval.errors import RecordError
from nav_eval.records.results import Cause, ResultLine
from nav_eval_store.boards import scores
from nav_eval_store.competitions.visibility import Audience
from nav_eval_store.errors import BadRecord, Conflict, LeaseLost
from nav_eval_store.models import BoardEntry, EpisodeRow, Job, Score
from nav_eval_store.submissions import queries
from nav_eval_store.submissions.lifecycle import JobKind, SubmissionState
from nav_eval_store.submissions.status import SubmissionStatus, read_status
from nav_eval_store.work import jobs
from support.challenge import EPISODES, METRICS, Challenge, jobs_of, line, result

pytestmark = pytest.mark.integration

SUBTASK = {
    "success": True,
    "oracle_success": True,
    "navigation_error": 0.4,
    "ground_truth_distance": 4.0,
    "ground_truth_steps": 20,
    "steps": 30,
}


def status_of(cup: Challenge, submission: UUID) -> SubmissionStatus:
    with cup.database.read() as session:
        return read_status(session, queries.get_submission(session, submission))


def test_the_whole_way_of_a_submission(cup: Challenge) -> None:
    submission = cup.start(cup.team("Red"))
    seen = [cup.get(submission).state]
    team = cup.get(submission).team_id
    submission = cup.submit(team)
    seen.append(cup.get(submission).state)
    cup.prepare(submission, [["a", "b"], ["c", "d"]])
    seen.append(cup.get(submission).state)
    lease = cup.claim_of(submission)
    seen.append(cup.get(submission).state)
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    seen.append(cup.get(submission).state)
    lease = cup.claim_of(submission)
    cup.play(lease)
    cup.do(lambda session: jobs.finish_shard(session, lease))
    seen.append(cup.get(submission).state)
    cup.score(submission)
    seen.append(cup.get(submission).state)
    assert seen == ["created", "validating", "queued", "running", "running", "scoring", "completed"]
    assert cup.get(submission).image_id == "sha256:1"


def test_an_episode_counts_once_however_often_it_is_reported(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    lease = cup.claim_of(submission)
    better = METRICS | {"tar": 1.0}
    assert cup.do(lambda session: jobs.record_episode(session, lease, result("a"))).new
    again = cup.do(lambda session: jobs.record_episode(session, lease, result("a", better)))
    assert again == (False, 1, 4)
    found = status_of(cup, submission)
    assert (found.episodes_done, found.episodes_total) == (1, 4)
    assert found.means["tar"] == 0.5


def test_reports_from_two_threads_of_a_worker_count_once(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    lease = cup.claim_of(submission)

    def report(number: int) -> bool:
        episode = EPISODES[number % 4]
        return cup.do(lambda session: jobs.record_episode(session, lease, result(episode, {"tar": 1.0}))).new

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(report, range(40))) == 4
    found = status_of(cup, submission)
    assert (found.episodes_done, found.means["tar"]) == (4, 1.0)


def test_an_episode_of_another_shard_is_refused(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[["a"], ["b"]])
    lease = cup.claim_of(submission)
    for stranger in ("b", "z"):
        with pytest.raises(BadRecord, match="not in this shard"):
            cup.do(lambda session: jobs.record_episode(session, lease, result(stranger)))  # noqa: B023


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (b"no json", "not a line"),
        (b"[]", "not a line"),
        (b'{"episode_id": "a"}', "status"),
        (b'{"episode_id": "a", "status": "fine", "metrics": {}, "num_steps": 1}', "fine"),
        (line("a", cause="bad_luck", status="failed"), "bad_luck"),
        (line("a", detail="x" * 2_000_000), "bytes"),
        (b'{"episode_id": "\xff"}', "not a line"),
        (line("a", status="failed", cause="infrastructure"), "no result"),
        (line("a", status="cancelled", cause="cancelled"), "no result"),
    ],
)
def test_lines_that_are_refused(cup: Challenge, bad: bytes, message: str) -> None:
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    with pytest.raises((BadRecord, RecordError), match=message):
        cup.do(lambda session: jobs.record_episode(session, lease, ResultLine.from_bytes(bad)))


def test_the_line_is_kept_as_it_came_without_what_replay_needs(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    lease = cup.claim_of(submission)
    whole = line("a", subtasks=[SUBTASK], trajectory=[[0, 0, 0]] * 1000, actions=["stop"], odd_key=[1.5])
    cup.do(
        lambda session: jobs.record_episode(session, lease, ResultLine.from_bytes(whole), replay_key="replays/x/a.json")
    )
    with cup.database.read() as session:
        row = session.get_one(EpisodeRow, (submission, "a"))
        kept = json.loads(row.outcome or "")
        assert row.replay_key == "replays/x/a.json"
    expected = json.loads(whole)
    del expected["trajectory"], expected["actions"]
    assert kept == expected


def test_a_team_does_not_see_what_belongs_to_the_test_set(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"))
    lease = cup.claim_of(submission)
    secret = {"instruction": "Go to the fridge.", "scene_id": "house_9", "shortest_path_length": 7.5, "subtasks": []}
    cup.do(lambda session: jobs.record_episode(session, lease, result("a", **secret)))
    with cup.database.read() as session:
        row = session.get_one(EpisodeRow, (submission, "a"))
        for audience in (Audience.TEAM, Audience.PUBLIC):
            assert set(queries.view_episode(row, audience)) == {"episode_id", "status", "metrics", "num_steps"}
        assert queries.view_episode(row, Audience.ORGANISER)["instruction"] == "Go to the fridge."


def test_unfinished_episodes_are_those_without_a_result(cup: Challenge) -> None:
    lease = cup.claim_of(cup.queue(cup.team("Red")))
    cup.do(lambda session: jobs.record_episode(session, lease, result("b")))
    with cup.database.read() as session:
        assert jobs.list_unfinished_episodes(session, lease.job_id) == ["a", "c", "d"]
        assert jobs.list_finished_episodes(session, lease.job_id) == ["b"]
    with pytest.raises(Conflict, match="3 episodes without a result, 'a' first"):
        cup.do(lambda session: jobs.finish_shard(session, lease))


def test_a_report_that_comes_twice_changes_nothing(cup: Challenge) -> None:
    submission = cup.submit(cup.team("Red"))
    lease = cup.claim_of(submission)
    cup.do(lambda session: jobs.finish_validation(session, lease))
    with pytest.raises(LeaseLost):
        cup.do(lambda session: jobs.finish_validation(session, lease))
    with cup.database.read() as session:
        assert sorted(job.kind for job in jobs_of(session, submission)) == [JobKind.CANARY, JobKind.VALIDATE]


@pytest.mark.parametrize("plan", [[], [[]], [["a"], ["a"]]])
def test_plans_that_are_refused(cup: Challenge, plan: list[list[str]]) -> None:
    submission = cup.submit(cup.team("Red"))
    validation = cup.claim_of(submission)
    cup.do(lambda session: jobs.finish_validation(session, validation))
    canary = cup.claim_of(submission)
    with pytest.raises(BadRecord, match="plan"):
        cup.do(lambda session: jobs.finish_canary(session, canary, plan))


def test_an_agent_that_cannot_be_tried_fails_with_its_cause(cup: Challenge) -> None:
    submission = cup.submit(cup.team("Red"))
    validation = cup.claim_of(submission)
    cup.do(lambda session: jobs.finish_validation(session, validation))
    canary = cup.claim_of(submission)
    cup.do(lambda session: jobs.fail_job(session, canary, Cause.AGENT_START_TIMEOUT, "no Describe within 60 s"))
    found = status_of(cup, submission)
    assert (found.state, found.cause, found.detail) == ("failed", "agent_start_timeout", "no Describe within 60 s")
    assert found.canary == {"passed": False, "cause": "agent_start_timeout", "detail": "no Describe within 60 s"}
    assert "nav-eval-sdk check" in (found.advice or "")


def test_an_agent_that_dies_on_the_way_is_scored_as_it_stands(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[["a", "b"], ["c", "d"]])
    first, second = cup.claim_of(submission, "w1"), cup.claim_of(submission, "w2")
    cup.do(lambda session: jobs.record_episode(session, first, result("a", METRICS | {"tar": 1.0})))
    cup.do(lambda session: jobs.fail_job(session, first, Cause.AGENT_OOM, "killed at 16 GB"))
    assert cup.get(submission).state is SubmissionState.RUNNING, "the other shard goes on"
    cup.play(second, METRICS | {"tar": 1.0})
    cup.do(lambda session: jobs.finish_shard(session, second))
    assert status_of(cup, submission).episodes_failed == 1
    cup.score(submission)
    with cup.database.read() as session:
        tar = session.get_one(Score, (submission, "tar"))
        error = session.get_one(Score, (submission, "ne"))
        row = session.get_one(EpisodeRow, (submission, "b"))
    assert (tar.mean, tar.count) == (0.75, 4), "the episode that never ran scores 0"
    assert (error.count, error.invalid) == (3, 1), "a distance has no worst value"
    assert (row.status, row.cause) == ("failed", Cause.AGENT_OOM)


def test_running_means_are_those_of_the_final_scores(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[["a", "b", "c"], ["d"]])
    values = {"a": 0.1, "b": 0.7, "c": 0.2, "d": 0.9}
    for _ in range(2):
        lease = cup.claim_of(submission)
        cup.play(lease, lambda episode: METRICS | {"tar": values[episode]})
        cup.do(lambda session: jobs.finish_shard(session, lease))  # noqa: B023
    running = status_of(cup, submission).means
    cup.score(submission)
    with cup.database.read() as session:
        final = {row.metric: row.mean for row in session.scalars(select(Score))}
    assert running == pytest.approx({name: final[name] for name in running})
    assert running["tar"] == pytest.approx(0.475)


def test_scores_have_intervals_and_the_weighted_sum_ranks(cup: Challenge) -> None:
    values = {"a": 0.0, "b": 1.0, "c": 0.25, "d": 0.75}
    submission = cup.complete(
        cup.team("Red"), lambda episode: METRICS | {"tar": values[episode], "isr": 1.0, "csr": 0.0, "cgt": 0.5}
    )
    with cup.database.read() as session:
        tar, entry = session.get_one(Score, (submission, "tar")), session.get_one(BoardEntry, submission)
        assert tar.mean == 0.5
        assert tar.ci_low is not None
        assert tar.ci_high is not None
        assert tar.ci_low < 0.5 < tar.ci_high
        assert entry.score == pytest.approx(0.4 * 0.5 + 0.2 * 1.0 + 0.2 * 0.0 + 0.2 * 0.5)
        ranking = scores.unpack_values(entry.values, EPISODES)
    assert ranking["b"] == pytest.approx(0.4 + 0.2 + 0.1)


def test_an_agent_without_a_number_has_no_score_and_no_rank(cup: Challenge) -> None:
    submission = cup.complete(cup.team("Red"), {"tar": 0.5})  # completed episodes that lack the other three
    with cup.database.read() as session:
        assert session.get_one(BoardEntry, submission).score is None


def test_episodes_come_in_pages(cup: Challenge) -> None:
    names = [f"ep_{number:03}" for number in range(25)]
    submission = cup.queue(cup.team("Red"), shards=[names[:10], names[10:]])
    with cup.database.read() as session:
        row = queries.get_submission(session, submission)
        seen, after = [], None
        while True:
            page = queries.list_episodes(session, row, after=after, limit=7)
            seen += [episode.episode_id for episode in page.items]
            after = page.next
            if after is None:
                break
        assert seen == names
        assert queries.list_episodes(session, row, ended=True).items == []


def test_submissions_come_in_pages_newest_first(cup: Challenge, clock) -> None:
    team = cup.team("Red")
    made = []
    for number in range(12):
        if number % 3 == 0:
            clock.advance(seconds=1)  # several at the very same moment
        made.append(cup.start(team))
    seen, after = [], None
    with cup.database.read() as session:
        while True:
            page = queries.list_submissions(session, phase=cup.phase(session), after=after, limit=5)
            seen += [row.id for row in page.items]
            after = page.next
            if after is None:
                break
    assert len(seen) == 12
    assert set(seen) == set(made)
    assert {*seen[:3]} == {*made[9:]}


def test_progress_is_told_at_most_once_a_second(cup: Challenge, clock) -> None:
    from nav_eval_store.notifications import events

    names = [f"ep_{number}" for number in range(10)]
    submission = cup.queue(cup.team("Red"), shards=[names])
    lease = cup.claim_of(submission)
    for episode in names:
        cup.do(lambda session: jobs.record_episode(session, lease, result(episode)))  # noqa: B023
        clock.advance(seconds=0.25)
    with cup.database.read() as session:
        told = [event.payload["done"] for event in events.read_events_after(session, 0, kinds=[events.PROGRESS])]
    assert told == [1, 5, 9, 10]


def test_the_tally_of_a_shard_is_small_whatever_it_has_seen(cup: Challenge) -> None:
    names = [f"ep_{number}" for number in range(200)]
    submission = cup.queue(cup.team("Red"), shards=[names])
    lease = cup.claim_of(submission)
    cup.play(lease)
    with cup.database.read() as session:
        assert len(json.dumps(session.get_one(Job, lease.job_id).tally)) < 1000
