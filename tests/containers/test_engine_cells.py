"""The cells as the engine has them and as an agent sees them; agents that cannot start; what dead workers leave."""

import hashlib
import io
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nav_eval.config.schema.competition import LimitsConfig
from nav_eval.records.results import Cause
from nav_eval_worker.runtime.agent_end import AgentEnd
from nav_eval_worker.runtime.base import AgentImage, Pair, RuntimeUnavailable, ShardWork
from nav_eval_worker.runtime.containers import spec
from nav_eval_worker.runtime.containers.engine import DockerSettings
from nav_eval_worker.runtime.docker import DockerRuntime
from support.archives import File, tar
from support.archives import Image as Upload
from support.engine import DockerEngine
from support.load import Deadline

Admit = Callable[..., AgentImage]
Work = Callable[..., ShardWork]

AGENTS = Path(__file__).parent / "agents"
LIMITS = LimitsConfig(memory_gb=0.4, cpus=1.0, shm_gb=0.05, pids=64, log_kb=16, start_seconds=60, step_seconds=20)
WALLS = {
    "NetworkMode": "none",
    "IpcMode": "private",
    "PidMode": "",
    "UTSMode": "",
    "UsernsMode": "",
    "Privileged": False,
    "ReadonlyRootfs": True,
    "CapAdd": None,
    "CapDrop": ["ALL"],
    "GroupAdd": None,
    "Devices": None,
    "DeviceRequests": None,
    "DeviceCgroupRules": None,
    "Binds": None,
    "VolumesFrom": None,
    "PortBindings": None,
    "ExtraHosts": None,
    "PublishAllPorts": False,
    "Init": True,
    "OomScoreAdj": 500,
    "OomKillDisable": False,
    "AutoRemove": False,
    "LogConfig": {"Type": "json-file", "Config": {"max-file": "2", "max-size": "1m"}},
    "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
}
NONE = "0" * 16


def of_run(engine: DockerEngine, run: str) -> dict[str, dict[str, Any]]:
    """What the engine knows of each container of a run, by its part."""
    found = engine.client.containers.list(all=True, filters={"label": f"nav-eval.run={run}"})
    return {container.labels["nav-eval.part"]: container.attrs for container in found}


def left_of(engine: DockerEngine, run: str) -> list[str]:
    volumes = engine.client.volumes.list(filters={"label": f"nav-eval.run={run}"})
    return [*of_run(engine, run), *(volume.name for volume in volumes)]


def until(look: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    deadline = Deadline(seconds)
    while not (found := look()):
        assert not deadline.is_over, "it never came"
        time.sleep(0.1)
    return found


def test_the_cells_are_as_told(engine: DockerEngine, runtime: DockerRuntime, admitted: Admit, work: Work) -> None:
    image = admitted(
        (AGENTS / "insider.py").read_text(), "USER root\nVOLUME /data /cache/deep\nRUN mkdir -p /weights\n"
    )
    archive = tar([File("model.bin", b"learned")])
    weights = runtime.admit_weights(io.BytesIO(archive), digest=f"sha256:{hashlib.sha256(archive).hexdigest()}")
    order = work(image, weights=weights, limits=LIMITS)
    with runtime.run(order) as pair:
        cells = of_run(engine, order.run)
        heard: list[str] = []
        seen = json.loads(until(lambda: _seen(pair, heard)))

    assert set(cells) == {"agent", "simulator"}
    for attributes in cells.values():
        host = attributes["HostConfig"]
        assert {key: host.get(key) or (None if WALLS[key] is None else host.get(key)) for key in WALLS} == WALLS
        assert host["SecurityOpt"][0] == "no-new-privileges"
        assert host["SecurityOpt"][1].startswith('seccomp={"defaultAction": "SCMP_ACT_ERRNO"')
        assert host["Memory"] == host["MemorySwap"] > 0
        assert {limit["Name"]: (limit["Soft"], limit["Hard"]) for limit in host["Ulimits"]} == {
            "nofile": (4096, 4096),
            "core": (0, 0),
        }
        assert attributes["Config"]["User"] == cells["agent"]["Config"]["User"] != "10001:10001"
        assert attributes["Config"]["Healthcheck"] == {"Test": ["NONE"]}
        assert attributes["NetworkSettings"]["Networks"].keys() == {"none"}
    agent = cells["agent"]["HostConfig"]
    assert (agent["Memory"], agent["NanoCpus"], agent["PidsLimit"]) == (400_000_000, 1_000_000_000, 64)
    assert set(agent["Tmpfs"]) == {"/tmp", "/data", "/cache/deep"}
    assert {mount["Target"]: mount.get("ReadOnly", False) for mount in agent["Mounts"]} == {
        "/rpc": False,
        "/obs": True,
        "/weights": True,
    }
    assert {mount["Type"] for mount in cells["agent"]["Mounts"]} == {"volume"}
    _check_what_the_agent_sees(seen)
    assert left_of(engine, order.run) == []


def _seen(pair: Pair, heard: list[str]) -> str | None:
    heard.append(pair.take_log().decode())
    found = re.search(r"^SEEN (.*)$", "".join(heard), re.MULTILINE)
    return found[1] if found else None


def _check_what_the_agent_sees(seen: dict[str, Any]) -> None:
    user, real_user, group, real_group, groups = seen["user"]
    assert user == real_user in range(20000, 60000)
    assert (group, real_group) == (10001, 10001)
    assert groups in ([], [10001])
    assert seen["capabilities"] == [NONE] * 5
    assert (seen["no_new_privileges"], seen["seccomp"], seen["root"]) == ("1", "2", "ro")
    assert int(seen["memory"]) == 400_000_000 // 4096 * 4096
    assert seen["with_swap"] in (None, seen["memory"])
    assert (seen["processes"], seen["files"], seen["core"], seen["oom"]) == ("64", [4096, 4096], [0, 0], "500")
    sizes = {path: round(megabytes / 1.048576) for path, megabytes in seen["sizes"].items()}
    assert sizes == {"/tmp": 64, "/dev/shm": 48, "/rpc": 1, "/data": 64, "/cache/deep": 64}
    for path, options in seen["options"].items():
        assert options[0] == "ro" if path in ("/obs", "/weights") else {"rw", "nosuid", "nodev"} <= set(options), path
    assert "noexec" in seen["options"]["/rpc"]
    assert seen["weights"] == "learned"
    assert seen["writable"] == ["/data", "/cache/deep", "/tmp"]
    assert seen["names"] == [
        "NAV_EVAL_ADDRESS",
        "NAV_EVAL_PROTOCOL",
        "NAV_EVAL_SHM_DIR",
        "NAV_EVAL_SOCKET",
        "NAV_EVAL_WEIGHTS",
    ]
    assert seen["new_calls"] == [38, 38]  # ENOSYS: a new libc takes the old call instead


ARM = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\xb7\0" + bytes(100)
NOT_STARTED: dict[str, tuple[list[File], list[str], str]] = {
    "no such program": ([], ["/agent"], "exit code 127.*No such file or directory"),
    "no program": ([File("agent", b"hello")], ["/agent"], "exit code 126.*Permission denied"),
    "of another machine": ([File("agent", ARM, mode=0o755)], ["/agent"], "exit code 12[67]"),
}


@pytest.mark.parametrize("case", NOT_STARTED)
def test_what_cannot_be_executed_is_a_crash_with_its_reason(runtime: DockerRuntime, work: Work, case: str) -> None:
    files, command, reason = NOT_STARTED[case]
    process = {"Entrypoint": None, "Cmd": command, "Env": [], "WorkingDir": "", "User": ""}
    image = runtime.admit(io.BytesIO(tar(Upload(layers=(tar(files),), process=process).docker())))
    with runtime.run(work(image, limits=LIMITS)) as pair:
        end: AgentEnd = until(pair.agent_end)
    assert end.cause is Cause.AGENT_CRASH
    assert re.search(reason, end.detail), end.detail


def test_a_dead_run_is_swept_and_a_living_one_is_not(
    engine: DockerEngine, runtime: DockerRuntime, settings: DockerSettings, admitted: Admit, work: Work, tmp_path: Path
) -> None:
    """As a worker leaves it that is killed in the middle: containers run on, volumes are in use."""
    image = admitted("import time\ntime.sleep(600)\n")
    dead, alive = work(image, limits=LIMITS), work(image, limits=LIMITS)
    abandoned = [runtime.run(dead), runtime.run(alive)]
    for block in abandoned:
        block.__enter__()
    expected = {"agent", "simulator", *(f"nav-eval-{dead.run}-{part}" for part in ("rpc", "obs", "order"))}
    assert set(left_of(engine, dead.run)) == expected
    elsewhere = DockerSettings(site="another", data=settings.data, prepared=settings.prepared)
    assert DockerRuntime(tmp_path / "other", settings=elsewhere).sweep(lambda run: False) == 0
    next_worker = DockerRuntime(tmp_path / "next", settings=settings)
    assert next_worker.sweep(lambda run: run == alive.run) == 1
    assert left_of(engine, dead.run) == []
    assert len(left_of(engine, alive.run)) == len(expected)
    for block in abandoned:
        block.__exit__(None, None, None)
    assert left_of(engine, alive.run) == []
    assert next_worker.sweep(lambda run: False) == 0


def test_the_probe_cell_finds_every_wall_here(engine: DockerEngine, runtime: DockerRuntime) -> None:
    before = {volume.name for volume in engine.client.volumes.list()}
    runtime.probe()
    assert {volume.name for volume in engine.client.volumes.list()} == before
    assert engine.client.containers.list(all=True, filters={"label": "nav-eval.worker=probe"}) == []


@pytest.mark.parametrize(
    ("change", "wall"),
    [
        ({"mem_limit": 0, "memswap_limit": 0, "pids_limit": -1}, "limit of memory, no limit of processes"),
        ({"read_only": False, "user": "0:0"}, "user without rights, no read-only root"),
        ({"security_opt": ["seccomp=unconfined"], "cap_drop": []}, "filter of system calls"),
        ({"mounts": []}, "socket"),
    ],
    ids=["limits", "rights", "system calls", "socket"],
)
def test_an_engine_that_leaves_out_a_wall_is_refused_by_measurement(
    runtime: DockerRuntime, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], wall: str
) -> None:
    """As rootless engines on cgroup v1 ignore limits, and old sandboxes the socket."""
    make_agent = spec.make_agent
    monkeypatch.setattr(spec, "make_agent", lambda *args, **more: make_agent(*args, **more) | change)
    with pytest.raises(RuntimeUnavailable, match=wall):
        runtime.probe()
