# ruff: noqa - the code of a team, not ours
"""An agent that tells what it sees of its cell, and waits."""

import ctypes
import json
import os
import resource
import time
from pathlib import Path


def first(*paths):
    return next((Path(path).read_text().strip() for path in paths if os.path.exists(path)), None)


def megabytes(path):
    space = os.statvfs(path)
    return space.f_blocks * space.f_frsize / 1e6


def answer(number):
    """The error of a system call that is newer than any list."""
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall(number, 0, 0, 0, 0)
    return ctypes.get_errno()


status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
mounts = {line.split()[1]: line.split()[3].split(",") for line in Path("/proc/self/mounts").read_text().splitlines()}
print(
    "SEEN",
    json.dumps(
        {
            "user": [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()],
            "capabilities": [status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
            "no_new_privileges": status["NoNewPrivs"],
            "seccomp": status["Seccomp"],
            "root": mounts["/"][0],
            "memory": first("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"),
            "with_swap": first("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"),
            "processes": first("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max"),
            "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "sizes": {path: megabytes(path) for path in ("/tmp", "/dev/shm", "/rpc", "/data", "/cache/deep")},
            "options": {path: mounts[path] for path in ("/tmp", "/rpc", "/obs", "/data", "/cache/deep", "/weights")},
            "weights": first("/weights/model.bin"),
            "writable": [
                path
                for path in ("/data", "/cache/deep", "/tmp", "/weights", "/obs", "/cache")
                if os.access(path, os.W_OK)
            ],
            "names": sorted(name for name in os.environ if name.startswith("NAV_EVAL")),
            "new_calls": [answer(452), answer(460)],
            "oom": first("/proc/self/oom_score_adj"),
        }
    ),
    flush=True,
)
time.sleep(600)
