"""Agents at work, whatever protocol the evaluator speaks.

Each agent lives in a thread of its own, in which it is constructed and always called: frameworks keep
settings per thread. An agent with `act_batch` serves all episodes and gets their observations together;
any other serves one episode at a time, so several episodes mean several agents.
"""

from __future__ import annotations

import inspect
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Union

from nav_eval_sdk.agent import Action, Agent, Answer, Description, Episode, Observation, Outcome, Pose
from nav_eval_sdk.arrays import SharedMemory
from nav_eval_sdk.errors import AgentError, BadAnswer, BadRequest, SdkError

AgentSource = Union[Agent, Callable[[], Agent]]

_OURS = Path(__file__).parent

BATCH_WINDOW = 0.005  #: seconds that the first of a batch waits for the others, at least
BATCH_PATIENCE = 0.25  #: of what the last batch cost: a costly model gains more by waiting than it loses
MAX_BATCH_WAIT = 0.5  #: seconds; nobody waits longer, whatever the model costs


@dataclass
class _Job:
    """Something to do in an agent's thread."""

    work: Callable[[Agent], Any] | None = None  #: None for an act, which may be part of a batch
    observation: Observation | None = None
    done: Future[Any] = field(default_factory=Future)


class _AgentThread(threading.Thread):
    """One agent and its thread."""

    def __init__(self, make: Callable[[], Agent], *, window: float) -> None:
        super().__init__(name="nav-eval-agent", daemon=True)
        self.ready: Future[Description] = Future()
        self.sessions: set[str] = set()
        self.batches = False
        self.busy = False
        self._make = make
        self._window = window
        self._cost = 0.0  #: seconds of the last batch
        self._inbox: queue.SimpleQueue[_Job] = queue.SimpleQueue()

    def call(self, work: Callable[[Agent], Any]) -> Any:  # noqa: ANN401
        return self._result(_Job(work=work))

    def act(self, observation: Observation) -> tuple[Action, ...]:
        answer: tuple[Action, ...] = self._result(_Job(observation=observation))
        return answer

    def _result(self, job: _Job) -> Any:  # noqa: ANN401
        self._inbox.put(job)
        return job.done.result()

    def run(self) -> None:
        try:
            agent = _make_agent(self._make)
            self.batches = _has_own(agent, "act_batch")
            description = agent.describe()
        except BaseException as error:  # noqa: BLE001 (raised again where the host waits)
            self.ready.set_exception(error)
            return
        self.ready.set_result(description)
        while True:
            jobs = self._next(description.max_episodes)
            self.busy = True
            began = time.monotonic()
            _run_jobs(agent, jobs)
            if jobs[0].work is None:
                self._cost = time.monotonic() - began
            self.busy = False
            del jobs  # nothing of an observation may outlive its answer here

    def _next(self, most: int) -> list[_Job]:
        """The next job; or as many acts as come together, the longest waiting first.

        Whatever came while the model was at work is taken at once. For episodes that have not asked yet, the first
        waits a little, by what a batch costs: a slow episode is never waited for longer than that.
        """
        first = self._inbox.get()
        if first.work is not None or not self.batches:
            return [first]
        patience = min(max(self._window, BATCH_PATIENCE * self._cost), max(self._window, MAX_BATCH_WAIT))
        batch, until = [first], time.monotonic() + patience
        others: list[_Job] = []
        while len(batch) < min(most, len(self.sessions)):
            try:
                job = self._inbox.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            (batch if job.work is None else others).append(job)
        for job in others:  # an episode that begins or ends meanwhile
            self._inbox.put(job)
        return batch


@dataclass
class HostedEpisode:
    """One episode at a desk."""

    episode: Episode
    desk: _AgentThread
    memory: SharedMemory | None = None  #: where the evaluator draws its pictures
    sequence: int = 0
    answer: tuple[Action, ...] = ()
    used: float = field(default_factory=time.monotonic)


class Host:
    """All agents of this process, and which episode is whose."""

    def __init__(
        self, source: AgentSource, *, max_episodes: int | None = None, batch_window: float = BATCH_WINDOW
    ) -> None:
        self._max_episodes = max_episodes
        self._window = batch_window
        self._several = inspect.isclass(source) or not hasattr(source, "act")
        self._make: Callable[[], Agent] = source if self._several else lambda: source  # type: ignore
        self._sessions: dict[str, HostedEpisode] = {}
        self._lock = threading.Lock()
        self._desks: list[_AgentThread] = []
        self._description: Description | None = None

    @property
    def ready(self) -> bool:
        return self._description is not None

    @property
    def busy(self) -> bool:
        """Some agent is at work, or stuck in it."""
        return any(desk.busy for desk in self._desks)

    def start(self) -> Description:
        """Construct the agents; raises what their constructors raise."""
        first = self._hire()
        description = first.ready.result()
        wanted = description.max_episodes if self._max_episodes is None else self._max_episodes
        if not first.batches and not self._several:
            wanted = 1  # one agent that answers one episode at a time
        if not first.batches:
            for desk in [self._hire() for _ in range(wanted - 1)]:
                desk.ready.result()
        self._description = Description(**{**vars(description), "max_episodes": max(1, wanted)})
        return self._description

    def describe(self) -> Description:
        if self._description is None:
            raise BadRequest("The agent is still loading.")
        return self._description

    def reset(self, episode: Episode, memory: SharedMemory | None = None) -> None:
        if not episode.session_id:
            raise BadRequest("The reset has no session_id.")
        with self._lock:
            session = HostedEpisode(episode, self._free_desk(), memory)
            session.desk.sessions.add(episode.session_id)
            self._sessions[episode.session_id] = session
        session.desk.call(lambda agent: agent.reset(episode))

    def session(self, session_id: str) -> HostedEpisode:
        try:
            return self._sessions[session_id]
        except KeyError:
            raise BadRequest(f"There is no episode with session_id {session_id!r:.80}; send Reset first.") from None

    def act(self, session_id: str, sequence: int, observation: Observation) -> tuple[Action, ...]:
        """The agent's answer. A question that is asked again gets the same answer, without acting twice."""
        session = self.session(session_id)
        if sequence and sequence == session.sequence:
            return session.answer
        session.used = time.monotonic()
        session.answer = session.desk.act(observation)
        session.sequence = sequence
        return session.answer

    def end(self, session_id: str, outcome: Outcome) -> None:
        session = self._forget(session_id)
        if session is not None:
            session.desk.call(lambda agent: agent.end(session.episode, outcome))

    def _hire(self) -> _AgentThread:
        desk = _AgentThread(self._make, window=self._window)
        self._desks.append(desk)
        desk.start()
        return desk

    def _free_desk(self) -> _AgentThread:
        """A desk with room. If there is none, the episode that was idle for longest has been given up."""
        if not self.ready:
            raise BadRequest("The agent is still loading.")
        room = self.describe().max_episodes if self._desks[0].batches else 1
        desk = min(self._desks, key=lambda desk: len(desk.sessions))
        if len(desk.sessions) >= room:
            oldest = min(self._sessions.values(), key=lambda session: session.used)
            self._drop(oldest)
            desk = oldest.desk
        return desk

    def _forget(self, session_id: str) -> HostedEpisode | None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None:
                self._drop(session)
            return session

    def _drop(self, session: HostedEpisode) -> None:
        session.desk.sessions.discard(session.episode.session_id)
        self._sessions.pop(session.episode.session_id, None)


class _Adapter(Agent):
    """Any object with `act`, and perhaps `reset`, as an agent."""

    def __init__(self, wrapped: Any) -> None:  # noqa: ANN401
        self._wrapped = wrapped
        self.name = type(wrapped).__name__

    def reset(self, episode: Episode) -> None:
        getattr(self._wrapped, "reset", lambda _: None)(episode)

    def act(self, observation: Observation) -> Answer:
        answer: Answer = self._wrapped.act(observation)
        return answer


def _make_agent(make: Callable[[], Agent]) -> Agent:
    agent = make()
    if inspect.isclass(agent) or not (_has_own(agent, "act") or _has_own(agent, "act_batch")):
        name = getattr(agent, "__qualname__", type(agent).__qualname__)
        raise SdkError(f"{name} is no agent: give it the method `act(observation)`.")
    return agent if isinstance(agent, Agent) else _Adapter(agent)


def _has_own(agent: Agent, method: str) -> bool:
    own = getattr(type(agent), method, None)
    return own is not None and own is not getattr(Agent, method)


def _run_jobs(agent: Agent, jobs: Sequence[_Job]) -> None:
    """Do the jobs; what the agent raises goes to whoever asked."""
    try:
        if jobs[0].work is not None:
            results: Sequence[Any] = [jobs[0].work(agent)]
        else:
            results = _ask(agent, [job.observation for job in jobs if job.observation is not None])
    except Exception as error:  # noqa: BLE001 (whatever a team's code raises ends an episode, never the server)
        failure = _to_agent_error(error)
        for job in jobs:
            job.done.set_exception(failure)
        return
    except BaseException:  # noqa: BLE001 (sys.exit in an agent means it)
        traceback.print_exc(file=sys.stderr)
        os._exit(1)
    for job, result in zip(jobs, results):
        job.done.set_result(result)


def _ask(agent: Agent, observations: list[Observation]) -> list[tuple[Action, ...]]:
    if len(observations) == 1 and _has_own(agent, "act"):
        return [parse_answer(agent.act(observations[0]), _list_actions(observations[0]))]
    answers = agent.act_batch(observations)
    if len(answers) != len(observations):
        raise BadAnswer(f"act_batch got {len(observations)} observations and returned {len(answers)} answers.")
    return [parse_answer(answer, _list_actions(seen)) for answer, seen in zip(answers, observations)]


def _list_actions(observation: Observation) -> tuple[str, ...]:
    """The names that the task has, as far as it says."""
    return tuple(observation.episode.task.actions) if observation.episode is not None else ()


def _to_agent_error(error: Exception) -> AgentError:
    """The agent's error, for the evaluator's record; its traceback goes to the agent's log."""
    traceback.print_exc(file=sys.stderr)
    memory = isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__
    return AgentError(f"{type(error).__name__}: {error}{_tell_place(error)}", out_of_memory=memory)


def _tell_place(error: Exception) -> str:
    """The line that failed, ours left out: nobody looks for a mistake in the SDK, whose files may be called alike."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _OURS not in Path(frame.filename).parents]
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""


def parse_answer(answer: object, known: Sequence[str] = ()) -> tuple[Action, ...]:
    """One or several actions; anything else is refused with what would be right."""
    if isinstance(answer, (list, tuple)):
        if not answer:
            raise BadAnswer("act returned an empty list; answer every observation with at least one action.")
        if len(answer) == 2 and isinstance(answer[0], str) and _is_arguments(answer[1]):
            raise BadAnswer(
                f"act returned {answer!r:.200}; with arguments, return Action({answer[0]!r}, {answer[1]!r:.100})."
            )
        return tuple(_parse_action(item, known) for item in answer)
    return (_parse_action(answer, known),)


def _is_arguments(item: object) -> bool:
    """Whether it is a mapping, but none that is an action."""
    return isinstance(item, Mapping) and "action" not in item


def _parse_action(item: object, known: Sequence[str]) -> Action:
    if isinstance(item, Action):
        return item
    if isinstance(item, str):
        return Action(item)
    if isinstance(item, Mapping):
        return _parse_mapping(item, known)
    if inspect.iscoroutine(item):
        item.close()
        raise BadAnswer("act is `async`, and nobody awaits it: make it a plain function; `serve` has a thread for it.")
    if inspect.isgenerator(item):
        raise BadAnswer("act has a `yield`, which makes it a generator: return an action, or a list of them.")
    raise BadAnswer(f"act returned {item!r:.200}; {_tell_names(known)}; return one, an Action, or a list of them.")


def _tell_names(known: Sequence[str]) -> str:
    return f"actions are names: {', '.join(known) or 'such as move_forward'}"


def _parse_mapping(item: Mapping[str, Any], known: Sequence[str]) -> Action:
    poses = tuple(_parse_pose(pose) for pose in item.get("poses", ()))
    name = item.get("action", "answer" if poses else None)
    arguments = item.get("action_args") or {}
    if name is None:
        raise BadAnswer(f"act returned {dict(item)!r:.200}; a mapping needs 'action' and may have 'action_args'.")
    if not isinstance(name, str):
        raise BadAnswer(f"act returned {dict(item)!r:.200}; 'action' is {name!r:.50}, but {_tell_names(known)}.")
    if not isinstance(arguments, Mapping):
        raise BadAnswer(f"act returned {dict(item)!r:.200}; 'action_args' must map names to numbers.")
    numbers = {str(key): float(value) for key, value in arguments.items()}
    return Action(name, numbers, poses, camera=str(item.get("camera", "")), text=str(item.get("text", "")))


def _parse_pose(pose: object) -> Pose:
    if isinstance(pose, Pose):
        return pose
    if isinstance(pose, Mapping) and "position" in pose:
        return Pose(_parse_numbers(pose["position"]), _parse_numbers(pose.get("rotation", (0, 0, 0, 1))))  # type: ignore[arg-type]
    raise BadAnswer(f"{pose!r:.200} is no pose; give Pose(position, rotation).")


def _parse_numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
