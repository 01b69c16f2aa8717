"""How long others have to wait: the forecast follows the rule by which jobs are handed out."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nav_eval_store.work.fairness import TeamLoad, Waiting, estimate_start

START = datetime(2026, 1, 1, tzinfo=UTC)
RED, BLUE, GREEN = UUID(int=1), UUID(int=2), UUID(int=3)


def entry(number: int, team: UUID, *, shards: int = 1, seconds: float = 60.0, priority: int = 0) -> Waiting:
    return Waiting(
        id=UUID(int=100 + number),
        team=team,
        priority=priority,
        created_at=START + timedelta(seconds=number),
        shards=shards,
        seconds=seconds,
    )


def test_alone_it_is_next() -> None:
    mine = entry(1, RED, shards=4, seconds=240)
    assert estimate_start(mine.id, [mine], {}, slots=2) == (0, timedelta(0), timedelta(seconds=120))


def test_a_newcomer_passes_a_team_with_a_hundred_submissions() -> None:
    flood = [entry(number, RED) for number in range(100)]
    mine = entry(500, BLUE)
    assert estimate_start(mine.id, [*flood, mine], {}, slots=1).position == 1
    assert estimate_start(mine.id, [*flood, mine], {RED: TeamLoad(running=1)}, slots=1).position == 0


def test_a_team_waits_behind_its_own_earlier_ones() -> None:
    mine = [entry(number, RED) for number in range(5)]
    assert [estimate_start(one.id, mine, {}, slots=1).position for one in mine] == [0, 1, 2, 3, 4]


def test_priority_goes_before_fairness() -> None:
    urgent, other = entry(9, RED, priority=5), entry(1, BLUE)
    load = {RED: TeamLoad(running=7)}
    assert estimate_start(urgent.id, [urgent, other], load, slots=1).position == 0


def test_who_was_served_longest_ago_goes_first() -> None:
    red, blue = entry(1, RED), entry(2, BLUE)
    loads = {RED: TeamLoad(served_at=START), BLUE: TeamLoad(served_at=START - timedelta(hours=1))}
    assert estimate_start(red.id, [red, blue], loads, slots=1).position == 1


@pytest.mark.parametrize(("hands", "wait"), [(1, 90), (3, 30)])
def test_work_under_way_delays_the_start(hands: int, wait: int) -> None:
    mine = entry(1, RED)
    assert estimate_start(mine.id, [mine], {}, slots=hands, busy_seconds=90).starts_in == timedelta(seconds=wait)


def test_without_workers_there_is_a_place_but_no_time() -> None:
    mine, other = entry(2, RED), entry(1, BLUE)
    assert estimate_start(mine.id, [mine, other], {}, slots=0) == (1, None, None)


entries = st.lists(
    st.builds(
        entry,
        number=st.integers(0, 10**6),
        team=st.sampled_from([RED, BLUE, GREEN]),
        shards=st.integers(1, 5),
        seconds=st.floats(0, 1000),
        priority=st.integers(-1, 1),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda entry: entry.id,
)


@settings(deadline=None)
@given(entries)
def test_places_are_all_different_and_without_gaps(waiting: list[Waiting]) -> None:
    places = sorted(estimate_start(one.id, waiting, {}, slots=1).position for one in waiting)
    assert places == list(range(len(waiting)))


@settings(deadline=None)
@given(entries)
def test_nobody_waits_longer_than_all_the_work(waiting: list[Waiting]) -> None:
    work = timedelta(seconds=sum(one.seconds for one in waiting) + 0.001)
    for one in waiting:
        _, starts, ends = estimate_start(one.id, waiting, {}, slots=1)
        assert starts is not None
        assert ends is not None
        assert timedelta(0) <= starts <= ends <= work
