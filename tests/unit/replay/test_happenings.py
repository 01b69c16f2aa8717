"""What is told of an episode, and what of it went wrong."""

import msgspec

from nav_eval.replay.happenings import list_faults, list_happenings
from nav_eval.replay.model import Replay, ReplayEvent, ReplayStep

HERE = (0.0, 0.0, 0.0)


def make_replay(*, bumps: tuple[int, ...] = (), events: tuple[ReplayEvent, ...] = (), steps: int = 30) -> Replay:
    return Replay(
        benchmark="b",
        task="vln",
        episode_id="a",
        scene_id="s",
        status="completed",
        steps=[ReplayStep(position=HERE, yaw=0.0, collided=number in bumps) for number in range(steps)],
        stages=[],
        events=list(events),
        floors=[],
        paths=[],
        metrics={},
        success_distance=1.0,
        max_steps=steps,
    )


def test_bumps_that_follow_each_other_are_one() -> None:
    found = list_happenings(make_replay(bumps=(2, 3, 6, 10, 25)))
    assert [(bump.step, bump.last, bump.count) for bump in found] == [(2, 6, 3), (10, 10, 1), (25, 25, 1)]


def test_what_went_wrong_has_a_name() -> None:
    events = (
        ReplayEvent(step=4, kind="reached", stage=0),
        ReplayEvent(step=5, kind="closed", stage=0, success=True),
        ReplayEvent(step=9, kind="closed", stage=1, success=False),
        ReplayEvent(step=29, kind="end", stage=1, reason="step limit"),
    )
    replay = make_replay(bumps=(7,), events=events)
    assert [(fault.step, fault.fault) for fault in list_faults(replay)] == [
        (7, "bump"),
        (9, "wrong_stop"),
        (29, "time_out"),
    ]
    assert [event.kind for event in list_happenings(replay)] == ["reached", "closed", "bump", "closed", "end"]


def test_a_fault_of_the_agent_is_one_and_its_own_stop_is_none() -> None:
    stopped = make_replay(events=(ReplayEvent(step=9, kind="end", stage=0, reason="stop"),))
    assert list_faults(stopped) == []
    crashed = msgspec.structs.replace(
        stopped, cause="agent_crash", events=[ReplayEvent(step=9, kind="end", stage=0, reason="agent_crash")]
    )
    assert [fault.fault for fault in list_faults(crashed)] == ["failure"]
