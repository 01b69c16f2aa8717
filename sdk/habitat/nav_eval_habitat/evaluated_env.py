"""A `habitat.Env` that belongs to our evaluator: a loop written around it runs as a submitted agent.

The loop runs in a thread of its own. `reset` waits until the evaluator begins the next episode, `step` hands over an
action and waits for what comes of it. What an agent may not know is not there: metrics, goals and the simulator answer
nothing, and say why.
"""

import queue
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from nav_eval.errors import NavEvalError
from nav_eval_habitat.agents import LabDescription, count_arguments
from nav_eval_habitat.lab_actions import translate_action
from nav_eval_habitat.lab_observations import LabObservations, Vocabulary

_WHY = (
    "{} answers nothing here: this environment belongs to an evaluation, and agents see observations alone. "
    "Metrics are in the run's results."
)


class NoMoreEpisodes(NavEvalError, StopIteration):
    """The evaluation is over: there is no further episode."""


class EpisodeNotBegun(NavEvalError):
    """step() was called before reset(), or after the episode was over; call reset() first."""


class PrivilegedCall(UserWarning):
    """Something was asked that only the evaluator knows."""


def _refuse(what: str) -> None:
    warnings.warn(_WHY.format(what), PrivilegedCall, stacklevel=3)


class Withheld:
    """Stands where a `habitat.Env` has its simulator or task: every call answers None."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: _refuse(f"{self._name}.{name}")


class Channel:
    """Between the evaluator's thread and the loop's."""

    def __init__(self) -> None:
        self.moments: queue.Queue[Any] = queue.Queue()  #: to the loop: an observation, END of an episode, or CLOSED
        self.answers: queue.Queue[Any] = queue.Queue()  #: to the evaluator: an action, or an exception


END, CLOSED = object(), object()
_current = threading.local()


class EvaluatedEnv:
    """The four things that loops use; what a `habitat.Env` is made from is accepted and ignored."""

    def __init__(self, config: Any = None, dataset: Any = None, *, channel: Channel | None = None, **_: Any) -> None:
        found = channel or getattr(_current, "channel", None)
        if found is None:
            raise EpisodeNotBegun(
                "No evaluation is running in this thread; start the loop with habitat:module:function."
            )
        self._channel: Channel = found
        self._translator = LabObservations(getattr(_current, "vocabulary", None))
        self._moment: Any = None
        self._config = config
        self.sim, self.task = Withheld("env.sim"), Withheld("env.task")
        self.number_of_episodes: int | None = None

    def reset(self) -> dict[str, Any]:
        """Wait for the next episode; one that is under way is given up with a stop."""
        while self._moment is not None:
            self.step("stop")
        moment = self._channel.moments.get()
        if moment is CLOSED:
            raise NoMoreEpisodes
        self._moment = moment
        return self._translator.translate(moment)

    def step(self, action: Any, **_: Any) -> dict[str, Any]:
        """Hand over an action; the last observation again once the episode is over."""
        if self._moment is None:
            raise EpisodeNotBegun
        before = self._moment
        self._channel.answers.put(translate_action(action, before.episode.task))
        moment = self._channel.moments.get()
        if moment is END or moment is CLOSED:
            self._moment = None
            if moment is CLOSED:
                self._channel.moments.put(CLOSED)
            return self._translator.translate(before)
        self._moment = moment
        return self._translator.translate(moment)

    @property
    def episode_over(self) -> bool:
        return self._moment is None

    @property
    def current_episode(self) -> Any:
        """Its id and what the agent is told; no goals, no place."""
        if self._moment is None:
            return None
        episode = self._moment.episode
        return SimpleNamespace(
            episode_id=episode.episode_id,
            instruction=SimpleNamespace(instruction_text=episode.instruction, instruction_tokens=list(episode.tokens)),
            object_category=episode.object_category,
            goals=[],
            scene_id="",
        )

    def get_metrics(self) -> dict[str, Any]:
        _refuse("env.get_metrics()")
        return {}

    def seed(self, seed: int | None = None) -> None:
        """The evaluator has its own."""

    def close(self) -> None:
        """The evaluator closes."""

    def __enter__(self) -> "EvaluatedEnv":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class LoopAgent:
    """A loop around an environment as one of our agents: `main(env)`, or `main()` that makes a `habitat.Env` itself."""

    def __init__(self, loop: Callable[..., Any], vocabulary: Vocabulary | None = None) -> None:
        self._loop, self._vocabulary = loop, vocabulary
        self._channel = Channel()
        self._thread = threading.Thread(target=self._run, daemon=True, name="habitat loop")

    def describe(self) -> LabDescription:
        return LabDescription(name=getattr(self._loop, "__name__", "loop"))

    def reset(self, episode: Any) -> None:
        if not self._thread.is_alive() and self._thread.ident is None:
            self._thread.start()

    def act(self, observation: Any) -> Any:
        self._channel.moments.put(observation)
        answer = self._channel.answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def end(self, episode: Any, outcome: Any) -> None:
        self._channel.moments.put(END)

    def close(self) -> None:
        self._channel.moments.put(CLOSED)

    def _run(self) -> None:
        """The loop's thread: whatever goes wrong in it is the agent's answer."""
        _current.channel, _current.vocabulary = self._channel, self._vocabulary
        try:
            with replace_lab_env():
                if count_arguments(self._loop) >= 1:
                    self._loop(EvaluatedEnv(channel=self._channel))
                else:
                    self._loop()
        except NoMoreEpisodes:
            return
        except BaseException as error:  # noqa: BLE001 - the edge of a team's code
            self._channel.answers.put(error)
            return
        self._channel.answers.put(EpisodeNotBegun("The loop came to its end while the evaluation still had episodes."))


@contextmanager
def replace_lab_env() -> Iterator[None]:
    """While a loop runs, `habitat.Env` is ours, where habitat-lab is installed."""
    try:
        modules: list[Any] = [import_module(name) for name in ("habitat", "habitat.core.env")]
    except ImportError:
        yield
        return
    places = [(module, module.Env) for module in modules if hasattr(module, "Env")]
    for module, _ in places:
        module.Env = EvaluatedEnv
    try:
        yield
    finally:
        for module, original in places:
            module.Env = original
