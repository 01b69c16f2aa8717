# ruff: noqa - the code of a team, not ours
"""An agent that tries to get out, tells what it tried, and then plays on as if nothing had happened.

Each attempt returns what it got; an error is a failed attempt, as it should be. The report is one JSON line.
"""

import ctypes
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

from nav_eval_sdk import Agent, serve

LIBC = ctypes.CDLL(None, use_errno=True)
HOST = os.environ.get("HOST_SERVICE", "127.0.0.1:1")
MARKER = os.environ.get("HOST_MARKER", "/nowhere")
OURS = {"/tmp", "/rpc", "/dev/shm", "/dev", "/proc"}


def connect(host, port):
    with socket.create_connection((host, port), timeout=3) as connection:
        return f"connected to {connection.getpeername()}"


def syscall(number, *arguments):
    ctypes.set_errno(0)
    if LIBC.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "allowed"


def egress_dns():
    return socket.getaddrinfo("example.org", 80)


def egress_tcp():
    return connect("1.1.1.1", 443)


def egress_metadata():
    return connect("169.254.169.254", 80)


def egress_host():
    host, port = HOST.rsplit(":", 1)
    return connect(host, int(port))


def egress_bridge():
    return [connect(f"172.{number}.0.1", 22) for number in range(17, 24)]


def network_interfaces():
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    return others or refuse("only loopback")


def docker_socket():
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            return path


def read_host():
    for path in (MARKER, f"/proc/1/root{MARKER}", f"/proc/1/cwd/../../..{MARKER}", f"/host{MARKER}", f"/mnt{MARKER}"):
        if os.path.exists(path):
            return path
    refuse("not there")


def read_devices():
    for path in ("/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/proc/kcore"):
        if os.path.exists(path):
            with open(path, "rb") as device:
                if device.read(1):
                    return path
    refuse("no device gives anything")


def make_device():
    os.mknod("/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(8, 0))
    return "made a block device"


def other_teams():
    seen = [
        path for path in ("/var/lib/docker", "/var/lib/nav-eval", "/srv/nav-eval", "/weights") if os.path.exists(path)
    ]
    return seen or refuse("nothing of others is mounted")


def simulator_files():
    seen = [path for path in ("/order", "/order/order.json", "/prepared", "/srv/nav-eval/data") if os.path.exists(path)]
    return seen or refuse("orders, goals and scenes are not mounted")


def simulator_memory():
    mine = {os.getpid(), 1}
    foreign = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in mine and (entry / "cmdline").read_bytes():
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"nav_eval.evaluation.shard" in b" ".join(words):
                foreign.append(entry.name)
    return foreign or refuse("no process of the simulator is visible")


def ptrace_foreign():
    tried = [pid for pid in range(2, 400) if pid != os.getpid() and not is_mine(pid)]
    attached = [pid for pid in tried if LIBC.ptrace(16, pid, None, None) == 0]
    return attached or refuse("no foreign process to attach to")


def is_mine(pid):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return f"Tgid:\t{os.getpid()}" in status


def write_outside():
    """A file in every folder there is."""
    written = set()
    for folder, folders, _ in os.walk("/", topdown=True):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in OURS]
        if folder in OURS:
            continue
        try:
            probe = os.path.join(folder, ".probe")
            with open(probe, "x"):
                pass
            os.unlink(probe)
            written.add(folder)
        except OSError:
            pass
    return sorted(written) or refuse("everything is read-only")


def write_kernel():
    Path("/proc/sys/kernel/core_pattern").write_text("|/tmp/x")
    return "core_pattern written"


def write_cgroup():
    done = []
    for path in Path("/sys/fs/cgroup").rglob("*limit_in_bytes"):
        path.write_text("-1")
        done.append(str(path))
    return done or refuse("no control group to write to")


def become_root():
    os.setuid(0)
    return f"uid {os.getuid()}"


def setuid_program():
    said = subprocess.run(["/agent/rootsh", "-p", "-c", "id -u"], capture_output=True, text=True, timeout=10)
    return said.stdout if said.stdout.strip() == "0" else refuse(f"runs as {said.stdout.strip()}")


def capabilities():
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    held = {name: status[name] for name in ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp")}
    none = "0" * 16
    fine = held == {"CapEff": none, "CapPrm": none, "CapBnd": none, "NoNewPrivs": "1", "Seccomp": "2"}
    return refuse("none") if fine else held


def new_namespace():
    return syscall(272, 0x10000000)  # unshare(CLONE_NEWUSER)


def mount():
    return syscall(165, b"none", b"/tmp", b"tmpfs", 0, None)


def kernel_interfaces():
    allowed = []
    for name, number in {
        "bpf": 321,
        "keyctl": 250,
        "perf_event_open": 298,
        "userfaultfd": 323,
    }.items():
        try:
            syscall(number, 0, 0, 0, 0, 0)
            allowed.append(name)
        except OSError as error:
            if error.errno not in (1, 38):  # EPERM, ENOSYS
                allowed.append(f"{name}: {error}")
    return allowed or refuse("all forbidden")


def ring_write():
    """Pictures lie in files that the simulator writes."""
    done = []
    for path in Path("/obs").iterdir():
        with open(path, "r+b") as ring:
            ring.write(b"0" * 16)
            done.append(str(path))
    with open("/obs/planted", "wb") as planted:
        planted.write(b"x")
    return done


def ring_shrink():
    for path in Path("/obs").iterdir():
        os.truncate(path, 0)
        return str(path)
    os.mkfifo("/obs/fifo")


def refuse(why):
    raise PermissionError(why)


EARLY = (
    egress_dns, egress_tcp, egress_metadata, egress_host, egress_bridge, network_interfaces, docker_socket, read_host,
    read_devices, make_device, other_teams, simulator_files, simulator_memory, ptrace_foreign, write_outside,
    write_kernel, write_cgroup, become_root, setuid_program, capabilities, new_namespace, mount, kernel_interfaces,
)  # fmt: skip
PLAYING = (ring_write, ring_shrink)


def report(attempts):
    for attempt in attempts:
        try:
            got, error = attempt(), None
        except BaseException as failure:
            got, error = None, f"{type(failure).__name__}: {failure}"
        print(
            "REPORT",
            json.dumps({"attempt": attempt.__name__, "got": repr(got) if got is not None else None, "error": error}),
            flush=True,
        )


class Prober(Agent):
    name = "prober"
    sensors = ["rgb"]

    def act(self, observation):
        if observation.step == 1:
            report(PLAYING)
        return "stop" if observation.step > 3 else "turn_left"


if __name__ == "__main__":
    report(EARLY)
    sys.stdout.flush()
    serve(Prober)
