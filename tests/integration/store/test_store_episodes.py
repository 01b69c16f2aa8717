"""Episodes are sorted, filtered and searched on both databases, and old rows are filled in."""

from uuid import UUID

import pytest

from nav_eval_store.database import Database
from nav_eval_store.migrations import runner
from nav_eval_store.models import EpisodeRow
from nav_eval_store.submissions import episodes
from nav_eval_store.submissions.episodes import EpisodeChoice, EpisodeOrder, EpisodeSearch, FoundEpisodes
from nav_eval_store.work import jobs
from support.challenge import METRICS, Challenge, result

pytestmark = pytest.mark.integration

PLAYED = {  # tar, success, steps, scene, instruction
    "a": (0.9, 1.0, 40, "house_0", "Go to the mug."),
    "b": (0.1, 0.0, 10, "house_1", "Find the 50%_off lamp."),
    "c": (0.5, 0.0, 30, "house_0", "Walk past the sofa."),
    "d": (0.7, 1.0, 20, "house_1", "Stop at the Sofa."),
}


def play(cup: Challenge) -> UUID:
    submission = cup.queue(cup.team("Red"), shards=[tuple(PLAYED)])
    lease = cup.claim_of(submission)
    with cup.database.begin() as session:
        for name, (value, success, steps, scene, told) in PLAYED.items():
            metrics = {**METRICS, **dict.fromkeys(("tar", "isr", "csr", "cgt"), value), "sr": success}
            line = result(name, metrics, num_steps=steps, scene_id=scene, instruction=told)
            jobs.record_episode(session, lease, line, replay_key=f"replays/{name}")
    cup.do(lambda session: jobs.finish_shard(session, lease))
    cup.score(submission)
    return submission


def find(cup: Challenge, submission: UUID, search: EpisodeSearch) -> FoundEpisodes:
    with cup.database.read() as session:
        return episodes.find_episodes(session, cup.get(submission), search)


def names(cup: Challenge, submission: UUID, search: EpisodeSearch) -> str:
    return "".join(row.episode_id for row in find(cup, submission, search).rows)


@pytest.mark.parametrize(
    ("order", "rising"),
    [
        (EpisodeOrder.PLAN, "abcd"),
        (EpisodeOrder.SCORE, "bcda"),
        (EpisodeOrder.SUCCESS, "bcda"),
        (EpisodeOrder.STEPS, "bdca"),
        (EpisodeOrder.SCENE, "acbd"),
    ],
)
def test_every_order_goes_up_and_down(cup: Challenge, order: EpisodeOrder, rising: str) -> None:
    submission = play(cup)
    assert names(cup, submission, EpisodeSearch(order=order)) == rising
    assert names(cup, submission, EpisodeSearch(order=order, descending=True)) == rising[::-1]


def test_filters_and_words(cup: Challenge) -> None:
    submission = play(cup)
    assert names(cup, submission, EpisodeSearch(choice=EpisodeChoice.SOLVED)) == "ad"
    assert names(cup, submission, EpisodeSearch(choice=EpisodeChoice.UNSOLVED, scene="house_1")) == "b"
    assert names(cup, submission, EpisodeSearch(choice=EpisodeChoice.FAULT)) == ""
    assert names(cup, submission, EpisodeSearch(text="SOFA", reads_instructions=True)) == "cd"
    assert names(cup, submission, EpisodeSearch(text="50%_o", reads_instructions=True)) == "b"
    assert names(cup, submission, EpisodeSearch(text="sofa")) == "", "who may not read it cannot search it"
    assert names(cup, submission, EpisodeSearch(text="instruction", reads_instructions=True)) == ""
    with cup.database.read() as session:
        assert episodes.list_scenes(session, cup.get(submission)) == ["house_0", "house_1"]
        assert episodes.count_solved(session, [submission], ["a", "b"]) == {"a": 1}


def test_pages_follow_each_other(cup: Challenge) -> None:
    submission = play(cup)
    pages = [EpisodeSearch(order=EpisodeOrder.SCORE, size=3, page=page) for page in (1, 2, 3)]
    assert [names(cup, submission, page) for page in pages] == ["bcd", "a", ""]
    assert find(cup, submission, pages[1]).total == 4


def test_what_is_not_played_yet_has_a_place_in_the_plan_only(cup: Challenge) -> None:
    submission = cup.queue(cup.team("Red"), shards=[("a", "b")])
    assert names(cup, submission, EpisodeSearch()) == "ab"
    assert names(cup, submission, EpisodeSearch(order=EpisodeOrder.SCORE)) == ""


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_rows_of_before_are_filled_in(new_database, backend: str) -> None:
    database: Database = new_database(backend)
    runner.upgrade(database)
    cup = Challenge(database)
    submission = play(cup)
    before = read(database, submission)
    runner.downgrade(database, "0011")
    assert runner.upgrade(database) == runner.get_head_revision()
    assert read(database, submission) == before
    assert before["b"][:2] == (False, 10)
    assert before["b"][2] == pytest.approx(0.1)


def read(database: Database, submission: UUID) -> dict[str, tuple[bool | None, int | None, float | None]]:
    with database.read() as session:
        rows = session.query(EpisodeRow).where(EpisodeRow.submission_id == submission)
        return {row.episode_id: (row.success, row.num_steps, row.score) for row in rows}
