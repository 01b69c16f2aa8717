"""Which system calls a container may make: fewer than under the engine's own profile, and the same on every engine.

An engine's profile is as old as the engine. Docker 20.10 lets a container use io_uring, and sockets of every family,
AF_VSOCK among them, which reaches the hypervisor although the container has no network. So the list is ours: what
it names is allowed, all else is forbidden (EPERM), and a call that is newer than the list does not exist (ENOSYS), so
that a new libc falls back. A test on a real engine proves that nothing is allowed here that its own profile forbids.

Calls of 32-bit programs (i386, x32) are another table of the kernel; a program that makes one is ended.
"""

import json
from functools import cache
from typing import Any

ENGINE = "engine"
"""The setting that leaves the choice to the engine."""

_ALLOWED = {
    "files": """
        read write open close stat fstat lstat poll lseek pread64 pwrite64 readv writev access pipe select ioctl
        dup dup2 sendfile fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir fchdir rename
        mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown lchown umask utime mknod statfs
        fstatfs sync readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr
        flistxattr removexattr lremovexattr fremovexattr getdents64 fadvise64 utimes openat mkdirat mknodat
        fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat fchmodat faccessat pselect6
        ppoll splice tee sync_file_range vmsplice utimensat fallocate dup3 pipe2 preadv pwritev syncfs renameat2
        copy_file_range preadv2 pwritev2 statx close_range openat2 faccessat2 ioprio_set ioprio_get inotify_init
        inotify_init1 inotify_add_watch inotify_rm_watch
    """,
    "memory": """
        mmap mprotect munmap brk mremap msync mincore madvise mlock munlock mlockall munlockall mlock2
        memfd_create shmget shmat shmctl shmdt
    """,
    "processes and threads": """
        fork vfork execve execveat exit exit_group wait4 waitid kill tkill tgkill getpid getppid gettid getpgid
        getpgrp setpgid getsid setsid sched_yield sched_setparam sched_getparam sched_setscheduler
        sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_setaffinity
        sched_getaffinity sched_setattr sched_getattr getpriority setpriority getrlimit setrlimit prlimit64
        getrusage futex futex_waitv set_robust_list get_robust_list set_tid_address rseq membarrier arch_prctl
        prctl seccomp restart_syscall getcpu pidfd_open pidfd_send_signal process_mrelease
        landlock_create_ruleset landlock_add_rule landlock_restrict_self
    """,
    "users, of which there is one": """
        getuid getgid geteuid getegid getgroups getresuid getresgid setuid setgid setreuid setregid setgroups
        setresuid setresgid setfsuid setfsgid capget capset
    """,
    "signals": """
        rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend
        rt_tgsigqueueinfo sigaltstack pause signalfd signalfd4
    """,
    "connections; which sockets may be made, a rule of its own says": """
        connect accept accept4 sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown bind listen
        getsockname getpeername setsockopt getsockopt epoll_create epoll_create1 epoll_wait
        epoll_pwait epoll_pwait2 epoll_ctl eventfd eventfd2 semget semop semctl semtimedop msgget msgsnd msgrcv
        msgctl
    """,
    "time": """
        nanosleep getitimer setitimer alarm gettimeofday time times clock_gettime clock_getres clock_nanosleep
        timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_create timerfd_settime
        timerfd_gettime
    """,
    "the machine": "uname sysinfo getrandom",
}
_UNIX, _NETLINK, _NETLINK_ROUTE = 1, 16, 0
_INTERNET = (2, 10)
_STREAM, _DATAGRAM, _KIND = 1, 2, 0xF
_TCP, _UDP = 6, 17
"""There is a loopback to reach by TCP and UDP, and NETLINK_ROUTE lists it. AF_PACKET, AF_ALG, AF_VSOCK and all other
families are closed, as are the other protocols (SCTP, MPTCP, raw) and netlink's other ends: more of the kernel than
an agent needs."""
_NEW_NAMESPACES = 0x7E020000
"""Flags of clone: CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID, -NET."""
_PERSONALITIES = (0x0, 0xFFFFFFFF)
"""That of every Linux program, and the question for it."""
_NO_SUCH_CALL = 38


def list_allowed_calls() -> frozenset[str]:
    """By name, whatever the arguments."""
    return frozenset(name for names in _ALLOWED.values() for name in names.split())


@cache
def make_profile() -> str:
    """In the form that `security_opt` takes: `seccomp=<profile>`."""
    rules = [
        _allow(sorted(list_allowed_calls())),
        *_list_socket_rules(),
        _allow(["socketpair"], _make_condition(_UNIX)),
        *(_allow(["personality"], _make_condition(number)) for number in _PERSONALITIES),
        _allow(["clone"], {**_make_condition(_NEW_NAMESPACES, "SCMP_CMP_MASKED_EQ"), "valueTwo": 0}),
        # its flags lie in memory, where no rule can look: libc takes clone instead when there is no clone3
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _NO_SUCH_CALL},
    ]
    return json.dumps({"defaultAction": "SCMP_ACT_ERRNO", "architectures": ["SCMP_ARCH_X86_64"], "syscalls": rules})


def _list_socket_rules() -> list[dict[str, Any]]:
    """Arguments of socket: family, kind with its flags, protocol."""
    unix = _allow(["socket"], _make_condition(_UNIX))
    route = _allow(["socket"], _make_condition(_NETLINK), _make_condition(_NETLINK_ROUTE, index=2))
    kinds = ((_STREAM, _TCP), (_DATAGRAM, _UDP))
    internet = [
        _allow(
            ["socket"],
            _make_condition(family),
            {**_make_condition(_KIND, "SCMP_CMP_MASKED_EQ", index=1), "valueTwo": kind},
            _make_condition(protocol, index=2),
        )
        for family in _INTERNET
        for kind, own in kinds
        for protocol in (0, own)
    ]
    return [unix, route, *internet]


def _allow(names: list[str], *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": list(conditions)}


def _make_condition(value: int, comparison: str = "SCMP_CMP_EQ", *, index: int = 0) -> dict[str, Any]:
    """One argument of a call; all conditions of a rule must hold."""
    return {"index": index, "value": value, "op": comparison}
