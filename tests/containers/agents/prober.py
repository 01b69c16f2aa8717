# ruff: noqa - the code of a team, not ours
"""An agent that tries to get out, tells what it tried, and then plays on as if nothing had happened.

Each attempt returns what it got; an error is a failed attempt, as it should be. The report is one JSON line each.
"""

import ctypes
import json
import mmap as mapping
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

from nav_eval_sdk import Agent, serve

LIBC = ctypes.CDLL(None, use_errno=True)
HOST = os.environ["HOST_ADDRESSES"].split(",")
PORT = int(os.environ["HOST_PORT"])
ABSTRACT = os.environ["HOST_ABSTRACT_SOCKET"]
MARKER = os.environ["HOST_MARKER"]
WRITABLE = {"/tmp", "/rpc", "/dev/shm", "/dev/mqueue", "/scratch"}
MOUNTED = re.compile(
    r"/|/(proc|sys|dev)(/.*)?|/(tmp|rpc|obs|scratch)|/etc/(hosts|hostname|resolv.conf)|(/usr)?/sbin/docker-init"
)


class Refused(Exception):
    pass


def refuse(why):
    raise Refused(why)


def reason(error):
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def each(attempt, things):
    """All of them are tried; what each got, or why none got anything."""
    got, why = [], set()
    for thing in things:
        try:
            got.append(f"{thing}: {attempt(thing)}")
        except (OSError, Refused) as error:
            why.add(reason(error))
    return got or refuse("; ".join(sorted(why)))


def syscall(number, *arguments):
    ctypes.set_errno(0)
    if LIBC.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "allowed"


def syscalls(**numbers):
    return each(lambda name: syscall(numbers[name], 0, 0, 0, 0, 0), numbers)


def connect(host, port):
    with socket.create_connection((host, port), timeout=3) as connection:
        return f"connected to {connection.getpeername()}"


# the network


def egress_dns():
    return each(
        lambda name: socket.getaddrinfo(name, 80), ("example.org", "localhost.localdomain", "redis", "postgres")
    )


def egress_dns_packet():
    def ask(server):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
            connection.sendto(b"\0\1\1\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1", (server, 53))

    return each(ask, ("8.8.8.8", *HOST))


def egress_tcp():
    return each(lambda host: connect(host, 443), ("1.1.1.1", "2606:4700:4700::1111"))


def egress_metadata():
    return connect("169.254.169.254", 80)


def egress_host():
    return each(lambda host: connect(host, PORT), HOST)


def egress_bridge():
    return each(lambda number: connect(f"172.{number}.0.1", PORT), range(17, 32))


def egress_loopback():
    return connect("127.0.0.1", PORT)


def egress_abstract_socket():
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + ABSTRACT)
        return "connected"


def egress_vsock():
    with socket.socket(40, socket.SOCK_STREAM) as connection:
        connection.connect((2, 1024))
        return "connected to the hypervisor"


def raw_sockets():
    kinds = [
        (2, socket.SOCK_RAW, 1),
        (17, socket.SOCK_RAW, 0),
        (38, socket.SOCK_SEQPACKET, 0),
        (31, socket.SOCK_RAW, 1),
    ]
    return each(lambda kind: socket.socket(*kind), kinds)


def network_interfaces():
    return [name for _, name in socket.if_nameindex() if name != "lo"] or refuse("loopback alone")


# the host


def docker_socket():
    def talk(path):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            return path

    roots = ("", "/proc/1/root", "/host", "/proc/1/cwd")
    names = ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock")
    return each(talk, [root + name for root in roots for name in names])


def read_host():
    roots = ("", "/proc/1/root", "/proc/1/cwd/../../..", "/proc/self/fd/7/../../..", "/host", "/mnt", "/../../..")
    return each(lambda root: Path(root + MARKER).read_text(), roots)


def read_devices():
    def read(path):
        with open(path, "rb") as device:
            return device.read(1) or refuse("empty")

    disks = [
        f"/dev/{name}" for name in ("mem", "kmsg", "port", "vda", "sda", "nvme0n1", "fuse", "loop0", "kvm", "vsock")
    ]
    return each(read, [*disks, "/proc/kcore", "/sys/firmware/dmi/tables/DMI"])


def make_device():
    return each(
        lambda number: os.mknod("/tmp/disk", stat.S_IFBLK | 0o666, os.makedev(*number)), ((8, 0), (254, 0), (259, 0))
    )


def other_teams():
    """Nothing is mounted that is not this run's own."""
    mounted = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return sorted(place for place in mounted if not MOUNTED.fullmatch(place)) or refuse("nothing else is mounted")


def secrets():
    odd = re.compile("TOKEN|SECRET|PASSW|_KEY|DATABASE|REDIS|BROKER|BLOBS|DOCKER|AWS|GOOGLE", re.IGNORECASE)
    told = [name for name in os.environ if odd.search(name)]
    files = [place for place in ("/run/secrets", "/var/run/secrets") if os.path.isdir(place) and os.listdir(place)]
    return told + files or refuse("none to find")


# the simulator


def simulator_files():
    names = ("/order", "/order/order.json", "/prepared", "/srv/nav-eval/data", "/srv/nav-eval/cache", "/weights")
    return each(lambda path: os.stat(path), names)


def simulator_memory():
    """Whatever runs here is init, this agent, and what this agent has started."""
    mine = {1, os.getpid()}
    foreign = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in mine:
            parent = re.search(r"^PPid:\t(\d+)", (entry / "status").read_text(), re.MULTILINE)
            if parent and int(parent[1]) not in mine:
                foreign.append((entry.name, (entry / "cmdline").read_bytes()))
    return foreign or refuse("no foreign process")


def ptrace():
    return each(lambda pid: syscall(101, 16, pid, 0, 0), (1, os.getppid()))  # PTRACE_ATTACH


def read_memory_of_others():
    return syscalls(process_vm_readv=310, process_vm_writev=311, pidfd_getfd=438, kcmp=312)


# writing


def write_outside():
    """A file in every folder there is."""
    written = set()
    for folder, folders, _ in os.walk("/", topdown=True):
        folders[:] = [name for name in folders if folder != "/" or name != "proc"]
        if folder in WRITABLE:
            continue
        try:
            probe = os.path.join(folder, ".probe")
            with open(probe, "x"):
                pass
            os.unlink(probe)
            written.add(folder)
        except OSError:
            pass
    return sorted(written) or refuse("nowhere but in its memories")


def write_program():
    """The file that runs, and what init runs."""
    return each(lambda path: open(path, "r+b"), ("/proc/self/exe", "/proc/1/exe", "/sbin/docker-init", "/etc/hosts"))


def write_kernel():
    places = ("core_pattern", "modprobe", "hostname", "panic", "ns_last_pid")
    paths = [f"/proc/sys/kernel/{name}" for name in places]
    return each(
        lambda path: Path(path).write_text("1"),
        [*paths, "/proc/sysrq-trigger", "/sys/kernel/uevent_helper", "/proc/sys/vm/drop_caches"],
    )


def write_cgroup():
    """On either version of control groups."""
    names = ("*limit_in_bytes", "release_agent", "cgroup.procs", "tasks", "pids.max", "memory.max", "cpu.cfs_quota_us")
    found = [path for name in names for path in Path("/sys/fs/cgroup").rglob(name)]
    return each(lambda path: path.write_text("-1"), found)


def spare_itself():
    """When memory runs out, somebody else shall go."""
    Path("/proc/self/oom_score_adj").write_text("-1000")
    return "spared"


def raise_limits():
    def more(kind):
        try:
            resource.setrlimit(kind, (1 << 20, 1 << 20))
        except ValueError as error:
            refuse(str(error))

    return each(more, (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE))


# privileges


def become_root():
    return each(lambda attempt: attempt(0), (os.setuid, os.setgid, os.seteuid, lambda group: os.setgroups([group])))


def setuid_program():
    said = subprocess.run(["/agent/rootsh", "-p", "-c", "id -u"], capture_output=True, text=True, timeout=10)
    return "a root shell" if said.stdout.strip() == "0" else refuse("runs as the run's own user")


def file_capabilities():
    """A program to which the image gives all capabilities."""
    assert os.getxattr("/agent/capsh", "security.capability"), "the image lost its attribute"
    said = subprocess.run(["/agent/capsh", "-c", "grep CapEff /proc/self/status"], capture_output=True, text=True)
    if said.returncode:
        refuse(said.stderr)
    return said.stdout if int(said.stdout.split()[-1], 16) else refuse("runs without any")


def capabilities():
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    names = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    held = [f"{name} {status[name]}" for name in names if int(status.get(name, "0"), 16)]
    return held or refuse("none")


def missing_walls():
    """What keeps programs from gaining rights, and calls from being made."""
    status = Path("/proc/self/status").read_text()
    marks = re.findall(r"^(NoNewPrivs|Seccomp):\t(\d)", status, re.MULTILINE)
    return marks if marks != [("NoNewPrivs", "1"), ("Seccomp", "2")] else refuse("both are there")


def new_namespace():
    kinds = (0x10000000, 0x00020000, 0x40000000, 0x20000000, 0x02000000)  # user, mount, network, processes, groups
    return each(lambda kind: syscall(272, kind), kinds)


def clone_namespace():
    def clone(number):
        child = LIBC.syscall(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        return child if child > 0 else refuse(os.strerror(ctypes.get_errno()))

    return each(clone, (56, 435))  # clone; clone3, which libc does without where there is none


def enter_namespace():
    def enter(name):
        fd = os.open(f"/proc/1/ns/{name}", os.O_RDONLY)
        return syscall(308, fd, 0)

    return each(enter, ("mnt", "net", "pid", "user"))


def mount():
    new = {"fsopen": 430, "fsconfig": 431, "fsmount": 432, "open_tree": 428, "move_mount": 429, "mount_setattr": 442}
    return syscalls(mount=165, umount2=166, pivot_root=155, chroot=161, **new)


def io_uring():
    return syscalls(io_uring_setup=425, io_uring_enter=426, io_uring_register=427)


def shared_queues():
    """What the kernel counts for all containers together: asynchronous I/O, POSIX message queues."""
    return syscalls(io_setup=206, io_submit=209, mq_open=240, mq_unlink=241, mq_timedsend=242)


def other_protocols():
    """Doors of the kernel that need no network: netlink's other ends, MPTCP, SCTP, ping."""
    kinds = [(16, 3, 9), (16, 3, 12), (16, 3, 15), (2, 1, 262), (2, 1, 132), (2, 2, 1), (10, 2, 136)]
    return each(lambda kind: socket.socket(*kind).close(), kinds)


def keyrings():
    return syscalls(keyctl=250, add_key=248, request_key=249)


def bpf():
    return syscalls(bpf=321)


def perf():
    return syscalls(perf_event_open=298, lookup_dcookie=212)


def userfaultfd():
    return syscalls(userfaultfd=323, memfd_secret=447)


def open_by_handle():
    return syscalls(open_by_handle_at=304, name_to_handle_at=303, fanotify_init=300)


def kernel_modules():
    load = {"init_module": 175, "finit_module": 313, "kexec_load": 246, "kexec_file_load": 320, "delete_module": 176}
    return syscalls(reboot=169, swapon=167, syslog=103, acct=163, quotactl=179, iopl=172, **load)


def set_clock():
    return syscalls(settimeofday=164, clock_settime=227, adjtimex=159, clock_adjtime=305, sethostname=170)


def old_programs():
    """The kernel has another door for programs of 32 bits."""
    child = os.fork()
    if child == 0:
        os.close(2)
        code = mapping.mmap(-1, 4096, prot=mapping.PROT_READ | mapping.PROT_WRITE | mapping.PROT_EXEC)
        code.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")  # mov eax, 20 (getpid); int 0x80; ret
        call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        os._exit(0 if call() > 0 else 1)
    _, status = os.waitpid(child, 0)
    return "allowed" if status == 0 else refuse("ended")


# the pictures, which lie in a file that the simulator writes


def rings():
    found = sorted(Path("/obs").iterdir())
    assert found, "no ring to try"
    return found


def ring_write():
    def write(path):
        with open(path, "r+b") as ring:
            ring.write(b"0" * 64)

    return each(write, rings())


def ring_map():
    """Writable memory over a file that is open for reading."""

    def map_it(path):
        with open(path, "rb") as ring:
            memory = mapping.mmap(
                ring.fileno(), 0, flags=mapping.MAP_SHARED, prot=mapping.PROT_READ | mapping.PROT_WRITE
            )
            memory[:64] = bytes(64)

    return each(map_it, rings())


def ring_protect():
    """The same by a change of mind."""

    def protect(path):
        with open(path, "rb") as ring:
            LIBC.mmap.restype = ctypes.c_void_p
            at = LIBC.mmap(None, ctypes.c_size_t(4096), 1, mapping.MAP_SHARED, ring.fileno(), ctypes.c_long(0))
            if LIBC.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 3) < 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return each(protect, rings())


def ring_reopen():
    def reopen(path):
        with open(path, "rb") as ring, open(f"/proc/self/fd/{ring.fileno()}", "r+b") as again:
            again.write(b"0")

    return each(reopen, rings())


def ring_truncate():
    return each(lambda path: os.truncate(path, 0), rings())


def ring_grow():
    return each(lambda path: os.truncate(path, 1 << 40), rings())


def ring_replace():
    def replace(path):
        return each(lambda act: act(), (lambda: os.rename(path, f"{path}.old"), path.unlink))

    return each(replace, rings())


def ring_change_mode():
    return each(lambda path: os.chmod(path, 0), rings())


def ring_punch():
    """A hole in the middle."""

    def punch(path):
        with open(path, "rb") as ring:
            return syscall(285, ring.fileno(), 3, ctypes.c_long(0), ctypes.c_long(4096))  # fallocate

    return each(punch, rings())


def ring_plant():
    plans = (
        lambda: Path("/obs/planted").write_bytes(b"x"),
        lambda: os.mkfifo("/obs/fifo"),
        lambda: os.mkdir("/obs/folder"),
        lambda: os.symlink("/etc/passwd", "/obs/observations-link"),
    )
    return each(lambda plan: plan(), plans)


EARLY = (
    egress_dns, egress_dns_packet, egress_tcp, egress_metadata, egress_host, egress_bridge, egress_loopback,
    egress_abstract_socket, egress_vsock, raw_sockets, network_interfaces,
    docker_socket, read_host, read_devices, make_device, other_teams, secrets,
    simulator_files, simulator_memory, ptrace, read_memory_of_others,
    write_outside, write_program, write_kernel, write_cgroup, spare_itself, raise_limits,
    become_root, setuid_program, file_capabilities, capabilities, missing_walls, new_namespace, clone_namespace, enter_namespace, mount,
    io_uring, shared_queues, other_protocols, keyrings, bpf, perf, userfaultfd, open_by_handle, kernel_modules, set_clock, old_programs,
)  # fmt: skip
PLAYING = (
    ring_write, ring_map, ring_protect, ring_reopen, ring_truncate, ring_grow, ring_replace, ring_change_mode, ring_punch,
    ring_plant,
)  # fmt: skip


def report(attempts):
    for attempt in attempts:
        found = {"attempt": attempt.__name__, "got": None, "why": None}
        try:
            found["got"] = repr(attempt())
        except (OSError, Refused) as failure:
            found["why"] = reason(failure)
        print("REPORT", json.dumps(found), flush=True)


class Prober(Agent):
    name = "prober"
    sensors = ["rgb"]

    def act(self, observation):
        if observation.step == 1:
            report(PLAYING)
        return "stop" if observation.step > 3 else "turn_left"


if __name__ == "__main__":
    report(EARLY)
    serve(Prober)
