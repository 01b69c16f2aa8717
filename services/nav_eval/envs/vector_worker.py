"""The other side of a vector environment: a process with some of its environments, and how one talks to it.

Nearly every step needs no words: actions, pictures and the numbers of a step lie in shared memory. So a channel carries
single bytes, which cost a microsecond, and messages (JSON) only when there is something that memory cannot hold.
A channel whose other end is gone raises EOFError or BrokenPipeError, so nobody waits for the dead.
"""

import contextlib
import os
import signal
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import Any, TypeAlias

import msgspec
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from nav_eval.config import BenchmarkConfig
from nav_eval.envs.env import Info, NavEnv, Observed
from nav_eval.envs.rollout import Stepped, draw_ahead
from nav_eval.errors import NavEvalError

ALIGNMENT = 64  #: bytes; no two arrays share a cache line
Shape: TypeAlias = tuple[str, tuple[int, ...]]
"""dtype and shape of one environment's part."""

#: the numeric part of `info`; equal to what Gymnasium makes of the single environment's values
INFO: Mapping[str, str] = {"step": "int64", "distance_to_goal": "float64", "collided": "bool", "is_success": "bool"}
STEP: Mapping[str, str] = {"reward": "float64", "terminated": "bool", "truncated": "bool"}
FINAL = "final/"  #: before the names of what an episode ended with, where the next one begins in the same step
OBSERVATION, ACTION = "observation/", "action"


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """What lies where; travels to the workers as JSON."""

    num_envs: int
    arrays: dict[str, Shape]

    @property
    def offsets(self) -> dict[str, int]:
        offsets, end = {}, 0
        for name, shape in self.arrays.items():
            offsets[name] = end
            end += -(-_count_bytes(shape, self.num_envs) // ALIGNMENT) * ALIGNMENT
        return offsets

    @property
    def size(self) -> int:
        return sum(-(-_count_bytes(shape, self.num_envs) // ALIGNMENT) * ALIGNMENT for shape in self.arrays.values())


def make_layout(num_envs: int, observations: spaces.Dict, actions: "spaces.Space[Any]", *, with_final: bool) -> Layout:
    """Room for everything that passes between the processes; texts are sent when they change."""
    boxes = {name: box for name, box in observations.items() if isinstance(box, spaces.Box)}
    arrays: dict[str, Shape] = {ACTION: (str(actions.dtype), actions.shape or ())}
    arrays |= {name: (dtype, ()) for name, dtype in {**STEP, **INFO}.items()}
    arrays |= {OBSERVATION + name: (str(box.dtype), box.shape) for name, box in boxes.items()}
    if with_final:
        arrays |= {FINAL + name: (dtype, ()) for name, dtype in INFO.items()}
        arrays |= {FINAL + OBSERVATION + name: (str(box.dtype), box.shape) for name, box in boxes.items()}
    return Layout(num_envs=num_envs, arrays=arrays)


class SharedArrays:
    """Arrays over one piece of shared memory, each with a row per environment."""

    def __init__(self, layout: Layout, memory: Any) -> None:  # noqa: ANN401 - anything with a buffer
        self.layout = layout
        self.memory = memory
        self._arrays = {name: self._array(name, offset) for name, offset in layout.offsets.items()}

    @classmethod
    def create(cls, layout: Layout, context: SpawnContext) -> "SharedArrays":
        """Fresh memory. Python places it in /dev/shm while there is room, and in a file otherwise."""
        return cls(layout, context.RawArray("b", max(1, layout.size)))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def under(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays whose names begin so, without that beginning."""
        return {name.removeprefix(prefix): a for name, a in self._arrays.items() if name.startswith(prefix)}

    def row(self, prefix: str, env: int) -> dict[str, NDArray[Any]]:
        """One environment's part of them: views, which the renderer can draw into."""
        return {name: array[env] for name, array in self.under(prefix).items()}

    def _array(self, name: str, offset: int) -> NDArray[Any]:
        dtype, shape = self.layout.arrays[name]
        whole = (self.layout.num_envs, *shape)
        count = int(np.prod(whole))
        return np.frombuffer(self.memory, dtype, count=count, offset=offset).reshape(whole)


def _count_bytes(shape: Shape, num_envs: int) -> int:
    dtype, one = shape
    return int(np.dtype(dtype).itemsize * num_envs * np.prod(one, dtype=np.int64))


_NUDGE, _MESSAGE = b".", b"!"


class WorkerPipe:
    """One end."""

    def __init__(self, incoming: Connection, outgoing: Connection) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._reads, self._writes = incoming.fileno(), outgoing.fileno()

    def __reduce__(self) -> tuple[object, ...]:
        return WorkerPipe, (self._incoming, self._outgoing)  # to a process that is being spawned, and nowhere else

    @classmethod
    def make_pair(cls, context: SpawnContext) -> "tuple[WorkerPipe, WorkerPipe]":
        """Both ends: pipes, because sockets take longer."""
        (we_hear, they_say), (they_hear, we_say) = context.Pipe(duplex=False), context.Pipe(duplex=False)
        return cls(we_hear, we_say), cls(they_hear, they_say)

    def nudge(self) -> None:
        """Say that it is the other one's turn, and nothing else."""
        os.write(self._writes, _NUDGE)

    def send(self, message: bytes) -> None:
        os.write(self._writes, _MESSAGE)
        self._outgoing.send_bytes(message)

    def receive(self) -> bytes | None:
        """Wait for the other one: a message, or None for a nudge."""
        first = os.read(self._reads, 1)
        if first == _NUDGE:
            return None
        if not first:
            raise EOFError
        return self._incoming.recv_bytes()

    def close(self) -> None:
        self._incoming.close()
        self._outgoing.close()
        self._reads = self._writes = -1


class WorkerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is made from."""

    benchmark: dict[str, Any]  #: as resolved
    env: dict[str, Any]  #: further arguments of the environment
    envs: list[int]  #: which of the environments are this worker's
    num_envs: int
    arrays: dict[str, tuple[str, tuple[int, ...]]]
    autoreset: str


class ResetRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Begin an episode in one environment."""

    env: int
    seed: int | None = None
    episode_id: str | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`reset` the named environments or `render` all; a step needs no words."""

    name: str
    requests: list[ResetRequest] = []


class EpisodeBegan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment has begun an episode."""

    env: int
    episode_id: str
    scene_id: str
    texts: dict[str, str] = {}


class EpisodeEnded(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An environment has ended one."""

    env: int
    metrics: dict[str, float]


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of a command, beside what is in memory."""

    began: list[EpisodeBegan] = []
    ended: list[EpisodeEnded] = []
    pictures: list[tuple[int, int]] = []  #: `render`: height and width of each; the pixels follow, one message each
    refusal: str | None = None  #: why it could not be done


class WorkerEnvs:
    """The environments of one worker, writing into their rows of the shared memory."""

    def __init__(self, envs: dict[int, NavEnv], memory: SharedArrays, mode: AutoresetMode) -> None:
        self._envs = envs
        self._memory = memory
        self._mode = mode
        self._waits = dict.fromkeys(envs, False)  #: is over, and begins anew with the next step
        for index, env in envs.items():
            env.places = memory.row(OBSERVATION, index)
            env.last_places = memory.row(FINAL + OBSERVATION, index) or None

    def reset(self, requests: Sequence[ResetRequest]) -> Reply:
        """Begin episodes."""
        return Reply(began=[self._begin(request) for request in requests])

    def step(self) -> Reply | None:
        """One step of every environment, with the actions that are in memory; None if all go on."""
        began: list[EpisodeBegan] = []
        ended: list[EpisodeEnded] = []
        stepped = self._act()
        for index in self._envs:
            if index not in stepped:
                began.append(self._begin(ResetRequest(env=index)))
                self._write_step(index, reward=0.0, terminated=False, truncated=False)
                continue
            ending = self._finish(index, stepped[index])
            if ending is None:
                continue
            ended.append(ending)
            if self._mode is AutoresetMode.SAME_STEP:
                began.append(self._begin(ResetRequest(env=index)))
            self._waits[index] = self._mode is AutoresetMode.NEXT_STEP
        return Reply(began=began, ended=ended) if began or ended else None

    def render(self) -> list[Any]:
        return [env.render() for env in self._envs.values()]

    def close(self) -> None:
        for env in self._envs.values():
            env.close()

    def _begin(self, request: ResetRequest) -> EpisodeBegan:
        env = self._envs[request.env]
        options = None if request.episode_id is None else {"episode_id": request.episode_id}
        observation, info = env.reset(seed=request.seed, options=options)
        self._waits[request.env] = False
        self._write_info(request.env, info)
        return EpisodeBegan(
            env=request.env, episode_id=info["episode_id"], scene_id=info["scene_id"], texts=_select_texts(observation)
        )

    def _act(self) -> dict[int, Stepped]:
        """What the actions led to in all environments whose episode goes on; what they show is drawn together."""
        actions = self._memory[ACTION]
        going = {index: env for index, env in self._envs.items() if not self._waits[index]}
        stepped = {index: env.begin_step(actions[index]) for index, env in going.items()}
        draw_ahead((env.rollout, env.choose_places(stepped[index])) for index, env in going.items())
        return stepped

    def _finish(self, index: int, stepped: Stepped) -> EpisodeEnded | None:
        """Texts never change along an episode, so only beginnings send them."""
        _, reward, terminated, truncated, info = self._envs[index].finish_step(stepped)
        self._write_step(index, reward=reward, terminated=terminated, truncated=truncated)
        is_over = terminated or truncated
        self._write_info(index, info, prefix=FINAL if is_over and self._mode is AutoresetMode.SAME_STEP else "")
        return EpisodeEnded(env=index, metrics=info["metrics"]) if is_over else None

    def _write_step(self, index: int, **values: float) -> None:
        for name, value in values.items():
            self._memory[name][index] = value

    def _write_info(self, index: int, info: Info, *, prefix: str = "") -> None:
        for name in INFO:
            self._memory[prefix + name][index] = info[name]


def run_worker(parent: WorkerPipe, memory: Any, setup_bytes: bytes) -> None:  # noqa: ANN401 - shared ctypes
    """The life of a worker process: until its parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's; it ends us by hanging up
    envs: WorkerEnvs | None = None
    try:
        envs = _build_envs(msgspec.json.decode(setup_bytes, type=WorkerSetup), memory)
        parent.nudge()
        while True:
            _answer(parent, envs, parent.receive())
    except (EOFError, BrokenPipeError):
        return
    except NavEvalError as error:
        _refuse(parent, str(error))
    except Exception:  # noqa: BLE001 - the end of a process; its parent raises what it says
        _refuse(parent, f"A worker failed in a way that it did not expect.\n{traceback.format_exc()}")
    finally:
        if envs is not None:
            envs.close()


def _build_envs(setup: WorkerSetup, memory: Any) -> WorkerEnvs:  # noqa: ANN401
    benchmark = BenchmarkConfig.model_validate(setup.benchmark)
    layout = Layout(num_envs=setup.num_envs, arrays=setup.arrays)
    envs = {index: NavEnv(benchmark, **setup.env) for index in setup.envs}
    return WorkerEnvs(envs, SharedArrays(layout, memory), AutoresetMode(setup.autoreset))


def _answer(parent: WorkerPipe, envs: WorkerEnvs, message: bytes | None) -> None:
    """A nudge asks for a step; it is answered by a nudge, unless an episode has begun or ended."""
    if message is None:
        _reply(parent, envs.step())
        return
    command = msgspec.json.decode(message, type=Command)
    if command.name == "reset":
        _reply(parent, envs.reset(command.requests))
        return
    pictures = envs.render()
    _reply(parent, Reply(pictures=[picture.shape[:2] for picture in pictures]))
    for picture in pictures:
        parent.send(picture.tobytes())


def _refuse(parent: WorkerPipe, reason: str) -> None:
    with contextlib.suppress(OSError):
        _reply(parent, Reply(refusal=reason))


def _reply(parent: WorkerPipe, reply: Reply | None) -> None:
    if reply is None:
        parent.nudge()
    else:
        parent.send(msgspec.json.encode(reply))


def _select_texts(observation: Observed) -> dict[str, str]:
    return {name: value for name, value in observation.items() if isinstance(value, str)}
