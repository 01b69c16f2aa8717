"""Agents at work: one thread each, batches, answers in several forms, errors with their place."""

import functools
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from nav_eval_sdk import Action, Agent, Episode, Observation, Outcome, Pose
from nav_eval_sdk.errors import AgentError, BadAnswer, BadRequest, SdkError
from nav_eval_sdk.host import Host, parse_answer


@pytest.mark.parametrize(
    ("answer", "actions"),
    [
        ("stop", (Action("stop"),)),
        (Action("stop"), (Action("stop"),)),
        ({"action": "stop"}, (Action("stop"),)),
        ({"action": "go", "action_args": {"x": 1}}, (Action("go", {"x": 1.0}),)),
        (["stop", Action("go")], (Action("stop"), Action("go"))),
        ({"poses": [Pose((1.0, 2.0, 3.0))]}, (Action("answer", poses=(Pose((1.0, 2.0, 3.0)),)),)),
        ({"poses": [{"position": [1, 2, 3]}]}, (Action("answer", poses=(Pose((1.0, 2.0, 3.0)),)),)),
    ],
)
def test_act_may_answer_in_several_ways(answer: object, actions: tuple[Action, ...]) -> None:
    assert parse_answer(answer) == actions


@pytest.mark.parametrize("answer", [None, 3, [], {"act": "stop"}, [None], {"poses": ["here"]}, {"action": 1}])
def test_what_is_no_action_is_refused_with_what_would_be(answer: object) -> None:
    with pytest.raises(BadAnswer):
        parse_answer(answer)


def test_not_a_number_is_for_the_evaluator_to_refuse() -> None:
    (action,) = parse_answer(Action("go", {"x": math.nan}))
    assert math.isnan(action.arguments["x"])


class Thinker(Agent):
    threads: set[int] = set()  # noqa: RUF012

    def __init__(self) -> None:
        self.threads.add(threading.get_ident())

    def reset(self, episode: Episode) -> None:
        self.threads.add(threading.get_ident())
        self.count = 0

    def act(self, observation: Observation) -> str:
        self.threads.add(threading.get_ident())
        self.count += 1
        return f"a{self.count}"


def an_episode(session: str) -> Episode:
    return Episode("1", session_id=session)


SEEN = Observation(0, {})


def test_an_agent_lives_in_one_thread() -> None:
    Thinker.threads = set()
    host = Host(Thinker)
    host.start()
    host.reset(an_episode("s"))
    host.act("s", 1, SEEN)
    assert len(Thinker.threads) == 1
    assert threading.get_ident() not in Thinker.threads


def test_a_question_asked_again_gets_the_same_answer_without_acting_twice() -> None:
    host = Host(Thinker)
    host.start()
    host.reset(an_episode("s"))
    answers = [host.act("s", sequence, SEEN)[0].name for sequence in (1, 1, 2, 2, 3)]
    assert answers == ["a1", "a1", "a2", "a2", "a3"]


def test_episodes_that_were_given_up_make_room() -> None:
    host = Host(Thinker)
    assert host.start().max_episodes == 1
    host.reset(an_episode("old"))
    host.reset(an_episode("new"))
    assert host.act("new", 1, SEEN)[0].name == "a1"
    with pytest.raises(BadRequest, match="send Reset first"):
        host.act("old", 1, SEEN)


@pytest.mark.parametrize(("source", "episodes"), [(Thinker, 3), (Thinker(), 1), (functools.partial(Thinker), 3)])
def test_a_class_serves_several_episodes_and_an_instance_one(source: Any, episodes: int) -> None:
    assert Host(source, max_episodes=3).start().max_episodes == episodes


class Batcher(Agent):
    max_episodes = 4

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def act_batch(self, observations: Any) -> list[str]:
        self.sizes.append(len(observations))
        return [observation.episode.session_id for observation in observations]


def test_observations_that_come_together_are_answered_together() -> None:
    agent = Batcher()
    host = Host(agent, batch_window=1.0)
    assert host.start().max_episodes == 4
    for session in "abcd":
        host.reset(an_episode(session))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda s: host.act(s, 1, Observation(0, {}, episode=an_episode(s)))[0].name, "abcd"))
    assert answers == list("abcd"), "each episode gets its own answer"
    assert agent.sizes == [4]


def test_a_batch_does_not_wait_for_episodes_that_do_not_exist() -> None:
    agent = Batcher()
    host = Host(agent, batch_window=60.0)
    host.start()
    host.reset(an_episode("a"))
    assert host.act("a", 1, Observation(0, {}, episode=an_episode("a")))[0].name == "a"


class CostlyModel(Agent):
    """Costs a fixed time and a little per item, as a GPU does; counts what it would have cost."""

    max_episodes = 16
    fixed, per_item = 0.05, 0.001

    def __init__(self) -> None:
        self.seconds, self.answered = 0.0, 0

    def act_batch(self, observations: Any) -> list[str]:
        cost = self.fixed + self.per_item * len(observations)
        self.seconds, self.answered = self.seconds + cost, self.answered + len(observations)
        time.sleep(cost)
        return [f"{observation.episode.session_id}/{observation.step}" for observation in observations]


def test_sixteen_episodes_cost_a_sixth_of_one_at_a_time_and_decide_the_same() -> None:
    agent = CostlyModel()
    host = Host(agent)
    host.start()
    sessions = [f"s{number}" for number in range(16)]
    for session in sessions:
        host.reset(an_episode(session))

    def play(session: str) -> list[str]:
        episode = an_episode(session)
        return [host.act(session, step + 1, Observation(step, {}, episode=episode))[0].name for step in range(8)]

    with ThreadPoolExecutor(16) as pool:
        decided = list(pool.map(play, sessions))
    assert decided == [[f"{session}/{step}" for step in range(8)] for session in sessions]
    alone = agent.answered * (agent.fixed + agent.per_item)
    assert alone / agent.seconds >= 6


def test_an_episode_that_takes_its_time_holds_nobody_up() -> None:
    host = Host(CostlyModel())
    host.start()
    for session in ("quick", "slow"):  # the slow one is still being drawn, and never asks
        host.reset(an_episode(session))
    for step in range(3):
        assert (
            host.act("quick", step + 1, Observation(step, {}, episode=an_episode("quick")))[0].name == f"quick/{step}"
        )


class Failing(Agent):
    error: Exception = ValueError("bug")

    def act(self, observation: Observation) -> str:
        raise self.error


@pytest.mark.parametrize(("error", "memory"), [(ValueError("bug"), False), (MemoryError("big"), True)])
def test_an_error_of_the_agent_names_its_place(error: Exception, memory: bool, capsys: pytest.CaptureFixture) -> None:
    agent = Failing()
    agent.error = error
    host = Host(agent)
    host.start()
    host.reset(an_episode("s"))
    with pytest.raises(AgentError, match=r"test_host\.py:\d+") as caught:
        host.act("s", 1, SEEN)
    assert caught.value.out_of_memory is memory
    assert "Traceback" in capsys.readouterr().err
    host.reset(an_episode("next"))


def test_what_has_no_act_is_no_agent() -> None:
    class Empty(Agent):
        pass

    with pytest.raises(SdkError, match="is no agent"):
        Host(Empty).start()


def test_the_end_of_an_episode_is_told_once() -> None:
    told: list[tuple[str, str]] = []

    class Listener(Thinker):
        def end(self, episode: Episode, outcome: Outcome) -> None:
            told.append((episode.session_id, outcome.status))

    host = Host(Listener)
    host.start()
    host.reset(an_episode("s"))
    host.end("s", Outcome())
    host.end("s", Outcome(status="cancelled"))
    assert told == [("s", "completed")]


async def wait_for_it(observation: Observation) -> str:
    return "stop"


def test_an_answer_of_the_wrong_kind_is_told_what_it_is() -> None:
    for answer, said in (
        (wait_for_it(Observation(0, {})), "act is `async`"),
        ((word for word in ["stop"]), "act has a `yield`"),
        (("move_forward", {"distance": 1.0}), r"return Action\('move_forward', \{'distance': 1.0\}\)"),
    ):
        with pytest.raises(BadAnswer, match=said):
            parse_answer(answer)


class SeesNothing(Agent):
    sensors = ["rgb"]  # noqa: RUF012

    def act(self, observation: Observation) -> str:
        return str(observation["depth"])


def test_a_sensor_that_is_not_there_is_named_with_the_line_that_wants_it() -> None:
    host = Host(SeesNothing)
    host.start()
    host.reset(an_episode("a"))
    with pytest.raises(AgentError, match=r"no 'depth' in the observation; this one has rgb.*\(test_host\.py:\d+\)"):
        host.act("a", 1, Observation(0, {"rgb": np.zeros((2, 2, 3))}))


def test_a_mistake_in_how_an_agent_is_called_names_no_line_of_ours() -> None:
    class TakesNothing(Agent):
        def reset(self) -> None:  # type: ignore[override]
            pass

        def act(self, observation: Observation) -> str:
            return "stop"

    host = Host(TakesNothing)
    host.start()
    with pytest.raises(AgentError) as raised:
        host.reset(an_episode("a"))
    assert "takes 1 positional argument" in str(raised.value)
    assert "host.py" not in str(raised.value)


def test_one_sensor_may_be_a_plain_name() -> None:
    class One(SeesNothing):
        sensors = "rgb"

    assert dict(One().describe().sensors) == {"rgb": ("raw",)}


def test_a_pair_is_two_actions_or_one_with_its_arguments() -> None:
    """Only what cannot be an action is told to be arguments."""
    two = parse_answer(["turn_left", {"action": "move_forward", "action_args": {"step_size": 0.1}}])
    assert [action.name for action in two] == ["turn_left", "move_forward"]
    with pytest.raises(BadAnswer, match=r"with arguments, return Action\('move_forward', \{'step_size': 0.1\}\)"):
        parse_answer(("move_forward", {"step_size": 0.1}))
