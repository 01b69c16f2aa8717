"""Agents in this process: `module:Class`, for trusted code only.

An agent here is an SDK agent or any object with `act(observation)` and perhaps `reset(episode)`. Each
episode that runs at once has an agent of its own, in a thread of its own. A thread cannot be killed: an
agent that hangs is given up with its thread, and the episode ends by the clock as everywhere else.
`load_agent_factory` finds it by `package.module:Class` or `path/agent.py:Class`.
"""

import importlib
import importlib.util
import inspect
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession
from nav_eval.agents.failures import AgentCrash, AgentFailure, AgentOutOfMemory, AgentTimeout, ProtocolError
from nav_eval.agents.messages import (
    MAX_TRAJECTORY,
    Action,
    AgentDescription,
    Array,
    Encoding,
    EpisodeEnd,
    Observation,
    TaskInterface,
    check_count,
    make_pose,
    shorten,
)
from nav_eval.dataset.episode import PublicEpisode
from nav_eval.errors import NavEvalError


@dataclass(frozen=True, slots=True)
class LocalEpisode:
    """What the SDK's `Episode` has, for an agent in this process."""

    episode_id: str
    instruction: str
    tokens: tuple[str, ...]
    language: str
    object_category: str | None
    task: TaskInterface
    session_id: str


@dataclass(frozen=True, slots=True, eq=False)
class LocalObservation(Mapping[str, Array]):
    """What the SDK's `Observation` has."""

    step: int
    sensors: Mapping[str, Array]
    texts: Mapping[str, str]
    between: "tuple[LocalObservation, ...]"
    episode: LocalEpisode

    @property
    def instruction(self) -> str:
        return self.episode.instruction

    def __getitem__(self, name: str) -> Array:
        return self.sensors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sensors)

    def __len__(self) -> int:
        return len(self.sensors)


class AgentThread:
    """One agent, which is constructed and called in its own thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._jobs: queue.SimpleQueue[Callable[[Any], Any] | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[tuple[Any, AgentFailure | None]] = queue.SimpleQueue()
        self._make = make
        self.given_up = False
        threading.Thread(target=self._run, name="nav-eval-local-agent", daemon=True).start()

    def start(self, job: Callable[[Any], Any]) -> None:
        self._jobs.put(job)

    def finish(self, seconds: float) -> Any:  # noqa: ANN401
        try:
            result, failure = self._results.get(timeout=seconds)
        except queue.Empty:
            self.given_up = True
            self.close()
            raise AgentTimeout(f"No answer within {seconds:g} s.") from None
        if failure is not None:
            raise failure
        return result

    def call(self, job: Callable[[Any], Any], seconds: float) -> Any:  # noqa: ANN401
        self.start(job)
        return self.finish(seconds)

    def close(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        agent: Any = None
        while (job := self._jobs.get()) is not None:
            try:
                agent = self._make() if agent is None else agent
                self._results.put((job(agent), None))
            except AgentFailure as failure:
                self._results.put((None, failure))
            except MemoryError as error:
                self._results.put((None, AgentOutOfMemory(f"The agent ran out of memory: {error}")))
            except BaseException as error:  # noqa: BLE001 (whatever an agent raises ends its episode, not the run)
                text = shorten(f"{type(error).__name__}: {error}", limit=2000)
                self._results.put((None, AgentCrash(f"The agent failed: {text}")))


class LocalAgentClient(AgentClient):
    """Agents made by calling `make`, as many as run at once."""

    def __init__(self, make: Callable[[], Any], settings: ClientSettings) -> None:
        super().__init__(settings)
        self._make = make
        self._idle: list[AgentThread] = []

    def health_check(self) -> AgentHealth:
        return AgentHealth.SERVING

    def close(self) -> None:
        for thread in self._idle:
            thread.close()
        self._idle.clear()

    def _describe(self, task: TaskInterface) -> AgentDescription:
        thread = self._thread()
        try:
            description: AgentDescription = thread.call(_describe, self.settings.connect_timeout)
        finally:
            self.release_thread(thread)
        return description

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> "LocalSession":
        session = LocalSession(
            self._thread(), self, episode=episode, task=task, description=description, settings=self.settings
        )
        session.reset()
        return session

    def _thread(self) -> AgentThread:
        return self._idle.pop() if self._idle else AgentThread(self._make)

    def release_thread(self, thread: AgentThread) -> None:
        if not thread.given_up:
            self._idle.append(thread)


class LocalSession(EpisodeSession):
    """One episode of an agent in this process."""

    def __init__(
        self,
        thread: AgentThread,
        client: LocalAgentClient,
        *,
        episode: PublicEpisode,
        task: TaskInterface,
        description: AgentDescription,
        settings: ClientSettings,
    ) -> None:
        super().__init__(task=task, description=description, settings=settings)
        self._thread = thread
        self._client = client
        told = episode.instruction
        self._episode = LocalEpisode(
            episode_id=episode.episode_id,
            instruction=told.text if told else "",
            tokens=told.tokens if told else (),
            language=(told.language or "") if told else "",
            object_category=episode.object_category,
            task=task,
            session_id=self.session_id,
        )

    def reset(self) -> None:
        try:
            self._thread.call(lambda agent: _get_method(agent, "reset")(self._episode), self._settings.reset_timeout)
        except AgentFailure:
            self._client.release_thread(self._thread)
            raise

    def end(self, outcome: EpisodeEnd) -> None:
        if not self._thread.given_up:
            with suppress(AgentFailure):  # the episode is over either way
                self._thread.call(
                    lambda agent: _get_method(agent, "end")(self._episode, outcome), self._settings.end_timeout
                )
        self._client.release_thread(self._thread)

    def _transmit(self, observation: Observation) -> None:
        seen = self._seen(observation)
        self._thread.start(lambda agent: decode_answer(agent.act(seen)))

    def _collect(self, seconds: float) -> Sequence[Action]:
        try:
            actions: list[Action] = self._thread.finish(seconds)
        except AgentTimeout:
            raise self._too_slow() from None
        return actions

    def _seen(self, observation: Observation) -> LocalObservation:
        return LocalObservation(
            step=observation.step,
            sensors={name: _make_read_only(array) for name, array in observation.sensors.items()},
            texts=observation.texts,
            between=tuple(self._seen(earlier) for earlier in observation.between),
            episode=self._episode,
        )


def decode_answer(answer: object) -> list[Action]:
    """What `act` returned: names, SDK actions, mappings, or a list of such."""
    items = answer if isinstance(answer, list | tuple) else [answer]
    return [_decode_action(item) for item in items]


def _decode_action(item: object) -> Action:
    if isinstance(item, str):
        return Action(name=item)
    if isinstance(item, Mapping):
        poses = item.get("poses", ())
        name, arguments = item.get("action", "answer" if poses else None), item.get("action_args") or {}
    else:
        name, poses = getattr(item, "name", None), getattr(item, "poses", ())
        arguments = getattr(item, "arguments", {})
    if not isinstance(name, str):
        raise ProtocolError(f"act returned {shorten(repr(item))}; return the name of an action, or an Action.")
    get: Callable[..., Any] = item.get if isinstance(item, Mapping) else lambda key, other: getattr(item, key, other)
    return Action(
        name=name,
        arguments=_decode_arguments(arguments),
        poses=tuple(map(_decode_pose, poses[: MAX_TRAJECTORY + 1])),
        camera=str(get("camera", "")),
        text=str(get("text", "")),
    )


def _decode_arguments(arguments: Mapping[str, Any]) -> dict[str, float]:
    try:
        return {str(name): float(value) for name, value in arguments.items()}
    except (TypeError, ValueError, AttributeError):
        raise ProtocolError(f"The arguments {shorten(repr(arguments))} are no numbers by name.") from None


def _decode_pose(guess: Any) -> Any:  # noqa: ANN401
    given = (
        guess if isinstance(guess, Mapping) else {name: getattr(guess, name, ()) for name in ("position", "rotation")}
    )
    return make_pose(
        position=tuple(given.get("position", ())), rotation=tuple(given.get("rotation", (0.0, 0.0, 0.0, 1.0)))
    )


def _describe(agent: Any) -> AgentDescription:  # noqa: ANN401
    if not hasattr(agent, "describe"):
        return AgentDescription(name=shorten(type(agent).__name__))
    said = agent.describe()
    return AgentDescription(
        name=shorten(str(said.name)),
        version=shorten(str(said.version)),
        sensors=dict.fromkeys(said.sensors, (Encoding.RAW,)),
        max_episodes=check_count(said.max_episodes, what="max_episodes", most=1024),
        max_actions=check_count(said.max_actions, what="max_actions", most=1 << 16),
        wants_between=bool(said.wants_between),
        metadata=dict(said.metadata),
        rig=str(getattr(said, "rig", "")),
    )


def _get_method(agent: object, method: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(agent, method, lambda *_: None)
    return found


def _make_read_only(array: Array) -> Array:
    """As over every wire: an agent in this process must not change what the evaluator still needs."""
    view = array.view()
    view.flags.writeable = False
    return view


class NoSuchAgent(NavEvalError):
    """The agent cannot be loaded; the message names the module and the class."""


#: Set while a file is imported for the class in it: the SDK's `serve` at its end, which never ends, then does nothing.
LOADING_VARIABLE = "NAV_EVAL_LOADING"


def load_agent_factory(name: str) -> Callable[[], Any]:
    """What makes the agent called `package.module:Class` or `path/agent.py:Class`."""
    source, _, attribute = name.rpartition(":")
    os.environ[LOADING_VARIABLE] = source
    try:
        module = _import_file(Path(source)) if source.endswith(".py") else _import_module(source)
    finally:
        del os.environ[LOADING_VARIABLE]
    try:
        found = getattr(module, attribute)
    except AttributeError:
        raise NoSuchAgent(f"{source} has no {attribute!r}.") from None
    if inspect.isclass(found) or not hasattr(found, "act"):
        make: Callable[[], Any] = found
        return make
    return lambda: found


def _import_module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NoSuchAgent(f"Cannot import {name!r}: {error}. Run in its directory, or install it.") from error


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise NoSuchAgent(f"There is no file {path}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module
