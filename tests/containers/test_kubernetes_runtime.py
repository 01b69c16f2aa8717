"""The Kubernetes runtime: pods as we describe them, images from a real registry, on an engine behind a stand-in API.

What is real: the pods' containers, their limits and volumes, the registry, pulling by digest, TLS and the token, the
streams. What stands in: API server and kubelet (`support.cluster`).
"""

import io
import json
import re
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from nav_eval.agents.failures import AgentCrash
from nav_eval.config import BenchmarkConfig
from nav_eval.evaluation.episodes import load_episodes
from nav_eval.evaluation.run_folder import make_manifest
from nav_eval.evaluation.shard_protocol import Beat, Checked, Ended, Filmed, Played, Purpose
from nav_eval.orchestrator import EvaluationOrchestrator
from nav_eval.records.results import Cause
from nav_eval_worker.runtime.base import AgentImage, Pair, ReplayWork, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.kubernetes import KubernetesRuntime
from nav_eval_worker.runtime.pods.cluster import KubernetesSettings
from nav_eval_worker.runtime.pods.registry import compute_sha256
from support.archives import File, folder, tar
from support.cluster import TOKEN, Cluster
from support.engine import ROOT, DockerEngine
from support.registry import running_registry

Admit = Callable[..., AgentImage]
Work = Callable[..., ShardWork]
NAMESPACE = "nav-eval-shards"

AGENT = """
import os, sys
from nav_eval_sdk import Agent, serve
{beginning}
class Walker(Agent):
    name = "walker"
    sensors = ["rgb", "depth"]
    def reset(self, episode):
        print("New episode:", episode.instruction, flush=True)
        {reset}
    def act(self, observation):
        ahead = observation["depth"][80:140, 80:140].min()
        bright = int(observation["rgb"].sum()) % 2
        return "move_forward" if ahead > 0.5 else "turn_left" if bright else "turn_right"

if __name__ == "__main__":
    serve(Walker)
"""
LOOK_AROUND = """
def tried(what):
    try:
        return repr(what())
    except Exception as error:
        return type(error).__name__
print("weights", tried(lambda: open("/weights/model.bin").read()))
print("write weights", tried(lambda: open("/weights/model.bin", "w")))
print("write root", tried(lambda: open("/file", "w")))
print("write tmp", tried(lambda: open("/tmp/file", "w").write("x")))
print("order", os.path.exists("/order"), "token", os.path.exists("/var/run/secrets"), "uid", os.getuid())
print("shm", os.listdir("/dev/shm"), flush=True)
"""


def agent(*, beginning: str = "", reset: str = "pass") -> str:
    return AGENT.format(beginning=beginning, reset=reset)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a cluster gives to a worker; and the key that the cluster shows it."""
    place = tmp_path_factory.mktemp("account")
    subprocess.run(
        [str(ROOT / "deploy" / "worker-host" / "certificates.sh"), str(place), "localhost"],
        check=True,
        capture_output=True,
    )
    (place / "token").write_text(TOKEN)
    return place


@pytest.fixture(scope="module")
def cluster(engine: DockerEngine, account: Path) -> Iterator[Cluster]:
    with Cluster(engine, namespace=NAMESPACE, certificate=account / "hub.pem") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_registry(tmp_path_factory.mktemp("registry")) as url:
        yield f"{url}/nav-eval"


@pytest.fixture
def settings(cluster: Cluster, account: Path, registry: str, room_volume: str) -> KubernetesSettings:
    return KubernetesSettings(
        api=cluster.url,
        account=str(account),
        namespace=NAMESPACE,
        registry=registry,
        site=f"test-{uuid.uuid4().hex[:8]}",
        data=room_volume,
        prepared="test-prepared",
        simulator_memory_gb=2.0,
        scratch_mb=64,
        start_seconds=60,
    )


@pytest.fixture
def runtime(settings: KubernetesSettings, prepared: Path, tmp_path: Path) -> Iterator[KubernetesRuntime]:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "prepared").symlink_to(prepared)
    runtime = KubernetesRuntime(tmp_path / "runtime", settings=settings)
    yield runtime
    runtime.sweep(lambda run: False)


def play(pair: Pair) -> tuple[list[dict[str, object]], Ended | None]:
    lines, ended = [], None
    for message in pair.messages():
        if isinstance(message, Played):
            lines.append(json.loads(bytes(message.line)))
        if isinstance(message, Ended):
            ended = message
    return lines, ended


def test_scores_in_a_pod_equal_those_at_home_to_the_last_bit(
    engine: DockerEngine,
    cluster: Cluster,
    runtime: KubernetesRuntime,
    admitted: Admit,
    work: Work,
    room_benchmark: Callable[..., BenchmarkConfig],
    tmp_path: Path,
) -> None:
    runtime.check()
    order = work(admitted(agent()), episodes=("a", "b"))
    with runtime.run(order) as pair:
        lines, ended = play(pair)
        assert ended == Ended(), pair.simulator_log().decode()
        assert pair.agent_end() is None
        assert "New episode: Go to the table" in pair.take_log().decode()
    assert cluster.pods == {}
    assert engine.client.containers.list(all=True, filters={"label": "pod"}) == []

    at_home = room_benchmark("demo_vln", "evaluation.max_steps=12", "dataset.episode_ids=[a,b]")
    (tmp_path / "walker.py").write_text(agent())
    EvaluationOrchestrator(cache=tmp_path / "cache").run_benchmark(
        at_home, agent=f"{tmp_path / 'walker.py'}:Walker", out=tmp_path / "run"
    )
    there = [json.loads(line) for line in (tmp_path / "run" / "episodes.jsonl").read_text().splitlines()]
    same = ("episode_id", "status", "metrics", "num_steps", "actions", "trajectory")

    def compared(lines: list[dict[str, object]]) -> list[dict[str, object]]:
        ordered = sorted(lines, key=lambda line: str(line["episode_id"]))
        return [{key: line.get(key) for key in same} for line in ordered]

    assert compared(lines) == compared(there)


def test_an_agent_sees_its_weights_and_nothing_of_ours(runtime: KubernetesRuntime, admitted: Admit, work: Work) -> None:
    image = admitted(agent(beginning=LOOK_AROUND))
    data = tar([folder("./"), File("./model.bin", b"learned")])
    weights = runtime.admit_weights(io.BytesIO(data), digest=compute_sha256(data))
    with runtime.run(work(image, weights=weights)) as pair:
        _, ended = play(pair)
        log = pair.take_log().decode()
    assert ended == Ended()
    seen = dict(line.rsplit(" ", 1) for line in log.splitlines() if line.startswith(("weights", "write", "shm")))
    assert seen == {
        "weights": "'learned'",
        "write weights": "OSError",
        "write root": "OSError",
        "write tmp": "1",
        "shm": "[]",
    }
    assert re.search(r"order False token False uid [2-5]\d{4}", log)


@pytest.mark.parametrize(
    ("source", "cause", "words"),
    [
        (agent(reset="sys.exit('no more')"), Cause.AGENT_CRASH, "exit code"),
        (agent(reset="self.memory = bytearray(10**9)"), Cause.AGENT_OOM, "memory"),
    ],
)
def test_how_an_agent_ended_has_a_name(
    runtime: KubernetesRuntime, admitted: Admit, work: Work, source: str, cause: Cause, words: str
) -> None:
    with runtime.run(work(admitted(source.replace("sys.exit('no more')", "os._exit(3)")))) as pair:
        play(pair)
        end = pair.agent_end()
    assert end is not None
    assert end.cause is cause
    assert words in end.detail


def test_a_command_that_is_not_in_the_image_is_the_teams_fault(
    runtime: KubernetesRuntime, admitted: Admit, work: Work, cluster: Cluster
) -> None:
    image = admitted(agent(), dockerfile='CMD ["no-such-program"]')
    with pytest.raises(AgentCrash, match="no-such-program"), runtime.run(work(image)):
        pass
    assert cluster.pods == {}


def test_a_run_is_checked_and_filmed_by_a_pod_without_an_agent(
    runtime: KubernetesRuntime,
    cluster: Cluster,
    work: Work,
    room_benchmark: Callable[..., BenchmarkConfig],
    tmp_path: Path,
) -> None:
    order = work(None, baseline="baseline:forward", episodes=("a", "b", "c", "d"))
    with runtime.run(order) as pair:
        lines, ended = play(pair)
        assert ended == Ended(), pair.simulator_log().decode()
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    manifest = make_manifest(order.benchmark, load_episodes(room_benchmark("demo_vln")), agent={})
    (run / "run.json").write_bytes(msgspec.json.encode(manifest))
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for purpose, episodes, kind in ((Purpose.CHECK, 4, Checked), (Purpose.FILM, 1, Filmed)):
        again = ReplayWork(run=uuid.uuid4().hex, worker="tester", folder=run, purpose=purpose, episodes=episodes)
        with runtime.replay(again) as simulation:
            said = [message for message in simulation.messages() if not isinstance(message, Beat)]
            assert said[-1:] == [Ended()], simulation.simulator_log().decode()
        assert isinstance(said[0], kind)
        assert not isinstance(said[0], Checked) or said[0].equal
    assert cluster.pods == {}


def test_what_a_dead_worker_left_is_swept(
    engine: DockerEngine, cluster: Cluster, runtime: KubernetesRuntime, work: Work, settings: KubernetesSettings
) -> None:
    order = work(None, baseline="baseline:forward")
    context = runtime.run(order)
    context.__enter__()  # and the worker is gone
    assert runtime.sweep(lambda run: run == order.run) == 0
    assert len(cluster.pods) == 1
    assert runtime.sweep(lambda run: False) == 1
    assert cluster.pods == {}
    assert engine.client.containers.list(all=True, filters={"label": "pod"}) == []
    context.__exit__(None, None, None)


def test_a_worker_without_its_token_is_refused(
    settings: KubernetesSettings, account: Path, tmp_path: Path, cluster: Cluster
) -> None:
    (tmp_path / "token").write_text("somebody else's")
    (tmp_path / "ca.crt").write_bytes((account / "ca.crt").read_bytes())
    strange = KubernetesSettings(api=cluster.url, account=str(tmp_path), registry=settings.registry)
    with pytest.raises(RuntimeUnavailable, match="401"):
        KubernetesRuntime(tmp_path, settings=strange).check()


def test_a_cluster_that_our_authority_does_not_know_is_not_believed(
    settings: KubernetesSettings, tmp_path: Path, cluster: Cluster
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    strange = KubernetesSettings(api=cluster.url, account=str(tmp_path), registry=settings.registry)
    with pytest.raises(RuntimeUnavailable, match=r"(?i)certificate"):
        KubernetesRuntime(tmp_path, settings=strange).check()
