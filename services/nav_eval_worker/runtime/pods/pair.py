"""A running pod: what the simulator says, what the agent prints, how the agent ended.

The simulator's streams come through an attachment that is there before the simulator begins, so nothing is missed;
the agent's output is its log.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from nav_eval.agents.failures import AgentCrash
from nav_eval.agents.messages import shorten
from nav_eval.evaluation.shard_protocol import Message, decode_message
from nav_eval.records.results import Cause
from nav_eval_worker.runtime.agent_end import LOG_TAIL, AgentEnd, blame_ourselves, describe_container_end
from nav_eval_worker.runtime.base import Pair, RuntimeUnavailable, Usage
from nav_eval_worker.runtime.containers.pair import SIMULATOR_LOG, compute_pause
from nav_eval_worker.runtime.output import CappedLog, LineBuffer
from nav_eval_worker.runtime.pods.attachment import STDERR, STDOUT, Attachment
from nav_eval_worker.runtime.pods.cluster import TROUBLE, Cluster, Pod, translate_cluster_errors
from nav_eval_worker.runtime.pods.spec import AGENT, SIMULATOR

LOOK_SECONDS = 0.3
_NEVER_COMES = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError")
"""What a container waits for that will not happen; other reasons may pass: pulling is tried again."""
_STARVED = ("can't start new thread", "Resource temporarily unavailable", "failed to create new OS thread")
_USED_UP = re.compile(
    r"local ephemeral storage limit|ephemeral local storage usage exceeds|EmptyDir volume \"(?:agent|rpc)"
)
_DID_NOT_START = ("ContainerCannotRun", "StartError")


class PodPair(Pair):
    """One pod, with an agent or without."""

    def __init__(self, cluster: Cluster, name: str, *, log_limit: int = 0) -> None:
        self._cluster, self._name = cluster, name
        self._log, self._simulator_log = CappedLog(log_limit), CappedLog(SIMULATOR_LOG)
        self._stopped = threading.Event()
        self._lines = LineBuffer()
        self._attachment: Attachment | None = None
        self._agent_reader: threading.Thread | None = None
        self._has_agent = False

    def begin(self, order: bytes, *, patience: float, has_agent: bool) -> None:
        """Wait until the pod runs, then give the simulator its order."""
        self._has_agent = has_agent
        self._wait_until_started(patience)
        self._attachment = self._cluster.attach(self._name, SIMULATOR)
        self._thread(self._listen, "simulator")
        if has_agent:
            self._agent_reader = self._thread(self._listen_to_agent, AGENT)
        with translate_cluster_errors():
            self._attachment.send(order)

    def messages(self) -> Iterator[Message]:
        for line in self._lines:
            if self._stopped.is_set():
                return
            yield decode_message(line)

    def agent_end(self, *, patience: float = 1.0) -> AgentEnd | None:
        if not self._has_agent or self._stopped.is_set():
            return None
        ended = self._wait_for_end(AGENT, patience=patience)
        if ended is None:
            return None
        if self._agent_reader is not None:
            self._agent_reader.join(timeout=0.5)
        if ended.get("exitCode") is None:
            return blame_ourselves("pod")
        out_of_memory = ended.get("reason") == "OOMKilled"
        return describe_container_end(ended["exitCode"], self._log.read_tail(LOG_TAIL), out_of_memory=out_of_memory)

    def find_sabotage(self, said: str) -> AgentEnd | None:
        """A pod's processes and its place on the node's disk are counted together: the simulator uses next to none."""
        if not self._has_agent or self._stopped.is_set():
            return None
        if is_starved(said + self.simulator_log().decode(errors="replace")):
            return AgentEnd(cause=Cause.AGENT_CRASH, detail="The agent started so many processes that none was left.")
        try:
            return describe_eviction(self._cluster.pod(self._name) or {})
        except RuntimeUnavailable:
            return None

    def take_log(self, *, whole_lines: bool = False) -> bytes:
        return self._log.take(whole_lines=whole_lines)

    def simulator_log(self) -> bytes:
        return self._simulator_log.read_tail(SIMULATOR_LOG)

    def usage(self) -> Usage:
        return Usage()  # a cluster knows only where a metrics server runs, and then the last minute

    def stop(self) -> None:
        self._stopped.set()
        with suppress(RuntimeUnavailable):
            self._cluster.delete(self._name)
        self._lines.close()
        if self._attachment is not None:
            with suppress(*TROUBLE):
                self._attachment.close()

    def wait(self, seconds: float) -> int | None:
        """The simulator's exit code, for one that is not listened to; None when it takes too long or is gone."""
        ended = self._wait_for_end(SIMULATOR, patience=seconds)
        return None if ended is None else ended.get("exitCode")

    def _wait_until_started(self, patience: float) -> None:
        last = time.monotonic() + patience
        while not has_started(pod := self._cluster.pod(self._name) or {}):
            if self._stopped.is_set():
                raise RuntimeUnavailable("The pod was stopped before it began.")
            if time.monotonic() > last:
                raise RuntimeUnavailable(f"The pod did not start within {patience:.0f} s: {describe_obstacle(pod)}")
            time.sleep(LOOK_SECONDS)

    def _wait_for_end(self, container: str, *, patience: float) -> Pod | None:
        """How a container ended; None while it runs."""
        last = time.monotonic() + patience
        while True:
            try:
                pod = self._cluster.pod(self._name)
            except RuntimeUnavailable:
                return None
            if pod is None or pod.get("metadata", {}).get("deletionTimestamp"):
                return {}
            if ended := _state(pod, container).get("terminated"):
                return dict(ended)
            if time.monotonic() > last:
                return None
            time.sleep(min(LOOK_SECONDS, patience))

    def _listen(self) -> None:
        assert self._attachment is not None
        try:
            for stream, data in self._attachment.messages():
                if stream == STDOUT:
                    self._lines.write(data)
                elif stream == STDERR:
                    self._simulator_log.write(data)
        except TROUBLE as trouble:  # the cluster is gone, and with it the pair: a stream that has no end
            self._simulator_log.write(f"\n{type(trouble).__name__}: {trouble}\n".encode())
        finally:
            self._lines.close()

    def _listen_to_agent(self) -> None:
        with suppress(*TROUBLE):
            for data in self._cluster.follow(self._name, AGENT):
                self._log.write(data)
                time.sleep(compute_pause(len(data)))
                if self._stopped.is_set():
                    return

    @staticmethod
    def _thread(work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"pod-{name}", daemon=True)
        thread.start()
        return thread


def has_started(pod: Pod) -> bool:
    """Whether every container runs or has run. What can never start is raised: by the team's fault or by ours."""
    status = pod.get("status", {})
    if status.get("phase") == "Failed" and not status.get("containerStatuses"):
        raise RuntimeUnavailable(f"The cluster refuses the pod: {status.get('reason')} {status.get('message', '')}")
    names = [container["name"] for container in pod.get("spec", {}).get("containers", ())]
    for container in names:
        state = _state(pod, container)
        waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
        if waiting.get("reason") in _NEVER_COMES:
            raise RuntimeUnavailable(f"{container} cannot be started: {describe_obstacle(pod)}")
        if container == AGENT and ended.get("reason") in _DID_NOT_START:
            raise AgentCrash(f"The image's command cannot be started: {ended.get('message', '').strip()}")
    return bool(names) and all(_state(pod, name).keys() & {"running", "terminated"} for name in names)


def is_starved(said: str) -> bool:
    """Whether the simulator could start no thread or process; it needs few, and an agent's are counted with them."""
    return any(words in said for words in _STARVED)


def describe_eviction(pod: Pod) -> AgentEnd | None:
    """What the agent used up, when the pod was put out for that; None when it was for the node's sake."""
    status = pod.get("status", {})
    message = str(status.get("message", ""))
    if status.get("reason") != "Evicted" or SIMULATOR in message or not _USED_UP.search(message):
        return None
    return AgentEnd(cause=Cause.AGENT_CRASH, detail=f"The agent printed or wrote more than it may: {shorten(message)}")


def describe_obstacle(pod: Pod) -> str:
    """Why a pod does not run, in the cluster's own words."""
    status = pod.get("status", {})
    waits = [entry.get("state", {}).get("waiting") or {} for entry in status.get("containerStatuses", ())]
    said = [f"{wait.get('reason')} {wait.get('message', '')}".strip() for wait in waits if wait]
    said += [entry["message"] for entry in status.get("conditions", ()) if entry.get("message")]
    return "; ".join(said) or "the cluster does not say why"


def _state(pod: Pod, container: str) -> Pod:
    for entry in pod.get("status", {}).get("containerStatuses", ()):
        if entry["name"] == container:
            return dict(entry.get("state") or {})
    return {}
