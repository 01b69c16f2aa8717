"""What the engine is told about a team's container, read flag by flag; and how a container's end becomes a cause."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config import BenchmarkConfig
from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.errors import ConfigError
from nav_eval.evaluation.shard_protocol import Purpose
from nav_eval_worker.runtime.base import AgentImage, ReplayWork, RuntimeUnavailable, ShardWork, Weights
from nav_eval_worker.runtime.containers import seccomp, spec
from nav_eval_worker.runtime.containers.engine import DockerSettings, list_missing_limits
from nav_eval_worker.runtime.output import LineBuffer

SETTINGS = DockerSettings()


@pytest.fixture
def work(room_benchmark: Callable[..., BenchmarkConfig], tmp_path: Path) -> Callable[..., ShardWork]:
    def make(**more: Any) -> ShardWork:
        image = AgentImage(id="sha256:1", handle="sha256:2")
        return ShardWork(
            run=uuid.uuid4().hex,
            worker="w",
            image=image,
            benchmark=room_benchmark(),
            episode_ids=("a",),
            folder=tmp_path,
            **more,
        )

    return make


@pytest.mark.parametrize(
    "cell_of", [lambda w: spec.make_agent(w, SETTINGS, volumes=()), lambda w: spec.make_simulator(w, SETTINGS)]
)
def test_both_cells_have_the_same_walls(
    work: Callable[..., ShardWork], cell_of: Callable[[ShardWork], dict[str, Any]]
) -> None:
    cell = cell_of(work())
    assert cell["network_mode"] == "none"
    assert cell["read_only"] is True
    assert cell["cap_drop"] == ["ALL"]
    assert cell["security_opt"] == ["no-new-privileges", f"seccomp={seccomp.make_profile()}"]
    uid, gid = map(int, cell["user"].split(":"))
    assert (uid in range(20000, 60000) or cell["labels"]["nav-eval.part"] == "prepare", gid) == (True, 10001)
    assert cell["ipc_mode"] == "private"
    assert cell["mem_limit"] == cell["memswap_limit"] > 0
    assert cell["privileged"] is False
    assert {limit["Name"] for limit in cell["ulimits"]} == {"nofile", "core"}
    assert cell["log_config"]["Config"] == {"max-size": "1m", "max-file": "2"}
    assert not {"pid_mode", "userns_mode", "cap_add", "devices", "volumes", "ports", "extra_hosts"} & set(cell)


def test_a_replay_has_the_walls_of_a_simulator_and_nothing_of_a_team(work: Callable[..., ShardWork]) -> None:
    again = ReplayWork(run="r1", worker="w", folder=Path(), purpose=Purpose.CHECK)
    cell, simulator = spec.make_replayer(again, SETTINGS), spec.make_simulator(work(), SETTINGS)
    own = {"name", "labels", "command", "mounts", "log_config", "user", "tmpfs"}
    assert {key: cell[key] for key in cell.keys() - own} == {key: simulator[key] for key in simulator.keys() - own}
    seen = {mount["Target"]: mount["ReadOnly"] for mount in cell["mounts"]}
    assert seen == {"/order": False, "/prepared": True, "/srv/nav-eval/data": True}
    assert cell["labels"]["nav-eval.run"] == "r1"
    assert cell["log_config"]["Type"] == "none"


def test_limits_are_those_of_the_phase(work: Callable[..., ShardWork]) -> None:
    limits = LimitsConfig(memory_gb=3, cpus=1.5, pids=77, shm_gb=0.5)
    cell = spec.make_agent(work(limits=limits), SETTINGS, volumes=())
    assert (cell["mem_limit"], cell["nano_cpus"]) == (3_000_000_000, 1_500_000_000)
    assert (cell["pids_limit"], cell["shm_size"]) == (77, 500_000_000)


def test_the_agent_sees_two_memories_and_its_weights(work: Callable[..., ShardWork]) -> None:
    order = work(weights=Weights(digest="sha256:3", handle="weights-3"))
    cell = spec.make_agent(order, SETTINGS, volumes=())
    seen = {mount["Target"]: (mount["Source"], mount["ReadOnly"]) for mount in cell["mounts"]}
    assert seen == {
        "/rpc": (f"nav-eval-{order.run}-rpc", False),
        "/obs": (f"nav-eval-{order.run}-obs", True),
        "/weights": ("weights-3", True),
    }
    assert all(mount["Type"] == "volume" for mount in cell["mounts"])
    assert cell["environment"]["NAV_EVAL_WEIGHTS"] == "/weights"


def test_every_volume_of_the_upload_is_a_small_memory(work: Callable[..., ShardWork]) -> None:
    tmpfs = spec.make_agent(work(), SETTINGS, volumes=("/data", "/tmp", "/rpc"))["tmpfs"]
    assert set(tmpfs) == {"/tmp", "/data"}
    assert all("size=" in options and "nosuid" in options and "nodev" in options for options in tmpfs.values())


def test_the_simulator_cannot_write_what_others_read(work: Callable[..., ShardWork]) -> None:
    beside_agent = {mount["Target"]: mount["ReadOnly"] for mount in spec.make_simulator(work(), SETTINGS)["mounts"]}
    assert beside_agent == {"/order": False, "/prepared": True, "/srv/nav-eval/data": True, "/rpc": True, "/obs": False}
    preparing = {m["Target"]: m["ReadOnly"] for m in spec.make_simulator(work(), SETTINGS, prepares=True)["mounts"]}
    assert preparing == {"/order": False, "/prepared": False, "/srv/nav-eval/data": True}


def test_gpus_are_handed_out_by_device_id(work: Callable[..., ShardWork]) -> None:
    settings = DockerSettings(gpus="0, GPU-7")
    one = spec.make_agent(work(limits=LimitsConfig(gpus=1)), settings, volumes=())["device_requests"]
    assert [request["DeviceIDs"] for request in one] == [["0"]]
    assert spec.make_agent(work(), settings, volumes=())["device_requests"] is None
    with pytest.raises(RuntimeUnavailable, match="3 GPUs"):
        spec.make_agent(work(limits=LimitsConfig(gpus=3)), settings, volumes=())


def test_gvisor_is_for_agents(work: Callable[..., ShardWork]) -> None:
    settings = DockerSettings(runtime="runsc")
    assert spec.make_agent(work(), settings, volumes=())["runtime"] == "runsc"
    assert "runtime" not in spec.make_simulator(work(), settings)


def test_the_list_of_system_calls_is_ours_unless_the_engine_is_asked(work: Callable[..., ShardWork]) -> None:
    of_the_engine = spec.make_agent(work(), DockerSettings(seccomp="engine"), volumes=())["security_opt"]
    assert of_the_engine == ["no-new-privileges"]
    with pytest.raises(ConfigError, match="neither strict nor engine"):
        DockerSettings.from_environment({"NAV_EVAL_DOCKER_SECCOMP": "unconfined"})


def test_system_calls_are_forbidden_unless_named() -> None:
    profile = json.loads(seccomp.make_profile())
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    allowed = [rule for rule in profile["syscalls"] if rule["action"] == "SCMP_ACT_ALLOW"]
    conditional = {name for rule in allowed if rule["args"] for name in rule["names"]}
    assert conditional == {"socket", "socketpair", "personality", "clone"}
    assert not conditional & seccomp.list_allowed_calls()
    assert not [name for name in seccomp.list_allowed_calls() if name.startswith(("io_", "mq_"))]


@pytest.mark.parametrize(
    ("arguments", "is_allowed"),
    [
        ((1, 1, 0), True),  # AF_UNIX
        ((1, 2 | 0o2000000, 0), True),  # with SOCK_CLOEXEC
        ((2, 1, 0), True),  # TCP
        ((10, 1 | 0o4000, 6), True),
        ((2, 2, 17), True),  # UDP
        ((2, 1, 262), False),  # MPTCP
        ((2, 1, 132), False),  # SCTP
        ((2, 2, 1), False),  # ping
        ((2, 3, 255), False),  # raw
        ((2, 5, 0), False),  # SOCK_SEQPACKET
        ((16, 3, 0), True),  # NETLINK_ROUTE
        ((16, 3, 9), False),  # NETLINK_AUDIT
        ((16, 3, 12), False),  # NETLINK_NETFILTER
        ((40, 1, 0), False),  # AF_VSOCK
        ((17, 3, 0), False),  # AF_PACKET
    ],
)
def test_few_sockets_may_be_made(arguments: tuple[int, int, int], is_allowed: bool) -> None:
    rules = [rule["args"] for rule in json.loads(seccomp.make_profile())["syscalls"] if rule["names"] == ["socket"]]

    def holds(condition: dict[str, Any]) -> bool:
        value = arguments[condition["index"]]
        if condition["op"] == "SCMP_CMP_MASKED_EQ":
            return value & condition["value"] == condition["valueTwo"]
        return value == condition["value"]

    assert any(all(map(holds, rule)) for rule in rules) is is_allowed


def test_every_run_has_a_user_of_its_own_and_its_simulator_shares_it(work: Callable[..., ShardWork]) -> None:
    works = [work() for _ in range(50)]
    users = [spec.make_agent(each, SETTINGS, volumes=())["user"] for each in works]
    assert users == [spec.make_simulator(each, SETTINGS)["user"] for each in works]
    assert len(set(users)) > 45
    assert f"uid={users[0].split(':')[0]}" in spec.make_agent(works[0], SETTINGS, volumes=())["tmpfs"]["/tmp"]
    assert spec.make_simulator(works[0], SETTINGS, prepares=True)["user"] == "10001:10001"
    assert spec.make_agent(works[0], DockerSettings(uids=""), volumes=())["user"] == "10001:10001"
    for wrong in ("0-99", "5000", "500-400", "1000-4294967295"):
        with pytest.raises(ConfigError, match="range of user ids"):
            DockerSettings.from_environment({"NAV_EVAL_DOCKER_UIDS": wrong})


def test_lines_come_whole_or_not_at_all() -> None:
    lines = LineBuffer()
    for piece in (b"on", b"e\ntw", b"o\n\nthr"):
        lines.write(piece)
    lines.close()
    assert list(lines) == [b"one\n", b"two\n", b"\n"]


def test_settings_come_from_the_environment() -> None:
    environ = {"NAV_EVAL_DOCKER_RUNTIME": "runsc", "NAV_EVAL_DOCKER_SCRATCH_MB": "64", "NAV_EVAL_DOCKER_GPUS": "1"}
    settings = DockerSettings.from_environment(environ)
    assert (settings.runtime, settings.scratch_mb, settings.gpu_ids) == ("runsc", 64, ("1",))
    with pytest.raises(ConfigError, match="SCRATCH_MB='much' is no int"):
        DockerSettings.from_environment({"NAV_EVAL_DOCKER_SCRATCH_MB": "much"})


FACTS = {
    "MemoryLimit": True,
    "PidsLimit": True,
    "CpuCfsQuota": True,
    "SecurityOptions": ["name=seccomp,profile=default"],
}


@pytest.mark.parametrize(
    ("facts", "missing"),
    [
        (FACTS, []),
        (FACTS | {"MemoryLimit": False, "PidsLimit": None}, ["limits of memory", "limits of processes"]),
        (FACTS | {"CpuCfsQuota": False}, ["limits of processor time"]),
        (FACTS | {"SecurityOptions": ["name=rootless"]}, ["a filter of system calls"]),
        (FACTS | {"SecurityOptions": None}, ["a filter of system calls"]),
    ],
)
def test_an_engine_that_leaves_out_a_wall_is_seen(facts: dict[str, Any], missing: list[str]) -> None:
    assert list_missing_limits(facts) == missing
