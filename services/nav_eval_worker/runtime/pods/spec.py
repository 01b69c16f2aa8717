"""The pod of a shard: everything that the cluster is told about a team's container, and about the simulator beside it.

Pure: work and settings in, a manifest out, so that a test can read every line and hold it against the schema of
Kubernetes. The walls are those of `containers.spec`, in the words of a cluster. Three things a pod cannot say: how
many processes it may have (`podPidsLimit` of the kubelet), how many files, and that it has no network at all: the
namespace's NetworkPolicy closes it (deploy/kubernetes/shards.yaml).

Containers of a pod share their loopback and, unless it is covered, /dev/shm. The simulator listens nowhere, and each
side gets its own /dev/shm.
"""

from typing import Any

from nav_eval_worker.runtime.base import ReplayWork, ShardWork, Work
from nav_eval_worker.runtime.containers.spec import (
    OBSERVATIONS,
    ORDER,
    ORDER_FILE,
    PREPARED,
    RPC,
    SIMULATOR_HOME,
    WEIGHTS,
    make_agent_environment,
)
from nav_eval_worker.runtime.containers.users import USER, choose_user
from nav_eval_worker.runtime.pods.cluster import KubernetesSettings

RUN_LABEL, SITE_LABEL, PART_LABEL = "nav-eval/run", "nav-eval/site", "nav-eval/part"
AGENT, SIMULATOR = "agent", "simulator"
TMP, SHM = "/tmp", "/dev/shm"  # noqa: S108 (memory of its own)
Json = dict[str, Any]
#: The order comes through standard input, as many bytes as were announced: so nothing starts before somebody listens.
_BEGIN = f'head -c "$1" | tar -xf - -C {ORDER} && exec /usr/local/lib/nav-eval/entry.sh "$2" {ORDER}/{ORDER_FILE}'


def make_name(work: Work, part: str) -> str:
    return f"nav-eval-{work.run}-{part}".lower()


def make_labels(settings: KubernetesSettings, *, run: str | None = None) -> dict[str, str]:
    """By which everything of a run, or of this site, is found again."""
    return {SITE_LABEL: settings.site} | ({RUN_LABEL: run} if run else {})


def make_shard_pod(
    work: ShardWork, settings: KubernetesSettings, *, image: str | None, volumes: tuple[str, ...], size: int
) -> Json:
    """An agent and a simulator; for a baseline the simulator alone. `size` is that of the order."""
    pod_volumes = _PodVolumes()
    # In this order: a kubelet starts a container when the one before it has started, so that an agent whose
    # image is still being pulled is not late.
    containers = [_make_agent(work, settings, pod_volumes, image=image, volumes=volumes)] if image else []
    containers.append(_make_simulator(settings, pod_volumes, does="play", size=size, shares=bool(image)))
    user = choose_user(work.run, settings.uid_range)
    return _make_pod(work, settings, part="shard", containers=containers, pod_volumes=pod_volumes, user=user)


def make_replay_pod(work: ReplayWork, settings: KubernetesSettings, *, size: int) -> Json:
    """A simulator alone with a finished run."""
    pod_volumes = _PodVolumes()
    containers = [_make_simulator(settings, pod_volumes, does="replay", size=size)]
    return _make_pod(work, settings, part="replay", containers=containers, pod_volumes=pod_volumes)


def make_preparation_pod(work: ShardWork, settings: KubernetesSettings, *, size: int) -> Json:
    """A simulator without an agent, which may write for all that come after it."""
    pod_volumes = _PodVolumes()
    containers = [_make_simulator(settings, pod_volumes, does="prepare", size=size)]
    pod = _make_pod(work, settings, part="prepare", containers=containers, pod_volumes=pod_volumes)
    pod["spec"]["securityContext"]["fsGroup"] = _parse_user(USER)[1]
    return pod


class _PodVolumes:
    """The volumes of a pod, as its containers ask for them."""

    def __init__(self) -> None:
        self.volumes: dict[str, Json] = {}

    def memory(self, name: str, path: str, *, megabytes: int, read_only: bool = False) -> Json:
        """Memory that lives as long as the pod; containers that use the same name share it."""
        self.volumes[name] = {"emptyDir": {"medium": "Memory", "sizeLimit": f"{megabytes}Mi"}}
        return _mount(name, path, read_only=read_only)

    def storage(self, name: str, source: str, path: str, *, read_only: bool) -> Json:
        """A claim, or a path of the node."""
        is_path = source.startswith("/")
        claim = {"persistentVolumeClaim": {"claimName": source, "readOnly": read_only}}
        self.volumes[name] = {"hostPath": {"path": source, "type": "Directory"}} if is_path else claim
        return _mount(name, path, read_only=read_only)


def _mount(name: str, path: str, *, read_only: bool) -> Json:
    return {"name": name, "mountPath": path, "readOnly": read_only}


def _make_pod(
    work: Work,
    settings: KubernetesSettings,
    *,
    part: str,
    containers: list[Json],
    pod_volumes: _PodVolumes,
    user: str = USER,
) -> Json:
    uid, gid = _parse_user(user)
    spec: Json = {
        "containers": containers,
        "volumes": [{"name": name, **source} for name, source in pod_volumes.volumes.items()],
        "restartPolicy": "Never",
        "activeDeadlineSeconds": settings.deadline_seconds,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        "dnsPolicy": "None",  # there is nobody to look up
        "dnsConfig": {"nameservers": ["127.0.0.1"]},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": uid,
            "runAsGroup": gid,
            "seccompProfile": _choose_seccomp(settings),
        },
    }
    optional = {
        "runtimeClassName": settings.runtime_class,
        "nodeSelector": settings.node_selector,
        "imagePullSecrets": [{"name": settings.pull_secret}] if settings.pull_secret else [],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": make_name(work, part),
            "labels": {**make_labels(settings, run=work.run), PART_LABEL: part},
            "annotations": {"nav-eval/worker": work.worker},
        },
        "spec": spec | {key: value for key, value in optional.items() if value},
    }


def _make_agent(
    work: ShardWork, settings: KubernetesSettings, pod_volumes: _PodVolumes, *, image: str, volumes: tuple[str, ...]
) -> Json:
    """A team's container. Its command and environment are the image's own."""
    limits = work.limits
    ours = {RPC, OBSERVATIONS, WEIGHTS, TMP, SHM}
    covered = [path for path in volumes if path not in ours]
    gpus = {settings.gpu_resource: str(limits.gpus)} if limits.gpus else {}
    return {
        **_make_restrictions(AGENT, image),
        "env": [{"name": key, "value": value} for key, value in make_agent_environment(work).items()],
        "resources": _make_resources(cpus=limits.cpus, memory_gb=limits.memory_gb, more=gpus),
        "volumeMounts": [
            pod_volumes.memory("rpc", RPC, megabytes=1),
            pod_volumes.memory("obs", OBSERVATIONS, megabytes=settings.observations_mb, read_only=True),
            pod_volumes.memory("agent-tmp", TMP, megabytes=settings.scratch_mb),
            pod_volumes.memory("agent-shm", SHM, megabytes=max(int(limits.shm_gb * 1000), 1)),
            *(pod_volumes.memory(f"agent-{number}", path, megabytes=64) for number, path in enumerate(covered)),
        ],
    }


def _make_simulator(
    settings: KubernetesSettings, pod_volumes: _PodVolumes, *, does: str, size: int, shares: bool = False
) -> Json:
    """Ours. It talks to a stranger, so it has walls, too."""
    memory = settings.simulator_memory_gb
    mounts = [
        pod_volumes.memory("order", ORDER, megabytes=2 * (size >> 20) + 8),
        pod_volumes.memory("simulator-tmp", TMP, megabytes=512),
        pod_volumes.memory("simulator-shm", SHM, megabytes=64),
        pod_volumes.memory("cache", f"{SIMULATOR_HOME}/cache", megabytes=int(memory * 500)),
        pod_volumes.storage("data", settings.data, settings.data_target, read_only=True),
    ]
    if settings.prepared:
        mounts.append(pod_volumes.storage("prepared", settings.prepared, PREPARED, read_only=does != "prepare"))
    if shares:
        mounts += [
            pod_volumes.memory("rpc", RPC, megabytes=1, read_only=True),
            pod_volumes.memory("obs", OBSERVATIONS, megabytes=settings.observations_mb),
        ]
    return {
        **_make_restrictions(SIMULATOR, settings.simulator_image),
        "command": ["/bin/sh", "-c", _BEGIN, "sh", str(size), does],
        "stdin": True,
        "stdinOnce": True,
        "env": [{"name": "HOME", "value": TMP}, {"name": "MESA_SHADER_CACHE_DISABLE", "value": "true"}],
        "resources": _make_resources(cpus=settings.simulator_cpus, memory_gb=memory),
        "volumeMounts": mounts,
    }


def _make_restrictions(name: str, image: str) -> Json:
    """What holds for both."""
    return {
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _choose_seccomp(settings: KubernetesSettings) -> Json:
    if settings.seccomp:
        return {"type": "Localhost", "localhostProfile": settings.seccomp}
    return {"type": "RuntimeDefault"}


def _make_resources(*, cpus: float, memory_gb: float, more: Json | None = None) -> Json:
    """Requests are the limits: what a phase promises is kept free, and nobody is throttled for a neighbour."""
    limits = {
        "cpu": f"{int(cpus * 1000)}m",
        "memory": str(int(memory_gb * 1_000_000_000)),
        "ephemeral-storage": "512Mi",  # the log on the node
        **(more or {}),
    }
    return {"limits": limits, "requests": dict(limits)}


def _parse_user(user: str) -> tuple[int, int]:
    uid, gid = user.split(":")
    return int(uid), int(gid)
