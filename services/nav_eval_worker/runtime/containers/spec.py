"""What the engine is told about a team's container, and about the simulator beside it.

Pure: work and settings in, arguments of the Docker SDK out, so that a test can read every flag. Nothing that
a team wrote is passed on but the image itself; its command and environment are the image's own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from docker.types import DeviceRequest, LogConfig, Mount, Ulimit

from nav_eval_worker.runtime.base import (
    SOCKET_NAME,
    WEIGHTS_VARIABLE,
    CellWork,
    ReplayWork,
    RuntimeUnavailable,
    ShardWork,
    Work,
)
from nav_eval_worker.runtime.containers import seccomp
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.containers.users import USER, choose_user

RUN_LABEL, SITE_LABEL, WORKER_LABEL, PART_LABEL = "nav-eval.run", "nav-eval.site", "nav-eval.worker", "nav-eval.part"
RPC, OBSERVATIONS, ORDER, WEIGHTS, PREPARED = "/rpc", "/obs", "/order", "/weights", "/prepared"
SIMULATOR_HOME = "/srv/nav-eval"
ORDER_FILE = "order.json"
_GB = 1_000_000_000
_LOG = LogConfig(
    type=LogConfig.types.JSON, config={"max-size": "1m", "max-file": "2"}
)  # for organisers; teams get ours


def make_labels(work: Work, settings: DockerSettings, part: str) -> dict[str, str]:
    """By which everything of a run is found again."""
    return {RUN_LABEL: work.run, SITE_LABEL: settings.site, WORKER_LABEL: work.worker, PART_LABEL: part}


def make_name(work: Work, part: str) -> str:
    return f"nav-eval-{work.run}-{part}"


def make_agent(
    work: CellWork, settings: DockerSettings, *, volumes: tuple[str, ...], part: str = "agent"
) -> dict[str, Any]:
    """A team's container: no network, no capabilities, nothing to write to but a small memory."""
    return {
        **_make_restrictions(work, settings, part),
        "user": (user := choose_user(work.run, settings.uid_range)),
        "runtime": settings.runtime or None,
        "environment": make_agent_environment(work),
        "mounts": _list_agent_mounts(work),
        "tmpfs": _list_agent_tmpfs(settings, volumes, user),
        "device_requests": _request_gpus(work.limits.gpus, settings),
        "pids_limit": work.limits.pids,
        "shm_size": int(work.limits.shm_gb * _GB),
        **_limit_memory(work.limits.memory_gb),
        **_limit_cpus(work.limits.cpus),
    }


def make_simulator(work: ShardWork, settings: DockerSettings, *, prepares: bool = False) -> dict[str, Any]:
    """Ours. It talks to a stranger, so it has walls, too. One that prepares has no agent, and may write for all."""
    if prepares:
        return _make_simulator(work, settings, part="prepare", command="prepare")
    shared = [
        _mount_volume(make_name(work, "rpc"), RPC, read_only=True),
        _mount_volume(make_name(work, "obs"), OBSERVATIONS, read_only=False),
    ]
    user = choose_user(work.run, settings.uid_range)
    return _make_simulator(work, settings, part="simulator", command="play", shared=shared, user=user)


def make_peer(work: CellWork, settings: DockerSettings) -> dict[str, Any]:
    """Of a probe cell: what a simulator is to an agent, without scenes."""
    return {
        **_make_restrictions(work, settings, "peer"),
        "user": choose_user(work.run, settings.uid_range),
        "mounts": [_mount_volume(make_name(work, "rpc"), RPC, read_only=True)],
        "pids_limit": 64,
        **_limit_memory(0.25),
    }


def make_replayer(work: ReplayWork, settings: DockerSettings) -> dict[str, Any]:
    """A simulator alone with a finished run. Its films are long messages, which no log needs twice."""
    quiet = {"log_config": LogConfig(type=LogConfig.types.NONE)}
    return _make_simulator(work, settings, part="replay", command="replay") | quiet


def _make_simulator(
    work: Work, settings: DockerSettings, *, part: str, command: str, shared: Sequence[Mount] = (), user: str = USER
) -> dict[str, Any]:
    mounts = [
        _mount_volume(
            make_name(work, "order"), ORDER, read_only=False
        ),  # the engine puts the order there before the start
        # a new volume takes over the owner that the folder has in the image
        Mount(target=PREPARED, source=settings.prepared, type="volume", read_only=command != "prepare"),
        _mount_data(settings),
        *shared,
    ]
    device = [settings.simulator_gpu] if settings.simulator_gpu else []
    return {
        **_make_restrictions(work, settings, part),
        "user": user,
        "command": [command, f"{ORDER}/{ORDER_FILE}"],
        "environment": {"HOME": "/tmp", "MESA_SHADER_CACHE_DISABLE": "true"},  # noqa: S108 (a tmpfs of its own)
        "mounts": mounts,
        "tmpfs": {
            "/tmp": _format_tmpfs(512, user),  # noqa: S108
            f"{SIMULATOR_HOME}/cache": _format_tmpfs(int(settings.simulator_memory_gb * 500), user),
        },
        "device_requests": [DeviceRequest(device_ids=device, capabilities=[["gpu", "graphics"]])] if device else None,
        "pids_limit": 512,
        "shm_size": 64 << 20,
        **_limit_memory(settings.simulator_memory_gb),
        **_limit_cpus(settings.simulator_cpus),
    }


def make_agent_environment(work: CellWork) -> dict[str, str]:
    """What an agent is told. No address, no name of a team, nothing that a log should not show."""
    variables = {
        "HOME": "/tmp",  # noqa: S108 (a tmpfs of its own)
        "USER": "agent",  # its number has no name in the image, and some libraries ask for one
        "LOGNAME": "agent",
        "TMPDIR": "/tmp",  # noqa: S108
        "NAV_EVAL_SOCKET": f"{RPC}/{SOCKET_NAME}",
        "NAV_EVAL_ADDRESS": f"unix:{RPC}/{SOCKET_NAME}",
        "NAV_EVAL_PROTOCOL": "grpc",
        "NAV_EVAL_SHM_DIR": OBSERVATIONS,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return variables | ({WEIGHTS_VARIABLE: WEIGHTS} if work.weights is not None else {})


def list_shared_volumes(work: CellWork, settings: DockerSettings) -> Mapping[str, str]:
    """The memory that both sides see, by part: mount options of a tmpfs. So small that filling it hurts nobody."""
    strict = "nosuid,nodev,noexec"
    return {
        "rpc": f"size=1m,nr_inodes=32,mode=1777,{strict}",
        "obs": f"size={settings.observations_mb}m,nr_inodes=256,mode=1777,{strict}",
    }


def _make_restrictions(work: Work, settings: DockerSettings, part: str) -> dict[str, Any]:
    """What holds for both."""
    return {
        "name": make_name(work, part),
        "labels": make_labels(work, settings, part),
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": _list_security_options(settings),
        "privileged": False,
        "init": True,
        "healthcheck": {"test": ["NONE"]},
        "ulimits": [Ulimit(name="nofile", soft=4096, hard=4096), Ulimit(name="core", soft=0, hard=0)],
        "oom_score_adj": 500,  # if the host itself runs out of memory, containers go before the engine
        "log_config": _LOG,
        "restart_policy": {"Name": "no"},
        "detach": True,
    }


def _list_security_options(settings: DockerSettings) -> list[str]:
    """No setuid program gains anything, and of the kernel's calls few are left."""
    ours = [] if settings.seccomp == seccomp.ENGINE else [f"seccomp={seccomp.make_profile()}"]
    return ["no-new-privileges", *ours]


def _list_agent_mounts(work: CellWork) -> list[Mount]:
    mounts = [
        _mount_volume(make_name(work, "rpc"), RPC, read_only=False),
        _mount_volume(make_name(work, "obs"), OBSERVATIONS, read_only=True),
    ]
    if work.weights is not None:
        mounts.append(_mount_volume(work.weights.handle, WEIGHTS, read_only=True))
    return mounts


def _list_agent_tmpfs(settings: DockerSettings, volumes: tuple[str, ...], user: str) -> dict[str, str]:
    """The temporary folder, and what the image calls a VOLUME: writable as the team expects, in memory and small."""
    ours = {RPC, OBSERVATIONS, WEIGHTS, "/tmp", "/dev/shm"}  # noqa: S108
    covered = {path: _format_tmpfs(64, user) for path in volumes if path not in ours}
    return {"/tmp": _format_tmpfs(settings.scratch_mb, user), **covered}  # noqa: S108


def _format_tmpfs(megabytes: int, user: str) -> str:
    # with owner: the container runtime gives a tmpfs the mode of the folder that it covers, whatever we say
    uid, gid = user.split(":")
    return f"size={megabytes}m,mode=1777,uid={uid},gid={gid},nosuid,nodev"


def _mount_volume(source: str, target: str, *, read_only: bool) -> Mount:
    return Mount(target=target, source=source, type="volume", read_only=read_only, no_copy=True)


def _mount_data(settings: DockerSettings) -> Mount:
    is_path = settings.data.startswith("/")
    return Mount(
        target=settings.data_target, source=settings.data, type="bind" if is_path else "volume", read_only=True
    )


def _limit_memory(gigabytes: float) -> dict[str, int]:
    """Without swap: what is over the limit is over."""
    limit = int(gigabytes * _GB)
    return {"mem_limit": limit, "memswap_limit": limit}


def _limit_cpus(cpus: float) -> dict[str, int]:
    return {"nano_cpus": int(cpus * _GB)}


def _request_gpus(wanted: int, settings: DockerSettings) -> list[DeviceRequest] | None:
    if not wanted:
        return None
    if wanted > len(settings.gpu_ids):
        raise RuntimeUnavailable(
            f"The phase gives an agent {wanted} GPUs, this worker has {len(settings.gpu_ids)} in NAV_EVAL_DOCKER_GPUS."
        )
    return [DeviceRequest(device_ids=list(settings.gpu_ids[:wanted]), capabilities=[["gpu"]])]
