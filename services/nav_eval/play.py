"""One episode, played from actions: whoever decides them, this carries them out.

An agent's replies (`EpisodeExecutor`), a finished run's log (`verification`, `replay`, `EpisodeReplayer`) and a
learner's policy (`envs.Rollout`) drive the same object, so all of them move, judge and log alike:

    play = EpisodePlay(episode, task=task, simulator=simulator, sensors=["rgb"])
    while not play.is_over:
        play.apply(Action(name="move_forward"))
        play.observe()
    play.progress.result()

Motion is exact and pictures are a function of the pose, so a run need not keep its observations: `EpisodeReplayer`
makes them again from the action log. It compares every position with the log on the way; pictures of another place than
the agent's are never delivered.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from nav_eval.action_log import ActionLog, ReasoningBudget, is_same_place, parse_entry
from nav_eval.agents.messages import ANSWER, Action
from nav_eval.config.schema import BenchmarkConfig
from nav_eval.config.schema.task import GOALS
from nav_eval.dataset.episode import Episode
from nav_eval.errors import RecordError, UnknownName
from nav_eval.records.results import EpisodeResult
from nav_eval.scene.navigation import Ground
from nav_eval.simulator.base import ObservationBuffers, Observations, Simulator, SimulatorSetup, open_simulator
from nav_eval.simulator.goal_follower import GoalRequest
from nav_eval.simulator.informant import Informant
from nav_eval.simulator.motion import ASK, AgentState
from nav_eval.tasks import Moved, Task, TaskStage
from nav_eval.tasks.base import build_task, find_target_points

STAY = "stay"  #: in a log: a goal was named that asks for no action
MOTIONLESS = frozenset({STAY, ANSWER, ASK})  #: entries of a log that no body carries out


class EpisodeOver(RecordError):
    """The episode is over: nothing can be done in it any more."""


class QuestionRefused(RecordError):
    """No question is left, or none is allowed; Task.actions says how many there are."""


class EpisodePlay:
    """An episode under way. It has the simulator to itself until the next one begins."""

    def __init__(
        self,
        episode: Episode,
        *,
        task: Task,
        simulator: Simulator,
        sensors: Iterable[str] = (),
        out: ObservationBuffers | None = None,
    ) -> None:
        """The agent is at the start, and has looked once; that costs no step."""
        self._simulator = simulator
        self.task = task
        #: what was sensed last
        self.observations: Observations = simulator.reset(episode, sensors=sensors, out=out)
        #: with the goals that only the scene knows
        self.episode = simulator.episode
        self.progress = task.start(self.episode, simulator.ground)
        #: where the agent is
        self.state: AgentState = simulator.get_agent_state()
        self.log = ActionLog(episode.episode_id, self.state)
        self._reasoning = ReasoningBudget()
        #: what the informant said last; None where nobody may ask
        self.reply: str | None = "" if task.rules.questions else None
        self._asked = 0

    @property
    def is_over(self) -> bool:
        return self.progress.over

    @property
    def ground(self) -> Ground:
        return self._simulator.ground

    @property
    def randomization(self) -> dict[str, object] | None:
        """What domain randomisation drew for the episode."""
        return self._simulator.randomization

    def apply(self, action: Action, *, seconds: float = 0.0) -> AgentState:
        """Carry out an action without looking; `seconds` are what it took since the one before."""
        if self.progress.over:
            raise EpisodeOver
        if action.reply:  # of a log: what is said now is made again
            action = replace(action, reply="")
        if (action.goal or action.name == STAY) and not self.task.rules.takes_goals:
            raise RecordError("This task takes no goals: nobody named one, and nobody stays for one.")
        if action.name == ANSWER and not action.poses:
            return self._answer_in_words(action.text)
        if action.name == ANSWER:
            self.progress.answer(action.poses)
            self.log.append_answer(action.poses)
            return self.state
        if action.name == ASK:
            return self._ask(action, seconds=seconds)
        if action.text:
            action = replace(action, text=self._reasoning.keep(action.text))
        if action.name in GOALS:
            return self._walk(action, seconds=seconds)
        return self._move(action, seconds=seconds)

    def _answer_in_words(self, text: str) -> AgentState:
        self.progress.answer_in_words(text)
        if self.task.uses_motion:  # whoever walks, answers from somewhere
            self.log.append(Action(name=ANSWER, text=text), self.state)
        else:
            self.log.append_text_answer(text)
        return self.state

    def _ask(self, action: Action, *, seconds: float) -> AgentState:
        """A question costs a step; what is said to it is part of the log."""
        self._asked += 1
        if self._asked > self.task.rules.questions:
            raise QuestionRefused(f"ask: the {self.task.rules.questions} questions of this episode are used up.")
        goals = self.stages[self.stage].goals if self.stages else ()
        points = find_target_points(goals, to_view_points=self.task.rules.to_view_points)
        self.reply = self._informant.reply(action.text, self.state, points)
        self.state = self.state._replace(collided=False)
        self.log.append(Action(name=ASK, text=action.text, reply=self.reply), self.state)
        self.progress.advance(Moved(action=ASK, position=self.state.position, seconds=seconds))
        return self.state

    @cached_property
    def _informant(self) -> Informant:
        simulator = self._simulator
        return Informant(simulator.semantics, simulator.ground, tells_facts=not self.task.answers_in_words)

    def _walk(self, action: Action, *, seconds: float) -> AgentState:
        """Walk to a goal in the task's own actions: each is logged, the first one with what was asked for."""
        points = [pose.position for pose in action.poses]
        request = GoalRequest(name=action.name, arguments=action.arguments, camera=action.camera, points=points)
        walk, goal, steps = self._simulator.start_walk(request), action.to_goal(), 0
        while not self.progress.over and (name := walk.choose_action(self.state)) is not None:
            step = Action(name=name) if steps else Action(name=name, goal=goal, text=action.text)
            self._move(step, seconds=0.0 if steps else seconds)
            steps += 1
        if steps:
            return self.state
        # a goal that asks for nothing costs a step all the same, or it could be asked for without end
        return self._move(Action(name=STAY, goal=goal, text=action.text), seconds=seconds)

    def _move(self, action: Action, *, seconds: float) -> AgentState:
        if action.name == STAY:
            self.state = state = self.state._replace(collided=False)
        else:
            self.state = state = self._simulator.act(action.name, action.arguments)
        self.log.append(action, state)
        self.progress.advance(
            Moved(action=action.name, position=state.position, collided=state.collided, seconds=seconds)
        )
        return state

    def observe(self, *, out: ObservationBuffers | None = None) -> Observations:
        """Look, as often as wanted; into the arrays of `out` where the simulator can."""
        self.observations = self._simulator.observe(out=out)
        return self.observations

    @cached_property
    def stages(self) -> tuple[TaskStage, ...]:
        """What has to be done, in order, as the task sees it."""
        return self.task.build_stages(self.episode, self.ground)

    @property
    def stage(self) -> int:
        """Index of the stage under way; of the last one once all are closed."""
        closed, count = self.progress.closed_stages, len(self.stages)
        return closed if closed < count else max(0, count - 1)

    def measure_distance(self, stage: int) -> float:
        """Metres from the agent to the nearest goal of a stage; infinite without one."""
        return self.stages[stage].field.distance(self.state.position) if self.stages else math.inf


class ReplayDiffers(RecordError):
    """A replay came to another place than the log says; the scenes or the engine are not those of the run."""


class ReplayedStep(NamedTuple):
    """One pose of an episode and what is seen from it."""

    step: int
    state: AgentState
    observations: Observations


class EpisodeReplayer:
    """Replays episodes of one benchmark with the sensors that are wanted."""

    def __init__(self, benchmark: BenchmarkConfig, *, sensors: Sequence[str], cache: Path, run_seed: int = 0) -> None:
        suite = benchmark.sensors()
        for name in sensors:
            if name not in suite:
                raise UnknownName(f"There is no sensor {name!r}; the benchmark has {', '.join(suite)}.")
        pictures = any(suite[name].is_rendered for name in sensors)
        self.sensors = tuple(sensors)
        self._task = build_task(benchmark.task, benchmark.evaluation)
        setup = SimulatorSetup(benchmark=benchmark, cache=cache, pictures=pictures, run_seed=run_seed)
        self._simulator = open_simulator(setup)

    def replay(self, episode: Episode, result: EpisodeResult) -> Iterator[ReplayedStep]:
        """Every pose in turn, the start first; each is made when it is asked for."""
        play = EpisodePlay(episode, task=self._task, simulator=self._simulator, sensors=self.sensors)
        _check_position(0, play.state, result)
        yield ReplayedStep(0, play.state, play.observations)
        for step, entry in enumerate(result.actions, start=1):
            state = play.apply(parse_entry(entry))
            _check_position(step, state, result)
            yield ReplayedStep(step, state, play.observe())

    def close(self) -> None:
        self._simulator.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_position(step: int, state: AgentState, result: EpisodeResult) -> None:
    stated = result.trajectory
    if stated is None or (step < len(stated) and is_same_place(stated[step], state.position)):
        return
    raise ReplayDiffers(
        f"Episode {result.episode_id!r}: step {step} comes to {list(state.position)}, "
        "which is not what the run says. Use the scenes and the engine version that it was made with "
        "(`nav-eval verify` says more)."
    )
