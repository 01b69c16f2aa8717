"""What a cluster is told about a shard, read line by line and held against Kubernetes' own schemas."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.agents.failures import AgentCrash
from nav_eval.config import BenchmarkConfig
from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.errors import ConfigError
from nav_eval.evaluation.shard_protocol import Purpose
from nav_eval.records.results import Cause
from nav_eval_worker.runtime.base import AgentImage, ReplayWork, RuntimeUnavailable, ShardWork, Weights
from nav_eval_worker.runtime.pods import spec
from nav_eval_worker.runtime.pods.cluster import KubernetesSettings
from nav_eval_worker.runtime.pods.pair import describe_eviction, describe_obstacle, has_started, is_starved
from support.pod_security import breaches_of_restricted

REGISTRY = "https://registry.example.org/nav-eval"
SETTINGS = KubernetesSettings(registry=REGISTRY, prepared="prepared")
IMAGE = f"registry.example.org/nav-eval/submission@sha256:{'1' * 64}"


@pytest.fixture
def work(room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path) -> Callable[..., ShardWork]:
    def make(**more: Any) -> ShardWork:
        return ShardWork(
            run=uuid.uuid4().hex,
            worker="worker-5c9d7b64f-x2x7k",
            image=AgentImage(id="sha256:1", handle="sha256:2"),
            benchmark=room_benchmark(),
            episode_ids=("a",),
            folder=tmp_path,
            **more,
        )

    return make


@pytest.fixture
def pods(work: Callable[..., ShardWork], tmp_path: Path) -> dict[str, dict[str, Any]]:
    """Every kind of pod that we make."""
    weights = Weights(digest="sha256:3", handle="sha256:4")
    special = KubernetesSettings(
        registry=REGISTRY, runtime_class="gvisor", nodes="a/b=c", pull_secret="pull", seccomp="nav-eval.json"
    )
    limits = LimitsConfig(gpus=1, cpus=0.5, memory_gb=0.4)
    replay = ReplayWork(run=uuid.uuid4().hex, worker="w", folder=tmp_path, purpose=Purpose.FILM)
    return {
        "shard": spec.make_shard_pod(work(), SETTINGS, image=IMAGE, volumes=("/data", "/tmp"), size=10_000),
        "special": spec.make_shard_pod(work(weights=weights, limits=limits), special, image=IMAGE, volumes=(), size=1),
        "baseline": spec.make_shard_pod(work(), SETTINGS, image=None, volumes=(), size=1),
        "prepare": spec.make_preparation_pod(work(), SETTINGS, size=1),
        "replay": spec.make_replay_pod(replay, SETTINGS, size=5_000_000),
    }


KINDS = ("shard", "special", "baseline", "prepare", "replay")


@pytest.mark.parametrize("version", ["1.29", "1.31", "1.34"])
@pytest.mark.parametrize("kind", KINDS)
def test_pods_follow_the_schema(pods: dict[str, dict[str, Any]], kind: str, version: str) -> None:
    import kubernetes_validate  # loads a grammar for seconds

    kubernetes_validate.validate(pods[kind], version, strict=True)


@pytest.mark.parametrize("kind", KINDS)
def test_pods_are_of_the_strictest_kind(pods: dict[str, dict[str, Any]], kind: str) -> None:
    pod = pods[kind]["spec"]
    assert breaches_of_restricted(pod) == []
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    assert pod["restartPolicy"] == "Never"
    assert pod["activeDeadlineSeconds"] > 0
    for container in pod["containers"]:
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert {"cpu", "memory", "ephemeral-storage"} <= set(container["resources"]["limits"])
        assert container["resources"]["limits"] == container["resources"]["requests"]


def mounts(pod: dict[str, Any], container: str) -> dict[str, tuple[str, bool]]:
    (found,) = [entry for entry in pod["spec"]["containers"] if entry["name"] == container]
    return {mount["mountPath"]: (mount["name"], mount["readOnly"]) for mount in found["volumeMounts"]}


def test_both_sides_share_the_socket_and_the_pictures_and_nothing_else(pods: dict[str, dict[str, Any]]) -> None:
    agent, simulator = mounts(pods["shard"], "agent"), mounts(pods["shard"], "simulator")
    assert agent["/rpc"] == ("rpc", False)
    assert simulator["/rpc"] == ("rpc", True)
    assert agent["/obs"] == ("obs", True)
    assert simulator["/obs"] == ("obs", False)
    assert {name for name, _ in agent.values()} & {name for name, _ in simulator.values()} == {"rpc", "obs"}
    assert agent["/dev/shm"] != simulator["/dev/shm"]


def test_everything_that_can_be_written_is_memory_with_a_limit(pods: dict[str, dict[str, Any]]) -> None:
    pod = pods["shard"]
    sources = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    written = [
        name
        for container in ("agent", "simulator")
        for name, read_only in mounts(pod, container).values()
        if not read_only
    ]
    for name in written:
        assert sources[name]["emptyDir"]["medium"] == "Memory"
        assert sources[name]["emptyDir"]["sizeLimit"].endswith("Mi")


def test_volumes_of_the_image_are_covered_once(pods: dict[str, dict[str, Any]]) -> None:
    assert mounts(pods["shard"], "agent")["/data"] == ("agent-0", False)
    assert len([path for path in mounts(pods["shard"], "agent") if path == "/tmp"]) == 1


def test_an_agent_is_started_first_by_digest_and_is_told_no_secret(pods: dict[str, dict[str, Any]]) -> None:
    agent, simulator = pods["special"]["spec"]["containers"]
    assert (agent["name"], simulator["name"]) == ("agent", "simulator")
    assert agent["image"] == IMAGE
    assert "command" not in agent
    assert "args" not in agent
    assert {entry["name"]: entry["value"] for entry in agent["env"]}["NAV_EVAL_WEIGHTS"] == "/weights"
    assert agent["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert agent["resources"]["limits"]["cpu"] == "500m"
    assert "order" not in json.dumps(agent)


def test_options_of_a_site_reach_the_pod(pods: dict[str, dict[str, Any]]) -> None:
    pod = pods["special"]["spec"]
    assert pod["runtimeClassName"] == "gvisor"
    assert pod["nodeSelector"] == {"a/b": "c"}
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["securityContext"]["seccompProfile"] == {"type": "Localhost", "localhostProfile": "nav-eval.json"}


def test_only_a_pod_without_an_agent_writes_for_others(pods: dict[str, dict[str, Any]]) -> None:
    writes = {kind: ("/prepared", ("prepared", False)) in mounts(pods[kind], "simulator").items() for kind in KINDS}
    assert [kind for kind in KINDS if writes[kind]] == ["prepare"]
    assert [container["name"] for container in pods["prepare"]["spec"]["containers"]] == ["simulator"]


def test_data_may_lie_on_the_nodes(work: Callable[..., ShardWork]) -> None:
    settings = KubernetesSettings(registry=REGISTRY, data="/srv/scenes")
    pod = spec.make_shard_pod(work(), settings, image=IMAGE, volumes=(), size=1)
    assert {"name": "data", "hostPath": {"path": "/srv/scenes", "type": "Directory"}} in pod["spec"]["volumes"]
    assert mounts(pod, "simulator")["/srv/nav-eval/data"] == ("data", True)


def pod_with(agent: dict[str, Any], simulator: dict[str, Any] | None = None) -> dict[str, Any]:
    states = [{"name": "agent", "state": agent}, {"name": "simulator", "state": simulator or {"running": {}}}]
    containers = [{"name": "agent"}, {"name": "simulator"}]
    return {"spec": {"containers": containers}, "status": {"phase": "Pending", "containerStatuses": states}}


@pytest.mark.parametrize(
    ("agent", "started"),
    [
        ({"waiting": {"reason": "ContainerCreating"}}, False),
        ({"waiting": {"reason": "ErrImagePull"}}, False),  # it is tried again
        ({"running": {}}, True),
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, True),  # the simulator will notice
    ],
)
def test_when_a_pod_has_started(agent: dict[str, Any], started: bool) -> None:
    assert has_started(pod_with(agent)) is started


def test_a_command_that_is_not_there_is_the_teams_fault() -> None:
    said = "exec: no-such-program: executable file not found in $PATH"
    with pytest.raises(AgentCrash, match="no-such-program"):
        has_started(pod_with({"terminated": {"exitCode": 128, "reason": "StartError", "message": said}}))


@pytest.mark.parametrize("reason", ["InvalidImageName", "CreateContainerConfigError"])
def test_what_never_comes_is_ours(reason: str) -> None:
    with pytest.raises(RuntimeUnavailable, match=reason):
        has_started(pod_with({"waiting": {"reason": reason}}))


def test_a_pod_that_the_cluster_refuses_is_ours() -> None:
    with pytest.raises(RuntimeUnavailable, match="OutOfmemory"):
        has_started(
            {"spec": {"containers": [{"name": "agent"}]}, "status": {"phase": "Failed", "reason": "OutOfmemory"}}
        )


def test_an_obstacle_is_told_in_the_clusters_words() -> None:
    condition = {"type": "PodScheduled", "message": "0/3 nodes are available: 3 Insufficient memory."}
    assert "Insufficient memory" in describe_obstacle({"status": {"conditions": [condition]}})
    assert "ErrImagePull" in describe_obstacle(pod_with({"waiting": {"reason": "ErrImagePull"}}))


@pytest.mark.parametrize(
    ("status", "is_agents"),
    [
        (
            {"reason": "Evicted", "message": 'Container agent exceeded its local ephemeral storage limit "512Mi". '},
            True,
        ),
        ({"reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds the total limit of 1Gi. "}, True),
        ({"reason": "Evicted", "message": 'Usage of EmptyDir volume "agent-tmp" exceeds the limit "512Mi". '}, True),
        (
            {"reason": "Evicted", "message": "Container simulator exceeded its local ephemeral storage limit"},
            False,
        ),
        ({"reason": "Evicted", "message": "The node was low on resource: memory. "}, False),
        ({"reason": "NodeShutdown", "message": "Container agent exceeded its local ephemeral storage limit"}, False),
        ({}, False),
    ],
)
def test_a_flood_that_the_pod_is_put_out_for_is_the_agents(status: dict[str, str], is_agents: bool) -> None:
    end = describe_eviction({"status": status})
    assert (end is not None) is is_agents
    assert end is None or end.cause is Cause.AGENT_CRASH


def test_a_fork_bomb_that_starves_the_simulator_is_the_agents() -> None:
    assert is_starved("RuntimeError: can't start new thread")
    assert is_starved("sh: 1: Cannot fork: Resource temporarily unavailable")
    assert not is_starved("RuntimeError: no such scene")


def test_settings_come_from_the_environment() -> None:
    variables = {"NAV_EVAL_KUBERNETES_REGISTRY": REGISTRY, "NAV_EVAL_KUBERNETES_SIMULATOR_CPUS": "1.5"}
    settings = KubernetesSettings.from_environment(variables)
    assert settings.simulator_cpus == 1.5
    assert settings.pulled_from == "registry.example.org/nav-eval"


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({}, "no address"),
        ({"NAV_EVAL_KUBERNETES_REGISTRY": "registry.example.org"}, "no address"),
        ({"NAV_EVAL_KUBERNETES_REGISTRY": REGISTRY, "NAV_EVAL_KUBERNETES_SCRATCH_MB": "much"}, "no int"),
    ],
)
def test_settings_that_make_no_sense_are_refused(variables: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        KubernetesSettings.from_environment(variables)
