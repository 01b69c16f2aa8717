"""The other side of a vector environment: a process with some of its environments."""

import contextlib
import signal
import traceback
from collections.abc import Sequence
from typing import Any

import msgspec
from gymnasium.vector import AutoresetMode

from nav_eval.config import BenchmarkConfig
from nav_eval.envs.env import Info, NavEnv, Observed
from nav_eval.envs.vector.line import Line
from nav_eval.envs.vector.memory import ACTION, FINAL, INFO, OBSERVATION, Layout, SharedArrays
from nav_eval.envs.vector.messages import Began, Command, Ended, Order, Reply, Start
from nav_eval.errors import NavEvalError


class Crew:
    """The environments of one worker, writing into their rows of the shared memory."""

    def __init__(self, envs: dict[int, NavEnv], memory: SharedArrays, mode: AutoresetMode) -> None:
        self._envs = envs
        self._memory = memory
        self._mode = mode
        self._waits = dict.fromkeys(envs, False)  #: is over, and begins anew with the next step
        for index, env in envs.items():
            env.places = memory.row(OBSERVATION, index)
            env.last_places = memory.row(FINAL + OBSERVATION, index) or None

    def reset(self, starts: Sequence[Start]) -> Reply:
        """Begin episodes."""
        return Reply(began=[self._begin(start) for start in starts])

    def step(self) -> Reply | None:
        """One step of every environment, with the actions that are in memory; None if all go on."""
        began: list[Began] = []
        ended: list[Ended] = []
        for index in self._envs:
            if self._waits[index]:
                began.append(self._begin(Start(env=index)))
                self._keep(index, reward=0.0, terminated=False, truncated=False)
                continue
            ending = self._step(index)
            if ending is None:
                continue
            ended.append(ending)
            if self._mode is AutoresetMode.SAME_STEP:
                began.append(self._begin(Start(env=index)))
            self._waits[index] = self._mode is AutoresetMode.NEXT_STEP
        return Reply(began=began, ended=ended) if began or ended else None

    def render(self) -> list[Any]:
        return [env.render() for env in self._envs.values()]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()

    def _begin(self, start: Start) -> Began:
        env = self._envs[start.env]
        options = None if start.episode_id is None else {"episode_id": start.episode_id}
        observation, info = env.reset(seed=start.seed, options=options)
        self._waits[start.env] = False
        self._inform(start.env, info)
        return Began(env=start.env, episode_id=info["episode_id"], scene_id=info["scene_id"], texts=_texts(observation))

    def _step(self, index: int) -> Ended | None:
        """Texts never change along an episode, so only beginnings send them."""
        _, reward, terminated, truncated, info = self._envs[index].step(self._memory[ACTION][index])
        self._keep(index, reward=reward, terminated=terminated, truncated=truncated)
        is_over = terminated or truncated
        self._inform(index, info, prefix=FINAL if is_over and self._mode is AutoresetMode.SAME_STEP else "")
        return Ended(env=index, metrics=info["metrics"]) if is_over else None

    def _keep(self, index: int, **values: float) -> None:
        for name, value in values.items():
            self._memory[name][index] = value

    def _inform(self, index: int, info: Info, *, prefix: str = "") -> None:
        for name in INFO:
            self._memory[prefix + name][index] = info[name]


def work(parent: Line, memory: Any, order_bytes: bytes) -> None:  # noqa: ANN401 - shared ctypes
    """The life of a worker process: until its parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends us by hanging up
    crew: Crew | None = None
    try:
        crew = _crew(msgspec.json.decode(order_bytes, type=Order), memory)
        parent.nudge()
        while True:
            _answer(parent, crew, parent.hear())
    except (EOFError, BrokenPipeError):
        return
    except NavEvalError as error:
        _refuse(parent, str(error))
    except Exception:  # noqa: BLE001 - the end of a process; its parent raises what it says
        _refuse(parent, f"A worker failed in a way that it did not expect.\n{traceback.format_exc()}")
    finally:
        if crew is not None:
            crew.close()


def _crew(order: Order, memory: Any) -> Crew:  # noqa: ANN401
    benchmark = BenchmarkConfig.model_validate(order.benchmark)
    layout = Layout(num_envs=order.num_envs, arrays=order.arrays)
    envs = {index: NavEnv(benchmark, **order.env) for index in order.envs}
    return Crew(envs, SharedArrays(layout, memory), AutoresetMode(order.autoreset))


def _answer(parent: Line, crew: Crew, message: bytes | None) -> None:
    """A nudge asks for a step; it is answered by a nudge, unless an episode has begun or ended."""
    if message is None:
        _tell(parent, crew.step())
        return
    command = msgspec.json.decode(message, type=Command)
    if command.name == "reset":
        _tell(parent, crew.reset(command.starts))
        return
    pictures = crew.render()
    _tell(parent, Reply(pictures=[picture.shape[:2] for picture in pictures]))
    for picture in pictures:
        parent.say(picture.tobytes())


def _refuse(parent: Line, reason: str) -> None:
    with contextlib.suppress(OSError):
        _tell(parent, Reply(refusal=reason))


def _tell(parent: Line, reply: Reply | None) -> None:
    if reply is None:
        parent.nudge()
    else:
        parent.say(msgspec.json.encode(reply))


def _texts(observation: Observed) -> dict[str, str]:
    return {name: value for name, value in observation.items() if isinstance(value, str)}
