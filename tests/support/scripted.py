"""A runtime that starts nothing: what the simulator says is written down beforehand."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from nav_eval.evaluation.shard_protocol import Checked, Ended, Message, Played, Purpose, Ready
from nav_eval_worker.archives import IMAGE_LIMITS, WEIGHTS_LIMITS, ArchiveLimits
from nav_eval_worker.archives.streams import Readable
from nav_eval_worker.runtime.base import (
    AgentEnd,
    AgentImage,
    Pair,
    ReplayWork,
    Runtime,
    ShardWork,
    Simulation,
    Usage,
    Weights,
)
from nav_eval_worker.runtime.output import CappedLog
from support.challenge import METRICS

Script = Callable[["ScriptedPair"], Iterator[Message]]
READY = Ready(agent={"name": "Scripted", "version": "1"}, seconds=0.1)


def played(episode: str, **fields: Any) -> Played:
    """An episode that ended; `cause="agent_crash", status="failed"` for one that did not."""
    line = {"episode_id": episode, "status": "completed", "num_steps": 3, "metrics": METRICS, **fields}
    return Played(line=msgspec.Raw(msgspec.json.encode(line)))


def plays_all(pair: "ScriptedPair") -> Iterator[Message]:
    """As everybody hopes."""
    yield READY
    for episode in pair.work.episode_ids:
        yield played(episode)
    yield Ended()


class ScriptedPair(Pair):
    """Says its lines until it is stopped."""

    def __init__(self, work: ShardWork, script: Script) -> None:
        self.work = work
        self.end: AgentEnd | None = None  #: how the agent died, if it did
        self.words = b"words\n"  #: what it prints before each message
        self._log = CappedLog(1 << 20)
        self.stopped = threading.Event()
        self._script = script

    def messages(self) -> Iterator[Message]:
        for message in self._script(self):
            if self.stopped.is_set():
                return
            yield message

    def agent_end(self, *, patience: float = 1.0) -> AgentEnd | None:
        return self.end

    def take_log(self, *, whole_lines: bool = False) -> bytes:
        self._log.write(self.words)
        return self._log.take(whole_lines=whole_lines)

    def simulator_log(self) -> bytes:
        return b"secret/path/of/the/test/set"

    def usage(self) -> Usage:
        return Usage(cpu_seconds=1.5, memory_bytes=1000)

    def stop(self) -> None:
        self.stopped.set()


def replays_well(replay: "Replay") -> Iterator[Message]:
    if replay.work.purpose is Purpose.CHECK:
        yield Checked(episodes=4, steps=12)
    yield Ended()


class Replay(Simulation):
    """A run that is played again, by a script."""

    def __init__(self, work: ReplayWork, script: Callable[["Replay"], Iterator[Message]]) -> None:
        self.work, self.stopped = work, threading.Event()
        self._script = script

    def messages(self) -> Iterator[Message]:
        for message in self._script(self):
            if self.stopped.is_set():
                return
            yield message

    def simulator_log(self) -> bytes:
        return b"secret/path/of/the/test/set"

    def stop(self) -> None:
        self.stopped.set()


class ScriptedRuntime(Runtime):
    """Each pair follows the next script; the last one is for all that come after. Replays follow their own."""

    name = "scripted"

    def __init__(self, *scripts: Script, replays: Callable[[Replay], Iterator[Message]] = replays_well) -> None:
        self.scripts = list(scripts) or [plays_all]
        self.pairs: list[ScriptedPair] = []
        self.replayed: list[ReplayWork] = []
        self._replays = replays

    @contextmanager
    def replay(self, work: ReplayWork) -> Iterator[Simulation]:
        self.replayed.append(work)
        yield Replay(work, self._replays)

    @contextmanager
    def run(self, work: ShardWork) -> Iterator[Pair]:
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        pair = ScriptedPair(work, script)
        self.pairs.append(pair)
        try:
            yield pair
        finally:
            pair.stop()

    def check(self) -> None: ...

    def find(self, image_id: str) -> AgentImage | None:
        return AgentImage(id=image_id, handle="here")

    def admit(self, archive: Path | Readable, *, limits: ArchiveLimits = IMAGE_LIMITS) -> AgentImage:
        return AgentImage(id=f"sha256:{0:064x}", handle="here")

    def find_weights(self, digest: str) -> Weights | None:
        return Weights(digest=digest, handle="here")

    def admit_weights(
        self, archive: Path | Readable, *, digest: str, limits: ArchiveLimits = WEIGHTS_LIMITS
    ) -> Weights:
        return Weights(digest=digest, handle="here")

    def sweep(self, is_active: Callable[[str], bool]) -> int:
        return 0
