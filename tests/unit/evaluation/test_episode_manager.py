"""Every episode is finished exactly once, whatever happens to those who play it."""

from hypothesis import given
from hypothesis import strategies as st

from nav_eval.dataset.episode import Episode, PrivateEpisode, PublicEpisode
from nav_eval.evaluation.episodes import ATTEMPTS, EpisodeManager, EpisodeState
from nav_eval.records.geometry import Pose
from nav_eval.records.results import Cause, EpisodeResult, EpisodeStatus


def make_episode(name: str) -> Episode:
    private = PrivateEpisode(scene_id="s", start=Pose((0.0, 0.0, 0.0)))
    return Episode(public=PublicEpisode(episode_id=name), private=private)


def make_result(name: str, cause: Cause | None = None) -> EpisodeResult:
    status = EpisodeStatus.COMPLETED if cause is None else EpisodeStatus.FAILED
    return EpisodeResult(episode_id=name, status=status, cause=cause, metrics={}, num_steps=1)


def test_episodes_come_in_their_order() -> None:
    manager = EpisodeManager(map(make_episode, "abc"))
    assert [manager.take().episode_id for _ in range(3)] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert manager.take() is None
    assert not manager.is_done


def test_our_fault_is_tried_again_a_few_times() -> None:
    manager = EpisodeManager([make_episode("a")])
    for attempt in range(1, ATTEMPTS + 1):
        manager.take()
        finished = manager.finish(make_result("a", Cause.INFRASTRUCTURE))
        assert finished is (attempt == ATTEMPTS)
    assert manager.states["a"] is EpisodeState.FAILED
    assert manager.is_done


def test_an_agents_fault_is_final() -> None:
    manager = EpisodeManager([make_episode("a")])
    manager.take()
    assert manager.finish(make_result("a", Cause.AGENT_CRASH))
    assert manager.is_done


def test_a_lost_player_costs_an_attempt() -> None:
    manager = EpisodeManager([make_episode("a")], attempts=2)
    manager.take()
    assert not manager.finish(manager.lost("a", detail="gone"))
    manager.take()
    assert manager.finish(manager.lost("a", detail="gone"))
    assert manager.get_results()[0].cause == Cause.INFRASTRUCTURE


@given(st.data())
def test_each_episode_is_finished_exactly_once(data: st.DataObject) -> None:
    names = [f"e{number}" for number in range(data.draw(st.integers(1, 6)))]
    manager = EpisodeManager(map(make_episode, names))
    finished: list[str] = []
    running: list[str] = []
    while not manager.is_done:
        episode = manager.take() if data.draw(st.booleans()) or not running else None
        if episode is not None:
            running.append(episode.episode_id)
        elif running:
            name = running.pop(data.draw(st.integers(0, len(running) - 1)))
            cause = data.draw(st.sampled_from([None, Cause.INFRASTRUCTURE, Cause.AGENT_TIMEOUT]))
            if manager.finish(make_result(name, cause)):
                finished.append(name)
    assert sorted(finished) == sorted(names)
    assert sorted(result.episode_id for result in manager.get_results()) == sorted(names)
