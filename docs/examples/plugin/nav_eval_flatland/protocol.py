"""An agent protocol: `lines:COMMAND` starts a program that reads an observation and writes an action, line by line."""

import json
import select
import shlex
from collections.abc import Sequence
from subprocess import PIPE, Popen

from nav_eval.agents.client import AgentClient, AgentHealth, ClientSettings, EpisodeSession
from nav_eval.agents.failures import ConnectionLost
from nav_eval.agents.messages import Action, AgentDescription, EpisodeEnd, Observation, TaskInterface
from nav_eval.dataset.episode import PublicEpisode


class LinesClient(AgentClient):
    """For trusted programs: each episode starts one of its own."""

    def __init__(self, address: str, settings: ClientSettings) -> None:
        super().__init__(settings)
        self.command = shlex.split(address.removeprefix("lines:"))

    def health_check(self) -> AgentHealth:
        return AgentHealth.SERVING

    def close(self) -> None: ...

    def _describe(self, task: TaskInterface) -> AgentDescription:
        return AgentDescription(name=self.command[0])

    def _open(self, episode: PublicEpisode, *, task: TaskInterface, description: AgentDescription) -> EpisodeSession:
        session = LinesSession(task=task, description=description, settings=self.settings)
        session.process = Popen(self.command, stdin=PIPE, stdout=PIPE, bufsize=0)  # noqa: S603 - trusted
        return session


class LinesSession(EpisodeSession):
    process: "Popen[bytes]"

    def _transmit(self, observation: Observation) -> None:
        readings = {name: array.tolist() for name, array in observation.sensors.items()}
        try:
            self.process.stdin.write(json.dumps({**readings, **observation.texts}).encode() + b"\n")
        except BrokenPipeError:
            raise ConnectionLost("The program has ended.") from None

    def _collect(self, seconds: float) -> Sequence[Action]:
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise self._too_slow()
        answer = self.process.stdout.readline(1000)
        if not answer:
            raise ConnectionLost("The program has ended.")
        return [Action(name=answer.decode().strip())]

    def end(self, outcome: EpisodeEnd) -> None:
        self.process.kill()
        self.process.communicate()
